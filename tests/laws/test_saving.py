"""The laws of a saved model: what is loaded answers, learns and merges bit for bit as what was saved."""

import math
import subprocess
import sys
import typing
from dataclasses import dataclass, field, make_dataclass
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

import likelier as lk
from laws import comparing
from laws.generators import tables
from laws.test_counts import COUNTS
from laws.test_estimators import (
    ESTIMATORS,
    LDA,
    PROBLEMS,
    QDA,
    Problem,
    assert_same_bits,
    every_estimator,
    fewer,
    fit,
    may_be_degenerate,
    problem,
    shown,
)
from laws.test_mixtures import DISCRIMINANTS, MIXTURES
from laws.test_qr import triangle
from laws.test_states import RAW_LABELS, STATES
from likelier import storage as values
from likelier.saving import format, schema
from likelier.saving.checks import Kind
from likelier.saving.format import describe
from likelier.saving.models import _estimator, content_of, saved_forms
from likelier.saving.schema import CLASSES, RECORDS, check
from likelier.states import Extent

REGRESSIONS = [
    lk.LinearRegression(),
    lk.LinearRegression(fit_intercept=False),
    lk.LinearRegression(positive=True),
    lk.Ridge(),
    lk.Ridge(alpha=[0.5, 2.0], fit_intercept=False),
    lk.Ridge(alpha=np.array([0.5, 2.0]), positive=True),
]


def through_a_file(value: Any) -> Any:
    arrays: dict[str, Any] = {}
    plain = values.encode(value, "value", arrays, CLASSES)
    archive = format.Archive(BytesIO(format.packed({"value": plain}, arrays)))
    return values.decode(archive.header["value"], archive.array, CLASSES)


@pytest.fixture
def again(tmp_path):
    """Saved and loaded."""

    def again(model: Any, **how: Any) -> Any:
        lk.save(model, tmp_path / "model.lk", **how)
        return lk.load(tmp_path / "model.lk")

    return again


def bytes_again(model: Any, **how: Any) -> Any:
    """The same in memory: hypothesis runs many examples in one test, and one folder."""
    return _estimator(format.Archive(BytesIO(content_of(model, **how))))


# ---- states --------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [k for k in STATES if k.name != "extent"], ids=lambda kind: kind.name)
@given(rows=tables())
def test_a_saved_state_is_the_same(kind, rows):
    state = kind.of(rows)
    loaded = through_a_file(state)
    comparing.assert_same_bits(loaded, state)
    check(loaded, {})
    loaded.merge(kind.of(rows))
    state.merge(kind.of(rows))
    comparing.assert_same_bits(loaded, state)


@given(rows=tables())
def test_a_saved_triangle_is_the_same(rows):
    state = triangle(rows)
    loaded = through_a_file(state)
    comparing.assert_same_bits(loaded, state)
    check(loaded, {})


def test_every_state_can_be_saved():
    kinds = {type(kind.start(2, 3)) for kind in STATES} - {Extent}  # which no model keeps
    assert kinds <= set(CLASSES.values())


@pytest.mark.parametrize("name", RECORDS)
def test_every_array_of_a_record_has_a_size(name):
    """Or nothing would compare it with the others before a kernel reads it."""
    kind = RECORDS[name]
    hints = typing.get_type_hints(kind.cls)
    assert hints.keys() >= kind.sizes.keys()
    for key in values.field_names(kind.cls):
        if "ndarray" in str(hints[key]):
            assert key in kind.sizes, key


@dataclass
class Patterned:
    """A state as there may be more of: by pattern, optional, of any dtype."""

    n: dict[tuple[int, ...], np.ndarray[Any, np.dtype[np.float64]]]  # (K,) each
    rows: list[np.ndarray[Any, np.dtype[np.float64]]]  # (m, p) each, m its own
    codes: np.ndarray[Any, np.dtype[np.int32]] | None = None  # (m,)
    note: Any = None


