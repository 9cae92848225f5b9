"""The contenders in logistic regression: scikit-learn's solvers, and other libraries as they come.

LIBLINEAR, snapml and skglm's L-BFGS penalise the intercept like a weight: another objective. Their gap is
that of the common one all the same, and can be no smaller than what this costs.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, log_expit

from benchmarks.race.logistic_measures import L1_RATIO, C
from benchmarks.race.registry import contender

MODEL = {"scikit-learn": "sklearn.linear_model", "likelier": "likelier"}
LARGE = ("logistic", "multinomial", "text", "topics")
SMALL = ("small-iris", "small-wine")


def regression(library: str, **params: Any) -> Any:
    """LogisticRegression of scikit-learn, or likelier's of the same interface."""
    return import_module(MODEL[library]).LogisticRegression(C=C, **params)


@contender(problem=(*LARGE, *SMALL), library="likelier", name="LogisticRegression")
def _() -> Any:
    return regression("likelier")


@contender(problem=SMALL, library="scikit-learn", name="lbfgs")
def _() -> Any:
    return regression("scikit-learn")


def solver(name: str, *problems: str, cap: int = 1000) -> None:
    """Enter one of scikit-learn's solvers; some would go on for minutes, and are capped."""
    entry = name if cap == 1000 else f"{name} (cap {cap})"

    @contender(problem=problems, library="scikit-learn", name=entry)
    def _() -> Any:
        return regression("scikit-learn", solver=name, max_iter=cap, random_state=0)


solver("lbfgs", "logistic", "multinomial", "text")
solver("lbfgs", "topics", cap=100)
solver("newton-cholesky", "logistic", "multinomial")
solver("newton-cg", "text")
solver("newton-cg", "topics", cap=15)
solver("saga", "logistic", "multinomial", "text", cap=30)
solver("saga", "topics", cap=10)
solver("liblinear", "text")


class Linear:
    """What other libraries find, in scikit-learn's words: a row of weights, and probabilities from it."""

    def __init__(self, find: Callable[[Any, Any], tuple[Any, float]]) -> None:
        self._find = find

    def fit(self, X: Any, y: Any) -> "Linear":
        w, b = self._find(X, y)
        self.coef_, self.intercept_ = np.asarray(w, dtype=float).reshape(1, -1), np.array([b])
        return self

    def predict(self, X: Any) -> Any:
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> Any:
        P = expit(X @ self.coef_[0] + self.intercept_)
        return np.column_stack([1 - P, P])


