"""The laws of a source of files: however a table is cut into files, its rows come out the same."""

import gzip
import json
import pickle
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import likelier as lk
from laws.generators import SEEDS
from laws.parts import parts_of
from likelier.data.files.base import ahead

fewer = settings(max_examples=max(20, settings.default.max_examples // 2))
may_be_degenerate = pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")

MODELS = [lk.GaussianNB(), lk.LinearDiscriminantAnalysis(), lk.QuadraticDiscriminantAnalysis()]
LINES = [lk.LinearRegression(), lk.Ridge(alpha=0.5)]
every_model = pytest.mark.parametrize("model", [*MODELS, *LINES], ids=repr)
FORMATS = ["parquet", "csv", "tsv", "csv.gz", "jsonl"]
every_format = pytest.mark.parametrize("ending", FORMATS)
MISSING = 1 << 40


@contextmanager
def pieces_of(size: int) -> Iterator[None]:
    """Files are read in parts of `size` bytes of X, CSV in pieces and blocks of so much text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likelier.data.files.scan.PART_BYTES", size)
        patch.setattr("likelier.data.files.scan.BLOCK_BYTES", size)
        patch.setattr("likelier.data.files.csv.UNIT", size)
        patch.setattr("likelier.data.files.base.UNIT", size)
        patch.setattr("likelier.data.files.csv.CELL_BYTES", 40)
        yield


def write(folder: Path, table: pa.Table, cuts: list[int], ending: str, group: int = 1 << 20) -> str:
    """The table cut into files; the glob that finds them."""
    ends = [0, *sorted(cuts), len(table)]
    for i, (start, stop) in enumerate(pairwise(ends)):
        some, path = table.slice(start, stop - start), folder / f"part-{i:03d}.{ending}"
        if ending == "parquet":
            pq.write_table(some, path, row_group_size=group)
            continue
        plain = path.with_suffix("") if ending.endswith("gz") else path
        options = pyarrow.csv.WriteOptions(delimiter="\t" if ending == "tsv" else ",")
        if ending.startswith("jsonl"):
            plain.write_text("".join(json.dumps(row, default=float) + "\n" for row in some.to_pylist()))
        else:
            pyarrow.csv.write_csv(some, plain, options)
        if plain != path:
            path.write_bytes(gzip.compress(plain.read_bytes()))
            plain.unlink()
    return str(folder / f"*.{ending}")


def problem(n: int, seed: int = 0, p: int = 3) -> pa.Table:
    """Three classes, weights, a target of numbers."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % 3)
    X = rng.normal(size=(n, p)) * [1.0, 100.0, 0.1][:p] + codes[:, None]
    columns = {f"x{j}": X[:, j] for j in range(p)}
    labels = np.array(["red", "green", "a long name"])[codes]
    r = X.sum(axis=1) + rng.normal(size=n)
    return pa.table(columns | {"colour": labels, "w": rng.integers(0, 4, n) / 2, "r": r, "id": labels})


FEATURES = ["x0", "x1", "x2"]


def arrays(table: pa.Table, model: lk.GaussianNB) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    y = table[target_of(model)].to_numpy()
    X = np.column_stack([table[name].to_numpy() for name in FEATURES])
    return X, y.astype(str) if y.dtype == object else y, table["w"].to_numpy()


def target_of(model: lk.GaussianNB) -> str:
    return "colour" if hasattr(model, "predict_proba") else "r"


def parameters(model: lk.GaussianNB) -> list[np.ndarray]:
    if not hasattr(model, "predict_proba"):
        return [model.coef_, model.intercept_]
    params = model._model.params
    return [params.mean, getattr(params, "cov", getattr(params, "var", None)), model._model.prior]


# ---- rows ----------------------------------------------------------------------------------------
TYPES = [pa.float64(), pa.float32(), pa.int8(), pa.int64(), pa.uint16(), pa.bool_(), pa.decimal128(9, 2)]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Columns of numbers of all kinds, some missing; whole labels; weights."""
    n = draw(st.integers(1, 50))
    rng = np.random.default_rng(draw(SEEDS))
    columns = {}
    for j, kind in enumerate(draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4))):
        some = rng.integers(0, 2 if kind == pa.bool_() else 100, n)
        missing = rng.random(n) < draw(st.sampled_from([0.0, 0.3, 1.0]))
        columns[f"x{j}"] = pa.array(some.astype(float), mask=missing).cast(kind)
    return pa.table(columns | {"y": rng.integers(0, 3, n), "w": rng.random(n)})


@fewer
@given(data=st.data(), table=tables(), size=st.integers(1, 2000), group=st.integers(1, 60))
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_any_cut_gives_the_same_rows_in_order(ending, data, table, size, group):
    n = len(table)
    cuts = data.draw(st.lists(st.integers(0, n), max_size=4))
    names = [name for name in table.column_names if name.startswith("x")]
    X = np.column_stack([table[name].cast(pa.float64()).to_numpy(zero_copy_only=False) for name in names])
    with tempfile.TemporaryDirectory() as folder, pieces_of(size):
        source = lk.scan(write(Path(folder), table, cuts, ending, group), target="y", weight="w")
        assert source.names.tolist() == names
        assert source.rows in (n, None)
        chunks = [chunk for part in source.parts(0) for chunk in pickle.loads(pickle.dumps(part))()]
    np.testing.assert_array_equal(np.vstack([chunk.X.to_array() for chunk in chunks]), X)
    np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), table["y"].to_numpy())
    np.testing.assert_array_equal(np.concatenate([chunk.w for chunk in chunks]), table["w"].to_numpy())
    lengths = [chunk.X.shape[0] for chunk in chunks]
    firsts = np.array([chunk.first for chunk in chunks])
    before = np.cumsum([0, *lengths])[:-1]
    if ending == "parquet":
        np.testing.assert_array_equal(firsts, before)
    else:
        ends = np.array([0, *sorted(cuts)])
        np.testing.assert_array_equal(firsts % MISSING, before - ends[firsts // MISSING])


@given(rows=st.lists(st.integers(1, 40), min_size=1, max_size=12), size=st.integers(1, 600))
@settings(max_examples=20)
def test_parquet_parts_are_whole_row_groups_and_chunks_are_small(rows, size):
    with tempfile.TemporaryDirectory() as folder, pieces_of(size):
        path = Path(folder) / "t.parquet"
        with pq.ParquetWriter(path, pa.schema([("x", pa.float64())])) as file:
            for n in rows:
                file.write_table(pa.table({"x": np.zeros(n)}), row_group_size=n)
        least = max(1, size // 8)
        parts = [[chunk.X.shape[0] for chunk in part()] for part in lk.scan(path).parts(0)]
    ends = np.cumsum([sum(part) for part in parts])
    assert set(ends) <= set(np.cumsum(rows))
    assert all(sum(part) >= least for part in parts[:-1])
    assert all(n <= least for part in parts for n in part)


def test_memory_does_not_grow_with_a_row_group(tmp_path):
    names = ["a", "b", "c"]
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.normal(size=700_000) for name in names})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=700_000)
    whole = table.nbytes
    del table
    held = []
    with pieces_of(1 << 16):
        before = pa.total_allocated_bytes()
        for chunk in (chunk for part in lk.scan(tmp_path).parts(0) for chunk in part()):
            held.append(pa.total_allocated_bytes() - before)
            assert chunk.X.row_bytes * chunk.X.shape[0] <= 1 << 16
    assert len(held) > 200
    assert max(held) < whole / 2


def test_an_item_is_fetched_while_the_one_before_is_in_use():
    fetched = [threading.Event() for _ in range(3)]

    def items():
        for event in fetched:
            event.set()
            yield event
        raise ValueError("no more")

    coming = ahead(items())
    for i in range(2):
        assert next(coming) is fetched[i]
        assert fetched[i + 1].wait(timeout=10)
    assert next(coming) is fetched[2]
    with pytest.raises(ValueError, match="no more"):
        next(coming)
    assert list(ahead(iter(range(5)))) == [0, 1, 2, 3, 4]


@every_format
def test_a_larger_state_makes_larger_parts_and_nothing_else_does(tmp_path, ending, monkeypatch):
    source = lk.scan(write(tmp_path, problem(2000), [500], ending, 50), target="r", features=FEATURES)
    with pieces_of(2400):
        cut = [sum(1 for _ in part()) for part in source.parts(0)]
        monkeypatch.setenv("LIKELIER_THREADS", "7")
        assert [sum(1 for _ in part()) for part in source.parts(0)] == cut
        larger = [sum(1 for _ in part()) for part in source.parts(6000)]
    assert sum(larger) < sum(cut) if ending.endswith("gz") else len(larger) < len(cut)


# ---- estimators ----------------------------------------------------------------------------------
@every_format
@every_model
@pytest.mark.parametrize("weight", [None, "w"])
def test_a_fit_to_files_is_the_fit_to_arrays(tmp_path, ending, model, weight):
    table = problem(900)
    X, y, w = arrays(table, model)
    glob = write(tmp_path, table, [100, 350, 350], ending, 64)
    whole = clone(model).fit(X, y, w if weight else None)
    with pieces_of(1500):
        source = lk.scan(glob, target=target_of(model), features=FEATURES, weight=weight)
        found = clone(model).fit(source)
        assert found.predict(source).tolist() == found.predict(pa_frame(table)).tolist()
    for a, b in zip(parameters(found), parameters(whole), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(parameters(whole)[0]).max())
    assert found.feature_names_in_.tolist() == FEATURES
    assert found.score(source) == pytest.approx(whole.score(X, y, w if weight else None), rel=1e-12)
    if hasattr(model, "predict_proba"):
        assert found.classes_.dtype == whole.classes_.dtype
        assert found.classes_.tolist() == whole.classes_.tolist()
        np.testing.assert_allclose(found.predict_proba(source), whole.predict_proba(X), atol=1e-12)
        np.testing.assert_allclose(found.score_samples(source), whole.score_samples(X), rtol=1e-12)


@every_model
def test_it_is_so_bit_for_bit_if_they_are_cut_alike(tmp_path, model):
    table = problem(1000)
    X, y, w = arrays(table, model)
    glob = write(tmp_path, table, [], "parquet", 200)
    source = lk.scan(glob, target=target_of(model), features=FEATURES, weight="w")
    with pieces_of(200 * 24), parts_of(200 * 24):
        a, b = clone(model).fit(source), clone(model).fit(X, y, w)
        assert len(source.parts(0)) == 5
        assert [p.tobytes() for p in parameters(a)] == [p.tobytes() for p in parameters(b)]
        assert a.predict(source).tobytes() == b.predict(X).tobytes()


@every_format
@every_model
def test_any_number_of_threads_gives_the_same_bits(tmp_path, ending, model, monkeypatch):
    glob = write(tmp_path, problem(700), [90, 400], ending, 30)
    source = lk.scan(glob, target=target_of(model), features=FEATURES, weight="w")
    found = set()
    with pieces_of(1500):
        for threads in ("1", "2", "5"):
            monkeypatch.setenv("LIKELIER_THREADS", threads)
            fitted = clone(model).fit(source)
            found.add(b"".join(np.asarray(p).tobytes() for p in parameters(fitted)))
            found.add(fitted.predict(source).tobytes()) if threads == "1" else None
            assert fitted.predict(source).tobytes() in found
    assert len(found) == 2


@every_model
def test_files_one_by_one_are_all_files_at_once(tmp_path, model):
    table = problem(600)
    write(tmp_path, table, [150, 420], "csv")
    how = {"target": target_of(model), "features": FEATURES}
    whole, some = clone(model).fit(lk.scan(tmp_path, **how)), clone(model)
    classes = {"classes": np.unique(table["colour"].to_numpy().astype(str))}
    for path in sorted(tmp_path.iterdir()):
        some.partial_fit(lk.scan(path, **how), **(classes if hasattr(model, "predict_proba") else {}))
    for a, b in zip(parameters(some), parameters(whole), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(parameters(whole)[0]).max())


def test_several_targets(tmp_path):
    table = problem(300)
    X = np.column_stack([table[name].to_numpy() for name in FEATURES])
    Y = np.column_stack([table["r"].to_numpy(), table["w"].to_numpy()])
    source = lk.scan(write(tmp_path, table, [99], "parquet"), target=["r", "w"], features=FEATURES)
    found, whole = lk.LinearRegression().fit(source), lk.LinearRegression().fit(X, Y)
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.predict(source), whole.predict(X), rtol=1e-12)
    one = lk.LinearRegression().fit(lk.scan(tmp_path, target=["r"], features=FEATURES))
    assert one.coef_.shape == (1, 3)


def test_robust_errors_from_the_rows_once_more(tmp_path):
    table = problem(300)
    X, y, w = arrays(table, lk.LinearRegression())
    source = lk.scan(write(tmp_path, table, [99], "csv"), target="r", features=FEATURES, weight="w")
    found, whole = lk.LinearRegression().fit(source), lk.LinearRegression().fit(X, y, w)
    a = found.summary(source, cov="HC1").to_frame()
    b = whole.summary(X, y, cov="HC1", sample_weight=w).to_frame()
    np.testing.assert_allclose(a.to_numpy(), b.to_numpy(), rtol=1e-9)


def test_what_needs_rows_as_an_array_reads_them(tmp_path):
    table = problem(300)
    X, y, _ = arrays(table, lk.GaussianNB())
    for ending in ("csv", "parquet"):
        folder = tmp_path / ending
        folder.mkdir()
        source = lk.scan(write(folder, table, [99], ending), target="colour", features=FEATURES)
        for model in (lk.GaussianNB(), lk.LinearDiscriminantAnalysis()):
            model.fit(source)
            with pieces_of(700):
                values, _ = model.contributions(source)
            assert values.shape == (300, 3, 3)
            again, _ = model.contributions(pa_frame(table))
            np.testing.assert_array_equal(values, again)
        np.testing.assert_allclose(
            model.transform(source), lk.LinearDiscriminantAnalysis().fit(X, y).transform(X), atol=1e-9
        )
        linear = model.to_linear()
        np.testing.assert_array_equal(linear.predict(source), model.predict(source))


def pa_frame(table: pa.Table):
    return table.select(FEATURES).to_pandas()


# ---- labels --------------------------------------------------------------------------------------
LABELS = {
    "int64": pa.array([3, -1, 3, 7]),
    "int8": pa.array([3, -1, 3, 7], pa.int8()),
    "uint64": pa.array([3, 2**63, 3, 7], pa.uint64()),
    "whole floats": pa.array([3.0, -0.0, 0.0, 7.0]),
    "booleans": pa.array([True, False, True, True]),
    "strings": pa.array(["b", "a", "b", "çé"]),
    "large strings": pa.array(["b", "a", "b", "çé"], pa.large_string()),
    "dictionary": pa.array(["b", "a", "b", "çé"]).dictionary_encode(),
    "dictionary of numbers": pa.array([3, -1, 3, 7]).dictionary_encode(),
    "dictionary with more than is used": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 0, 1], pa.int8()), pa.array(["b", "a", "not used, and long"])
    ),
    "dates": pa.array(np.array(["2020-01-02", "2020-01-01", "2020-01-02", "2021-01-01"], "M8[D]")),
}


@may_be_degenerate
@pytest.mark.parametrize("labels", LABELS.values(), ids=list(LABELS))
def test_classes_are_those_of_the_same_labels_in_an_array(tmp_path, labels):
    x = np.array([1.0, 2.0, 3.0, 4.0])
    pq.write_table(pa.table({"x": x, "y": labels}), tmp_path / "t.parquet", row_group_size=2)
    plain = labels.dictionary_decode() if pa.types.is_dictionary(labels.type) else labels
    y = plain.to_numpy(zero_copy_only=False)
    y = y.astype(str) if y.dtype == object else y
    with pieces_of(1):
        found = lk.GaussianNB().fit(lk.scan(tmp_path, target="y"))
    whole = lk.GaussianNB().fit(x[:, None], y)
    assert found.classes_.dtype == whole.classes_.dtype
    np.testing.assert_array_equal(found.classes_, whole.classes_)
    np.testing.assert_array_equal(found.class_count_, whole.class_count_)


@may_be_degenerate
def test_a_label_whose_rows_weigh_nothing_is_no_class(tmp_path):
    table = pa.table({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "c"], "w": [1.0, 0.0, 2.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    model = lk.GaussianNB().fit(lk.scan(tmp_path, target="y", weight="w"))
    assert model.classes_.tolist() == ["a", "c"]
    assert model.class_count_.tolist() == [1.0, 2.0]
    assert model.score(lk.scan(tmp_path, target="y", weight="w")) == 1.0


# ---- columns -------------------------------------------------------------------------------------
def test_columns_are_read_by_name(tmp_path):
    table = problem(200)
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    pyarrow.csv.write_csv(table, first)
    pyarrow.csv.write_csv(table.select(["w", "x2", "x0", "x1", "id"]), second)
    model = lk.GaussianNB().fit(lk.scan(first, target="colour", features=FEATURES))
    both = lk.scan([second, first], features=["x2", "x1", "x0"])
    once = model.predict_proba(lk.scan(first))
    np.testing.assert_array_equal(model.predict_proba(both), np.vstack([once, once]))


def test_numbers_kept_as_a_dictionary_are_numbers(tmp_path):
    column = pa.array([3, None, 7, 3]).dictionary_encode()
    pq.write_table(pa.table({"a": column, "b": pa.nulls(4)}), tmp_path / "t.parquet")
    (chunk,) = [chunk for part in lk.scan(tmp_path).parts(0) for chunk in part()]
    nan = np.nan
    np.testing.assert_array_equal(chunk.X.to_array(), [[3, nan], [nan, nan], [7, nan], [3, nan]])


def test_whole_numbers_in_the_first_rows_need_not_stay_whole(tmp_path):
    (tmp_path / "a.csv").write_text("x,z,y\n1,,1\n2,,2\n3,,1\n")
    (tmp_path / "b.csv").write_text("x,z,y\n1.5,2.5,1\n,3,2\n")
    (part,) = {type(c.X) for p in lk.scan(tmp_path, target="y").parts(0) for c in p()}
    assert part.__name__ == "Columns"
    X = np.vstack([c.X.to_array() for p in lk.scan(tmp_path, target="y").parts(0) for c in p()])
    nan = np.nan
    np.testing.assert_array_equal(X, [[1, nan], [2, nan], [3, nan], [1.5, 2.5], [nan, 3]])


def test_quotes_blank_lines_and_line_ends_of_any_kind(tmp_path):
    (tmp_path / "t.csv").write_bytes(
        '\ufeff"a, b",y\r\n\r\n"1","two\nlines"\r\n2,"with ""quotes"""\r\n\r\n'.encode()
    )
    source = lk.scan(tmp_path / "t.csv", target="y")
    assert source.names.tolist() == ["a, b"]
    (chunk,) = [chunk for part in source.labels().parts(0) for chunk in part()]
    assert chunk.y.tolist() == ["two\nlines", 'with "quotes"']


def test_the_index_of_a_frame_is_no_feature(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    for index in ([7, 3], pd.Index([7, 3], name="id"), pd.RangeIndex(2)):
        frame.set_axis(index, axis=0).to_parquet(tmp_path / "t.parquet")
        assert lk.scan(tmp_path).names.tolist() == ["a", "b"]
    frame.set_axis(pd.Index([7, 3], name="id"), axis=0).to_parquet(tmp_path / "t.parquet")
    assert lk.scan(tmp_path, features=["id"]).names.tolist() == ["id"]


def test_folders_globs_and_lists_find_the_same_files_in_order(tmp_path):
    deep = tmp_path / "b" / "c"
    deep.mkdir(parents=True)
    for i, path in enumerate([tmp_path / "b" / "2.csv", deep / "1.csv", tmp_path / "a.csv"]):
        path.write_text(f"x\n{i}\n")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden.csv").write_text("x\n9\n")
    (tmp_path / "notes.txt").write_text("nothing")
    for path in (tmp_path, str(tmp_path / "**" / "*.csv"), [tmp_path / "b", tmp_path / "*.csv"]):
        source = lk.scan(path)
        found = [chunk.X.to_array()[0, 0] for part in source.parts(0) for chunk in part()]
        assert found == [2.0, 0.0, 1.0]


def test_a_scan_says_what_it_holds(tmp_path):
    glob = write(tmp_path, problem(200), [50], "parquet")
    shown = repr(lk.scan(glob, target="colour", features=FEATURES, weight="w"))
    for word in ("2 files", "part-000.parquet", "200 rows", "3 features", "x0, x1, x2", "'colour'", "'w'"):
        assert word in shown
    write(tmp_path, problem(200), [], "csv")
    assert "rows" not in repr(lk.scan(tmp_path / "part-000.csv", target=["r", "w"]))
