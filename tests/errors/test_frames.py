"""Frames: of any library the same numbers, read where they lie; columns that are not numbers, by name."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import likelier as lk
from errors.conftest import X, Y
from likelier.data import Columns, Factor, frames

NAMES = ["a", "b", "c"]
TODAY = datetime.date(2020, 2, 29)


def table(columns):
    return {name: columns[:, j] for j, name in enumerate(NAMES)}


def in_pieces(columns):
    """An Arrow table whose columns are in chunks of different lengths."""
    return pa.concat_tables([pa.table(table(columns[:7])), pa.table(table(columns[7:]))])


FRAMES = {
    "pandas, one block": lambda t: pd.DataFrame(t, columns=NAMES),
    "pandas, Fortran order": lambda t: pd.DataFrame(np.asfortranarray(t), columns=NAMES),
    "pandas, columns": lambda t: pd.DataFrame({k: v.copy() for k, v in table(t).items()}),
    "pandas, rows chosen": lambda t: pd.DataFrame(np.repeat(t, 2, axis=0), columns=NAMES)[::2],
    "pandas, another index": lambda t: pd.DataFrame(t, columns=NAMES, index=np.arange(len(t))[::-1]),
    "pandas, nullable": lambda t: pd.DataFrame(t, columns=NAMES).astype("Float64"),
    "pandas, nullable integers": lambda t: pd.DataFrame(t, columns=NAMES).astype("Int16"),
    "pandas, Arrow": lambda t: pd.DataFrame(t, columns=NAMES).astype("double[pyarrow]"),
    "pandas, sparse": lambda t: pd.DataFrame(t, columns=NAMES).astype(pd.SparseDtype(float, 0.0)),
    "pandas, objects": lambda t: pd.DataFrame(t, columns=NAMES, dtype=object),
    "pandas, mixed": lambda t: pd.DataFrame(t, columns=NAMES).astype({"a": "f4", "b": "u1", "c": "f2"}),
    "pandas, big endian": lambda t: pd.DataFrame(t.astype(">f8"), columns=NAMES),
    "polars": lambda t: pl.DataFrame(t, schema=NAMES),
    "polars, mixed": lambda t: pl.DataFrame(
        t, schema={"a": pl.Int8, "b": pl.Float32, "c": pl.UInt64}, strict=False
    ),
    "polars, wide": lambda t: pl.DataFrame(t, schema=NAMES).cast({"a": pl.Int128, "b": pl.Decimal(10, 2)}),
    "polars, in pieces": lambda t: pl.concat(
        [pl.DataFrame(t[:7], schema=NAMES), pl.DataFrame(t[7:], schema=NAMES)], rechunk=False
    ),
    "Arrow": lambda t: pa.table(table(t)),
    "Arrow, in pieces": in_pieces,
    "Arrow, a batch": lambda t: pa.RecordBatch.from_pydict(table(t)),
    "Arrow, a slice": lambda t: pa.table(table(np.vstack([t, t]))).slice(len(t)),
}
every_frame = pytest.mark.parametrize("kind", FRAMES)


@every_frame
def test_a_frame_gives_the_answers_of_its_array(model, kind):
    plain, framed = clone(model).fit(X, Y), clone(model).fit(FRAMES[kind](X), Y)
    assert list(framed.feature_names_in_) == NAMES
    assert all(type(name) is str for name in framed.feature_names_in_)
    for answer in ("predict", "predict_log_proba", "score_samples"):
        ours = getattr(framed, answer)(FRAMES[kind](X))
        assert type(ours) is np.ndarray
        np.testing.assert_array_equal(ours, getattr(plain, answer)(X))
        np.testing.assert_array_equal(getattr(framed, answer)(FRAMES[kind](X[:1])), ours[:1])


@every_frame
def test_so_do_regressions_and_what_numpy_computes(kind):
    y = X @ [1.0, -2.0, 0.5] + Y
    framed = lk.LinearRegression().fit(FRAMES[kind](X), y)
    np.testing.assert_array_equal(framed.coef_, lk.LinearRegression().fit(X, y).coef_)
    np.testing.assert_array_equal(framed.predict(FRAMES[kind](X)), framed.predict(FRAMES["polars"](X)))
    lda = lk.LinearDiscriminantAnalysis().fit(FRAMES[kind](X), Y)
    plain = lk.LinearDiscriminantAnalysis().fit(X, Y)
    for ours, theirs in zip(lda.contributions(FRAMES[kind](X)), plain.contributions(X), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@every_frame
def test_batches_of_a_frame_are_the_frame(model, kind):
    whole = clone(model).fit(FRAMES[kind](X), Y)
    for rows in (slice(0, 25), slice(25, 60)):
        model.partial_fit(FRAMES[kind](X[rows]), Y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(model.predict_log_proba(X_named()), whole.predict_log_proba(X_named()))


def X_named():
    return FRAMES["polars"](X)


@pytest.mark.parametrize(
    "kind", ["pandas, one block", "pandas, Fortran order", "pandas, columns", "polars", "Arrow"]
)
def test_numbers_are_read_where_they_lie(kind):
    first, again = (frames.columns(frames.frame(made)) for made in [FRAMES[kind](X)] * 2)
    assert isinstance(first, Columns)
    for one, other in zip(first.arrays, again.arrays, strict=True):
        assert np.shares_memory(one, other)


def test_truth_values_and_missing_ones():
    found = frames.columns(
        frames.frame(
            pl.DataFrame(
                {
                    "truth": [True, False, None],
                    "whole": [1, None, 3],
                    "NaN and null": [float("nan"), None, 2.0],
                    "money": [Decimal("1.50"), None, Decimal("2")],
                    "nothing": [None, None, None],
                }
            )
        )
    )
    expected = [[1, 1, np.nan, 1.5, np.nan], [0, np.nan, np.nan, np.nan, np.nan], [np.nan, 3, 2, 2, np.nan]]
    np.testing.assert_array_equal(found.to_array(), expected)


MISSING = {
    "pandas": lambda: pd.DataFrame(X, columns=NAMES).assign(b=pd.Series([1.0, np.nan] * 30)),
    "pandas NA": lambda: pd.DataFrame(X, columns=NAMES).assign(b=pd.array([1, None] * 30, dtype="Int64")),
    "pandas truth": lambda: pd.DataFrame(X, columns=NAMES).assign(
        b=pd.array([True, None] * 30, dtype="boolean")
    ),
    "pandas Arrow": lambda: pd.DataFrame(X, columns=NAMES).assign(
        b=pd.array([1, None] * 30, dtype="int64[pyarrow]")
    ),
    "pandas objects": lambda: pd.DataFrame(X, columns=NAMES).assign(
        b=pd.Series([1, None] * 30, dtype=object)
    ),
    "pandas nothing": lambda: pd.DataFrame(X, columns=NAMES).assign(b=pd.Series([None] * 60, dtype=object)),
    "polars null": lambda: pl.DataFrame(X, schema=NAMES).with_columns(b=pl.Series([1, None] * 30)),
    "polars NaN": lambda: pl.DataFrame(X, schema=NAMES).with_columns(b=pl.Series([1.0, np.nan] * 30)),
    "Arrow null": lambda: pa.table({"a": X[:, 0], "b": [1, None] * 30, "c": X[:, 2]}),
    "Arrow nothing": lambda: pa.table({"a": X[:, 0], "b": pa.nulls(60), "c": X[:, 2]}),
}


@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_number_is_NaN_and_named(kind):
    made = MISSING[kind]()
    found = frames.columns(frames.frame(made)).to_array()
    assert np.isnan(found[1::2, 1]).all()
    assert not np.isnan(found[:, [0, 2]]).any()
    with pytest.raises(ValueError, match=r"NaN.*column 1 \('b'\)"):
        lk.LinearRegression(encode=False).fit(made, Y)  # which has no use for it


@pytest.mark.parametrize("kind", ["pandas, one block", "polars", "Arrow", "Arrow, in pieces"])
def test_an_infinite_cell_of_many_rows_is_named(model, kind):
    rng = np.random.default_rng(0)
    large, y = rng.normal(size=(400_000, 3)), rng.integers(0, 3, 400_000)  # more than one part
    large[350_001, 2] = np.inf
    with pytest.raises(ValueError, match=r"infinity.*row 350001, column 2 \('c'\)"):
        model.fit(FRAMES[kind](large), y)


# ---- columns that are not numbers ------------------------------------------------------------------
def pandas_with(values):
    return pd.DataFrame(X, columns=NAMES).assign(b=values)


def polars_with(values):
    return pl.DataFrame(X, schema=NAMES).with_columns(b=values)


REFUSED = {
    "text": (pandas_with(["u", "v"] * 30), "'b' .*such as 'u'.*DesignMatrix"),
    "text in objects": (pandas_with(pd.Series(["u", None] * 30, dtype=object)), "'b' .*such as 'u'"),
    "numbers as text": (pandas_with(["1", "2"] * 30), "'b' .*such as '1'"),
    "categories": (pandas_with(pd.Categorical(["u", "v"] * 30)), r"'b' \(category, such as 'u'"),
    "polars text": (polars_with(pl.Series(["u", None] * 30)), r"'b' \(String, such as 'u'"),
    "polars enum": (polars_with(pl.Series(["u", "v"] * 30, dtype=pl.Enum(["v", "u"]))), r"'b' \(Enum"),
    "Arrow dictionary": (
        pa.table({"a": X[:, 0], "b": pa.array(["u", "v"] * 30).dictionary_encode(), "c": X[:, 2]}),
        r"'b' \(dictionary.*such as 'u'",
    ),
    "dates": (pandas_with(pd.date_range("2020", periods=60)), r"'b' \(datetime64.*days"),
    "durations": (pandas_with(pd.to_timedelta(np.arange(60), unit="s")), r"'b' \(timedelta64.*days"),
    "dates in objects": (pandas_with([TODAY] * 60), r"'b' \(object of date, such as datetime.date"),
    "polars dates": (polars_with(pl.Series([TODAY] * 60)), r"'b' \(Date, such as .*days"),
    "periods": (pandas_with(pd.period_range("2020", periods=60, freq="D")), r"'b' \(period"),
    "lists": (polars_with(pl.Series([[1, 2]] * 60)), r"'b' \(List.*\[1, 2\].*each part"),
    "structs": (polars_with(pl.Series([{"x": 1}] * 60)), r"'b' \(Struct.*each part"),
    "lists in objects": (pandas_with(pd.Series([[1]] * 60)), r"'b' \(object of list, such as \[1\]"),
    "numbers and text": (pandas_with([1, "two"] * 30), r"'b' \(object of int and str, such as 'two'"),
    "complex": (pandas_with(np.full(60, 1j)), r"'b' \(complex128"),
    "bytes": (polars_with(pl.Series([b"u"] * 60)), r"'b' \(Binary"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_column_that_is_not_numbers_is_refused_by_name(watched, kind):
    model, watch = watched
    made, message = REFUSED[kind]
    check = watch(FRAMES["pandas, one block"](X))
    with pytest.raises(ValueError, match=f"(?s)columns that are not numbers: {message}"):
        model.fit(made, Y)
    check()
    model.fit(FRAMES["polars"](X), Y)
    with pytest.raises(ValueError, match=f"(?s)columns that are not numbers: {message}"):
        model.predict(made)


def test_all_of_them_are_named_in_one_message():
    made = pl.DataFrame({"x": [1.0, 2.0], "s": ["u", "v"], "d": [TODAY] * 2, "l": [[1], [2]]})
    with pytest.raises(
        ValueError, match=r"'s' .*'d' .*'l' .*DesignMatrix.*; .*days.*; .*nested"
    ) as refused:
        lk.GaussianNB().fit(made, [0, 1])
    assert "'x'" not in str(refused.value)


def test_rows_that_are_not_there_yet_are_refused():
    with pytest.raises(TypeError, match=r"LazyFrame.*collect it first"):
        lk.GaussianNB().fit(pl.LazyFrame(table(X)), Y)


@pytest.mark.parametrize(
    "made", [pd.Series(X[:, 0]), pl.Series(X[:, 0]), pa.chunked_array([X[:, 0]])], ids=type
)
def test_a_series_is_no_table(model, made):
    with pytest.raises(ValueError, match=r"2D array, got 1D|2-dimensional container"):
        model.fit(made, Y)


EMPTY = {
    "no rows": (FRAMES["pandas, one block"](X[:0]), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
    "no rows, polars": (FRAMES["polars"](X[:0]), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
    "no rows, Arrow": (FRAMES["Arrow"](X[:0]), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
    "no columns": (pd.DataFrame(index=range(60)), r"0 feature\(s\) \(shape=\(60, 0\)\)"),
    "nothing": (pl.DataFrame(), r"0 sample\(s\)"),
}


@pytest.mark.parametrize("what", EMPTY)
def test_an_empty_frame_is_refused(model, what):
    made, message = EMPTY[what]
    with pytest.raises(ValueError, match=message):
        model.fit(made, Y[: len(made)])


def test_a_frame_of_one_column():
    for made in (pd.DataFrame({"a": X[:, 0]}), pl.DataFrame({"a": X[:, 0]}), pa.table({"a": X[:, 0]})):
        model = lk.GaussianNB().fit(made, Y)
        np.testing.assert_array_equal(model.theta_, lk.GaussianNB().fit(X[:, :1], Y).theta_)


# ---- names -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["pandas, one block", "polars", "Arrow", "Arrow, a batch"])
def test_columns_must_be_those_of_the_fit(model, kind):
    made = FRAMES[kind](X)
    model.fit(made, Y)

    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "Arrow": pa.table}[kind.partition(",")[0]]

    def with_columns(*names):
        return make({name: X[:, j] for j, name in enumerate(names)})

    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- z\n.*now missing:\n- c"):
        model.predict(with_columns("a", "b", "z"))
    with pytest.raises(ValueError, match=r"(?s)now missing:\n- c"):
        model.predict(with_columns("a", "b"))
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.predict(with_columns("b", "a", "c"))
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.partial_fit(with_columns("b", "a", "c"), Y)


@pytest.mark.parametrize(
    ("fitted", "asked"), [("pandas, one block", "Arrow, a batch"), ("Arrow", "polars")]
)
def test_one_library_may_fit_and_another_ask(model, fitted, asked):
    model.fit(FRAMES[fitted](X), Y)
    np.testing.assert_array_equal(model.predict(FRAMES[asked](X)), clone(model).fit(X, Y).predict(X))


def test_names_are_strings_or_none_are_kept(model):
    model.fit(pd.DataFrame(X), Y)
    assert not hasattr(model, "feature_names_in_")
    model.predict(pd.DataFrame(X))
    with pytest.raises(TypeError, match="Feature names are only supported if all"):
        model.fit(pd.DataFrame(X, columns=["a", 1, "c"]), Y)


@pytest.mark.parametrize(
    "made",
    [
        pd.DataFrame(X, columns=["a", "b", "a"]),
        pa.Table.from_arrays(list(X.T.copy()), names=["a", "b", "a"]),
    ],
    ids=["pandas", "Arrow"],
)
def test_two_columns_of_one_name_are_refused(model, made):
    with pytest.raises(ValueError, match=r"(?s)several columns of one name.*'a'"):
        model.fit(made, Y)


# ---- y and weights ---------------------------------------------------------------------------------
WORDS = np.array(["ash", "birch", "cedar"], dtype=object)[Y]
LABELS = {
    "pandas": (pd.Series(Y), Y),
    "pandas nullable": (pd.Series(Y, dtype="Int64"), Y),
    "pandas Arrow": (pd.Series(Y, dtype="int64[pyarrow]"), Y),
    "pandas text": (pd.Series(WORDS), WORDS),
    "pandas Arrow text": (pd.Series(WORDS, dtype="string[pyarrow]"), WORDS),
    "pandas categories": (
        pd.Series(pd.Categorical(WORDS, categories=["oak", "cedar", "birch", "ash"])),
        WORDS,
    ),
    "pandas categories of numbers": (pd.Series(pd.Categorical(Y)), Y),
    "pandas truth": (pd.Series(Y > 0, dtype="boolean"), Y > 0),
    "polars": (pl.Series(Y), Y),
    "polars text": (pl.Series(WORDS.tolist()), WORDS),
    "polars categories": (pl.Series(WORDS.tolist(), dtype=pl.Categorical), WORDS),
    "polars enum": (pl.Series(WORDS.tolist(), dtype=pl.Enum(["cedar", "birch", "ash"])), WORDS),
    "Arrow": (pa.array(Y), Y),
    "Arrow in pieces": (pa.chunked_array([Y[:9], Y[9:]]), Y),
    "Arrow text": (pa.array(WORDS), WORDS),
    "Arrow dictionary": (pa.array(WORDS).dictionary_encode(), WORDS),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_library_are_plain_labels(model, kind):
    y, plain = LABELS[kind]
    model.fit(X_named(), y)
    expected = clone(model).fit(X_named(), plain)
    assert type(model.classes_) is np.ndarray
    assert model.classes_.dtype.kind in {"i": "i", "b": "b", "O": "OU"}[expected.classes_.dtype.kind]
    assert {type(label) for label in model.classes_.tolist()} == {type(label) for label in plain.tolist()}
    np.testing.assert_array_equal(model.classes_, expected.classes_)
    np.testing.assert_array_equal(model.predict_proba(X_named()), expected.predict_proba(X_named()))


UNLABELLED = {
    "pandas nullable": pd.Series([None, *Y[1:]], dtype="Int64"),
    "pandas categories": pd.Series(pd.Categorical([None, *WORDS[1:]])),
    "pandas text": pd.Series([None, *WORDS[1:]]),
    "polars": pl.Series([None, *Y[1:].tolist()]),
    "polars categories": pl.Series([None, *WORDS[1:]], dtype=pl.Categorical),
    "Arrow": pa.array([None, *Y[1:].tolist()]),
    "Arrow dictionary": pa.array([None, *WORDS[1:]]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", UNLABELLED)
def test_a_missing_label_is_refused(model, kind):
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(X_named(), UNLABELLED[kind])


@pytest.mark.parametrize("make", [pd.Series, pl.Series, pa.array, lambda w: pd.Series(w, dtype="Int64")])
def test_weights_of_any_library(model, make):
    w = np.arange(60) % 4
    ours, theirs = clone(model).fit(X, Y, make(w)), model.fit(X, Y, w)
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))


@pytest.mark.parametrize("make", [pd.Series, pl.Series, pa.array, lambda y: pd.Series(y, dtype="Float64")])
def test_real_targets_of_any_library(make):
    y = X @ [1.0, -2.0, 0.5] + Y
    np.testing.assert_array_equal(lk.Ridge().fit(X, make(y)).coef_, lk.Ridge().fit(X, y).coef_)


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, lambda Y: pa.table({"p": Y[:, 0], "q": Y[:, 1]})]
)
def test_several_targets_of_any_library(make):
    targets = X[:, :2] * [1.0, -2.0] + Y[:, None]
    np.testing.assert_array_equal(lk.Ridge().fit(X, make(targets)).coef_, lk.Ridge().fit(X, targets).coef_)


# ---- categories, for models that can use them ------------------------------------------------------
VALUES = ["u", None, "w", "v", "u"]
CATEGORIES = {
    "pandas text": pd.DataFrame({"b": VALUES}),
    "pandas objects": pd.DataFrame({"b": pd.Series(VALUES, dtype=object)}),
    "pandas categories": pd.DataFrame({"b": pd.Categorical(VALUES, categories=["z", "w", "v", "u"])}),
    "polars text": pl.DataFrame({"b": VALUES}),
    "polars categories": pl.DataFrame({"b": pl.Series(VALUES, dtype=pl.Categorical)}),
    "polars enum": pl.DataFrame({"b": pl.Series(VALUES, dtype=pl.Enum(["z", "w", "v", "u"]))}),
    "Arrow text": pa.table({"b": VALUES}),
    "Arrow dictionary": pa.table({"b": pa.array(VALUES).dictionary_encode()}),
    "Arrow, in pieces": pa.table(
        {"b": pa.chunked_array([pa.array(v).dictionary_encode() for v in (VALUES[:3], VALUES[3:])])}
    ),
}


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_are_coded_by_given_levels(kind):
    """-1 where missing; an unknown one has the code after the last."""
    found = frames.columns(frames.frame(CATEGORIES[kind]), categories=True)
    (factor,) = found.arrays
    assert isinstance(factor, Factor)
    np.testing.assert_array_equal(factor.used(), np.array(["u", "v", "w"], dtype=object))
    for given, codes in [
        (["u", "v", "w"], [0, -1, 2, 1, 0]),
        (["a", "w"], [2, -1, 1, 2, 2]),
        ([1, 2], [2, -1, 2, 2, 2]),
        ([], [0, -1, 0, 0, 0]),
    ]:
        levels = {0: np.array(given, dtype=object)}
        coded = found.coded(levels)
        assert coded.arrays[0].codes.dtype == np.int32
        np.testing.assert_array_equal(coded.rows(0, 5).arrays[0].codes, codes)
        np.testing.assert_array_equal(coded.gappy(), np.array(codes) < 0)
        np.testing.assert_array_equal(coded.to_array()[:, 0], [np.nan if one < 0 else one for one in codes])
        np.testing.assert_array_equal(found.rows(2, 4).coded(levels).arrays[0].codes, codes[2:4])


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
@pytest.mark.parametrize(
    "rows", [1, 3, 400]
)  # a few cells are copied at once, more are read where they lie
def test_frames_of_any_height_hold_the_same_numbers(rows):
    rng = np.random.default_rng(0)
    columns = {
        "float": rng.normal(size=rows),
        "single": rng.normal(size=rows).astype(np.float32),
        "whole": rng.integers(-5, 5, rows),
        "large": rng.integers(0, 2**63, rows).astype(np.uint64),
        "short": rng.integers(0, 100, rows).astype(np.int8),
    }
    frames = [
        pd.DataFrame(columns),
        pd.DataFrame(columns).assign(truth=rng.random(rows) < 0.5),
        pd.DataFrame({"a": columns["float"], "b": pd.array([1, None] * rows, dtype="Int64")[:rows]}),
        pd.DataFrame(columns).astype(np.float32),
        pd.DataFrame(rng.random((rows, 3)) < 0.5, columns=["a", "b", "c"]),
    ]
    for frame in frames:
        model = lk.GaussianNB().fit(
            pd.concat([frame] * (1 + 4 // rows)), np.arange(rows * (1 + 4 // rows)) % 2
        )
        one_by_one = np.vstack([model.predict_log_proba(frame.iloc[[i]]) for i in range(min(rows, 5))])
        as_floats = model.predict_log_proba(
            pd.DataFrame({name: frame[name].astype(float) for name in frame}).astype(float)
        )
        np.testing.assert_array_equal(one_by_one, as_floats[:5])
        np.testing.assert_array_equal(model.predict_log_proba(frame), as_floats)
