"""Wrong files: each is refused by name, with the column, row or line that is wrong, and leaves no trace."""

import gzip
import re
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.covariance import OAS

import likelier as lk
from errors.conftest import inside

N = 60
RNG = np.random.default_rng(0)
TABLE = pa.table(
    {
        "a": RNG.normal(size=N),
        "b": RNG.normal(size=N),
        "y": np.array(["u", "v"])[np.arange(N) % 2],
        "w": np.ones(N),
        "r": RNG.normal(size=N),
    }
)
MODELS = [
    lk.GaussianNB(),
    lk.LinearDiscriminantAnalysis(encode=False),
    lk.QuadraticDiscriminantAnalysis(encode=False),
]
every_model = pytest.mark.parametrize(
    "model", [*MODELS, lk.LinearRegression(encode=False), lk.Ridge(encode=False)], ids=repr
)


def changed(**columns) -> pa.Table:
    table = TABLE
    for name, values in columns.items():
        at = table.column_names.index(name)
        table = table.set_column(at, name, pa.array(values))
    return table


def cells(name: str, row: int, value: object) -> list[object]:
    """A column of the table with another value in one row."""
    values = TABLE[name].to_pylist()
    values[row] = value
    return values


@pytest.fixture(params=["parquet", "csv"])
def ending(request):
    return request.param


@pytest.fixture
def write(tmp_path, ending):
    def write(table: pa.Table, name: str = "t") -> Path:
        path = tmp_path / f"{name}.{ending}"
        if ending == "parquet":
            pq.write_table(table, path, row_group_size=7)
        else:
            pyarrow.csv.write_csv(table, path)
        return path

    return write


def text(folder: Path, lines: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(lines)
    return path


def refused(model, source, *words: str, error: type[Exception] = ValueError) -> str:
    """`fit` and `partial_fit` refuse the source, say all the words, and leave the model as it was."""
    more = {"classes": ["u", "v"]} if hasattr(model, "predict_proba") else {}
    said = ""
    for fitted in (False, True):
        fresh = clone(model)
        if fitted:
            frame = TABLE.select(["a", "b"]).to_pandas()
            fresh.fit(frame, TABLE["y" if more else "r"].to_numpy())
        held = inside(fresh)
        for how in (fresh.fit, lambda X, fresh=fresh: fresh.partial_fit(X, **more)):
            with pytest.raises(error) as caught:
                how(source)
            said = str(caught.value)
            for word in words:
                assert word in said
            assert inside(fresh) == held
    return said


def of(path, model, **how):
    target = "y" if hasattr(model, "predict_proba") else "r"
    return lk.scan(path, **({"target": target, "features": ["a", "b"]} | how))


# ---- finding files -------------------------------------------------------------------------------
def test_no_file_matches(tmp_path):
    text(tmp_path, "a\n1\n", "train.csv")
    with pytest.raises(FileNotFoundError, match=r"no file matches.*trian\.csv.*near it: train\.csv"):
        lk.scan(tmp_path / "trian.csv")
    with pytest.raises(FileNotFoundError, match=r"no file matches.*\*\.parquet"):
        lk.scan(str(tmp_path / "*.parquet"))
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        lk.scan(str(tmp_path / "nowhere" / "t.csv"))
    with pytest.raises(FileNotFoundError, match="no file matches"):
        lk.scan(str(tmp_path / "*" / "t.csv"))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileNotFoundError, match="folder has no files whose names end with"):
        lk.scan(empty)
    with pytest.raises(ValueError, match="list is empty"):
        lk.scan([])
    with pytest.raises(TypeError, match=r"path must be a file, .*; got None"):
        lk.scan(None)


