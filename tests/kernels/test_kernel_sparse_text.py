"""svmlight and VW as compressed sparse rows, against scikit-learn's reader and hashed rows."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6)
CELLS = st.dictionaries(st.integers(1, 60), NUMBERS, max_size=8)
SPACES = st.sampled_from([" ", "  ", "\t"])
ENDS = st.sampled_from(["\n", "\r\n", " \n", " # 3:4 a comment\n", "\n\n", "\n# all of it\n"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    lines = []
    for cells in draw(st.lists(CELLS, min_size=1, max_size=6)):
        written = [str(draw(st.integers(-3, 3) | st.sampled_from(["+1", "1.5", "-2e1"])))]
        written += [f"qid:{len(lines)}"] if draw(st.booleans()) else []
        written += [f"{index}:{value!r}" for index, value in sorted(cells.items())]
        lines.append(draw(SPACES).join(written) + draw(ENDS))
    return "".join(lines)


@given(text=texts(), shift=st.integers(0, 1), ended=st.booleans())
def test_svmlight_is_read_as_scikit_learn_reads_it(core, text, shift, ended):
    block = text.encode() if ended else text.rstrip().encode()
    y, w, starts, columns, values, bad = core.svmlight_rows(block, shift, True)
    assert bad is None
    X, expected = load_svmlight_file(io.BytesIO(text.encode()), n_features=61, zero_based=shift == 0)
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(starts, X.indptr)
    np.testing.assert_array_equal(columns, X.indices)
    assert values.tobytes() == X.data.tobytes()
    assert (w == 1).all()
    alone, _, nothing, *_ = core.svmlight_rows(block, shift, False)
    assert (alone.tobytes(), nothing.tolist()) == (y.tobytes(), [0] * (len(y) + 1))
    rows, lowest, highest = core.survey_lines(block, True)
    assert rows == len(y)
    if len(columns):
        assert (lowest, highest) == (columns.min() + shift, columns.max() + shift)
    else:
        assert lowest > highest


def test_cells_are_sorted_and_may_be_nan_or_infinite(core):
    block = b"1 7:1 3:nan 5:-inf 4:+Infinity\n2:3\n"
    y, _, starts, columns, values, bad = core.svmlight_rows(block, 0, True)
    assert bad is None
    np.testing.assert_array_equal(y, [1, np.nan])
    np.testing.assert_array_equal(starts, [0, 4, 5])
    np.testing.assert_array_equal(columns, [3, 4, 5, 7, 2])
    np.testing.assert_array_equal(values, [np.nan, np.inf, -np.inf, 1, 3])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("x 1:2", "the label 'x' is not a number"),
        ("1,2 1:2", "the label '1,2' is not a number"),
        ("1 2:1 3:1 2:5", "the index 2 comes twice"),
        ("1 2:1 2:5", "the index 2 comes twice"),
        ("1 -2:3", "the index '-2' is not a whole number from 0 on"),
        ("1 a:3", "the index 'a' is not a whole number from 0 on"),
        ("1 0:3", "the index 0 is out of range: 1 to 2147483646"),
        ("1 1099511627776:1", "the index 1099511627776 is out of range"),
        ("1 36893488147419103233:1", "the index 36893488147419103233 is out of range"),
        ("1 3:x", "the value 'x' of index 3 is not a number"),
        ("1 3:1x 4:5", "the value '1x' of index 3 is not a number"),
        ("1 3: 4:5", "the value '' of index 3 is not a number"),
        ("1 3", "'3' is no index:value"),
    ],
)
def test_a_bad_line_is_said_and_nothing_of_it_kept(core, line, why):
    y, _, starts, columns, _, bad = core.svmlight_rows(f"1 4:1\n\n{line}\n-1 5:1\n".encode(), 1, True)
    assert bad[0] == 3
    assert bad[1].startswith(why)
    assert bad[2] == line
    assert (y.tolist(), starts.tolist(), columns.tolist()) == ([1, -1], [0, 1, 2], [3, 4])


WORDS = st.text("ab1_", min_size=1, max_size=3)
VW_CELLS = st.lists(st.tuples(WORDS, st.none() | st.integers(-9, 9)), max_size=6)


@given(
    rows=st.lists(st.tuples(st.none() | st.integers(-2, 2), st.integers(0, 3), VW_CELLS), max_size=5),
    bits=st.sampled_from([2, 10, 18]),
)
def test_vw_is_read_as_for_a_learner(core, rows, bits):
    lines = []
    for label, weight, cells in rows:
        written = " ".join(name if value is None else f"{name}:{value}" for name, value in cells)
        lines.append(f"{'' if label is None else f'{label} {weight} '}|n {written}\n")
    block = "".join(lines).encode()
    y, w, starts, columns, values, bad = core.vw_rows(block, bits)
    assert bad is None
    hashed, parser = core.HashedRows(), core.TextParser("vw")
    parser.parse(block, hashed, True)
    keys, cells, ends, codes, weights = core.cells_of(hashed)
    labels = np.array([*(float(label) for label in parser.labels), np.nan])
    np.testing.assert_array_equal(y, labels[codes])
    np.testing.assert_array_equal(w, weights)
    places = (keys & np.uint64((1 << bits) - 1)).astype(np.int64)
    expected = sparse.csr_matrix((cells, places, ends), shape=(len(rows), 1 << bits))
    expected.sum_duplicates()
    np.testing.assert_array_equal(starts, expected.indptr)
    np.testing.assert_array_equal(columns, expected.indices)
    np.testing.assert_array_equal(values, expected.data)
    assert core.survey_lines(block, False)[0] == len(rows)


def test_vw_labels_are_numbers(core):
    bad = core.vw_rows(b"1 |a b\nspam |a b\n", 18)[-1]
    assert bad == (2, "the label 'spam' is not a number", "spam |a b")
    assert core.vw_rows(b"1 |a b\nno bar\n", 18)[-1][:2] == (2, "no | begins the features")


def test_blank_lines_are_no_rows(core):
    assert core.survey_lines(b"\n  \na\r\n\r\n\tb", False)[0] == 2
    assert core.survey_lines(b"", True)[0] == 0