def patterned(**changes):
    held = {"n": {(0, 1): np.ones(2), (): np.zeros(2)}, "rows": [np.ones((4, 3)), np.ones((1, 3))]}
    return Patterned(**(held | changes))


@pytest.fixture
def joined(monkeypatch):
    """The one line by which a record joins."""
    kind = Kind(Patterned, {"n": "K", "rows": "m p", "codes": "c"})
    monkeypatch.setitem(schema._KINDS, Patterned, kind)
    monkeypatch.setitem(schema.CLASSES, "patterned", Patterned)


def test_a_record_of_dicts_and_lists_joins_by_one_line(joined):
    state = patterned(codes=np.arange(5, dtype=np.int32), note=("x", 1))
    loaded = through_a_file(state)
    check(loaded, {"K": 2, "p": 3})
    assert_identical(vars(loaded), vars(state))
    check(patterned(), {"K": 2, "p": 3})


@pytest.mark.parametrize(
    "changes",
    [
        {"n": {(0, 1): np.ones(3)}},
        {"n": {(0, 1): np.array([1.0, np.nan])}},
        {"n": {"a": np.ones(2)}},
        {"n": {(0, True): np.ones(2)}},
        {"n": [np.ones(2)]},
        {"n": {(): 3.0}},
        {"rows": [np.ones((4, 3)), np.ones((4, 2))]},
        {"rows": (np.ones((4, 3)),)},
        {"rows": [np.ones((4, 3), dtype=np.float32)]},
        {"codes": np.arange(5)},
        {"note": np.nan},
    ],
    ids=repr,
)
def test_a_record_of_dicts_and_lists_is_checked(joined, changes):
    with pytest.raises(ValueError, match=r"wrong type|has shape|contains NaN"):
        check(patterned(**changes), {"K": 2, "p": 3})


# ---- values --------------------------------------------------------------------------------------
DTYPES = st.sampled_from(["?", "i1", "<i8", "u4", "<f8", "f4", ">f8", "f2", "U3", "S5", "M8[D]", "m8[ns]"])
ARRAYS = DTYPES.flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0))
)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
VALUES = st.recursive(
    PLAIN | ARRAYS | DTYPES.flatmap(lambda d: hnp.arrays(d, (1,))).map(lambda a: a[0]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner, max_size=4)
    ),
)


def assert_identical(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, np.ndarray | np.generic):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tobytes() == b.tobytes()
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_identical(x, y)
    elif isinstance(a, dict):
        assert_identical(list(a.items()), list(b.items()))
    elif isinstance(a, float):
        assert math.isnan(a) == math.isnan(b)
        assert math.isnan(a) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    else:
        assert a == b


@given(value=VALUES)
def test_values_keep_their_types_and_bits(value):
    assert_identical(through_a_file(value), value)


@given(array=hnp.arrays("<f8", hnp.array_shapes(max_dims=4)), data=st.data())
def test_arrays_keep_how_they_lie_in_memory(array, data):
    turned = array.transpose(data.draw(st.permutations(range(array.ndim))))
    loaded = through_a_file(turned)
    assert_identical(loaded, turned)
    assert loaded.flags.writeable
    wide = [axis for axis in range(turned.ndim) if turned.shape[axis] > 1]
    assert [loaded.strides[axis] for axis in wide] == [turned.strides[axis] for axis in wide]


def test_arrays_are_npy_that_numpy_reads(tmp_path):
    model = fit(lk.GaussianNB(), problem())
    lk.save(model, tmp_path / "model.lk")
    with np.load(tmp_path / "model.lk", allow_pickle=False) as members:
        np.testing.assert_array_equal(members["model/params/mean"], model.theta_)
        np.testing.assert_array_equal(members["statistics/n"], model.class_count_)