def test_formats_that_cannot_be_told(tmp_path):
    path = text(tmp_path, "a,y\n1,2\n", "table.txt")
    with pytest.raises(ValueError, match=r"table\.txt: the format cannot be inferred"):
        lk.scan(path)
    assert lk.scan(path, format="csv").names.tolist() == ["a", "y"]
    assert lk.scan(tmp_path, format="csv").names.tolist() == ["a", "y"]
    text(tmp_path, "a\ty\n1\t2\n", "table.tsv")
    text(tmp_path, "a,y\n1,2\n", "table.csv")
    with pytest.raises(ValueError, match="several formats"):
        lk.scan(tmp_path)
    with pytest.raises(
        ValueError, match=r"format must be one of 'parquet', 'csv', 'tsv', 'jsonl', .*; got 'json'"
    ):
        lk.scan(path, format="json")


# ---- files that are not what they seem -----------------------------------------------------------
def test_an_empty_file(tmp_path):
    for name in ("t.parquet", "t.csv"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(ValueError, match=rf"{name}: the file is empty"):
            lk.scan(tmp_path / name)


def test_a_header_and_no_rows(tmp_path):
    path = text(tmp_path, "a,b,y\n")
    with pytest.raises(ValueError, match=r"t\.csv: a header and no rows"):
        lk.scan(path)
    pq.write_table(TABLE.slice(0, 0), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet: no rows"):
        lk.scan(tmp_path / "t.parquet")


@every_model
def test_one_file_without_rows_among_others_is_no_error(write, tmp_path, model):
    write(TABLE.slice(0, 0), "0")
    write(TABLE, "1")
    write(TABLE.slice(0, 0), "2")
    found = clone(model).fit(of(tmp_path, model))
    assert len(found.predict(lk.scan(tmp_path))) == N


def test_what_is_no_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"a,b\n1,2\n" * 100)
    with pytest.raises(ValueError, match=r"t\.parquet: this is not a Parquet file"):
        lk.scan(path)
    whole = tmp_path / "whole.parquet"
    pq.write_table(TABLE, whole)
    for length in (4, 200, whole.stat().st_size - 1):
        path.write_bytes(whole.read_bytes()[:length])
        with pytest.raises(ValueError, match=r"t\.parquet: the Parquet file is cut short"):
            lk.scan(path)
    content = bytearray(whole.read_bytes())
    content[-8:-4] = b"\xff\xff\xff\x7f"  # the length of the footer
    path.write_bytes(content)
    with pytest.raises((ValueError, OSError), match=r"t\.parquet: cannot be read"):
        lk.scan(path)


@every_model
def test_a_broken_page_is_found_when_it_is_read_and_only_then(tmp_path, model):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, compression="zstd", use_dictionary=False)
    at = pq.ParquetFile(path).metadata.row_group(0).column(1)
    content = bytearray(path.read_bytes())
    start = at.data_page_offset
    content[start + 40 : start + at.total_compressed_size] = bytes(at.total_compressed_size - 40)
    path.write_bytes(content)
    source = of(path, model)
    with pytest.raises((ValueError, OSError), match=r"t\.parquet: cannot be read") as caught:
        clone(model).fit(source)
    refused(model, source, "t.parquet", error=caught.type)
    clone(model).fit(of(path, model, features=["a"]))  # that column is not read


def test_a_file_that_may_not_be_read(write, monkeypatch, ending):
    path = write(TABLE)

    def refuse(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(f"likelier.data.files.{'parquet' if ending == 'parquet' else 'csv'}.stamp", refuse)
    with pytest.raises(OSError, match=re.escape(f"{path}: cannot be read: Permission denied")):
        lk.scan(path)


def test_a_gzip_file_that_is_cut_short(tmp_path):
    lines = "a,b,y\n" + "".join(f"{x},{x * x},{i % 2}\n" for i, x in enumerate(RNG.normal(size=20_000)))
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(lines.encode())[:-500])
    model = lk.GaussianNB()
    with pytest.raises(OSError, match=r"t\.csv\.gz: cannot be read: Truncated"):
        model.fit(lk.scan(path, target="y"))
    assert not hasattr(model, "classes_")


