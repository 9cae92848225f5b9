"""From scores to answers. Bytes: the scores read, the answers written."""

import numpy as np
import pytest

from benchmarks.kernels.conftest import K, N
from likelier import _core

Z = 3 * np.random.default_rng(3).standard_normal((N, K))


@pytest.mark.parametrize("link", ["softmax", "log_softmax"])
def test_in_place(rate, link):
    rate(getattr(_core, link), lambda: (Z.copy(),), B=2 * Z.nbytes, exp=N * K)


def test_log_sum_exp(rate):
    out = np.empty(N)
    rate(_core.log_sum_exp, lambda: (Z, out), B=Z.nbytes + out.nbytes, exp=N * K)


def test_argmax(rate):
    out = np.empty(N, dtype=np.int64)
    rate(_core.argmax, lambda: (Z, out), B=Z.nbytes + out.nbytes)
