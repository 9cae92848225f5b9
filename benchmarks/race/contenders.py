"""The contenders. A new one is a function that returns an unfitted classifier, under `@contender`.

Libraries are imported inside the function: a process loads its own only, and one that is not installed
is left out with a reason.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from benchmarks.race.registry import contender


def drop_in(
    name: str, module: str, model: str, problem: str | Sequence[str] = ("gaussian", "iris"), **params: Any
) -> None:
    """Enter scikit-learn's model and likelier's of the same name and parameters."""
    for library, where in (("scikit-learn", module), ("likelier", "likelier")):

        @contender(problem=problem, library=library, name=name)
        def _(where: str = where) -> Any:
            return getattr(import_module(where), model)(**params)


drop_in("GaussianNB", "sklearn.naive_bayes", "GaussianNB")

drop_in("MultinomialNB", "sklearn.naive_bayes", "MultinomialNB", "counts")

LDA = "sklearn.discriminant_analysis", "LinearDiscriminantAnalysis"
drop_in("LDA svd", *LDA)
drop_in("LDA lsqr", *LDA, solver="lsqr")
drop_in("LDA lsqr shrinkage auto", *LDA, solver="lsqr", shrinkage="auto")

QDA = "sklearn.discriminant_analysis", "QuadraticDiscriminantAnalysis"
drop_in("QDA svd", *QDA)
drop_in("QDA eigen", *QDA, solver="eigen")

EM = {"tol": 0.0, "max_iter": 20, "init_params": "random_from_data", "random_state": 0}
drop_in("GaussianMixture", "sklearn.mixture", "GaussianMixture", "mixture", n_components=10, **EM)

drop_in("LinearRegression", "sklearn.linear_model", "LinearRegression", "line")
drop_in("Ridge", "sklearn.linear_model", "Ridge", "line")


def search(name: str, module: str, model: str, grid: Mapping[str, Sequence[float]], **params: Any) -> None:
    """Enter scikit-learn's grid search over its model, by one process and by two, and likelier's own."""

    for suffix, jobs in (("", 1), (", 2 jobs", 2)):

        @contender(problem="folds", library="scikit-learn", name=name + suffix)
        def _(jobs: int = jobs) -> Any:
            from sklearn.model_selection import GridSearchCV

            estimator = getattr(import_module(module), model)(**params)
            new = GridSearchCV(estimator, grid, cv=10, scoring="neg_log_loss", n_jobs=jobs)
            return lambda X, y: -new.fit(X, y).best_score_

    @contender(problem="folds", library="likelier", name=name)
    def _() -> Any:
        estimator = getattr(import_module("likelier"), model)(**params)
        return lambda X, y: estimator.cross_validate(X, y, cv=10, param_grid=grid).best_score_


TENTHS = [i / 10 for i in range(10)]
search("GaussianNB", "sklearn.naive_bayes", "GaussianNB", {"var_smoothing": [10.0**-i for i in range(10)]})
search("LDA lsqr", *LDA, {"shrinkage": TENTHS}, solver="lsqr")
search("QDA svd", *QDA, {"reg_param": TENTHS})
search("QDA eigen", *QDA, {"shrinkage": TENTHS}, solver="eigen")


def _array(X: Any) -> Any:
    return X


def _pandas(X: Any) -> Any:
    import pandas as pd

    return pd.DataFrame({f"x{j}": X[:, j].copy() for j in range(X.shape[1])})


def _pandas_block(X: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def _polars(X: Any) -> Any:
    import polars as pl

    return pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])])


FRAMES = {"numpy": _array, "pandas": _pandas, "pandas block": _pandas_block, "polars": _polars}
FRAMED = {
    "GaussianNB": "GaussianNB",
    "LDA": "LinearDiscriminantAnalysis",
    "QDA": "QuadraticDiscriminantAnalysis",
    "LinearRegression": "LinearRegression",
}
for name, model in FRAMED.items():
    for kind, frame in FRAMES.items():

        @contender(problem="frames", library="likelier", name=f"{name}, {kind}")
        def _(model: str = model, frame: Any = frame) -> Any:
            return getattr(import_module("likelier"), model)(), frame


@contender(problem="kernels", library="likelier", name="KernelDensityClassifier")
def _() -> Any:
    from likelier import KernelDensityClassifier

    return KernelDensityClassifier(0.3)


# Not by one name: its trees add up to 2e-5 in ln p, so that the two do not agree to 1e-9.
@contender(problem="kernels", library="scikit-learn", name="KernelDensity by class")
def _() -> Any:
    import numpy as np
    from sklearn.neighbors import KernelDensity

    class ByHand:
        def fit(self, X: Any, y: Any) -> "ByHand":
            self.log_prior = np.log(np.bincount(y) / len(y))
            self.each = [KernelDensity(bandwidth=0.3).fit(X[y == k]) for k in range(y.max() + 1)]
            return self

        def predict_proba(self, X: Any) -> Any:
            Z = np.column_stack([one.score_samples(X) for one in self.each]) + self.log_prior
            P = np.exp(Z - Z.max(axis=1, keepdims=True))
            return P / P.sum(axis=1, keepdims=True)

    return ByHand()


@contender(problem="gaps", library="likelier", name="QDA")
def _() -> Any:
    from likelier import QuadraticDiscriminantAnalysis

    return QuadraticDiscriminantAnalysis()


@contender(problem="gaps", library="scikit-learn", name="IterativeImputer, QDA")
def _() -> Any:
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(IterativeImputer(), QuadraticDiscriminantAnalysis())


@contender(problem="table", library="likelier", name="NaiveBayes")
def _() -> Any:
    from likelier import NaiveBayes

    return NaiveBayes()


@contender(problem="table", library="scikit-learn", name="impute, bin, encode, CategoricalNB")
def _() -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder

    bins = KBinsDiscretizer(8, encode="ordinal", quantile_method="averaged_inverted_cdf")
    numbers = make_pipeline(SimpleImputer(strategy="median"), bins)
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, CategoricalNB())


@contender(problem="gaussian", library="pomegranate", name="BayesClassifier full")
def _() -> Any:
    import torch
    from pomegranate.bayes_classifier import BayesClassifier
    from pomegranate.distributions import Normal

    class Full:
        """Pomegranate's verbs as scikit-learn's, in float64; a class each has a distribution of its own."""

        def fit(self, X: Any, y: Any) -> "Full":
            torch.set_default_dtype(torch.float64)
            K = int(y.max()) + 1
            self._model = BayesClassifier([Normal(covariance_type="full") for _ in range(K)])
            self._model.fit(torch.from_numpy(X), torch.from_numpy(y))
            return self

        def predict_proba(self, X: Any) -> Any:
            return self._model.predict_proba(torch.from_numpy(X)).numpy()

    return Full()


@contender(problem="import", library="likelier", name="import")
def _() -> str:
    return "import likelier"


@contender(problem="import", library="scikit-learn", name="import")
def _() -> str:
    return "import sklearn"


@contender(problem="import", library="likelier", name="GaussianNB")
def _() -> str:
    return "from likelier import GaussianNB"


@contender(problem="import", library="scikit-learn", name="GaussianNB")
def _() -> str:
    return "from sklearn.naive_bayes import GaussianNB"
