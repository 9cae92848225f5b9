"""JSON lines, svmlight and VW's text to hashed rows, against Python's json module and scikit-learn."""

import io
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from kernels.hashing import Cells, cross_key, hash_of, name_key, number, parsed, word, word_key

CUTS = st.lists(st.integers(0, 300), max_size=5)


def rows_in(core, form: str, text: str | bytes, **settings) -> tuple[list[Any], Any]:
    parser = core.TextParser(form, **settings)
    return parsed(core, parser, text if isinstance(text, bytes) else text.encode()), parser


def complaint(core, form: str, line: str, **settings) -> str:
    """What is wrong with a line; the ones around it are read."""
    good = {"json": "{}", "svmlight": "1 1:1", "vw": "1 |a b"}[form]
    rows, parser = rows_in(core, form, f"{good}\n{line}\n{good}\n", **settings)
    assert len(rows) == 2
    ((number, what, text),) = parser.first_bad
    assert (number, text, parser.bad) == (2, line[:80], 1)
    return what


# ---- JSON

TEXTS = st.text('ab"\\/\n\té€😀\x00', max_size=6)
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def cells_of(name: str, value: Any) -> Cells:
    """The twin."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return []
    if isinstance(value, bool | str):
        return word(name, str(value))
    if isinstance(value, int | float):
        return number(name, float(value))
    if isinstance(value, dict):
        return [cell for key, inner in value.items() for cell in cells_of(f"{name}.{key}", inner)]
    places = enumerate(value)
    return [c for k, v in places for c in cells_of(name if isinstance(v, str) else f"{name}.{k}", v)]


@given(st.lists(st.dictionaries(TEXTS, VALUES, max_size=4), max_size=4), st.booleans(), CUTS)
def test_json_lines_are_read_as_python_reads_them(core, objects, ascii, cuts):
    text = "".join(json.dumps(x, ensure_ascii=ascii) + "\r\n" for x in objects).encode()
    parser = core.TextParser("json")
    rows = parsed(core, parser, text, [c for c in cuts if c < len(text)])
    assert parser.first_bad == []
    assert [cells for cells, _, _ in rows] == [
        [cell for name, value in x.items() for cell in cells_of(name, value)] for x in objects
    ]
    keys, values, *_ = core.cells_of(core.Intake([], False, False).dicts(objects, None, None))
    assert [cell for cells, _, _ in rows for cell in cells] == list(
        zip(keys.tolist(), values.tolist(), strict=True)
    )


PIECES = [
    '{"a":',
    '"b"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "1",
    "-",
    "0",
    "1.5",
    "e5",
    ".",
    "true",
    "nul",
    "null",
]
PIECES += [
    '"',
    "\\u00e9",
    "\\",
    "\\n",
    " ",
    "NaN",
    "-Infinity",
    "\t",
    "é",
    "+1",
    "Infinity",
    "\x01",
    "\\ud83d\\ude00",
]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=8), st.booleans())
def test_a_line_is_json_if_python_takes_it_for_an_object(core, text, closed):
    line = '{"a":' + text + "}" if closed else text
    line = line.replace("\n", "")
    try:
        good = isinstance(json.loads(line, object_pairs_hook=dict), dict)
    except ValueError:
        good = False
    rows, parser = rows_in(core, "json", line.encode("utf-8", "surrogatepass") + b"\n")
    assert (len(rows), parser.bad) == ((1, 0) if good else (0, 0 if not line.strip(" \t\r") else 1))


def test_the_target_of_json_is_its_value_as_text(core):
    values = ['"a"', "1", "1.0", "true", "null", '""', "-2e3", '"\\u00e9"']
    lines = "".join(f'{{"x": 1, "y": {value}}}\n' for value in values) + '{"x": 1}\n'
    rows, parser = rows_in(core, "json", lines, target="y")
    assert [code for _, code, _ in rows] == [0, 1, 2, 3, -1, -1, 4, 5, -1]
    assert parser.labels == ["a", "1", "1.0", "True", "-2e3", "é"]
    assert "where there should be a label" in complaint(core, "json", '{"y": [1]}', target="y")


def test_members_of_json_have_roles(core):
    line = '{"a": 1, "b": {"c": 2, "d": ["u", 5], "e": {"f": 3}}, "w": 0.5}\n'
    rows, _ = rows_in(core, "json", line, weight="w", ignored=["b.d"])
    assert rows == [(number("a", 1.0) + number("b.c", 2.0) + number("b.e.f", 3.0), -1, 0.5)]
    rows, _ = rows_in(core, "json", line, features=["a", "b.e"])
    assert rows == [(number("a", 1.0) + number("b.e.f", 3.0), -1, 1.0)]
    rows, _ = rows_in(core, "json", line, features=["a", "b.d"], crosses=[("a", "b.d")])
    a, u = name_key("a"), word_key("b.d", "u")
    assert rows[0][0] == [(a, 1.0), (u, 1.0), (name_key("b.d.1"), 5.0), (cross_key(a, u), 1.0)]


def test_what_is_wrong_with_a_line_of_json_is_said(core):
    assert complaint(core, "json", "[1]") == 'not an object: {"name": value, ...} is needed'
    assert complaint(core, "json", '{"a" 1}') == "'1}' where there should be a colon"
    assert complaint(core, "json", '{"a": 1') == "the line ends where there should be a comma or }"
    assert complaint(core, "json", '{"a": "b') == "a string is not closed"
    assert complaint(core, "json", '{"a": "\\x"}') == "an unknown escape in a string"
    assert complaint(core, "json", '{"a": "\\u12"}') == "\\u needs four digits"
    assert complaint(core, "json", '{"a": NaN}', finite=True) == "'a' is not a finite number"
    assert "64 objects" in complaint(core, "json", '{"a": ' + "[" * 99999 + "]" * 99999 + "}")


def test_a_row_of_json_must_have_its_weight(core):
    rows, parser = rows_in(core, "json", '{"w": 2}\n{"w": "2"}\n{"a": 1}\n{"w": -1}\n', weight="w")
    assert rows == [([], -1, 2.0)]
    assert [what for _, what, _ in parser.first_bad] == [
        "the weight is not a number",
        "no weight 'w'",
        "the weight '-1' is not a number from 0 on",
    ]


# ---- svmlight


@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_is_read_as_scikit_learn_reads_it(core, zero_based):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((50, 30)) < 0.3, rng.normal(size=(50, 30)), 0)
    y = rng.choice([-1, 1, 2.5], 50)
    out = io.BytesIO()
    dump_svmlight_file(X, y, out, zero_based=zero_based, comment="by hand", query_id=np.arange(50))
    rows, parser = rows_in(core, "svmlight", out.getvalue())
    S, labels = load_svmlight_file(io.BytesIO(out.getvalue()), zero_based=True)
    assert [cells for cells, _, _ in rows] == [
        [(name_key(str(j)), float(x)) for j, x in zip(row.indices, row.data, strict=True)] for row in S
    ]
    assert [float(parser.labels[code]) for _, code, _ in rows] == labels.tolist()
    assert set(parser.labels) == {"-1", "1", "2.5"}


def test_labels_of_svmlight_are_numbers_and_may_lack(core):
    rows, parser = rows_in(core, "svmlight", "+1 1:2\n1.0\n-1 # none\n# nothing\n003:1 7:0\n1e0 2:nan\n")
    assert [code for _, code, _ in rows] == [0, 0, 1, -1, 0]
    assert parser.labels == ["1", "-1"]
    assert rows[3][0] == number("3", 1.0)


def test_what_is_wrong_with_a_line_of_svmlight_is_said(core):
    assert complaint(core, "svmlight", "1 2:x") == "the value 'x' of 2 is not a number"
    assert complaint(core, "svmlight", "1 a:1") == "the index 'a' is not a number"
    assert complaint(core, "svmlight", "1 :1") == "':1' has no index"
    assert complaint(core, "svmlight", "1 2:1 3") == "'3' is no index:value"
    assert complaint(core, "svmlight", "1,2 3:1") == "the label '1,2' is not a number"
    assert complaint(core, "svmlight", "1 3:inf", finite=True) == "'3' is not a finite number"


# ---- VW


def feature(space: str, name: str, value: float = 1.0) -> tuple[int, float]:
    return word_key(space, name), value


@pytest.mark.parametrize(
    ("line", "label", "weight", "cells"),
    [
        ("1 |f a b:2", "1", 1.0, [feature("f", "a"), feature("f", "b", 2.0)]),
        ("-1 0.5 |f a", "-1", 0.5, [feature("f", "a")]),
        ("1.0 2 0.3 'tag |f a", "1", 2.0, [feature("f", "a")]),
        ("0 tag|f 12:.5", "0", 1.0, [feature("f", "12", 0.5)]),
        ("|f a", None, 1.0, [feature("f", "a")]),
        ("'tag |f a", None, 1.0, [feature("f", "a")]),
        ("1|f a", None, 1.0, [feature("f", "a")]),
        ("spam | a", "spam", 1.0, [feature("", "a")]),
        (
            "1 |f:2 a b:3 |g\tc|h d:0",
            "1",
            1.0,
            [feature("f", "a", 2.0), feature("f", "b", 6.0), feature("g", "c")],
        ),
        ("1 |f", "1", 1.0, []),
        ("1 |", "1", 1.0, []),
        ("1 |f a:red", "1", 1.0, [(hash_of(b"red", word_key("f", "a")), 1.0)]),
        ("1 |f a:nan b", "1", 1.0, [feature("f", "b")]),
        ("1 |f :5", "1", 1.0, [feature("f", "", 5.0)]),
    ],
)
def test_a_line_of_vw_is_read_by_its_rules(core, line, label, weight, cells):
    rows, parser = rows_in(core, "vw", line + "\r\n")
    assert rows == [(cells, -1 if label is None else 0, weight)]
    assert parser.labels == ([] if label is None else [label])


def test_namespaces_of_vw_are_fields(core):
    rows, _ = rows_in(core, "vw", "1 |user a b |ad c |x d\n", crosses=[("user", "ad")], ignored=["x"])
    a, b, c = (key for key, _ in (feature("user", "a"), feature("user", "b"), feature("ad", "c")))
    assert [key for key, _ in rows[0][0]] == [a, b, c, cross_key(a, c), cross_key(b, c)]


def test_what_is_wrong_with_a_line_of_vw_is_said(core):
    assert complaint(core, "vw", "1 a b") == "no | begins the features"
    assert complaint(core, "vw", "1 2 3 4 5 |f a") == "more than label, weight, base and tag before the |"
    assert complaint(core, "vw", "1 2 3 4 |f a") == "more than label, weight, base and tag before the |"
    assert complaint(core, "vw", "1:2:0.5 |f a").startswith("the label '1:2:0.5' has costs")
    assert complaint(core, "vw", "1 x |f a") == "the weight 'x' is not a number from 0 on"
    assert complaint(core, "vw", "1 |f:x a") == "the scale 'x' of f is not a number"


# ---- all of them


@given(
    st.sampled_from(["json", "svmlight", "vw"]),
    st.text('1 |a:\n\r#{}"[,-.', max_size=80).map(str.encode) | st.binary(max_size=60),
    st.lists(st.integers(0, 80), max_size=4),
)
def test_any_bytes_give_the_same_rows_wherever_they_are_cut(core, form, text, cuts):
    found = []
    for places in ([], [c for c in cuts if c < len(text)], range(len(text))):
        parser = core.TextParser(form, target="a", weight="1" if form == "json" else None)
        rows = parsed(core, parser, text, places)
        found.append((rows, parser.labels, parser.lines, parser.bad, parser.first_bad))
    assert found[0] == found[1] == found[2]
    assert parser.lines == text.count(b"\n") + (not text.endswith(b"\n") and text != b"")


@pytest.mark.parametrize("form", ["json", "svmlight", "vw"])
def test_a_line_that_does_not_end_is_passed_over(core, form):
    good = {"json": b"{}", "svmlight": b"1 1:1", "vw": b"1 |a b"}[form]
    text = good + b"\n" + b"x" * 5_000_000 + b"\n" + good
    for cuts in ([], range(1, 5_000_000, 500_000)):
        parser = core.TextParser(form)
        assert len(parsed(core, parser, text, cuts)) == 2
        assert parser.first_bad == [(2, "longer than 4 MB", "x" * 80)]
