"""Dicts, columns and sparse rows to hashed cells, against the same in plain Python."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

NO_KEYS = np.empty(0, dtype=np.uint64)  # columns go by number


def twin(core, x, prefix=""):
    """(key, value) of the features of a dict, in order."""
    for name, value in x.items():
        yield from feature(core, prefix + str(name), value)


def feature(core, name, value):
    if isinstance(value, bool | np.bool_):
        yield core.key_of(name, str(bool(value))), 1.0
    elif isinstance(value, str):
        yield core.key_of(name, value), 1.0
    elif isinstance(value, dict):
        yield from twin(core, value, name + ".")
    elif isinstance(value, list | tuple):
        for i, one in enumerate(value):
            yield from (
                feature(core, name, one) if isinstance(one, str) else feature(core, f"{name}.{i}", one)
            )
    elif value is not None and math.isfinite(value) and value != 0:
        yield core.key_of(name, None), float(value)


def intake(core, interactions=(), strict=False, balanced=False):
    return core.Intake([list(names) for names in interactions], strict, balanced)


def cells(core, rows):
    keys, values, starts, *_ = core.cells_of(rows)
    pairs = list(zip(keys.tolist(), values.tolist(), strict=True))
    return [pairs[a:b] for a, b in pairwise(starts)]


names = st.text(st.characters(codec="utf-8"), max_size=20) | st.integers(-5, 10**12)
numbers = st.floats() | st.integers(-(10**20), 10**20) | st.booleans()
plain = st.none() | numbers | st.text(st.characters(codec="utf-8"), max_size=20)
nested = st.recursive(
    plain, lambda of: st.lists(of, max_size=3) | st.dictionaries(names, of, max_size=3), max_leaves=6
)


@given(st.lists(st.dictionaries(names, nested, max_size=6), max_size=5))
def test_dicts_give_the_cells_of_their_twin(core, X):
    rows = intake(core).dicts(X, None, None)
    assert cells(core, rows) == [list(twin(core, x)) for x in X]


def test_numbers_of_numpy_and_what_pandas_has_for_none(core):
    pandas = pytest.importorskip("pandas")
    x = {
        "a": np.float32(0.5),
        "b": np.int8(-3),
        "c": np.bool_(True),
        "d": np.str_("w"),
        "e": np.uint64(2**63),
    }
    rows = intake(core).dicts([x | {"f": pandas.NA, "g": np.float16(2)}], None, None)
    same = {"a": 0.5, "b": -3, "c": True, "d": "w", "e": 2**63, "g": 2.0}
    assert cells(core, rows) == [list(twin(core, same))]


def test_cells_that_are_not_finite_are_counted(core):
    rows = intake(core).dicts([{"a": math.nan, "b": math.inf, "c": 10**400, "d": 1}], None, None)
    assert rows.skipped == 3
    assert rows.cells == 1


@pytest.mark.parametrize("value", [1j, b"x", object(), np.datetime64("2020-01-01"), {1, 2}, np.ones(2)])
def test_values_that_are_no_features_are_refused_by_name(core, value):
    with pytest.raises(TypeError, match=r"row 1: feature 'age'.*number, a string"):
        intake(core).dicts([{}, {"age": value}], None, None)


@pytest.mark.parametrize("key", [1.5, None, True, ("a",), b"a"])
def test_keys_that_are_no_names_are_refused(core, key):
    with pytest.raises(TypeError, match="a feature's name is a string or a whole number, not"):
        intake(core).dicts([{key: 1.0}], None, None)


@pytest.mark.parametrize("x", [[1.0], "a", None, np.ones(2)])
def test_rows_that_are_no_dicts_are_refused(core, x):
    with pytest.raises(TypeError, match="row 0: a row is a dict of features by name, not"):
        intake(core).dicts([x], None, None)


def test_strict_reading_names_the_feature(core):
    with pytest.raises(ValueError, match=r"row 1: feature 'a\.b' is nan"):
        intake(core, strict=True).dicts([{"a": 1}, {"a": {"b": math.nan}}], None, None)
    reader, column = intake(core, strict=True), core.Column.numbers("x", np.array([0.0, 1.0, -np.inf]))
    with pytest.raises(ValueError, match="row 2: feature 'x' is not a finite number"):
        reader.columns([column], 0, 3, None, None)
    starts, places, data = np.array([0, 0, 1], np.int32), np.array([7], np.int32), np.array([np.nan])
    with pytest.raises(ValueError, match="row 1: feature '7' is not a finite number"):
        reader.sparse(starts, places, data, NO_KEYS, [], 9, None, None)


def test_dicts_without_end_are_refused(core):
    x = {}
    x["again"] = x
    with pytest.raises(RecursionError):
        intake(core).dicts([x], None, None)


def test_lone_surrogates_are_refused(core):
    with pytest.raises(ValueError, match="lone surrogates"):
        intake(core).dicts([{"a": "\ud800"}], None, None)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"])
def test_columns_of_numbers_of_any_type_and_step(core, dtype):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    columns = [core.Column.numbers(name, X[:, j]) for j, name in enumerate("abc")]
    rows = intake(core).columns(columns, 1, 4, None, None)
    same = [dict(zip("abc", row, strict=True)) for row in X[1:].tolist()]
    assert cells(core, rows) == [list(twin(core, x)) for x in same]


def test_columns_of_words_are_those_of_dicts(core):
    words, there = (
        ["ä", "", "long words, longer than any register is wide", "b"],
        np.array([1, 1, 1, 0], bool),
    )
    text = "".join(words).encode()
    starts = np.cumsum([0, *(len(word.encode()) for word in words)])
    coded = core.Column.coded("c", np.array([1, -1, 0, 1], np.int32), ["no", "yes"])
    for kind in (np.int32, np.int64):
        column = core.Column.text("t", starts.astype(kind), np.frombuffer(text, np.uint8), there)
        objects = core.Column.objects("o", [1, None, "x", True], False)
        rows = intake(core).columns([column, coded, objects], 0, 4, None, None)
        same = [
            {"t": "ä", "c": "yes", "o": 1},
            {"t": ""},
            {"t": words[2], "c": "no", "o": "x"},
            {"c": "yes", "o": True},
        ]
        assert cells(core, rows) == [list(twin(core, x)) for x in same]


def test_columns_that_do_not_fit_are_refused(core):
    reader, column = intake(core), core.Column.numbers("x", np.ones(3))
    with pytest.raises(ValueError, match="a cell for each row"):
        reader.columns([column], 0, 4, None, None)
    with pytest.raises(ValueError, match="one for each row"):
        reader.columns([column], 0, 3, np.zeros(2, np.int32), None)
    with pytest.raises(ValueError, match="do not fit their text"):
        core.Column.text("t", np.array([0, 5], np.int32), np.zeros(3, np.uint8), None)
    with pytest.raises(ValueError, match="do not fit together"):
        reader.sparse(np.array([0, 1]), np.array([3]), np.ones(1), NO_KEYS, [], 3, None, None)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("p", [4, 1000])
def test_sparse_rows_are_dicts_of_numbers(core, index, p):
    starts, places = np.array([0, 2, 2, 4], index), np.array([0, 3, 1, 3], index)
    for data in (np.array([1.5, -2, 0, 4]), np.array([1.5, -2, 0, 4], np.float32)):
        codes, weights = np.array([0, -1, 2], np.int32), np.array([1.0, 2.0, 0.5])
        keys = core.column_keys([], p) if p < 100 else NO_KEYS
        rows = intake(core).sparse(starts, places, data, keys, [], p, codes, weights)
        same = [{"0": 1.5, "3": -2}, {}, {"3": 4}]
        assert cells(core, rows) == [list(twin(core, x)) for x in same]
        found = core.cells_of(rows)
        assert found[3].tolist() == codes.tolist()
        assert found[4].tolist() == weights.tolist()


def test_named_sparse_columns(core):
    starts, places = np.array([0, 2], np.int32), np.array([0, 2], np.int32)
    names = ["a", "b", "c"]
    keys = core.column_keys(names, 3)
    rows = intake(core).sparse(starts, places, np.array([1.0, 2.0]), keys, names, 3, None, None)
    assert cells(core, rows) == [list(twin(core, {"a": 1.0, "c": 2.0}))]


def test_crosses_are_products_of_what_is_there(core):
    rows = intake(core, [("user", "ad"), ("n", "ad")]).dicts(
        [{"user": "u", "ad": ["a", "b"], "n": 2.0}, {"user": "u"}], None, None
    )
    first, second = cells(core, rows)
    assert [value for _, value in first] == [1, 1, 1, 2, 1, 1, 2, 2]
    assert len({key for key, _ in first}) == 8
    assert second == list(twin(core, {"user": "u"}))
    with pytest.raises(ValueError, match="two fields or more"):
        intake(core, [("user",)])


def test_one_row_is_learned_as_many_are(core):
    rng = np.random.default_rng(0)
    X = [
        {"a": float(rng.normal()), "w": str(rng.integers(9)), "b": bool(rng.integers(2))} for _ in range(50)
    ]
    codes, weights = rng.integers(0, 3, 50).astype(np.int32), rng.uniform(0, 2, 50)
    one, many = (intake(core, [("w", "b")]) for _ in range(2))
    by_one, by_many = (core.Learner(bits=8) for _ in range(2))
    for x, code, weight in zip(X, codes.tolist(), weights.tolist(), strict=True):
        one.learn_one(by_one, x, code, weight)
    rows = many.dicts(X, codes, weights)
    many.weigh(rows)
    many.judge(rows, by_many.learn(rows))
    assert one.mistakes == many.mistakes > 0
    np.testing.assert_array_equal(one.counts, many.counts)
    a, b = by_one.state(), by_many.state()
    assert a.keys() == b.keys()
    assert all(np.asarray(a[key]).tobytes() == np.asarray(b[key]).tobytes() for key in a)
    P = by_many.predict(many.dicts(X, None, None))
    assert [one.predict_proba_one(by_one, x) for x in X] == P.tolist()
    assert [one.predict_one(by_one, x) for x in X] == P.argmax(axis=1).tolist()


def test_balanced_rows_weigh_by_how_often_their_class_came(core):
    reader = intake(core, balanced=True)
    rows = reader.dicts([{}] * 4, np.array([0, 0, 1, -1], np.int32), np.array([1.0, 1.0, 2.0, 1.0]))
    reader.weigh(rows)
    assert core.cells_of(rows)[4].tolist() == [1.0, 1.0, 2 * 4 / (2 * 2), 1.0]
    assert reader.counts == [2, 2]


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_one_row_has_a_weight_that_is_one(core, weight):
    reader, learner = intake(core), core.Learner(bits=4)
    with pytest.raises(ValueError, match="sample_weight"):
        reader.learn_one(learner, {"a": 1}, 0, weight)
    assert learner.counters["steps"] == 0
    assert reader.counts == []


def test_a_class_that_there_is_no_room_for_is_not_counted(core):
    intake, learner = core.Intake([], False, False), core.Learner(bits=22)
    with pytest.raises(ValueError, match="use fewer bits, or fewer classes"):
        intake.learn_one(learner, {"a": 1.0}, 5000, 1.0)
    assert (intake.counts, learner.K) == ([], 0)
