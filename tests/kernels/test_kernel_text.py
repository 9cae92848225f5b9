"""Delimited text to hashed rows, against Python's csv module and its floats."""

import csv
import io
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.hashing import Row, number, parsed, word

CELLS = st.one_of(
    st.text('ab,;"\t\n é€😀', max_size=12),
    st.from_regex(r"[0-9]{1,10}", fullmatch=True),
    st.floats().map(repr),
    st.sampled_from(["", "NA", "nan", "-inf", "007", "287130e0", " 3 ", "1e999", "-0", "x" * 40]),
)
CUTS = st.lists(st.integers(0, 400), max_size=6)
MISSING = {"", "NA", "N/A", "n/a", "null", "NULL"}


def as_number(cell: str) -> float | None:
    """The number that a cell of a number column is; None: it is a word."""
    try:
        return float(cell.strip(" "))
    except ValueError:
        return None


def expected_row(
    names: list[str], cells: list[str], words: set[str], target: str, labels: list[str]
) -> Row:
    found = []
    for name, cell in zip(names, cells, strict=True):
        if name == target:
            continue
        x = as_number(cell)
        if name in words or (x is None and cell.strip(" ") not in MISSING):
            found += word(name, cell) if cell else []
        elif x is not None and math.isfinite(x):
            found += number(name, x)
    label = cells[names.index(target)]
    if label and label not in labels:
        labels.append(label)
    return found, labels.index(label) if label else -1, 1.0


def expected_rows(text: str, delimiter: str, target: str) -> tuple[list[Row], list[str], set[str]]:
    """The twin: types by the first rows, labels as they come."""
    names, *table = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    table = [cells for cells in table if len(cells) == len(names)]
    words = {
        name
        for k, name in enumerate(names)
        if any(row[k].strip(" ") not in MISSING and as_number(row[k]) is None for row in table[:1000])
    }
    labels: list[str] = []
    return [expected_row(names, cells, words, target, labels) for cells in table], labels, words - {target}


@given(st.data(), CUTS)
def test_csv_is_read_as_python_reads_it_wherever_it_is_cut(core, data, cuts):
    p = data.draw(st.integers(1, 6))
    table = data.draw(st.lists(st.lists(CELLS, min_size=p, max_size=p), max_size=8))
    delimiter = data.draw(st.sampled_from(",\t;"))
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    quoting = data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([[f"c{k}" for k in range(p)], *table])
    text = out.getvalue()
    if data.draw(st.booleans()):
        text = text.removesuffix(end)

    rows, labels, words = expected_rows(text, delimiter, "c0")
    parser = core.TextParser("csv", target="c0", delimiter=delimiter)
    encoded = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()
    assert parsed(core, parser, encoded, [c for c in cuts if c < len(encoded)]) == rows
    assert parser.labels == labels
    assert (parser.bad, parser.first_bad) == (0, [])
    assert parser.header
    if rows:
        assert set(parser.words) == words


@given(st.text('a1,"\n\r', max_size=60), st.lists(st.integers(0, 60), max_size=4))
def test_any_text_gives_the_same_rows_wherever_it_is_cut(core, text, cuts):
    """Bad lines too: those with another number of cells, and a quotation mark that nothing closes."""
    found = []
    for places in ([], [c for c in cuts if c < len(text)], range(len(text))):
        parser = core.TextParser("csv", target="1", header=False)
        try:
            rows: Any = parsed(core, parser, text.encode(), places)
        except ValueError as problem:
            rows = str(problem)
        found.append((rows, parser.labels, parser.lines, parser.bad, parser.first_bad, parser.words))
    assert found[0] == found[1] == found[2]


DECIMALS = st.from_regex(
    r"[-+]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][-+]?[0-9]{1,3})?", fullmatch=True
)


@given(st.lists(DECIMALS | st.floats(allow_nan=False).map(repr), min_size=1))
def test_numbers_are_those_of_python_to_the_last_bit(core, texts):
    parser = core.TextParser("csv", header=False, numbers=["0"])
    rows = parsed(core, parser, "".join(f"{text}\n" for text in texts).encode())
    finite = [x if math.isfinite(x := float(text)) else 0.0 for text in texts]
    assert [cells for cells, _, _ in rows] == [number("0", x) for x in finite]
    assert parser.changed == 0


@pytest.mark.parametrize("length", range(1, 12))
def test_whole_numbers_of_any_length_are_exact(core, length):
    texts = [d * length for d in "123456789"] + [
        str(10 ** (length - 1)),
        "0" * length,
        "9" * (length - 1) + "8",
    ]
    parser = core.TextParser("csv", header=False, numbers=["0"])
    rows = parsed(core, parser, "".join(f"{text}\n" for text in texts).encode())
    assert [cells for cells, _, _ in rows] == [number("0", float(text)) for text in texts]