@every_model
def test_a_file_that_changed_since_it_was_scanned(write, model):
    path = write(TABLE)
    source = of(path, model)
    write(TABLE.slice(0, 31))
    refused(model, source, path.name, "has changed since it was scanned")
    path.unlink()
    refused(model, source, path.name, "has been removed since it was scanned")


def test_a_file_that_changes_while_it_is_read(tmp_path):
    path = text(tmp_path, "a,y\n" + "1.5,0\n2.5,1\n" * 400_000)
    source = lk.scan(path, target="y")
    (part,) = source.parts(0)
    chunks = part()
    next(chunks)
    with path.open("a") as file:
        file.write("7,1\n")
    with pytest.raises(ValueError, match=r"t\.csv: the file has changed"):
        list(chunks)


# ---- columns -------------------------------------------------------------------------------------
def test_columns_that_are_not_there(write):
    path = write(TABLE.rename_columns(["age", "b", "income", "w", "r"]))
    for how in ({"target": "incme"}, {"features": ["incme"]}, {"weight": "incme"}):
        with pytest.raises(ValueError, match=rf"{path.name}: no column named 'incme'; near it: 'income'"):
            lk.scan(path, **how)
    with pytest.raises(ValueError, match=r"no column named 'zzzz'; columns: 'age', 'b', 'income'"):
        lk.scan(path, target="zzzz")


def test_columns_named_twice(tmp_path, write):
    path = write(TABLE)
    for how in (
        {"target": "y", "features": ["a", "y"]},
        {"features": ["a", "a"]},
        {"target": "w", "weight": "w"},
    ):
        with pytest.raises(ValueError, match="more than once"):
            lk.scan(path, **how)
    with pytest.raises(ValueError, match="no column is left for X beside 'y'"):
        lk.scan(text(tmp_path, "y\n1\n", "y.csv"), target="y")
    double = text(tmp_path, "a,a,y\n1,2,3\n", "double.csv")
    with pytest.raises(ValueError, match=r"double\.csv: 2 columns named 'a'\. Each needs"):
        lk.scan(double, target="y")
    assert lk.scan(double, features=["y"]).p == 1


def test_a_column_that_another_file_has_not(write, tmp_path):
    write(TABLE, "0")
    second = write(TABLE.drop_columns(["b"]), "1")
    with pytest.raises(ValueError, match=rf"{second.name}: no column named 'b'"):
        lk.scan(tmp_path, target="y", features=["a", "b"])
    lk.GaussianNB().fit(lk.scan(tmp_path, target="y", features=["a", "r"]))


def test_a_column_of_another_type_in_another_file(write, tmp_path, ending):
    write(TABLE, "0")
    second = write(changed(b=["x"] * N), "1")
    if ending == "parquet":
        with pytest.raises(ValueError, match=rf"{second.name}: column 'b' is of type string.*0\.parquet"):
            lk.scan(tmp_path, target="y", features=["a", "b"])
    else:
        source = lk.scan(tmp_path, target="y", features=["a", "b"])
        refused(lk.GaussianNB(), source, f"{second.name}, line 2, column 'b': 'x' is not of type double")
    lk.GaussianNB().fit(lk.scan(tmp_path, target="y", features=["a", "r"]))


@every_model
def test_columns_that_hold_no_numbers_are_named_all_at_once(write, model):
    path = write(changed(a=["x"] * N, b=[date(2020, 1, 1)] * N))
    source = of(path, model, features=["a", "b", "w"])
    text = "string: 'x' on line 2" if path.suffix == ".csv" else "string"
    refused(model, source, type(model).__name__, f"'a' ({text}), 'b' (date32[day];", "{'b': 'date'}")


