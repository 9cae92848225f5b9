"""What a column is: as the file looks, or as it is said to be."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likelier as lk
from likelier.data.files import csv
from likelier.data.files.csv import MARKS

N = 40
Y = np.where(np.arange(N) % 3 == 0, "u", "v")


def types_of(path, **how):
    return {name: str(kind) for name, kind in lk.scan(path, **how).files[0].types.items()}


def column(tmp_path, cells, **how):
    """The type of a column of these cells."""
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells)))
    return types_of(path, **how)["a"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "?", " ?", "3"], "int64"),
        (["1", "", " ", "NA", "NaN", "null", "<NA>", "\\N"], "int64"),
        (["1e3", "+5", "inf"], "double"),
        (['"1"', '"2"'], "int64"),
        (["01234", "00001"], "int64"),
        (["true", "FALSE", ""], "bool"),
        (["yes", "no"], "string"),
        (['"1,234"', "5"], "string"),
        (["-", "5"], "string"),
        (["None", "5"], "string"),
        (["2024-01-31", "NA"], "date32[day]"),
        (["31.01.2024"], "string"),
        (["", ""], "null"),
    ],
)
def test_what_cells_look_like_is_what_they_are(cells, kind, tmp_path):
    assert column(tmp_path, cells) == kind


def test_marks_are_those_that_are_said_and_an_empty_cell_always(tmp_path):
    assert column(tmp_path, ["1", "-", ""], missing=["-"]) == "int64"
    assert column(tmp_path, ["1", "-9", " -9", ""], missing="-9") == "int64"
    assert column(tmp_path, ["1", "?"], missing=["-"]) == "string"
    assert column(tmp_path, ["NA", "DE", ""], missing=[]) == "string"
    model = lk.NaiveBayes().fit(table(tmp_path, a=np.resize(["NA", "DE"], N), how={"missing": []}))
    assert sorted(model.marginal(["a"]).sample(50, random_state=0)[0][:, 0].tolist())[0] == "DE"


def table(tmp_path, how=None, ending="csv", **columns):
    """A source of these columns and y."""
    path, frame = tmp_path / f"t.{ending}", pd.DataFrame({**columns, "y": Y})
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False)
    return lk.scan(path, target="y", **(how or {}))


@given(
    marks=st.sets(st.sampled_from([*MARKS, "", "-", "x y", "0"]), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
def test_marked_cells_are_missing_wherever_a_file_is_cut(tmp_path_factory, marks, seed):
    """A file with marks is the same file with empty cells; ranges of bytes and one stream agree."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N).round(3)
    gone = rng.random(N) < 0.3
    drawn = rng.choice(sorted(marks), N)
    folder = tmp_path_factory.mktemp("marks")
    marked, plain = (
        "x,y\n"
        + "".join(f"{drawn[i] if g and m else '' if g else x[i]},{Y[i]}\n" for i, g in enumerate(gone))
        for m in (True, False)
    )
    (folder / "marked.csv").write_text(marked)
    (folder / "packed.csv.gz").write_bytes(gzip.compress(marked.encode()))
    (folder / "plain.csv").write_text(plain)
    expected = lk.GaussianNB().fit(lk.scan(folder / "plain.csv", target="y"))
    for name in ("marked.csv", "packed.csv.gz"):
        found = lk.GaussianNB().fit(lk.scan(folder / name, target="y", missing=sorted(marks)))
        np.testing.assert_array_equal(found.theta_, expected.theta_)
        np.testing.assert_array_equal(found.var_, expected.var_)


def test_kinds_hold_in_every_piece_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "UNIT", 64)
    zips = np.array([f"0{i % 4}" for i in range(N)])
    when = pd.date_range("1969-12-31", periods=N, freq="36h").astype(str)
    source = table(tmp_path, zip=zips, when=when, how={"types": {"zip": "category", "when": "date"}})
    assert len(source.files[0].spans(1)) > 5
    chunks = [chunk for part in source.taking(["when"], y=False).parts(0) for chunk in part()]
    days = np.concatenate([chunk.X.to_array()[:, 0] for chunk in chunks])
    np.testing.assert_allclose(days, -1 + 1.5 * np.arange(N))
    model = lk.NaiveBayes().fit(source)
    assert model._categories() == ["zip"]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "jsonl"])
def test_every_format_is_told_alike(ending, tmp_path):
    when = pd.date_range("2024-01-01", periods=N, freq="7h")
    columns = {"zip": 10 + np.arange(N) % 4, "when": when if ending == "parquet" else when.astype(str)}
    told = {"zip": "category", "when": "date"}
    source = table(tmp_path, ending=ending, how={"types": told}, **columns)
    model = lk.NaiveBayes(families={"when": "gaussian"}).fit(source)
    plain = pd.DataFrame(
        {"zip": columns["zip"].astype(str), "when": (when - pd.Timestamp(0)) / pd.Timedelta("1D")}
    )
    expected = lk.NaiveBayes(families={"when": "gaussian"}).fit(plain, Y)
    np.testing.assert_allclose(model.predict_proba(source), expected.predict_proba(plain), rtol=1e-9)
    line = lk.LinearRegression().fit(
        lk.scan(source.files[0].path, target="when", features=["zip"], types={"when": "date"})
    )
    np.testing.assert_allclose(
        line.predict(pd.DataFrame({"zip": columns["zip"]})).mean(), plain["when"].mean()
    )