@pytest.mark.parametrize(
    "cell", ["/12", ":12", "1:", "12/", "1a", "١", "1_0", "0x10", "--1", "1e", "e5", ".", "1 2"]
)
def test_what_only_looks_like_a_number_is_a_word(core, cell):
    parser = core.TextParser("csv", header=False, numbers=["0"])
    assert parsed(core, parser, f"{cell}\n".encode()) == [(word("0", cell), -1, 1.0)]
    assert parser.changed == 1


@pytest.mark.parametrize("cell", ["", " ", "NA", " N/A ", "null", '""', '" "'])
def test_what_stands_for_nothing_is_absent_from_a_number_column(core, cell):
    parser = core.TextParser("csv", header=False, numbers=["0", "1"])
    assert parsed(core, parser, f"{cell},1\n1,{cell}\n".encode()) == [
        (number("1", 1.0), -1, 1.0),
        (number("0", 1.0), -1, 1.0),
    ]
    assert parser.changed == 0


def test_types_are_settled_by_the_first_rows_and_hold(core):
    head, rest = "x,y\n" + "1,a\n" * 1000, "word,2\n3,NA\ninf,5\n"
    parser = core.TextParser("csv")
    rows = parsed(core, parser, (head + rest).encode(), range(0, 4000, 7))
    assert (parser.numbers, parser.words) == (["x"], ["y"])
    assert [cells for cells, _, _ in rows[1000:]] == [
        word("x", "word") + word("y", "2"),
        number("x", 3.0) + word("y", "NA"),
        word("y", "5"),
    ]
    assert parser.changed == 1
    again = core.TextParser("csv", numbers=parser.numbers, words=parser.words)
    assert parsed(core, again, b"x,y\nword,2\n3,NA\ninf,5\n") == rows[1000:]


def test_rows_are_held_back_until_the_types_are_known_or_nothing_comes(core):
    parser, rows = core.TextParser("csv"), core.HashedRows()
    parser.parse(b"x,y\n1,a\n", rows)
    assert len(rows) == 0
    parser.parse(b"", rows)
    assert (len(rows), parser.numbers, parser.words) == (1, ["x"], ["y"])
    parser.parse(b"2,b\n3", rows)
    assert len(rows) == 2


def test_labels_are_codes_in_order_of_appearance_after_the_known_ones(core):
    parser = core.TextParser("csv", target="y", labels=["no", "yes"])
    rows = parsed(core, parser, b"y,x\nyes,1\nmaybe,1\n,1\nno,1\nmaybe,1\n")
    assert [code for _, code, _ in rows] == [1, 2, -1, 0, 2]
    assert parser.labels == ["no", "yes", "maybe"]


def test_columns_have_roles(core):
    text = b"y,a,w,b,c\n1,2,0.5,u,3\n0,1,2,v,1\n"
    parser = core.TextParser("csv", target="y", weight="w", features=["a", "b"])
    first, second = number("a", 2.0) + word("b", "u"), number("a", 1.0) + word("b", "v")
    expected = [(first, 0, 0.5), (second, 1, 2.0)]
    assert parsed(core, parser, text) == expected
    ignoring = core.TextParser("csv", target="y", weight="w", ignored=["c"])
    assert parsed(core, ignoring, text) == expected
    assert ignoring.names == ["y", "a", "w", "b", "c"]