def test_one_cell_that_makes_a_column_text(tmp_path):
    path = text(tmp_path, "a,b,y\n1,2,u\n,3,v\nNA,4,u\n\n 1e3 ,4,v\nfour,5,u\nfive,6,u\n")
    said = refused(lk.GaussianNB(), lk.scan(path, target="y"), "'a' (string: 'four' on line 7)")
    assert "'b'" not in said


def test_text_that_is_not_utf8(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("é,b,y\n1,2,u\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"t\.csv: the names of its columns are not UTF-8"):
        lk.scan(path, target="y")
    path.write_bytes("a,b,y\n1,2,é\n3,4,v\n".encode("latin-1"))
    refused(lk.GaussianNB(), lk.scan(path, target="y"), str(path), "'y' is of type binary", "UTF-8")


def test_nested_columns(tmp_path):
    path = tmp_path / "t.parquet"
    table = TABLE.append_column("l", pa.array([[1.0]] * N)).append_column("s", pa.array([{"q": 1}] * N))
    pq.write_table(table, path)
    with pytest.raises(ValueError, match=r"'l' \(list<element: double>\), 's' \(struct<q: int64>\)"):
        lk.GaussianNB().fit(lk.scan(path, target="y"))
    for target in ("l", "s"):
        source = lk.scan(path, target=target, features=["a", "b"])
        refused(lk.GaussianNB(), source, f"target '{target}' is of type")
        refused(lk.Ridge(), source, f"'{target}' (")


# ---- lines of CSV --------------------------------------------------------------------------------
RAGGED = {
    "short": ("a,b,y\n1,2,u\n3,v\n5,6,u\n", 3, 2),
    "long": ("a,b,y\n1,2,u\n3,4,v\n5,6,7,u\n", 4, 4),
    "after blank lines": ("a,b,y\n\n\n1,2,u\n\n3,v\n", 6, 2),
    "after a quoted line end": ('a,b,y\n1,2,"u\nu\nu"\n3,v\n', 5, 2),
    "with other line ends": ("a,b,y\r\n1,2,u\r\n\r\n3,v\r\n", 4, 2),
    "first": ("a,b,y\n1,2\n", 2, 2),
}


@pytest.mark.parametrize(("lines", "line", "got"), RAGGED.values(), ids=list(RAGGED))
def test_ragged_lines(tmp_path, lines, line, got):
    path = tmp_path / "t.csv"
    path.write_bytes(lines.encode())
    with pytest.raises(
        ValueError, match=rf"t\.csv, line {line}: the line has {got} cells, and the header 3"
    ):
        lk.scan(path, target="y")
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(lines.encode()))
    with pytest.raises(ValueError, match=rf"t\.csv\.gz, line {line}: the line has {got} cells"):
        lk.scan(packed, target="y")


LOOKED_AT = 4096
LONG = "a,b,y\n" + "1.25,2.5,u\n0.5,-1,v\n3,2,u\n-1,1,v\n" * 400


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ("3,v\n", ["line 1602: the line has 2 cells"]),
        ("3,many,v\n", ["line 1602, column 'b': 'many' is not of type double"]),
        ("3,inf,v\n", ["row 1600 (line 1602) of", "column 1 ('b') is inf"]),
        ("3,4,\n", ["row 1600 (line 1602) of", "'y' is missing", "every row needs a label"]),
    ],
)
def test_the_line_of_what_is_found_only_in_the_pass(tmp_path, monkeypatch, last, words):
    monkeypatch.setattr("likelier.data.files.csv.FIRST_BYTES", LOOKED_AT)
    monkeypatch.setattr("likelier.data.files.scan.BLOCK_BYTES", LOOKED_AT)
    path = text(tmp_path, LONG + last)
    source = lk.scan(path, target="y")
    model = lk.GaussianNB()
    with pytest.raises(ValueError) as caught:
        model.fit(source)
    for word in [*words, str(path)]:
        assert word in str(caught.value)
    assert not hasattr(model, "classes_")


