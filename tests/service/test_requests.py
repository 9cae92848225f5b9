"""Plain requests, which native code reads, mean what they do by the schema; all others are left to it."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("msgspec", reason="likelier[serve] is not installed")

from likelier import _core
from likelier.service.events import encode, features_of, id_text, label_of
from likelier.service.models import new_content, served_of
from likelier.service.schemas import learn_decoder, predict_decoder

CELLS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats(allow_nan=False)
    | st.text(max_size=6)
    | st.lists(st.integers(0, 9) | st.text(max_size=3), max_size=2)
)
ROWS = st.dictionaries(st.text(max_size=4), CELLS, max_size=6)
LABELS = st.sampled_from(["click", "no", 1, 0, 1.5, True, "\u00e9\n", None])
IDS = st.none() | st.text(max_size=4) | st.integers(-(2**54), 2**54)
LABELLED = st.fixed_dictionaries({"x": ROWS, "y": LABELS}, optional={"id": IDS})
PLAIN = {"a": 1.5, "b": "w", "c": True, "d": None, "e": -3, "f": "\u00e9\u4e2d"}


def taught(**settings):
    model = served_of(new_content({"bits": 10} | settings))
    for i in range(20):
        model.learn({"a": i, "b": "uvw"[i % 3]}, ["no", "click"][i % 2])
    return model


MODEL = taught(interactions=[("a", "b")])


def written(value, spaced, ascii):
    return json.dumps(value, ensure_ascii=ascii, indent=1 if spaced else None).encode(
        errors="surrogatepass"
    )


def cells(rows):
    """What the learner makes of rows: the scores of each, to the bit."""
    Z = np.empty((len(rows), 1))
    _core.online_scores(MODEL.model.learner, rows, Z)
    return Z.tolist()


@settings(max_examples=300)
@given(row=ROWS, spaced=st.booleans(), ascii=st.booleans())
def test_a_plain_row_is_the_row_of_the_schema(row, spaced, ascii):
    raw = written(row, spaced, ascii)
    found = MODEL.hashed([raw], ["no"])
    if found is not None:
        expected = MODEL.model.intake.dicts([features_of(raw)], np.zeros(1, np.int32), None)
        assert (found.cells, found.codes.tolist()) == (expected.cells, [0])
        assert cells(found) == cells(expected)


@settings(max_examples=300)
@given(
    rows=st.lists(
        st.fixed_dictionaries({"x": ROWS, "y": LABELS}, optional={"id": IDS}), min_size=1, max_size=3
    ),
    many=st.booleans(),
    spaced=st.booleans(),
    cut=st.integers(0, 40),
)
def test_plain_labels_are_those_of_the_schema(rows, many, spaced, cut):
    raw = written({"rows": rows} if many else rows[0], spaced, True)
    raw = raw[: len(raw) - cut] if cut < 20 else raw
    found = MODEL.labelled_rows(raw)
    if found is None:
        return
    asked = learn_decoder.decode(raw)  # what is plain is valid
    expected = asked.rows if many else [asked]
    assert found[0] == many
    assert found[1] == [None if row.id is None else id_text(row.id) for row in expected]
    assert [features_of(x) for x in found[2]] == [row.x for row in expected]
    assert [(type(y), y) for y in map(label_of, found[3])] == [(type(row.y), row.y) for row in expected]


@settings(max_examples=300)
@given(rows=st.lists(ROWS, min_size=1, max_size=3), many=st.booleans(), ascii=st.booleans())
def test_plain_predictions_are_those_of_the_schema(rows, many, ascii):
    raw = written({"rows": [{"x": x} for x in rows]} if many else {"x": rows[0]}, False, ascii)
    found = MODEL.answer_body(raw, 7, 100)
    if found is None:
        return
    asked = predict_decoder.decode(raw)
    expected = [MODEL.answer(row.x) for row in (asked.rows if many else [asked])]
    answers = json.loads(found[0])
    answers = answers["rows"] if many else [answers]
    assert found[1] == len(expected)
    for answer, p in zip(answers, expected, strict=True):
        assert answer == {"id": None, "label": max(p, key=p.get), "proba": p, "version": 7}


@given(content=st.binary(max_size=60))
def test_whatever_comes_is_refused_or_left(content):
    for body in (content, b'{"x":{' + content, b'{"y":1,"x":{"a":' + content + b"}}"):
        for read in (MODEL.labelled_rows, lambda body: MODEL.answer_body(body, 1, 9)):
            if read(body) is not None:
                (learn_decoder if read == MODEL.labelled_rows else predict_decoder).decode(body)
        MODEL.hashed([body], ["no"])


NOT_PLAIN = [
    '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 1e400}', '{"a": 01}', '{"a": 1.}', '{"a": .5}', '{"a": +1}',
    '{"a": -}', '{"a": 1e}', '{"a": "\\ud800"}', '{"a": "\\x"}', '{"a": "\n"}', '{"a": [1]}', '{"a": {}}',
    '{"a": 9223372036854775808}', '{"a": 1,}', '{"a"}', "{", "[]", "", '{"a": 1} x', '{"a": trueish}',
    '{"a": "' + "w" * 10_001 + '"}', '{"' + "n" * 1001 + '": 1}',
]  # fmt: skip


@pytest.mark.parametrize("raw", NOT_PLAIN)
def test_what_is_not_plain_is_left_to_the_schema(raw):
    assert MODEL.hashed([raw.encode()], ["no"]) is None
    assert MODEL.answer_body(b'{"x":' + raw.encode() + b"}", 1, 9) is None
    assert MODEL.labelled_rows(b'{"y":1,"x":' + raw.encode() + b"}") is None


def test_the_plain_case_is_read_by_native_code():
    raw = encode(PLAIN)
    assert MODEL.hashed([raw], ["no"]) is not None
    assert MODEL.answer_body(b'{"x":' + raw + b"}", 1, 9)[1] == 1
    assert MODEL.labelled_rows(b' {"id" : 12, "y": true, "x":' + raw + b"} ") == (
        False,
        ["12"],
        [raw],
        [b"true"],
    )
    assert MODEL.labelled_rows(b'{"rows":[{"id":"\\u00e9","y":"a"},{"x":{},"y":1.5}]}') == (
        True, ["\u00e9", None], [None, b"{}"], [b'"a"', b"1.5"],
    )  # fmt: skip
    assert MODEL.answer_body(b'{"rows":[{"x":{}},{"x":{}}]}', 1, 1) is None  # more rows than are allowed
    assert MODEL.answer_body(b'{"x":{},"id":"a"}', 1, 9) is None  # it has to be logged


def test_a_label_of_a_row_that_is_not_plain_is_not_met():
    model = taught()
    assert model.hashed([b'{"a":[1]}'], ["new"]) is None
    assert model.labels == ["no", "click"]
    assert model.hashed([b'{"a":1}', b"{}"], ["new", "no"]).codes.tolist() == [2, 0]
    assert model.labels == ["no", "click", "new"]


def test_columns_that_the_model_knows_have_the_cells_that_it_knows():
    reader = _core.RequestReader([], ["n", "w", "any"], ["n"], ["w"])
    codes = np.zeros(1, np.int32)

    def plain(**row):
        return reader.rows([encode(row)], codes) is not None

    assert plain(n=1, w="a", any="a")
    assert plain(n=True, w=False, any=2)
    assert not plain(n="1")
    assert not plain(w=1)
    assert not plain(other=1)


def test_codes_are_one_for_each_row():
    with pytest.raises(ValueError, match="codes are one for each row"):
        _core.RequestReader([], None, [], []).rows([b"{}"], np.zeros(2, np.int32))