@pytest.mark.parametrize(
    ("text", "target", "header"),
    [
        (b"a,b\n1,2\n", "b", True),
        (b"5.1,3.5,setosa\n", "2", False),
        (b"0\t1\t1\t5\t\n".replace(b"\t", b","), "0", False),
        (b"1,2,0\n0,1,1\n", "0", False),
        (b"0,1,2\n5,6,7\n", "2", True),
        (b"a,1\nu,7\n", "1", True),
    ],
)
def test_a_first_line_that_names_the_target_is_a_header(core, text, target, header):
    parser = core.TextParser("csv", target=target)
    rows = parsed(core, parser, text)
    assert parser.header == header
    assert len(rows) == text.count(b"\n") - header


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        (
            b"a,b\n1,2\n",
            {"target": "y"},
            "no column 'y', which is to be the target: there are a, b.",
        ),
        (b"a,b\n1,2\n", {"features": ["a", "z"]}, "no column 'z'"),
        (b"a,b\n1,2\n", {"crosses": [("a", "z")]}, "no column 'z'"),
        (b"a,a\n1,2\n", {}, "two columns are named 'a'"),
        (b'a,"b\n1,2\n', {}, "the first line does not end"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(core, text, settings, message):
    with pytest.raises(ValueError, match=message):
        parsed(core, core.TextParser("csv", **settings), text)


def test_bad_lines_are_counted_and_shown_and_the_others_are_read(core):
    text = b'y,x,w\n1,2,1\n1,2\n\n0,3,-1\n"a\nb",1,1\n1,2,3,4\n0,9,1\n"open,1\n'
    parser = core.TextParser("csv", target="y", weight="w")
    rows = parsed(core, parser, text)
    assert [code for _, code, _ in rows] == [0, 1, 2]
    assert parser.labels == ["1", "a\nb", "0"]
    assert parser.bad == 4
    assert parser.first_bad == [
        (3, "2 cells where there should be 3", "1,2"),
        (5, "the weight '-1' is not a number from 0 on", "0,3,-1"),
        (8, "4 cells where there should be 3", "1,2,3,4"),
        (10, "a quotation mark is not closed", '"open,1'),
    ]
    assert parser.lines == 10


def test_the_first_ten_bad_lines_are_kept(core):
    parser = core.TextParser("csv")
    parsed(core, parser, b"a,b\n" + b"x" * 200 + b"\n" + b"1\n" * 50)
    assert (parser.bad, len(parser.first_bad)) == (51, 10)
    assert parser.first_bad[0] == (2, "1 cells where there should be 2", "x" * 80)


def test_numbers_that_are_not_finite_are_skipped_and_counted_or_refused(core):
    text = b"x,y\n1,nan\n-Infinity,1\nNaN,NA\n2,3\n"
    rows = core.HashedRows()
    core.TextParser("csv").parse(text, rows, True)
    assert (len(rows), rows.skipped, rows.cells) == (4, 3, 4)
    strict = core.TextParser("csv", finite=True)
    assert len(parsed(core, strict, text)) == 1
    assert strict.first_bad[0] == (2, "'y' is not a finite number", "1,nan")


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("cuts", [[], range(0, 5_000_000, 1_000_000)])
def test_a_line_without_end_is_one_bad_line(core, quoted, cuts):
    long = b'"' + b"x" * 4_200_000 + b'"' if quoted else b"x" * 4_200_000
    text = b"a,b\n1,2\n" + long + b",2\n3,4\n"
    parser = core.TextParser("csv")
    assert len(parsed(core, parser, text, [c for c in cuts if c])) == 2
    assert parser.first_bad == [(3, "longer than 4 MB", long[:80].decode())]


def test_text_that_is_not_utf8_passes_through(core):
    parser = core.TextParser("csv", target="y\udcff")
    rows = parsed(core, parser, b"x,y\xff\n\xe9,\xfe\n")
    assert rows == [(word("x", b"\xe9"), 0, 1.0)]
    assert parser.labels == ["\udcfe"]


def test_without_quotes_marks_are_text(core):
    parser = core.TextParser("csv", delimiter="\t", quotes=False, header=False, target="0")
    rows = parsed(core, parser, b'ham\t"Ok\nspam\tfree "x"\n')
    assert rows == [(word("1", '"Ok'), 0, 1.0), (word("1", 'free "x"'), 1, 1.0)]


def test_an_unknown_format_is_refused(core):
    with pytest.raises(ValueError, match="no format 'xml': csv, json, svmlight and vw are known"):
        core.TextParser("xml")


# ---- where rows end ------------------------------------------------------------------------------
def row_ends(text: bytes, delimiter: bytes, before: bytes, quotes: int) -> tuple[int, int, int]:
    """The twin: byte after byte. `cell`: within one, so that a quotation mark opens nothing."""
    rows, first = 0, -1
    cell, blank = before not in (delimiter, b"\n", b"\r"), before in (b"\n", b"\r")
    for place, byte in enumerate(text):
        mark = byte == ord('"')
        if quotes == 1:
            quotes, blank = 2 if mark else 1, False
            continue
        if quotes == 2:
            cell, quotes = True, 1 if mark else 0
            if mark:
                continue
        if byte in b"\n\r":
            if not blank:
                rows += 1
                first = place + 1 if first < 0 else first
            cell, blank = False, True
            continue
        quotes = 1 if mark and not cell else 0
        cell, blank = byte != delimiter[0], False
    return rows, first, quotes


TEXT = st.lists(st.sampled_from([b'"', b",", b"\n", b"\r", b"a", b'""', b'","', b"x" * 61]), max_size=80)


@given(TEXT.map(b"".join), st.sampled_from([b",", b"\n", b'"', b"a", b"\xff"]), st.integers(0, 2))
def test_rows_end_where_a_reader_of_bytes_says(core, text, before, quotes):
    if quotes == 2:
        before = b'"'
    found = core.row_ends(np.frombuffer(text, np.uint8), ",", before[0], quotes)
    assert found == row_ends(text, b",", before, quotes)


@given(TEXT.map(b"".join), st.data())
def test_rows_of_two_blocks_are_those_of_both(core, text, data):
    at = data.draw(st.integers(1, max(1, len(text))))
    bytes_of = np.frombuffer(text, np.uint8)
    rows, first, quotes = core.row_ends(bytes_of[:at], ",", 10, 0)
    more, second, end = core.row_ends(bytes_of[at:], ",", (text[:at] or b"\n")[-1], quotes)
    whole = core.row_ends(bytes_of, ",", 10, 0)
    assert (rows + more, end) == (whole[0], whole[2])
    assert (first if first >= 0 else at + second if second >= 0 else -1) == whole[1]


def test_quotes_are_open_closed_or_closing(core):
    with pytest.raises(ValueError, match="0, 1 or 2"):
        core.row_ends(np.zeros(1, np.uint8), ",", 10, 3)
