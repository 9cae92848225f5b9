"""Wrong JSON lines, svmlight and VW, and files that do not agree: refused with file, line and column."""

import gzip
import json
import re
from datetime import date, datetime, time, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import likelier as lk
from errors.conftest import inside

SVM = [f"{i % 2} 1:{i} 2:{i % 7}.5" for i in range(40)]
VW = [f"{i % 2} |n a:{i} b" for i in range(40)]
JSONL = [json.dumps({"a": i, "b": {"c": i / 2}, "y": "uv"[i % 2]}) for i in range(40)]


def text(folder: Path, lines: list[str], name: str) -> Path:
    path = folder / name
    path.write_text("".join(line + "\n" for line in lines))
    return path


@pytest.fixture
def small_blocks(monkeypatch):
    """What is wrong is met far behind what was looked at first."""
    monkeypatch.setattr("likelier.data.files.jsonl.FIRST_BYTES", 200)
    for name in ("base.UNIT", "scan.BLOCK_BYTES", "svmlight.BLOCK_BYTES", "svmlight.PART_BYTES"):
        monkeypatch.setattr(f"likelier.data.files.{name}", 150)


def refused(model, source, *words: str) -> None:
    """`fit` refuses the source, says all the words, and leaves the model as it was."""
    held = inside(model)
    with pytest.raises(ValueError, match=re.escape(words[0])) as caught:
        model.fit(source() if callable(source) else source)
    for word in words:
        assert word in str(caught.value)
    assert inside(model) == held


def rows_in(source) -> np.ndarray:
    return np.concatenate([chunk.X.to_array() for part in source.parts(0) for chunk in part()])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("1 1:2 x", "'x' is no index:value"),
        ("1 1:2 1:3", "the index 1 comes twice"),
        ("1 -1:3", "the index '-1' is not a whole number from 0 on"),
        ("one 1:2", "the label 'one' is not a number"),
        ("1 1:two", "the value 'two' of index 1 is not a number"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_line_of_svmlight(tmp_path, small_blocks, line, why, packed):
    path = text(tmp_path, [*SVM[:30], "# a comment", "", line, *SVM[30:]], "t.svm")
    if packed:
        (tmp_path / "p.svm.gz").write_bytes(gzip.compress(path.read_bytes()))
        path = tmp_path / "p.svm.gz"
    for model in (lk.MultinomialNB(), lk.LogisticRegression()):
        refused(model, lk.scan(path), f"{path}, line 33: {why}", repr(line))


def test_an_index_too_large(tmp_path, small_blocks):
    path = text(tmp_path, [*SVM, f"1 {2**40}:1"], "t.svm")
    with pytest.raises(ValueError, match=r"t\.svm, line 41: the index 1099511627776 is out of range"):
        lk.scan(path)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("no features", "no | begins the features"),
        ("spam |n a", "the label 'spam' is not a number"),
        ("1 -2 |n a", "the weight '-2' is not a number from 0 on"),
    ],
)
def test_a_line_of_vw(tmp_path, small_blocks, line, why):
    path = text(tmp_path, [*VW, line], "t.vw")
    refused(lk.MultinomialNB(), lk.scan(path), f"{path}, line 41: {why}")
    if not line.startswith("spam"):  # a learner may be told words
        refused(lk.OnlineClassifier(), lk.scan(path), f"{path}, line 41: {why}")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"a": 1, "y": "u"', "it cannot be read as JSON: "),
        ("[1, 2]", "a list where an object {...} is expected"),
        ("17", "a number where an object {...} is expected"),
        ('{"a": "x", "y": "u"}', "column 'a': \"x\" is not of type double, which the column has in the"),
        ('{"a": true, "y": "u"}', "column 'a': true is not of type double"),
        ('{"a": [1], "y": "u"}', "column 'a': [1] is not of type double"),
        ('{"a": 1, "b": 3, "y": "u"}', "column 'b.c': 3 is not of type double"),
        ('{"a": 1, "y": 5}', "column 'y': 5 is not of type string"),
        ('{"a": 1, "a": 2, "y": "u"}', "it cannot be read as JSON: the key 'a' comes twice"),
        ('{"a": 1e999, "y": "u"}', "it cannot be read as JSON: 1e999 is too large"),
    ],
)
def test_a_line_of_json(tmp_path, small_blocks, line, why):
    path = text(tmp_path, [*JSONL[:25], "", line, *JSONL[25:]], "t.jsonl")
    refused(lk.GaussianNB(), lk.scan(path, target="y"), f"{path}, line 27: {why}")


def test_json_that_is_wrong_from_the_start(tmp_path):
    path = text(tmp_path, ["[", '{"a": 1}', "]"], "t.jsonl")
    with pytest.raises(ValueError, match=r"t\.jsonl: this is a JSON array"):
        lk.scan(path)
    path = text(tmp_path, ['{"a": 1}', "{a: 2}"], "t.jsonl")
    with pytest.raises(ValueError, match=r"t\.jsonl, line 2: it cannot be read as JSON: Expecting"):
        lk.scan(path)
    (tmp_path / "t.jsonl").write_bytes(b'{"a": 1, "y": "\xff"}\n{"a": 2, "y": "v"}\n')
    refused(lk.GaussianNB(), lk.scan(path, target="y"), "line 1", "utf-8")


