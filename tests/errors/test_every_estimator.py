"""Every public estimator on every kind of bad input: a defined result or a clear error, in CPU seconds.

A result is defined if all that the model then predicts is finite (log-probabilities and densities of what
is impossible may be -inf), probabilities sum to 1, and NumPy had nothing to warn of. An error is clear if
it is a ValueError or a TypeError, and its message names what is wrong.
"""

import re
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

import likelier as lk

# Defaults that scikit-learn is about to change, and warns of.
ANNOUNCED = {"l1_ratios": (0.0,), "use_legacy_attributes": False, "scoring": "neg_log_loss"}
# What cannot be constructed without parameters, or is many fits in one.
PARAMETERS = {
    "BayesClassifier": {"density": lk.GaussianMixture()},
    "LogisticRegressionCV": {"Cs": 2, "cv": 2, **ANNOUNCED},
    "GaussianMixture": {"n_components": 2, "random_state": 0},
    "Mixture": {"n_components": 2, "random_state": 0},
    "OnlineClassifier": {"bits": 12},
}
# A second is for 10,000 classes of a row each. Whose work is classes times rows has 10^8 cells of it in
# each pass, and needs many: they are given fewer.
FEWER_CLASSES = {
    "BayesClassifier": 300,  # an estimator is cloned and fitted for each
    "LogisticRegression": 400,  # tens of passes of as many exponentials, or hundreds of products
    "LinearSVC": 3000,  # one against the rest: a Newton fit to all rows for each
    "OnlineClassifier": 1500,  # every row moves the weights of all classes
    "Perceptron": 1000,  # one against the rest: 11 epochs of all rows for each
    "SGDClassifier": 1000,  # and 26 of them
}
SECONDS = 1.0  # of CPU, on one thread

# What a model may ask for, whatever is handed in.
NEEDS = "|".join(
    [
        "at least 2 classes|number of classes has to be greater|samples must be more than the number of cl",
        "n_samples >= n_components|different rows|number of members in each class",
        "family cannot have: row .*column .* is ",
        "(?i:negative values)",
        "Input y is not made of numbers",
        "no row has a label",
        "Coefficients are too large",
    ]
)


def _estimators() -> dict[str, BaseEstimator]:
    """All classifiers, regressions and densities of tables: who adds one adds it here.

    Classifiers of documents have test_bad_text.py.
    """
    kinds = {name: getattr(lk, name) for name in lk.__all__}
    models = {
        name: kind(**PARAMETERS.get(name, {}))
        for name, kind in sorted(kinds.items())
        if isinstance(kind, type) and issubclass(kind, BaseEstimator) and name != "TextClassifier"
    }
    return {
        name: model
        for name, model in models.items()
        if is_classifier(model) or is_regressor(model) or hasattr(model, "score_samples")
    }


ESTIMATORS = _estimators()
DENSITIES = [
    name for name, model in ESTIMATORS.items() if not is_classifier(model) and not is_regressor(model)
]


class Case(NamedTuple):
    """Rows to fit to, and what an error says of them: "" where there is nothing wrong."""

    X: Any
    y: Any = None
    w: Any = None
    says: str = ""
    raises: bool = False  # every estimator refuses it


n = 24
rng = np.random.default_rng(0)
X = rng.integers(0, 5, size=(n, 3)).astype(float)
Y = np.arange(n) % 3
X[:, 0] += Y


def holding(value: Any, row: int = 4, column: int = 1, dtype: Any = float) -> Any:
    table = X.astype(dtype)
    table[row, column] = value
    return table


def missing_columns(*columns: int) -> Any:
    table = X.copy()
    table[:, columns] = np.nan
    return table


