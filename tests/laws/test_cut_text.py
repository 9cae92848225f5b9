"""The laws of CSV that is cut into pieces: no row is lost, torn, doubled or renumbered."""

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import likelier as lk
from laws.test_files import may_be_degenerate, parameters, pieces_of, problem, write
from likelier.data.files import csv
from likelier.data.files.csv import Delimited, Dialect
from likelier.data.files.scan import Scan
from likelier.engines import chunks, run
from likelier.engines.run import kind_of, numbered

CELLS = st.one_of(
    st.text('ab",;\n\r é€', max_size=9).filter(lambda cell: cell not in ("", " ")),  # missing
    st.sampled_from(['5" pipe', '"', "two\nlines", "a\r\nb", ",,", '"\n"']),
)


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


@st.composite
def texts(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    """A CSV of x, the row's number, and y, any text; and what y is."""
    cells = draw(st.lists(CELLS, min_size=1, max_size=12))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    name = 'a "name",\nof two lines' if draw(st.booleans()) else "y"
    lines = [f"x,{quoted(name)}{end}"]
    for number, cell in enumerate(cells):
        plain = not set(cell) & set(",\n\r") and not cell.startswith('"') and draw(st.booleans())
        # In a cell that does not begin with one, quotation marks are what they are.
        lines.append(f"{end * draw(st.integers(0, 2))}{number},{cell if plain else quoted(cell)}{end}")
    text = "".join(lines) + end * draw(st.integers(0, 2))
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode(), cells


@given(texts(), st.integers(1, 70), st.integers(1, 5))
def test_any_text_gives_its_rows_wherever_it_is_cut(made, unit, rows):
    text, cells = made
    with tempfile.TemporaryDirectory() as folder, pieces_of(unit):
        path = Path(folder) / "t.csv"
        path.write_bytes(text)
        file = lk.scan(path).files[0].verbatim(["x"])
        spans = file.spans(rows)
        found = [
            [
                row
                for batch in file.read([], file.names, span, 1 << 10, 9)
                for row in zip(*batch.to_pydict().values(), strict=True)
            ]
            for span in spans
        ]
    wanted = [(str(number), cell) for number, cell in enumerate(cells)]
    assert [row for part in found for row in part] == wanted
    assert [span.first for span in spans] == [0, *np.cumsum([len(part) for part in found]).tolist()][:-1]
    assert all(len(part) >= rows for part in found[:-1])
    assert all(a.stop == b.start for a, b in pairwise(spans))
    assert spans[-1].stop == len(text)


def test_every_place_of_a_quoted_line_end_can_be_that_of_a_cut(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'x,y\n1,"a\nb""\n"\n2,"\n\n"\n3,c\n')
    wanted = [("1", 'a\nb"\n'), ("2", "\n\n"), ("3", "c")]
    for unit in range(1, 40):
        with pieces_of(unit):
            file = lk.scan(path).files[0].verbatim(["x"])
            read = [
                batch for span in file.spans(1) for batch in file.read([], ["x", "y"], span, 1 << 10, 9)
            ]
        assert [row for batch in read for row in zip(*batch.to_pydict().values(), strict=True)] == wanted


def csv_of(n: int, labels: list[str]) -> str:
    rng = np.random.default_rng(0)
    rows = "".join(
        f"{x:.6f},{z:.3f},{labels[i % len(labels)]}\n" for i, (x, z) in enumerate(rng.normal(size=(n, 2)))
    )
    return "x,z,y\n" + rows


def test_a_fit_depends_on_the_file_and_not_on_the_threads_that_looked_at_it(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text(csv_of(600, ["a", '"b\n"', "c"]))
    found = set()
    with pieces_of(500):
        for threads in ("1", "2", "5"):
            monkeypatch.setenv("LIKELIER_THREADS", threads)
            csv.cuts_of.cache_clear()
            source = lk.scan(path, target="y")
            assert len(source.parts(0)) > 10
            found.add(b"".join(np.asarray(p).tobytes() for p in parameters(lk.GaussianNB().fit(source))))
    assert len(found) == 1


def test_numbers_and_lines_of_rows_are_those_of_the_whole_file(tmp_path):
    path = tmp_path / "t.csv"
    lines = csv_of(400, ["a", '"b\n"']).splitlines(keepends=True)
    lines.insert(100, "\n")
    lines[302] = "inf,0,a\n"
    path.write_text("".join(lines))
    at = next(i for i, line in enumerate(lines) if line.startswith("inf"))
    with pieces_of(300), pytest.raises(ValueError, match=rf"line {at + 1}\)"):
        lk.GaussianNB().fit(lk.scan(path, target="y"))
    lines[at] = "1,2,3,4\n"
    path.write_text("".join(lines))
    with pieces_of(300), pytest.raises(ValueError, match=f"line {at + 1}: the line has 4 cells"):
        lk.GaussianNB().fit(lk.scan(path, target="y"))


@pytest.mark.parametrize("change", [lambda text: text + "1,2,a\n", lambda text: text[: len(text) // 2]])
def test_a_file_that_grows_or_shrinks_between_passes_is_named(tmp_path, change):
    path = tmp_path / "t.csv"
    path.write_text(csv_of(200, ["a", "b"]))
    with pieces_of(300):
        source = lk.scan(path, target="y")
        model = lk.GaussianNB().fit(source)
        path.write_text(change(path.read_text()))
        with pytest.raises(ValueError, match=r"t\.csv: the file has changed since it was scanned"):
            model.fit(source)
        csv.cuts_of.cache_clear()  # nor is it cut anew
        with pytest.raises(ValueError, match=r"t\.csv: the file has changed since it was scanned"):
            source.parts(0)


def test_a_file_without_rows_has_no_parts(tmp_path):
    for text in ("x,y\r\n\r\n\n", "x,y", "x,y\n"):
        (tmp_path / "a.csv").write_text(text)
        (tmp_path / "b.csv").write_text("x,y\n1,7\n2,8\n")
        assert Delimited.open(str(tmp_path / "a.csv"), Dialect(",")).spans(1) == []
    source = lk.scan(tmp_path, target="y")
    assert [chunk.X.shape[0] for part in source.parts(0) for chunk in part()] == [2]


# ---- classes by a glimpse ------------------------------------------------------------------------
def surveyed(model: lk.GaussianNB, source: Scan) -> lk.GaussianNB:
    """The fit that begins with a survey of all rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likelier.estimators.generative.one_pass.glimpse", lambda source: None)
        return model.fit(source)


def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What each pass from now on was for."""
    seen = []

    def counted(source, start, *beside):
        seen.append(kind_of(start()).__name__)
        return run(source, start, *beside)

    monkeypatch.setattr("likelier.estimators.generative.one_pass.run", counted)
    monkeypatch.setattr("likelier.model.run", counted)
    return seen


@may_be_degenerate
@settings(max_examples=30)
@given(data=st.data(), size=st.integers(30, 300))
@pytest.mark.parametrize("model", [lk.GaussianNB(), lk.CategoricalNB()], ids=repr)
def test_a_fit_by_guessed_classes_is_that_by_a_survey(model, data, size):
    """Labels that come late, weigh nothing, are numbers or text, in one file or several: bit for bit."""
    kind = data.draw(
        st.sampled_from(
            [["a", "bb", "ccc", '"d\n"'], ["3", "-1", "7", "12"], ["1.0", "2.0", "5.0", "-0.0"]]
        )
    )
    labels = data.draw(st.lists(st.sampled_from(kind), min_size=4, max_size=30))
    labels = data.draw(st.sampled_from([labels, sorted(labels)]))
    weights = data.draw(st.lists(st.sampled_from([0, 1, 2]), min_size=len(labels), max_size=len(labels)))
    cut = data.draw(st.integers(1, len(labels)))
    with tempfile.TemporaryDirectory() as folder, pieces_of(size):
        for name, rows in (("a", slice(cut)), ("b", slice(cut, None))):
            lines = [
                f"{i % 3},{i * i % 5},{y},{w}\n"
                for i, (y, w) in enumerate(zip(labels, weights, strict=True))
            ]
            (Path(folder) / f"{name}.csv").write_text("x,z,y,w\n" + "".join(lines[rows]))
        source = lk.scan(folder, target="y", weight=data.draw(st.sampled_from([None, "w"])))
        found = []
        for fit in (lambda new: new.fit(source), lambda new: surveyed(new, source)):
            try:
                new = fit(clone(model))
                found.append(
                    (new.classes_.dtype, new.classes_.tolist(), new.predict_proba(source).tobytes())
                )
            except ValueError as problem:
                found.append((str(problem),))
    assert found[0] == found[1]


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_one_pass_does_where_the_glimpse_saw_all(tmp_path, monkeypatch, ending):
    source = lk.scan(write(tmp_path, problem(900), [300], ending), target="colour", features=["x0", "x1"])
    seen = passes(monkeypatch)
    with pieces_of(1000):
        found = lk.GaussianNB().fit(source)
        assert seen == ["ColumnMoments"]
        assert found.classes_.tolist() == ["a long name", "green", "red"]


def test_labels_that_come_in_order_are_all_seen(tmp_path, monkeypatch):
    order = problem(900).sort_by("colour")
    source = lk.scan(write(tmp_path, order, [], "csv"), target="colour", features=["x0", "x1"])
    seen = passes(monkeypatch)
    with pieces_of(2000):
        lk.GaussianNB().fit(source)
    assert seen == ["ColumnMoments"]


def test_a_label_that_the_glimpse_has_missed_is_a_class(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    lines = csv_of(2000, ["a", "b"]).splitlines(keepends=True)
    path.write_text("".join([*lines[:120], "1.5,2.5,zz\n", "2.5,2,zz\n", *lines[120:]]))
    source = lk.scan(path, target="y")
    seen = passes(monkeypatch)
    with pieces_of(1000):
        found = lk.GaussianNB().fit(source)
    assert found.classes_.tolist() == ["a", "b", "zz"]
    assert seen == ["ColumnMoments", "Survey", "ColumnMoments"]
    assert found.class_count_.tolist() == [1000, 1000, 2]


def test_a_fit_with_a_checkpoint_keeps_no_pass_by_a_guess(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    lines = csv_of(2000, ["a", "b"]).splitlines(keepends=True)
    path.write_text("".join([*lines[:120], "1.5,2.5,zz\n", "2.5,2,zz\n", *lines[120:]]))
    monkeypatch.setattr("likelier.engines.checkpoint.EVERY", 0.0)
    monkeypatch.setattr("likelier.engines.checkpoint.PAUSE", 0.0)
    with pieces_of(1000):
        found = lk.GaussianNB().fit(lk.scan(path, target="y"), checkpoint=tmp_path / "fit.ck")
    assert found.class_count_.tolist() == [1000, 1000, 2]


def test_parquet_is_surveyed_since_a_column_is_read_alone(tmp_path, monkeypatch):
    source = lk.scan(write(tmp_path, problem(90), [], "parquet"), target="colour", features=["x0", "x1"])
    seen = passes(monkeypatch)
    lk.GaussianNB().fit(source)
    assert seen == ["Survey", "ColumnMoments"]


def test_an_error_under_a_guess_is_that_of_the_survey(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(csv_of(300, ["a", "b"]) + "1.5,2.5,\n" + "1.5,2.5,c\n" * 50 + "1,2,\n")
    with pieces_of(500), pytest.raises(ValueError, match=r"row 300 \(line 302\).*'y' is missing"):
        lk.GaussianNB().fit(lk.scan(path, target="y"))
    path.write_text(csv_of(300, ["a", "b"]) + "1.5,2.5,c\n3,3,c\n")
    with pieces_of(500):
        assert len(lk.GaussianNB(priors=[0.2, 0.3, 0.5]).fit(lk.scan(path, target="y")).classes_) == 3


# ---- other delimiters, and no header ---------------------------------------------------------------
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", "~", " "])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize("header", [True, False])
def test_cells_are_split_where_it_is_said(tmp_path, delimiter, ending, header):
    frame = pd.DataFrame({"a": np.arange(90.0), "b": ["x y", 'z,"', "a|b;\tc~"] * 30, "y": [0, 1, 1] * 30})
    for i, some in enumerate((frame[:1], frame[1:40], frame[40:])):
        some.to_csv(tmp_path / f"{i}.{ending}", sep=delimiter, index=False, header=header)
    with pieces_of(60):
        csv.cuts_of.cache_clear()
        target = "y" if header else "2"
        found = lk.scan(str(tmp_path / "*"), target=target, delimiter=delimiter, header=header)
        assert list(found.names) == (["a", "b"] if header else ["0", "1"])
        source = numbered(found.worded().coded(np.array([0, 1])))
        held = list(chunks(source))
    assert np.concatenate([chunk.first + np.arange(len(chunk.y)) for chunk in held]).tolist() == [
        *range(90)
    ]
    assert np.concatenate([chunk.X.arrays[0] for chunk in held]).tolist() == frame["a"].tolist()
    words = [chunk.X.arrays[1] for chunk in held]
    assert [word.levels[code] for word in words for code in word.codes] == frame["b"].tolist()


def test_bars_are_found_in_the_first_line(tmp_path):
    (tmp_path / "t.csv").write_text("a|y\n0|u\n2|u\n1|v\n3|v\n")
    assert lk.GaussianNB().fit(lk.scan(tmp_path / "t.csv", target="y")).theta_.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("delimiter", ["", "ab", "é", '"', "\n", 3])
def test_what_cannot_stand_between_cells_is_refused(tmp_path, delimiter):
    (tmp_path / "t.csv").write_text("a,y\n1,u\n")
    with pytest.raises(ValueError, match="delimiter"):
        lk.scan(tmp_path / "t.csv", delimiter=delimiter)


@pytest.mark.parametrize("how", [{"delimiter": ";"}, {"header": False}])
def test_other_formats_have_neither_delimiters_nor_headers(tmp_path, how):
    pd.DataFrame({"a": [1.0]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="is for CSV and TSV"):
        lk.scan(tmp_path / "t.parquet", **how)
    (tmp_path / "t.csv").write_text("")
    with pytest.raises(ValueError, match="empty"):
        lk.scan(tmp_path / "t.csv", header=False)
    (tmp_path / "t.csv").write_text("1,2\n3\n")
    with pytest.raises(ValueError, match="line 2: the line has 1 cells, and the first line 2"):
        lk.GaussianNB().fit(lk.scan(tmp_path / "t.csv", "1", header=False))