def test_fields_that_came_later_have_their_defaults():
    """A file from before a class had a field still loads; one from after it does not, silently."""
    before = make_dataclass("Record", [("a", int)])

    @dataclass
    class After:
        a: int
        b: list[int] = field(default_factory=lambda: [7])

    old = values.encode(before(3), "x", {}, {"record": before})
    assert values.decode(old, {}.__getitem__, {"record": After}) == After(3, [7])
    new = values.encode(After(3), "x", {}, {"record": After})
    with pytest.raises(ValueError, match="has no field b"):
        values.decode(new, {}.__getitem__, {"record": before})


# ---- estimators ----------------------------------------------------------------------------------
def test_every_estimator_can_be_saved():
    lists = [*ESTIMATORS, *COUNTS, *REGRESSIONS, fit(LDA(), problem()).to_linear()]
    lists += [*MIXTURES, *DISCRIMINANTS]
    lists.append(lk.CategoricalNB())  # whose laws are in test_categorical.py
    # And in files of their own.
    lists += [lk.LogisticRegression(), lk.LogisticRegressionCV(), lk.LinearSVC(), lk.OnlineClassifier()]
    lists += [lk.Perceptron(), lk.SGDClassifier(), lk.TextClassifier()]
    assert {type(estimator).__name__ for estimator in lists} == set(saved_forms())


@every_estimator
@fewer
@given(data=PROBLEMS)
def test_a_loaded_classifier_answers_learns_and_merges_the_same(estimator, data):
    model = fit(estimator, data)
    loaded = bytes_again(model, statistics=True)
    assert_same_bits(loaded, model, data.X)
    assert list(shown(loaded)) == list(shown(model))
    assert loaded.classes_.dtype == model.classes_.dtype
    comparing.assert_same_bits(loaded._statistics, model._statistics)
    assert_same_bits(loaded.merge(loaded), model.merge(model), data.X)
    half = data[::2]
    assert_same_bits(loaded.partial_fit(half.X, half.y), model.partial_fit(half.X, half.y), data.X)
    assert_same_bits(clone(loaded).fit(half.X, half.y), clone(model).fit(half.X, half.y), data.X)


@may_be_degenerate
@every_estimator
@fewer
@given(data=PROBLEMS)
def test_a_classifier_without_statistics_answers_the_same(estimator, data):
    model = fit(estimator, data)
    loaded = bytes_again(model, statistics=False)
    kept = shown(loaded)
    assert shown(model).keys() - kept.keys() <= {"class_count_", "epsilon_"}
    for name, value in kept.items():
        np.testing.assert_array_equal(np.asarray(value), np.asarray(getattr(model, name)))
    for ask in ("predict", "predict_log_proba", "decision_function", "score_samples"):
        np.testing.assert_array_equal(getattr(loaded, ask)(data.X), getattr(model, ask)(data.X))
    with pytest.raises(ValueError, match="saved without them"):
        loaded.partial_fit(data.X, data.y)
    with pytest.raises(ValueError, match="saved without them"):
        loaded.merge(loaded)


@may_be_degenerate
@every_estimator
@pytest.mark.parametrize("K", [2, 12])
def test_models_derived_from_others_can_be_saved(estimator, K):
    """Their arrays lie otherwise in memory, and sums over them round otherwise: 12 classes show it."""
    data = problem(K=K, p=9, rows=60)
    model = fit(estimator, data)
    rest = [8, 3, 5, 0]
    for derived, X in [
        (model.marginal(rest), data.X[:, rest]),
        (model.condition({1: 2.0, 4: 3.0}), np.delete(data.X, [1, 4], axis=1)),
        (model.marginal(rest).marginal([2, 0]), data.X[:, [5, 8]]),
    ]:
        loaded = bytes_again(derived, statistics=True)
        assert_same_bits(loaded, derived, X)
        assert_same_bits(loaded.marginal([1, 0]), derived.marginal([1, 0]), X[:, [1, 0]])
        with pytest.raises(ValueError, match="keeps none"):
            loaded.merge(loaded)