LARGE = "(?i:overflow|so large|too large)"
CASES: dict[str, Callable[[], Case]] = {
    # ---- sizes
    "one row": lambda: Case(X[:1], Y[:1]),
    "two rows of two classes": lambda: Case(X[:2], Y[:2]),
    "no columns": lambda: Case(X[:, :0], Y, says=r"0 feature\(s\)", raises=True),
    "no rows": lambda: Case(X[:0], Y[:0], says=r"0 sample\(s\)", raises=True),
    "one column": lambda: Case(X[:, :1], Y),
    "each row its own class": lambda: Case(X, np.arange(n)),
    "one class": lambda: Case(X, np.zeros(n, dtype=int)),
    "a class of one row": lambda: Case(X, (np.arange(n) == 5).astype(int)),
    "all rows equal": lambda: Case(np.ones((n, 3)), Y),
    "all rows zero": lambda: Case(np.zeros((n, 3)), Y),
    "all rows and labels equal": lambda: Case(np.ones((n, 3)), np.ones(n, dtype=int)),
    "one distinct row per class": lambda: Case(np.eye(3)[Y], Y),
    "columns that are equal": lambda: Case(np.repeat(X[:, :1], 4, axis=1), Y),
    "more columns than rows": lambda: Case(np.tile(X[:6], (1, 20)), Y[:6]),
    # ---- missing
    "a missing cell": lambda: Case(holding(np.nan), Y, says="NaN"),
    "a column all missing": lambda: Case(missing_columns(1), Y, says="NaN"),
    "all columns missing": lambda: Case(missing_columns(0, 1, 2), Y, says="NaN"),
    "a column all missing in a class": lambda: Case(
        np.where((Y == 1)[:, None] & (np.arange(3) == 2), np.nan, X), Y, says="NaN"
    ),
    "a row all missing": lambda: Case(np.where((np.arange(n) == 3)[:, None], np.nan, X), Y, says="NaN"),
    # ---- magnitudes
    "int8 at its limits": lambda: Case(np.where(X > 2, 127, 126).astype(np.int8), Y),
    "int8 below zero": lambda: Case(np.where(X > 2, 127, -128).astype(np.int8), Y, says="(?i:negative)"),
    "uint8 at its limit": lambda: Case(np.where(X > 2, 255, 254).astype(np.uint8), Y),
    "int64 at its limit": lambda: Case(
        np.where(X > 2, 2**63 - 1, 2**62).astype(np.int64), Y, says="(?i:large|level|categor|overflow)"
    ),
    "uint64 beyond int64": lambda: Case(
        np.where(X > 2, 2**64 - 1, 2**63).astype(np.uint64), Y, says="(?i:large|level|categor|overflow)"
    ),
    "1e308": lambda: Case(X * (1e308 / 8), Y, says=LARGE),
    "±1e308": lambda: Case(np.where(X > 2, 1e308, -1e308), Y, says=LARGE),
    "a cell of 1e308": lambda: Case(holding(1e308), Y, says=LARGE),
    "1e200": lambda: Case(X * 1e200, Y, says=LARGE),
    "1e150": lambda: Case(X * 1e150, Y, says=LARGE),
    "float32 at its limit": lambda: Case((X * np.float32(4e37)).astype(np.float32), Y, says=LARGE),
    "1e-200": lambda: Case(X * 1e-200, Y),
    "denormals": lambda: Case(X * 1e-310, Y),
    "the least denormal": lambda: Case(X * 5e-324, Y),
    "minus zero": lambda: Case(np.where(X == 2, -0.0, X), Y),
    "all minus zero": lambda: Case(np.full((n, 3), -0.0), Y),
    "inf": lambda: Case(holding(np.inf), Y, says="infinity", raises=True),
    "±inf": lambda: Case(np.where(X > 2, np.inf, -np.inf), Y, says="infinity", raises=True),
    "inf beside NaN": lambda: Case(np.where(X > 2, np.inf, np.nan), Y, says="infinity|NaN", raises=True),
    "a constant column far from zero": lambda: Case(np.column_stack([X[:, 0], np.full(n, 1e15)]), Y),
    "a mean of 1e15": lambda: Case(X + 1e15, Y),
    # ---- weights
    "weights of zero": lambda: Case(X, Y, np.zeros(n), says="(?i:weights? .*zero)", raises=True),
    "one weight above zero": lambda: Case(X, Y, np.eye(n)[3]),
    "a class of weight zero": lambda: Case(X, Y, (Y > 0).astype(float)),
    "weights of 1e307": lambda: Case(X, Y, np.full(n, 1e307), says="(?i:weight)"),
    "weights of 1e-307": lambda: Case(X, Y, np.full(n, 1e-307), says="(?i:weight)"),
    "weights of 5e-324": lambda: Case(X, Y, np.full(n, 5e-324), says="(?i:weight)"),
    "weights from 1e-300 to 1e300": lambda: Case(X, Y, np.logspace(-300, 300, n), says="(?i:weight)"),
    "a negative weight": lambda: Case(
        X, Y, np.where(Y, 1.0, -1.0), says="(?i:negative.*weight)", raises=True
    ),
    "a weight of NaN": lambda: Case(X, Y, np.where(Y, 1.0, np.nan), says="(?i:weight.*NaN)", raises=True),
    "an infinite weight": lambda: Case(
        X, Y, np.where(Y, 1.0, np.inf), says="(?i:weight.*inf)", raises=True
    ),
    "too few weights": lambda: Case(X, Y, np.ones(3), says="(?i:weight)", raises=True),
    # ---- types
    "objects that are numbers": lambda: Case(X.astype(object), Y),
    "objects with None": lambda: Case(holding(None, dtype=object), Y, says="NaN"),
    "objects with a string": lambda: Case(holding("word", dtype=object), Y, says="word|str"),
    "objects with a list": lambda: Case(_list_inside(), Y, says="(?i:list|sequence|number)", raises=True),
    "booleans": lambda: Case(X > 2, Y),
    "strings": lambda: Case(X.astype(str), Y, says="(?i:string|number)"),
    "complex": lambda: Case(X + 1j, Y, says="(?i:complex)", raises=True),
    "dates": lambda: Case(X.astype("i8").astype("M8[D]"), Y, says="(?i:date)", raises=True),
    "one dimension": lambda: Case(X[:, 0], Y, says="2D array", raises=True),
    "three dimensions": lambda: Case(X[:, :, None], Y, says="dim 3", raises=True),
    "CSR of one column with explicit zeros": lambda: Case(_explicit_zeros(), Y),
    "CSR without stored cells": lambda: Case(sparse.csr_array((n, 3)), Y),
    "CSR of no columns": lambda: Case(sparse.csr_array((n, 0)), Y, says=r"0 feature\(s\)", raises=True),
    "CSR with NaN": lambda: Case(sparse.csr_array(holding(np.nan)), Y, says="NaN"),
    "CSR with inf": lambda: Case(sparse.csr_array(holding(np.inf)), Y, says="infinity", raises=True),
    "CSR with cells listed twice": lambda: Case(_twice(), Y),
    # ---- labels
    "y of NaN": lambda: Case(X, np.where(Y, 1.0, np.nan), says="y contains NaN", raises=True),
    "y of infinity": lambda: Case(X, np.where(Y, 1.0, np.inf), says="y contains inf", raises=True),
    "y of None": lambda: Case(X, np.full(n, None), says="(?i:y .*(NaN|None|label|number))", raises=True),
    "no y": lambda: Case(X, None, says="requires y", raises=True),
    "y of too few rows": lambda: Case(X, Y[:5], says="inconsistent numbers of samples", raises=True),
    "y of booleans": lambda: Case(X, Y > 0),
    "y of very long strings": lambda: Case(X, np.array(["a" * 100_000 + str(k) for k in Y])),
    "y of mixed types": lambda: Case(
        X, np.array([1, "a", None] * (n // 3), dtype=object), says="(?i:y |label|mix|number)", raises=True
    ),
    "y of uint64": lambda: Case(X, np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)[Y]),
    "y of int64 at its limits": lambda: Case(X, np.array([-(2**63), 0, 2**63 - 1])[Y]),
    "y of 1e308": lambda: Case(X, np.array([-1e308, 0.0, 1e308])[Y], says=LARGE + "|label type"),
    "y of denormals": lambda: Case(X, 5e-324 * Y, says="(?i:label)"),
    "y of two columns": lambda: Case(X, np.column_stack([Y, Y]), says="1d array|one target"),
}


def _list_inside() -> Any:
    table = X.astype(object)
    table[4, 1] = [1, 2]
    return table


def _explicit_zeros() -> Any:
    return sparse.csr_array((np.zeros(n), np.zeros(n, dtype=int), np.arange(n + 1)), shape=(n, 1))


def _twice() -> Any:
    """Every row holds its first column as two cells, to be added."""
    cells, places = np.repeat(X[:, 0] / 2, 2), np.zeros(2 * n, dtype=int)
    return sparse.csr_array((cells, places, np.arange(0, 2 * n + 1, 2)), shape=(n, 3))


def _check_answers(model: Any, table: Any) -> None:
    """All that the model predicts is finite; probabilities sum to 1."""
    for name in ("predict_proba", "predict_log_proba", "decision_function", "score_samples", "predict"):
        answer = getattr(model, name, None)
        if answer is None:
            continue
        found = np.asarray(answer(table))
        assert len(found) == table.shape[0], name
        if found.dtype.kind == "f":
            assert not np.isnan(found).any(), name
            if name in ("predict_proba", "predict"):
                assert np.isfinite(found).all(), name
        if name == "predict_proba":
            np.testing.assert_allclose(
                found.sum(axis=1), 1.0, rtol=1e-9 if found.dtype == np.float64 else 1e-6
            )
            assert (found >= 0).all()
        if name == "predict" and hasattr(model, "classes_"):
            assert np.isin(found, model.classes_).all()


class Outcome(NamedTuple):
    refused: str  # "": it was not
    seconds: float


def _tried(work: Callable[[], None]) -> Outcome:
    """NumPy's warnings are errors; likelier's own (what was done about the input) are not."""
    before, refused = time.process_time(), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        try:
            work()
        except (ValueError, TypeError) as error:
            refused = str(error)
    return Outcome(refused, time.process_time() - before)


def _fit_and_ask(model: Any, case: Case) -> None:
    model.fit(case.X, case.y, **({} if case.w is None else {"sample_weight": case.w}))
    _check_answers(model, case.X)


# What is an error to most, and has a meaning to these (docs: online, mixtures).
MEANT = {
    ("OnlineClassifier", "inf"),  # skipped and counted
    ("OnlineClassifier", "±inf"),
    ("OnlineClassifier", "inf beside NaN"),
    ("OnlineClassifier", "CSR with inf"),
    ("OnlineClassifier", "objects with a list"),
    ("MixtureDiscriminantAnalysis", "y of NaN"),  # rows without a label
}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_is_defined_or_refused(name, kind):
    model, case = clone(ESTIMATORS[name]), CASES[kind]()
    refused, seconds = _tried(lambda: _fit_and_ask(model, case))
    if refused:
        assert re.search(f"{case.says}|{NEEDS}" if case.says else NEEDS, refused, re.S), refused
    else:
        unasked = name in DENSITIES and ("y " in kind or kind == "no y")  # y is not looked at
        assert not case.raises or unasked or (name, kind) in MEANT
    assert seconds < SECONDS


@pytest.mark.parametrize("name", ESTIMATORS)
def test_many_classes(name):
    K = FEWER_CLASSES.get(name, 10_000)
    rows = np.column_stack([np.arange(K) % 97, np.arange(K) % 31]).astype(float)  # all different to 3007
    model = clone(ESTIMATORS[name])

    def work() -> None:
        model.fit(rows, np.arange(K))
        _check_answers(model, rows[:5])

    refused, seconds = _tried(work)
    assert not refused or re.search(NEEDS, refused), refused
    assert seconds < SECONDS


ASKED = {
    "no rows": lambda: (X[:0], r"0 sample\(s\)"),
    "no columns": lambda: (X[:, :0], r"0 feature\(s\)|expecting 3 features"),
    "one row": lambda: (X[:1], ""),
    "1e308": lambda: (X * (1e308 / 8), LARGE),
    "±1e308": lambda: (np.where(X > 2, 1e308, -1e308), LARGE),
    "a cell of 1e308": lambda: (holding(1e308), LARGE),
    "a cell of -1e308": lambda: (holding(-1e308), LARGE),
    "1e200": lambda: (X * 1e200, LARGE),
    "-1e160": lambda: (X * -1e160, LARGE),
    "1e20": lambda: (X * 1e20, ""),
    "denormals": lambda: (X * 1e-310, ""),
    "minus zero": lambda: (X * -0.0, ""),
    "int64 at its limit": lambda: (np.where(X > 2, 2**63 - 1, 2**62), ""),
    "uint64 beyond int64": lambda: (np.where(X > 2, 2**64 - 1, 2**63).astype(np.uint64), ""),
    "inf": lambda: (holding(np.inf), "infinity"),
    "±inf": lambda: (np.where(X > 2, np.inf, -np.inf), "infinity"),
    "all missing": lambda: (np.full((2, 3), np.nan), "NaN"),
    "objects": lambda: (X.astype(object), ""),
    "a string": lambda: (holding("word", dtype=object), "word|str"),
    "CSR without stored cells": lambda: (sparse.csr_array((4, 3)), ""),
    "CSR with explicit zeros": lambda: (_explicit_zeros_wide(), ""),
}


def _explicit_zeros_wide() -> Any:
    return sparse.csr_array((np.zeros(n), np.zeros(n, dtype=int), np.arange(n + 1)), shape=(n, 3))


@pytest.mark.parametrize("kind", ASKED)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_prediction_is_defined_or_refused(name, kind):
    model, (table, says) = clone(ESTIMATORS[name]), ASKED[kind]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    refused, seconds = _tried(lambda: _check_answers(model, table))
    if refused:
        assert says, refused
        assert re.search(says, refused, re.S), refused
    else:
        assert kind not in ("no rows", "no columns")
    assert seconds < SECONDS


CATEGORIES = {
    "levels that no row has": pd.Categorical(["a", "b"] * (n // 2), categories=["a", "b", "c", ""]),
    "a level that is empty": pd.Categorical(["a", ""] * (n // 2)),
    "missing": pd.Categorical(["a", None] * (n // 2)),
    "all missing": pd.Categorical([None] * n, categories=["a", "b"]),
    "no levels": pd.Categorical([None] * n),
    "each row another": pd.Categorical([f"level {i}" for i in range(n)]),
    "very long strings": pd.Categorical(["a" * 100_000, "b" * 100_000] * (n // 2)),
}


@pytest.mark.parametrize("kind", CATEGORIES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_categories_are_taken_or_refused_by_name(name, kind):
    model = clone(ESTIMATORS[name])
    frame = pd.DataFrame({"number": X[:, 0], "level": CATEGORIES[kind]})
    refused, seconds = _tried(lambda: _fit_and_ask(model, Case(frame, Y)))
    assert not refused or "'level'" in refused, refused
    assert seconds < SECONDS