def test_gaps_in_dates_are_missing(tmp_path):
    cells = ["1970-01-02", None, "1970-01-03 12:00", "?"] * 10
    source = table(tmp_path, a=np.arange(N), d=cells, how={"types": {"d": "date"}})
    (chunk,) = next(iter(source.taking(["d"], y=False).parts(0)))()
    np.testing.assert_array_equal(chunk.X.to_array()[:4, 0], [1.0, np.nan, 2.5, np.nan])


def test_semicolons_may_come_with_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;y\n1,5;x;u\n2,5;y;v\n")
    (chunk,) = next(iter(lk.scan(path, target="y", features=["a"]).coded(np.array(["u", "v"])).parts(0)))()
    np.testing.assert_array_equal(chunk.X.to_array()[:, 0], [1.5, 2.5])
    path.write_text("a;b;y\n1.5;1,2;u\n2.5;3;v\n")
    assert types_of(path) == {"a": "double", "b": "string", "y": "string"}


@pytest.mark.parametrize(
    ("text", "encoding", "how"),
    [
        ("name;y\ncafé;1\nthé;2\n", "latin-1", {"encoding": "latin-1"}),
        ("name,y\ncafé,1\nthé,2\n", "utf-16", {}),
        ("name,y\r\ncafé,1\r\nthé,2\r\n", "utf-8-sig", {}),
        ("naïve,y\ncafé,1\nthé,2\n", "cp1252", {"encoding": "cp1252"}),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_text_of_any_encoding(text, encoding, how, packed, tmp_path):
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(text.encode(encoding)) if packed else text.encode(encoding))
    source = lk.scan(path, target="y", **how)
    (chunk,) = next(iter(source.categorised(source.texts(list(source.names))).parts(0)))()
    assert list(chunk.X.arrays[0].levels) == ["café", "thé"]


# ---- what is refused -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"types": {"tex": "number"}}, "no column named 'tex'; near it: 'text'"),
        (
            {"types": {"text": "word"}},
            "types['text'] must be one of 'number', 'category', 'text', 'date'; got 'word'",
        ),
        ({"types": {"text": "number"}}, "t.csv, line 2, column 'text': 'one' is not of type double"),
        ({"types": {"text": "date"}}, "'one' is not of type timestamp"),
        (
            {"encoding": "utf-99"},
            "encoding must be the name of a codec, such as 'utf-8', 'latin-1', 'cp1252' or 'utf-16'; "
            "got 'utf-99'",
        ),
    ],
)
def test_what_is_said_of_columns_must_make_sense(how, said, tmp_path):
    with pytest.raises(ValueError) as caught:
        lk.LinearRegression().fit(
            lk.scan(
                table(tmp_path, text=["one"] * N, x=range(N)).files[0].path,
                target="x",
                features=["text"],
                **how,
            )
        )
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "said"), [("number", "'one' is not a number"), ("date", "'one' is not a date")]
)
@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_cells_that_are_not_as_said_are_named(ending, kind, said, tmp_path):
    cells = [None, "one"] * (N // 2)
    source = table(tmp_path, text=cells, ending=ending, how={"types": {"text": kind}})
    with pytest.raises(ValueError, match=said) as caught:
        lk.GaussianNB().fit(source)
    assert "row 1 " in str(caught.value)
    assert "column 'text'" in str(caught.value)


def test_marks_and_encodings_are_for_delimited_text(tmp_path):
    for ending in ("parquet", "jsonl"):
        for how in ({"missing": ["?"]}, {"encoding": "latin-1"}):
            with pytest.raises(ValueError, match=r"is for CSV and TSV"):
                table(tmp_path, a=range(N), ending=ending, how=how)
    (tmp_path / "t.svm").write_text("1 1:2\n")
    with pytest.raises(ValueError, match="is for CSV and TSV"):
        lk.scan(tmp_path / "t.svm", missing=["?"])
    with pytest.raises(ValueError, match="columns have no names"):
        lk.scan(tmp_path / "t.svm", types={"a": "number"})


def test_text_in_another_encoding_is_named_with_its_line(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes("a,y\nx,1\ncafé,2\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"line 3: no UTF-8; .* encoding='latin-1'"):
        lk.NaiveBayes().fit(lk.scan(path, target="y"))
    monkeypatch.setattr(csv, "FIRST_BYTES", 1)
    path.write_bytes(b"a,y\n" + b"x,1\ny,2\n" * 1000 + "é,2\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"line 2002, column 'a': this is not UTF-8 text"):
        lk.NaiveBayes().fit(lk.scan(path, target="y"))


def test_binary_files_are_no_text(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": [1], "y": [2]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"t\.csv, line \d+: a zero byte: this is not text"):
        lk.scan(path, target="y")
    path.write_bytes(b"a,y\n1,2\n\0,3\n")
    with pytest.raises(ValueError, match=r"t\.csv, line 3: a zero byte"):
        lk.scan(path, target="y")