def test_cells_of_json_that_no_model_can_use(tmp_path):
    rows = [{"a": i, "l": [i], "m": i if i % 2 else "odd", "t": "2020-01-01", "y": i % 2} for i in range(9)]
    path = text(tmp_path, [json.dumps(row) for row in rows], "t.jsonl")
    refused(
        lk.GaussianNB(),
        lk.scan(path, target="y"),
        "'l' (list<item: ",
        "'m' (several kinds: text, and 1 on line 2)",
        "'t' (string)",
    )
    refused(lk.GaussianNB(), lk.scan(path, target="m", features=["a"]), "target 'm' is of type several")
    with pytest.warns(lk.DegenerateWarning, match="all rows are of class 2020-01-01"):
        lk.GaussianNB().fit(lk.scan(path, target="t", features=["a"]))


def test_keys_that_are_missing_or_new(tmp_path, small_blocks):
    rows = [*JSONL, '{"y": "u", "new": [3]}', '{"a": null, "b": null, "y": "v"}']
    source = lk.scan(text(tmp_path, rows, "t.jsonl"), target="y")
    X = rows_in(source.taking(source.names, y=False))
    assert source.names.tolist() == ["a", "b.c"]
    np.testing.assert_array_equal(X[:40], np.column_stack([np.arange(40), np.arange(40) / 2]))
    assert np.isnan(X[40:]).all()
    path = text(tmp_path, [*JSONL, '{"a": 1}'], "u.jsonl")
    refused(lk.GaussianNB(), lk.scan(path, target="y"), f"row 40 (line 41) of {path}: 'y' is missing")
    with pytest.raises(ValueError, match=r"u\.jsonl: no column named 'new'"):
        lk.scan(path, target="y", features=["new"])


def test_a_name_that_two_keys_have(tmp_path):
    path = text(tmp_path, ['{"a.b": 1, "a": {"b": 2}, "c": 1}'] * 3, "t.jsonl")
    with pytest.raises(ValueError, match=r"2 columns named 'a\.b'"):
        lk.scan(path, target="c")


