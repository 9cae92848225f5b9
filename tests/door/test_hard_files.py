"""Files that are unusual and right: every row is read, as it is written."""

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
    for name in ("cutting.UNIT", "lines.UNIT"):
        monkeypatch.setattr(f"likelier.data.{name}", unit)
    text = MARK + LINES[kind].replace("\n", end or "\n")
    path = tmp_path / f"marked.{kind}"
    path.write_bytes((text if end else text.rstrip("\n")).encode())
    source = lk.scan(path, target=None if kind in ("svm", "vw") else "y")
    rows = loaded(source)
    assert np.array_equal(rows.X.to_array().sum(axis=1), [1, 2, 1234])
    assert np.array_equal(rows.y, [0, 1, 1])