class OneByOne:
    """A model of each class against the others, their probabilities scaled to the sum 1."""

    def __init__(self, find: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        self._find = find

    def fit(self, X: Any, y: Any) -> "OneByOne":
        self._theta = self._find(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> Any:
        W, b = self._theta
        P = np.exp(log_expit(X @ np.asarray(W).T + b))
        return P / P.sum(axis=1, keepdims=True)


def liblinear(kind: int) -> Callable[[Any, Any], tuple[Any, Any]]:
    """LIBLINEAR's weights of each class; making its own rows counts, as a user pays for it."""
    from liblinear.liblinearutil import parameter, problem, train

    def find(X: Any, y: Any) -> tuple[Any, Any]:
        rows = sparse.csr_matrix(X) if sparse.issparse(X) else X
        # train() sets the bias of the rows to that of the parameters, whatever it was.
        model = train(problem(y, rows, bias=1), parameter(f"-s {kind} -c {C:g} -B 1 -q"))
        labels = model.get_labels()
        W, b = zip(*(model.get_decfun(labels.index(k)) for k in sorted(labels)), strict=True)
        return (W[1], b[1]) if len(labels) == 2 else (np.array(W), np.array(b))

    return find


for kind, name in ((0, "-s 0, trust region"), (7, "-s 7, dual")):

    @contender(problem=("logistic", "text"), library="liblinear-official", name=name)
    def _(kind: int = kind) -> Any:
        return Linear(liblinear(kind))


@contender(problem=("topics", *SMALL), library="liblinear-official", name="-s 0, one by one")
def _() -> Any:
    return OneByOne(liblinear(0))


def snap() -> Callable[[Any, Any], tuple[Any, Any]]:
    import os

    from snapml import LogisticRegression

    def find(X: Any, y: Any) -> tuple[Any, Any]:
        model = LogisticRegression(
            regularizer=1 / C, fit_intercept=True, n_jobs=int(os.environ.get("OMP_NUM_THREADS", "1"))
        )
        model.fit(sparse.csr_matrix(X) if sparse.issparse(X) else X, y)
        return model.coef_, model.intercept_

    return find


@contender(problem=("logistic", "text"), library="snapml", name="LogisticRegression")
def _() -> Any:
    find = snap()

    def one(X: Any, y: Any) -> tuple[Any, Any]:
        w, b = find(X, y)
        return w, np.ravel(b)[0]

    return Linear(one)


@contender(problem=("multinomial", "topics"), library="snapml", name="one by one")
def _() -> Any:
    return OneByOne(snap())


@contender(problem="logistic", library="glum", name="irls")
def _() -> Any:
    from glum import GeneralizedLinearRegressor

    def find(X: Any, y: Any) -> tuple[Any, Any]:
        model = GeneralizedLinearRegressor(family="binomial", alpha=1 / (C * len(y))).fit(X, y)
        return model.coef_, model.intercept_

    return Linear(find)


@contender(problem="logistic", library="skglm", name="L-BFGS")
def _() -> Any:
    from skglm.datafits import Logistic
    from skglm.penalties import L2
    from skglm.solvers import LBFGS
    from skglm.utils.jit_compilation import compiled_clone

    def find(X: Any, y: Any) -> tuple[Any, Any]:
        A = np.asfortranarray(np.column_stack([X, np.ones(len(X))]))
        datafit, penalty = compiled_clone(Logistic()), compiled_clone(L2(1 / (C * len(y))))
        w, _, _ = LBFGS(max_iter=1000).solve(A, np.where(y == 1, 1.0, -1.0), datafit, penalty)
        return w[:-1], w[-1]

    return Linear(find)


# ---- the path of an elastic net ----------------------------------------------------------------------
for library, how in (("likelier", {}), ("scikit-learn", {"solver": "saga"})):

    @contender(problem="net", library=library, name=" ".join(["warm start", *how.values()]))
    def _(library: str = library, how: Any = how) -> Any:
        regress = import_module(MODEL[library]).LogisticRegression

        def walk(X: Any, y: Any, Cs: Any) -> tuple[Any, Any]:
            model = regress(l1_ratio=L1_RATIO, warm_start=True, max_iter=1000, **how)
            found = [
                model.set_params(C=each).fit(X, y) and (model.coef_[0], model.intercept_) for each in Cs
            ]
            return tuple(zip(*found, strict=True))

        return walk


@contender(problem="net", library="glum", name="alpha search")
def _() -> Any:
    from glum import GeneralizedLinearRegressor

    def walk(X: Any, y: Any, Cs: Any) -> tuple[Any, Any]:
        model = GeneralizedLinearRegressor(
            family="binomial", l1_ratio=L1_RATIO, alphas=1 / (Cs * len(y)), alpha_search=True
        ).fit(X, y)
        return model.coef_path_, model.intercept_path_

    return walk


@contender(problem="net", library="skglm", name="proximal Newton")
def _() -> Any:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic
    from skglm.penalties import L1_plus_L2
    from skglm.solvers import ProxNewton

    def walk(X: Any, y: Any, Cs: Any) -> tuple[Any, Any]:
        found = []
        model = GeneralizedLinearEstimator(Logistic(), solver=ProxNewton(warm_start=True))
        for each in Cs:
            model.set_params(penalty=L1_plus_L2(1 / (each * len(y)), L1_RATIO)).fit(X, y)
            found.append((model.coef_.ravel(), model.intercept_))
        return tuple(zip(*found, strict=True))

    return walk


# ---- fit and standard errors -------------------------------------------------------------------------
@contender(problem="errors", library="likelier", name="LogisticRegression")
def _() -> Any:
    from likelier import LogisticRegression

    def summarise(X: Any, y: Any) -> tuple[Any, Any]:
        summary = LogisticRegression(C=np.inf).fit(X, y).summary()
        return summary.estimates, summary.errors

    return summarise


@contender(problem="errors", library="statsmodels", name="Logit")
def _() -> Any:
    from statsmodels.api import Logit, add_constant

    def summarise(X: Any, y: Any) -> tuple[Any, Any]:
        fit = Logit(y, add_constant(X)).fit(disp=0)
        fit.summary()
        return fit.params, fit.bse

    return summarise
