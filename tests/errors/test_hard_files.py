"""Files that are unusual: every row is read as it is written, or refused."""

import re

import numpy as np
import pytest

import likelier as lk
from likelier.engines import loaded

MARK = "\ufeff"  # what some programs write before UTF-8
LINES = {
    "csv": "x,y\n1,0\n2,1\n1234,1\n",
    "jsonl": '{"x":1,"y":0}\n{"x":2,"y":1}\n{"x":1234,"y":1}\n',
    "svm": "0 1:1\n1 1:2\n1 1:1234\n",
    "vw": "0 | 1\n1 | 1:2\n1 | 1:1234\n",
}


@pytest.mark.parametrize("unit", [4, 20, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
@pytest.mark.parametrize("kind", LINES)
def test_a_byte_order_mark_is_no_row_and_takes_none_away(kind, end, unit, tmp_path, monkeypatch):
    for name in ("csv.UNIT", "base.UNIT"):
        monkeypatch.setattr(f"likelier.data.files.{name}", unit)
    text = MARK + LINES[kind].replace("\n", end or "\n")
    path = tmp_path / f"marked.{kind}"
    path.write_bytes((text if end else text.rstrip("\n")).encode())
    source = lk.scan(path, target=None if kind in ("svm", "vw") else "y")
    rows = loaded(source)
    assert np.array_equal(rows.X.to_array().sum(axis=1), [1, 2, 1234])
    assert np.array_equal(rows.y, [0, 1, 1])


FAR = 18446744073709551615  # as a float the same as the number before it
TOO_FAR = {
    "csv": f"x,y\n1,0\n2,{FAR}\n3,{FAR - 1}\n",
    "jsonl": f'{{"x":1,"y":0}}\n{{"x":2,"y":{FAR}}}\n{{"x":3,"y":{FAR - 1}}}\n',
    "svm": f"0 1:1\n{FAR} 1:2\n{FAR - 1} 1:3\n",
    "vw": f"0 | 1\n{FAR} | 1:2\n{FAR - 1} | 1:3\n",
}


@pytest.mark.parametrize("kind", TOO_FAR)
def test_labels_that_a_float_does_not_tell_apart_are_refused_not_joined(kind, tmp_path):
    path = tmp_path / f"far.{kind}"
    path.write_text(TOO_FAR[kind])
    source = lk.scan(path, target=None if kind in ("svm", "vw") else "y")
    where = rf"row 1 \(line \d\) of {re.escape(str(path))}"
    with pytest.raises(ValueError, match=where + ".*write them as text"):
        lk.GaussianNB().fit(source)


def test_half_a_surrogate_pair_is_refused_by_its_line(tmp_path):
    path = tmp_path / "half.jsonl"
    path.write_text('{"x":1,"y":"a"}\n{"x":2,"y":"\\ud83d"}\n')
    where = re.escape(f"{path}, line 2: it cannot be read as JSON: ")
    with pytest.raises(ValueError, match=where + ".*surrogates"):
        lk.GaussianNB().fit(lk.scan(path, target="y"))