def test_a_row_whose_line_cannot_be_said_is_still_named(tmp_path):
    note = "long " * 50_000  # more than the module csv takes as one cell
    path = text(tmp_path, f"a,note,y\n1,{note},u\ninf,,v\n")
    with pytest.raises(ValueError, match=re.escape(f"row 1 of {path}, column 0 ('a') is inf")):
        lk.GaussianNB().fit(lk.scan(path, target="y", features=["a"]))


def test_a_quotation_mark_left_open(tmp_path):
    path = text(tmp_path, 'a,b,y\n1,2,"u\n' + "3,4,v\n" * 3_000_000)
    with pytest.raises(ValueError, match=r"t\.csv: a line is too long.*quotation mark"):
        lk.scan(path, target="y")


def test_labels_that_turn_into_something_else(tmp_path):
    text(tmp_path, "a,y\n1,1\n2,2\n", "0.csv")
    text(tmp_path, "a,y\n1,1\n\n2,two\n", "1.csv")
    source = lk.scan(tmp_path, target="y")
    with pytest.raises(ValueError, match=r"1\.csv, line 4, column 'y': 'two' is not of type int64"):
        lk.GaussianNB().fit(source)


# ---- cells ---------------------------------------------------------------------------------------
@every_model
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_cells(write, tmp_path, model, value, ending):
    write(TABLE, "0")
    path = write(changed(b=cells("b", 17, value)), "1")
    source = of(tmp_path, model)
    line = " (line 19)" if ending == "csv" else ""
    where = f"row 17{line} of {path}, column 1 ('b')"
    refused(model, source, "infinity", where)
    found = clone(model).fit(of(tmp_path / f"0.{ending}", model))
    for method in ("predict", "predict_proba", "score_samples", "contributions"):
        if hasattr(found, method):
            with pytest.raises(ValueError, match=re.escape(where)):
                getattr(found, method)(lk.scan(tmp_path))


@every_model
def test_a_missing_target(write, tmp_path, model, ending):
    name = "y" if hasattr(model, "predict_proba") else "r"
    write(TABLE, "0")
    path = write(changed(**{name: cells(name, 9, None)}), "1")
    line = " (line 11)" if ending == "csv" else ""
    refused(model, of(tmp_path, model), f"row 9{line} of {path}: '{name}' is missing. Input y contains NaN")


def test_a_missing_target_in_a_dictionary_and_nan(tmp_path):
    for labels in (pa.array(["u", None] * 30).dictionary_encode(), pa.array([1.0, np.nan] * 30)):
        pq.write_table(changed(y=labels), tmp_path / "t.parquet")
        refused(lk.GaussianNB(), lk.scan(tmp_path, target="y", features=["a"]), "row 1 of", "is missing")


def test_labels_that_are_measurements(write):
    path = write(changed(y=cells("r", 3, 1.5)))
    refused(lk.GaussianNB(), lk.scan(path, target="y"), "row 0", "Unknown label type: continuous")
    path = write(changed(y=[0.0, 1.0, np.inf, *[1.0] * (N - 3)]))
    refused(lk.GaussianNB(), lk.scan(path, target="y"), "row 2", "'y' is inf")


@every_model
@pytest.mark.parametrize(("value", "said"), [(-1.0, "is -1.0"), (np.inf, "is inf"), (None, "is missing")])
def test_wrong_weights(write, tmp_path, model, value, said, ending):
    write(TABLE, "0")
    path = write(changed(w=cells("w", 23, value)), "1")
    source = of(tmp_path, model, weight="w")
    line = " (line 25)" if ending == "csv" else ""
    refused(model, source, f"row 23{line} of {path}: 'w' {said}. Weights must be finite and not negative")


@every_model
def test_weights_that_leave_no_row(write, model):
    fresh = clone(model)
    with pytest.raises(ValueError, match="weights are all zero"):
        fresh.fit(of(write(changed(w=np.zeros(N))), model, weight="w"))
    assert inside(fresh) == inside(clone(model))


