"""The passes that fit. Bytes: one reading of X and the codes. Flops: what the formula needs at least."""

import numpy as np
import pytest

from benchmarks.kernels.conftest import K, N, P
from likelier import _core

READ = N * (8 * P + 4)
SCATTER = N * P * (P + 1)  # the upper triangle of Σ c cᵀ
SHAPES = {
    "diagonal": ((K, P), 4 * N * P),
    "full": ((K, P, P), SCATTER),
    "tied": ((P, P), SCATTER),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_moments(rate, matrix, codes, shape):
    size, flops = SHAPES[shape]
    tied = shape == "tied"

    def arguments():
        return matrix, codes, None, None, tied, np.zeros(K), np.zeros((K, P)), np.zeros(size)

    assert rate(_core.moments, arguments, B=READ, FLOP=flops) is None


def test_higher_moments(rate, matrix, codes):
    mean = np.zeros((K, P))

    def arguments():
        return matrix, codes, None, None, mean, *(np.zeros((K, P, P)) for _ in range(2))

    rate(_core.higher_moments, arguments, B=READ, FLOP=SCATTER + 2 * N * P * P)