@pytest.mark.parametrize("ending", ["svm", "vw", "jsonl", "ndjson", "libsvm", "svmlight"])
def test_files_without_rows(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    for held in ("", "\n \n"):
        path.write_text(held)
        with pytest.raises(ValueError, match=rf"t\.{ending}: no rows"):
            lk.scan(path)
    (tmp_path / f"u.{ending}").write_text("")
    with pytest.raises(ValueError, match=r"no rows, nor in the 1 other files"):
        lk.scan(tmp_path / f"*.{ending}")


def test_an_empty_file_among_others_is_no_error(tmp_path):
    for name, lines in (("svm", SVM), ("vw", VW), ("jsonl", JSONL)):
        text(tmp_path, [], f"0.{name}")
        text(tmp_path, lines, f"1.{name}")
        source = lk.scan(tmp_path / f"*.{name}", **({"features": ["a"]} if name == "jsonl" else {}))
        assert sum(chunk.X.shape[0] for part in source.parts(0) for chunk in part()) == 40


def test_svmlight_without_any_cell(tmp_path):
    with pytest.raises(ValueError, match="no line has an index:value"):
        lk.scan(text(tmp_path, ["1", "2"], "t.svm"))


def test_columns_without_names_cannot_be_named(tmp_path):
    path = text(tmp_path, SVM, "t.svm")
    for how in ({"target": "y"}, {"features": ["a"]}, {"weight": "w"}):
        name = next(iter(how))
        with pytest.raises(ValueError, match=rf"t\.svm: {name}=.* names a column.*Leave it out"):
            lk.scan(path, **how)


def test_a_row_without_a_label_can_be_answered_and_not_learned_from(tmp_path):
    path = text(tmp_path, [*SVM, "1:3 2:4"], "t.svm")
    refused(lk.MultinomialNB(), lk.scan(path), f"row 40 (line 41) of {path}: the line has no label")
    model = lk.MultinomialNB().fit(lk.scan(text(tmp_path, SVM, "u.svm")))
    assert len(model.predict(lk.scan(path))) == 41


def test_cells_that_are_not_finite_are_named(tmp_path):
    path = text(tmp_path, [*SVM, "1 1:3 2:inf"], "t.svm")
    refused(lk.LogisticRegression(), lk.scan(path), f"row 40 (line 41) of {path}, column 1 is inf")


@pytest.mark.parametrize("name", ["t.svm.gz", "t.vw.zst", "t.jsonl.bz2", "t.csv.lz4"])
def test_a_name_that_promises_another_packing(tmp_path, name):
    with pytest.raises(
        ValueError, match=rf"{name}: the name ends as that of a .* file, but the file is not compressed"
    ):
        lk.scan(text(tmp_path, SVM, name))


def test_files_of_several_formats(tmp_path):
    text(tmp_path, SVM, "t.svm")
    text(tmp_path, JSONL, "t.jsonl")
    with pytest.raises(ValueError, match=r"several formats: .*t\.jsonl, .*t\.svm"):
        lk.scan(tmp_path)
    with pytest.raises(ValueError, match=r"t\.json: the format cannot be inferred .*'jsonl'"):
        lk.scan(text(tmp_path, JSONL, "t.json"))
    assert lk.scan(tmp_path / "t.json", target="y", format="jsonl").p == 2


@pytest.mark.parametrize("ending", ["svm", "vw", "jsonl"])
def test_a_file_that_changed_since_it_was_scanned(tmp_path, ending):
    lines = {"svm": SVM, "vw": VW, "jsonl": JSONL}[ending]
    path = text(tmp_path, lines, f"t.{ending}")
    source = lk.scan(path, **({"target": "y"} if ending == "jsonl" else {}))
    text(tmp_path, lines[:-1], f"t.{ending}")
    refused(lk.BernoulliNB(), source, f"{path}: the file has changed")
    path.unlink()
    refused(lk.BernoulliNB(), source, f"{path}: the file has been removed")


# ---- files that do not agree ---------------------------------------------------------------------
def parquet(path: Path, **columns) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def test_a_number_is_a_number_of_whatever_type(tmp_path):
    rng = np.random.default_rng(0)
    types = [pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(30, 2)]
    a, y = rng.integers(0, 90, 60), np.tile([0, 1], 30)
    for i, kind in enumerate(types):
        at = slice(10 * i, 10 * i + 10)
        parquet(tmp_path / f"{i}.parquet", a=pa.array(a[at]).cast(kind), y=y[at])
    found = lk.GaussianNB().fit(lk.scan(tmp_path, target="y"))
    expected = lk.GaussianNB().fit(a[:, None].astype(float), y)
    np.testing.assert_allclose(found.theta_, expected.theta_, rtol=1e-12)
    np.testing.assert_allclose(found.var_, expected.var_, rtol=1e-12)


def test_labels_are_of_one_type(tmp_path):
    parquet(tmp_path / "0.parquet", a=[1.0, 2.0], y=pa.array([0, 1], pa.int64()))
    parquet(tmp_path / "1.parquet", a=[1.5, 2.5], y=pa.array([0, 1], pa.float64()))
    source = lk.scan(tmp_path, target="y")
    refused(lk.GaussianNB(), source, f"{tmp_path / '1.parquet'}: column 'y' is of type double", "int64")
    lk.Ridge().fit(source)
    parquet(tmp_path / "1.parquet", a=[True, False], y=[0, 1])
    with pytest.raises(ValueError, match=r"1\.parquet: column 'a' is of type bool.*type double"):
        lk.scan(tmp_path, target="y")


UNUSABLE = {
    "date": date(2020, 1, 1),
    "timestamp": datetime(2020, 1, 1),
    "time": time(12),
    "duration": timedelta(1),
    "binary": b"x",
    "list": [1],
    "struct": {"q": 1},
}


def test_columns_that_no_model_can_use_are_named_all_at_once(tmp_path):
    columns = {name: [value] * 4 for name, value in UNUSABLE.items()}
    columns["map"] = pa.array([[("k", 1)]] * 4, pa.map_(pa.string(), pa.int64()))
    path = parquet(tmp_path / "t.parquet", a=[1.0, 2.0, 3.0, 5.0], y=[0, 1, 0, 1], **columns)
    for model in (lk.GaussianNB(), lk.NaiveBayes(), lk.LogisticRegression(encode=False)):
        refused(model, lk.scan(path, target="y"), *(f"'{name}' (" for name in columns))
    for name in columns:
        source = lk.scan(path, target=name, features=["a"])
        if name in ("date", "timestamp"):
            with pytest.warns(lk.DegenerateWarning, match="all rows are of class 2020-01-01"):
                lk.GaussianNB().fit(source)
        else:
            refused(lk.GaussianNB(), source, f"target '{name}' is of type")


def test_columns_of_csv_go_by_name_in_every_file(tmp_path):
    text(tmp_path, ["a,b,y", "1,2,u", "3,5,v"], "0.csv")
    text(tmp_path, ["y,more,b,a", "u,x,6,5", "v,x,9,7"], "1.csv")
    source = lk.scan(tmp_path, target="y")
    X = rows_in(source.taking(["a", "b"], y=False))
    np.testing.assert_array_equal(X, [[1, 2], [3, 5], [5, 6], [7, 9]])
    text(tmp_path, ["a,B,y", "1,2,u"], "2.csv")
    with pytest.raises(ValueError, match=r"2\.csv: no column named 'b'"):
        lk.scan(tmp_path, target="y")