# ---- how a source is used ------------------------------------------------------------------------
@every_model
def test_y_comes_with_the_source(write, model):
    path = write(TABLE)
    source, y = of(path, model), np.zeros(N)
    for call in (
        lambda: clone(model).fit(source, y),
        lambda: clone(model).fit(source, sample_weight=y),
        lambda: clone(model).fit(source).score(source, y),
    ):
        with pytest.raises(ValueError, match="includes y and weights"):
            call()
    refused(model, lk.scan(path, features=["a", "b"]), "the source has no target", "scan(path, target='y')")


def test_a_classifier_has_one_target_and_a_regression_numbers(write):
    path = write(TABLE)
    refused(lk.GaussianNB(), lk.scan(path, target=["y", "r"], features=["a", "b"]), "one target; got y, r")
    refused(lk.Ridge(), lk.scan(path, target="y", features=["a", "b"]), "'y' (string")
    found = lk.Ridge().fit(lk.scan(path, target="r", features=["a", "b"]))
    with pytest.raises(ValueError, match="y must have rows of shape"):
        found.partial_fit(lk.scan(path, target=["r", "w"], features=["a", "b"]))


@every_model
def test_prediction_asks_for_the_columns_by_name(write, tmp_path, model):
    found = clone(model).fit(of(write(TABLE, "train"), model))
    other = write(TABLE.drop_columns(["b"]).rename_columns(["a", "y", "w", "B"]), "other")
    if hasattr(model, "predict_proba"):  # all of them are generative
        with pytest.warns(lk.SkippedWarning, match=rf"{other.name}: no column named 'b'"):
            found.predict(lk.scan(other))
    else:
        with pytest.raises(ValueError, match=rf"{other.name}: no column named 'b'"):
            found.predict(lk.scan(other))
    wrong = write(changed(b=["x"] * N), "wrong")
    said = (
        r"line 2, column 'b': 'x' is not of type"
        if wrong.suffix == ".csv"
        else r"takes numbers.*'b' \(string"
    )
    with pytest.raises(ValueError, match=said):
        found.predict(lk.scan(wrong))


@every_model
def test_a_model_without_names_takes_columns_in_order(write, model):
    X = np.column_stack([TABLE["a"].to_numpy(), TABLE["b"].to_numpy()])
    found = clone(model).fit(X, TABLE["y" if hasattr(model, "predict_proba") else "r"].to_numpy())
    path = write(TABLE)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        answers = found.predict(lk.scan(path, features=["a", "b"]))
    np.testing.assert_array_equal(answers, found.predict(X))
    with pytest.raises(ValueError, match=r"X has 1 features, but .* is expecting 2"):
        found.predict(lk.scan(path, features=["a"]))


def test_labels_that_were_not_announced(write):
    path = write(TABLE)
    model = lk.GaussianNB()
    with pytest.raises(ValueError, match=r"\['v'\] in y do not exist"):
        model.partial_fit(lk.scan(path, target="y", features=["a", "b"]), classes=["u", "w"])
    assert not hasattr(model, "classes_")


def test_a_covariance_estimator_needs_arrays(write):
    model = lk.LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS())
    with pytest.raises(ValueError, match="needs all rows in memory"):
        model.fit(lk.scan(write(TABLE), target="y", features=["a", "b"]))


def test_unknown_labels_count_as_mistakes(write):
    found = lk.GaussianNB().fit(TABLE.select(["a", "b"]).to_pandas(), TABLE["y"].to_numpy())
    path = write(changed(y=["z"] * N))
    assert found.score(lk.scan(path, target="y")) == 0.0


def test_frames_are_still_frames():
    frame = pd.DataFrame({"parts": [1.0, 2.0, 3.0, 5.0], "targets": [1.0, 0.0, 2.0, 3.0]})
    assert lk.GaussianNB().fit(frame, [0, 1, 0, 1]).n_features_in_ == 2
