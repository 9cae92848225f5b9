"""Labels to codes. Bytes: the labels read, the codes written."""

import numpy as np
import pytest

from benchmarks.kernels.conftest import N
from likelier import _core

FEW = np.array([17, -3, 250, 4, 99, 0, 42, 7, 1000, 5])
LABELS = {
    "few": lambda codes: FEW[codes],
    "far apart": lambda codes: FEW[codes] << 40,
}


@pytest.mark.parametrize("kind", LABELS)
def test_code(rate, codes, kind):
    y = LABELS[kind](codes)
    found, first = rate(_core.code, lambda: (y,), B=y.nbytes + 4 * N, row=N)
    assert (y[first][found] == y).all()


def test_code_bytes(rate, codes):
    names = np.array([f"class {label}" for label in FEW])[codes]
    y = names.view(np.uint8).reshape(N, -1)
    found, first = rate(_core.code_bytes, lambda: (y,), B=y.nbytes + 4 * N, row=N)
    assert (names[first][found] == names).all()


def test_recode(rate, codes):
    table = np.arange(10, dtype=np.int32)[::-1].copy()
    rate(_core.recode, lambda: (codes.copy(), table), B=2 * codes.nbytes, row=N)