@may_be_degenerate
@pytest.mark.parametrize("estimator", REGRESSIONS, ids=repr)
@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("q", [None, 2])
def test_a_loaded_regression_answers_learns_and_merges_the_same(estimator, statistics, q, again):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4)) + 1e4
    y = rng.standard_normal(50 if q is None else (50, q))
    if q is None and np.size(estimator.get_params().get("alpha", 1)) > 1:
        estimator = clone(estimator).set_params(alpha=0.5)
    X[:, 3] = X[:, 0]  # the rows leave something open
    model = clone(estimator).fit(X, y)
    loaded = again(model, statistics=statistics)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    for name, value in shown(loaded).items():
        assert_identical(value, getattr(model, name))
    if statistics:
        assert list(shown(loaded)) == list(shown(model))
        if not estimator.positive:
            assert str(loaded.summary()) == str(model.summary())
        both = loaded.merge(model), model.merge(loaded)
        np.testing.assert_array_equal(both[0].predict(X), both[1].predict(X))
        assert_identical(loaded.partial_fit(X[:9], y[:9]).coef_, model.partial_fit(X[:9], y[:9]).coef_)
    else:
        assert shown(model).keys() - shown(loaded).keys() <= {"singular_"}
        for refused in (lambda: loaded.partial_fit(X, y), lambda: loaded.merge(model), loaded.summary):
            with pytest.raises(ValueError, match="saved without them"):
                refused()
        clone(loaded).partial_fit(X, y)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("named", [True, False])
def test_weights_alone_can_be_saved(K, named, again):
    data = problem(K=K)
    X = pd.DataFrame(data.X, columns=list("abcd")) if named else data.X
    model = LDA().fit(X, data.y).to_linear()
    loaded = again(model)
    np.testing.assert_array_equal(loaded.predict_log_proba(X), model.predict_log_proba(X))
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert hasattr(loaded, "feature_names_in_") == named
    if named:
        assert list(loaded.feature_names_in_) == list("abcd")


# ---- classes, names, hyper-parameters ------------------------------------------------------------
MORE_LABELS = {
    "32 bit": np.array([1.0, 2.0], dtype=np.float32),
    "whole objects": np.array([3, 1, 2**70], dtype=object),
    "truths as objects": np.array([True, False], dtype=object),
    "words from elsewhere": np.array([np.str_("b"), np.str_("a")], dtype=object),
    "any letters": np.array(["ä", "𝔘", "", "\ud800", "a\0b"], dtype=object),
    "times": np.array([1, 2, 3], dtype="m8[ms]"),
    "long doubles": np.array([1, 2], dtype=np.longdouble),
}
LABELS = {name: labels for name, labels in (RAW_LABELS | MORE_LABELS).items() if name != "floats"}


@pytest.mark.parametrize("labels", LABELS.values(), ids=list(LABELS))
def test_labels_of_every_type_come_back(labels, again):
    data = problem(K=len(labels), names="numbers")
    model = lk.GaussianNB().fit(data.X, labels[data.y])
    loaded = again(model)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert list(map(type, loaded.classes_)) == list(map(type, model.classes_))
    np.testing.assert_array_equal(loaded.predict(data.X), model.predict(data.X))
    assert_same_bits(loaded.merge(model), model.merge(loaded), data.X)
    loaded.partial_fit(data.X, labels[data.y], classes=np.unique(labels))


@pytest.mark.parametrize("estimator", [lk.GaussianNB(), LDA("eigen"), QDA(), lk.Ridge()], ids=repr)
def test_column_names_come_back(estimator, again):
    data = problem(names="numbers")
    frame = pd.DataFrame(data.X, columns=["b", "a", "ä b", "../x"])
    loaded = again(clone(estimator).fit(frame, data.y))
    assert_identical(list(loaded.feature_names_in_), list(frame.columns))
    loaded.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["a", "b", "ä b", "../x"]])


