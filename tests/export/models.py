"""Models that every export is held to, each with rows to predict. A new one joins `CASES`."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import likelier as lk

LDA, QDA = lk.LinearDiscriminantAnalysis, lk.QuadraticDiscriminantAnalysis
MDA, GM = lk.MixtureDiscriminantAnalysis, lk.GaussianMixture
FAR = (1e300, -1e300, 1e160)


def passengers(n: int = 240, seed: int = 11) -> pd.DataFrame:
    """Numbers, truths and categories, one of which is written in numbers, and what they tell."""
    rng = np.random.default_rng(seed)
    found = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).clip(1),
            "fare": rng.gamma(2, 5, n) + 0.1,
            "sex": rng.choice(["f", "m"], n),
            "port": rng.choice(["a", "b's", 'c"'], n),
            "pclass": rng.integers(1, 4, n),
            "alone": rng.random(n) < 0.5,
        }
    )
    z = 0.1 * (found["age"] - 40) + 2 * (found["sex"] == "f") - 0.7 * found["pclass"]
    return found.assign(y=np.where(z + rng.logistic(size=n) > 0, "yes", "no"), value=z**2 + found["fare"])


class Case(NamedTuple):
    """A model, and what is known of the rows that it can be asked about."""

    name: str
    fit: Callable[[], Any]
    rows: Callable[[], pd.DataFrame]
    digits: float = 1e-12  # to which its description must agree with itself


def numbers(n: int = 240, p: int = 4, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Three overlapping Gaussian classes, of columns of different units."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    mix = np.eye(p) + 0.3 * rng.uniform(-1, 1, (3, p, p))
    X = np.einsum("nij,nj->ni", mix[y], rng.standard_normal((n, p))) + rng.standard_normal((3, p))[y]
    X *= 10 ** rng.uniform(-1, 1, p)
    return pd.DataFrame(X + 3, columns=[f"x{j}" for j in range(p)]), np.array(["a", "b", "c"])[y]


def gappy(X: pd.DataFrame, share: float = 0.2, seed: int = 1) -> pd.DataFrame:
    """Some cells missing, all of one row."""
    gone = np.random.default_rng(seed).random(X.shape) < share
    gone[3] = True
    return X.mask(gone)


def with_far(X: pd.DataFrame, seed: int = 2) -> pd.DataFrame:
    """Rows with one cell far away, and one whose cells all are."""
    rng, found = np.random.default_rng(seed), X.copy()
    for i, value in enumerate((*FAR, *FAR)):
        found.iloc[10 + i, rng.integers(X.shape[1])] = value
    found.iloc[20] = 1e300
    return found


def counts(n: int = 240, seed: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    rate = rng.gamma(2, 2, (3, 5))
    return pd.DataFrame(rng.poisson(rate[y]), columns=list("uvwxy"), dtype=float), y


def table(n: int = 300, seed: int = 4, *, quotes: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers of several kinds, categories and truths, some missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    names = ["it's", 'say "hi"', "new\nline", "naïve 🎈"] if quotes else ["red", "green", "blue", "grey"]
    X = pd.DataFrame(
        {
            "age": rng.normal(40 + 5 * y, 10, n),
            "visits": rng.poisson(2 + y, n).astype(float),
            "share": rng.beta(2 + y, 3, n),
            "wait": rng.gamma(2, 3 + y, n),
            "colour": np.array(names, dtype=object)[
                (rng.integers(0, 4, n) * (1 - y) + 3 * y * (rng.random(n) < 0.4)).astype(int)
            ],
            "member": (rng.random(n) < 0.3 + 0.4 * y).astype(float),
        }
    )
    gone = rng.random(X.shape) < 0.08
    gone[:, 4] &= rng.random(n) < 0.5
    X = X.mask(gone)
    X["colour"] = X["colour"].astype(object).where(X["colour"].notna(), None)
    return X, np.array(["no", "yes"])[y]


def new_rows(X: pd.DataFrame) -> pd.DataFrame:
    """With levels that the fit has not seen, and values that no family has."""
    found = X.copy().astype(object)
    found.loc[5, "colour"] = "violet"
    found.loc[6, "colour"] = None
    found.loc[7, "visits"] = -3.0
    found.loc[8, "visits"] = 2.5
    found.loc[9, "share"] = 1.5
    found.loc[10, "wait"] = -1.0
    found.loc[11, "age"] = 1e140
    found.loc[12, "wait"] = 1e140
    for name in X.columns.drop("colour"):
        found[name] = found[name].astype(float)
    return found


def dated(n: int = 200, seed: int = 5) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 2000, n) * 3600 * 7, unit="s")
    X = pd.DataFrame({"when": when, "size": rng.normal(y, 1, n), "kind": rng.choice(["p", "q"], n)})
    X.loc[X.index[::17], "when"] = pd.NaT
    return X, y


def quietly(fit: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit()


def _on(estimator: Any, data: Callable[..., Any], **how: Any) -> Callable[[], Any]:
    return cache(lambda: quietly(lambda: estimator.fit(*data(**how))))


def _gaussian(estimator: Any, name: str, digits: float = 1e-12, *, gaps: bool = True, n: int = 240) -> Case:
    def rows() -> pd.DataFrame:
        X = with_far(numbers()[0])
        return pd.concat([X, gappy(numbers()[0])], ignore_index=True) if gaps else X

    return Case(name, _on(estimator, numbers, n=n), rows, digits)


def _counted(estimator: Any, name: str, *, gaps: bool = True) -> Case:
    def rows() -> pd.DataFrame:
        X = counts()[0]
        odd = X.copy()
        odd.iloc[2, 1], odd.iloc[3, 2] = -1.0, 1.5
        return pd.concat([odd, gappy(X)] if gaps else [X], ignore_index=True)

    return Case(name, _on(estimator, counts), rows)


def _shares() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 200)
    X = np.where(y[:, None] > 0, rng.dirichlet([2, 3, 4], 200), rng.dirichlet([4, 3, 2], 200))
    return pd.DataFrame(X, columns=["fat", "salt", "rest"]), y


def _shares_asked() -> pd.DataFrame:
    X = _shares()[0]
    X.iloc[3, 0], X.iloc[4, 1], X.iloc[5] = np.nan, -1.0, 0.9
    return X


def _linear(estimator: Any, name: str) -> Case:
    """On a table that becomes a design matrix."""
    return Case(name, _on(estimator, table), lambda: new_rows(table()[0]))


def _binary(data: Callable[[], Any]) -> Callable[[], Any]:
    def two() -> Any:
        X, y = data()
        return X, np.asarray(y == y[0])

    return two


def _units(scale: float) -> Callable[[], Any]:
    def scaled() -> Any:
        X, y = numbers()
        return X * [1.0, scale, 1.0, 1.0], y

    return scaled


def _formula(estimator: Any, formula: str, name: str) -> Case:
    fit = cache(lambda: quietly(lambda: estimator.from_formula(formula, passengers())))
    return Case(
        f"formula, {name}", fit, lambda: passengers(seed=12).loc[:, lambda X: fit().feature_names_in_]
    )


CASES = [
    _gaussian(lk.GaussianNB(), "GaussianNB"),
    _gaussian(LDA(), "LDA"),
    _gaussian(LDA(solver="lsqr", shrinkage="auto"), "LDA, shrunk"),
    _gaussian(QDA(), "QDA"),
    _gaussian(QDA(solver="eigen", shrinkage=0.3), "QDA, shrunk"),
    _gaussian(MDA(2, random_state=0), "MDA"),
    _gaussian(MDA(2, covariance_type="tied", random_state=0), "MDA, tied"),
    *(
        Case(
            f"GaussianMixture {shape}",
            _on(GM(2, covariance_type=shape, random_state=0), lambda: (numbers()[0], None)),
            lambda: gappy(with_far(numbers()[0])),
        )
        for shape in ("full", "tied", "diag", "spherical")
    ),
    _gaussian(lk.KernelDensityClassifier(), "KernelDensity", n=60),
    _gaussian(lk.NaiveBayes("gaussian"), "NaiveBayes gaussian"),
    _gaussian(lk.NaiveBayes("histogram"), "NaiveBayes histogram"),
    _gaussian(lk.NaiveBayes("kernel"), "NaiveBayes kernel", n=60),
    _gaussian(lk.NaiveBayes({("x0", "x1"): "gaussian-full", "x2": "gaussian"}), "NaiveBayes groups"),
    _gaussian(lk.LogisticRegression(), "LogisticRegression", gaps=False),
    _gaussian(lk.LinearSVC(), "LinearSVC", gaps=False),
    _gaussian(lk.SGDClassifier(loss="log_loss", random_state=0), "SGD, log loss", gaps=False),
    _gaussian(lk.SGDClassifier(loss="modified_huber", random_state=0), "SGD, modified Huber", gaps=False),
    _gaussian(lk.Perceptron(weights="average", random_state=0), "Perceptron", gaps=False),
    Case(
        "LogisticRegression, binary",
        _on(lk.LogisticRegression(), _binary(numbers)),
        lambda: with_far(numbers()[0]),
    ),
    Case(
        "SGD, binary Huber",
        _on(lk.SGDClassifier(loss="modified_huber", random_state=0), _binary(numbers)),
        lambda: numbers()[0],
    ),
    Case("GaussianNB, binary", _on(lk.GaussianNB(), _binary(numbers)), lambda: gappy(numbers()[0])),
    Case("GaussianNB in units", _on(lk.GaussianNB(), _units(1e200)), lambda: gappy(_units(1e200)()[0])),
    Case("LDA in units", _on(LDA(), _units(1e-150)), lambda: gappy(_units(1e-150)()[0]), 1e-9),
    _counted(lk.PoissonNB(), "PoissonNB"),
    _counted(lk.MultinomialNB(), "MultinomialNB"),
    _counted(lk.ComplementNB(), "ComplementNB"),
    _counted(lk.BernoulliNB(binarize=2.0), "BernoulliNB"),
    _counted(lk.CategoricalNB(), "CategoricalNB"),
    Case(
        "to_linear",
        cache(lambda: quietly(lambda: lk.MultinomialNB().fit(*counts()).to_linear())),
        lambda: counts()[0],
    ),
    _linear(lk.NaiveBayes(), "NaiveBayes"),
    _linear(lk.NaiveBayes(weighting="discriminative"), "NaiveBayes, weighted"),
    _linear(
        lk.NaiveBayes(
            {
                "visits": "poisson",
                "share": "beta",
                "wait": "gamma",
                "age": "gaussian",
                "colour": "categorical",
                "member": "bernoulli",
            }
        ),
        "NaiveBayes, named",
    ),
    _linear(
        lk.NaiveBayes({"visits": "geometric", "wait": "exponential", "age": "histogram"}),
        "NaiveBayes, others",
    ),
    Case(
        "NaiveBayes, quotes",
        _on(lk.NaiveBayes(), table, quotes=True),
        lambda: new_rows(table(quotes=True)[0]),
    ),
    Case("Dirichlet", _on(lk.NaiveBayes({("fat", "salt", "rest"): "dirichlet"}), _shares), _shares_asked),
    _linear(lk.LogisticRegression(), "LogisticRegression of a table"),
    Case(
        "LogisticRegression, quotes",
        _on(lk.LogisticRegression(), table, quotes=True),
        lambda: new_rows(table(quotes=True)[0]),
    ),
    _linear(LDA(), "LDA of a table"),
    _linear(QDA(reg_param=0.1), "QDA of a table"),
    Case("LogisticRegression of dates", _on(lk.LogisticRegression(), dated), lambda: dated(seed=7)[0]),
    Case(
        "LinearRegression",
        _on(lk.LinearRegression(), lambda: (numbers()[0], numbers()[0].sum(axis=1) ** 2)),
        lambda: numbers(seed=9)[0],
    ),
    Case(
        "Ridge of a table",
        _on(lk.Ridge(), lambda: (table()[0], table()[0]["age"].fillna(0))),
        lambda: new_rows(table()[0]).drop(index=11),
    ),
    Case(
        "Ridge, two targets",
        _on(lk.Ridge(), lambda: (numbers()[0], numbers()[0].to_numpy()[:, :2] ** 2)),
        lambda: numbers(seed=9)[0],
    ),
    Case(
        "Mixture",
        _on(
            lk.Mixture(
                2,
                families={
                    "u": "poisson",
                    "v": "geometric",
                    "w": "gaussian",
                    "x": "gaussian",
                    "y": "poisson",
                },
                random_state=0,
            ),
            lambda: (counts()[0], None),
        ),
        lambda: gappy(counts()[0]),
    ),
    _formula(lk.LogisticRegression, "y ~ age * sex + C(pclass) * alone + C(alone)", "products"),
    _formula(lk.LogisticRegression, "y ~ C(port, contr.sum) + sex:port + age:fare - 1", "codings"),
    _formula(
        lk.LinearRegression,
        "value ~ log(fare) + np.log10(fare + 1) + log1p(fare) + log2(fare) + sqrt(fare) + exp(-age / 10) "
        "+ expm1(-fare) + abs(age - 40) + I(age ** -1.5) + I(1 / (fare + 1)) + square(age) + power(age, 3)",
        "functions",
    ),
    _formula(
        lk.Ridge, "value ~ poly(age, 3) + poly(fare, 2, raw=True) + scale(age) + center(fare)", "poly"
    ),
]