PARAMS = [
    lk.GaussianNB(priors=[0.2, 0.3, 0.5], var_smoothing=np.float64(1e-3)),
    lk.GaussianNB(priors=np.array([0.2, 0.3, 0.5], dtype=np.float32)),
    LDA("lsqr", priors=(0.2, 0.3, 0.5), shrinkage=np.float32(0.5)),
    LDA("svd", priors=[0.2, 0.3, 0.5], n_components=1, store_covariance=True, tol=np.float64(1e-3)),
    QDA(priors=np.array([0.2, 0.3, 0.5])[::-1], store_covariance=True),
    lk.Ridge(alpha=np.int64(3), random_state=7),
    lk.LinearRegression(n_jobs=2, tol=0),
]


@pytest.mark.parametrize("estimator", PARAMS, ids=repr)
def test_hyper_parameters_come_back(estimator, again):
    data = problem(names="numbers")
    loaded = again(clone(estimator).fit(data.X, data.y))
    assert_identical(loaded.get_params(), estimator.get_params())


def test_a_class_not_seen_so_far_is_still_not_seen(again):
    data = problem(K=3, names="strings")
    some = Problem(data.X, data.y)[data.y != "class c"]
    model = lk.GaussianNB().partial_fit(some.X, some.y, classes=data.classes)
    loaded = again(model)
    assert_same_bits(loaded, model, data.X)
    even = np.full(3, 1 / 3)
    np.testing.assert_array_equal(loaded.predict_proba(data.X, even), model.predict_proba(data.X, even))
    assert_same_bits(
        loaded.partial_fit(data.X, data.y), model.partial_fit(data.X, data.y, data.classes), data.X
    )


# ---- files ---------------------------------------------------------------------------------------
def test_the_same_model_is_the_same_bytes(tmp_path):
    data = problem()
    for name in ("a.lk", "b.lk"):
        lk.save(fit(QDA(), data), tmp_path / name)
    assert (tmp_path / "a.lk").read_bytes() == (tmp_path / "b.lk").read_bytes()
    lk.save(lk.load(str(tmp_path / "a.lk")), str(tmp_path / "c.lk"))
    assert (tmp_path / "c.lk").read_bytes() == (tmp_path / "a.lk").read_bytes()


@pytest.mark.parametrize("statistics", [True, False])
def test_a_description_says_what_is_in_a_file(statistics, tmp_path):
    data = problem()
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    lk.save(
        lk.GaussianNB(priors=np.ones(3) / 3).fit(frame, data.y), tmp_path / "m.lk", statistics=statistics
    )
    found = describe(tmp_path / "m.lk")
    assert (found.estimator, found.likelier) == ("GaussianNB", lk.__version__)
    assert found.params["var_smoothing"] == 1e-9
    assert found.params["priors"].tolist() == [1 / 3] * 3
    assert found.classes.tolist() == data.classes.tolist()
    assert (found.n_features, found.feature_names) == (4, list("abcd"))
    assert (found.weight, found.statistics) == (len(data.y), statistics)
    assert found.header["version"] == format.VERSION


def test_a_description_of_lines_has_no_classes(tmp_path):
    data = problem(names="numbers")
    lk.save(lk.Ridge().fit(data.X, data.y, sample_weight=2 * np.ones(len(data.y))), tmp_path / "m.lk")
    found = describe(str(tmp_path / "m.lk"))
    assert (found.classes, found.n_features, found.weight) == (None, 4, 2.0 * len(data.y))


def test_describing_loads_no_estimators(tmp_path):
    lk.save(fit(lk.GaussianNB(), problem()), tmp_path / "m.lk")
    code = (
        "import sys; from likelier.saving.format import describe\n"
        f"print(describe({str(tmp_path / 'm.lk')!r}).estimator, 'sklearn' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said.split() == ["GaussianNB", "False"]
