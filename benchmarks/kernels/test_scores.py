"""The passes that predict. Bytes: X read and the scores written once."""

import numpy as np

from benchmarks.kernels.conftest import K, N, P
from likelier import _core

MOVED = 8 * N * (P + K)
RNG = np.random.default_rng(2)
MEAN, WEIGHTS, BIAS = RNG.standard_normal((K, P)), RNG.standard_normal((K, P)), RNG.standard_normal(K)


def test_affine(rate, matrix):
    Z = np.empty((N, K))
    shift = np.zeros(P)
    rate(_core.affine, lambda: (matrix, WEIGHTS, BIAS, shift, Z, False), B=MOVED, FLOP=2 * N * P * K)


def test_diagonal(rate, matrix):
    Z = np.empty((N, K))
    scale = np.abs(WEIGHTS)
    rate(_core.diagonal, lambda: (matrix, MEAN, scale, BIAS, Z, False), B=MOVED, FLOP=4 * N * P * K)


def test_quadratic(rate, matrix):
    Z = np.empty((N, K))
    U = np.triu(RNG.standard_normal((K, P, P)))
    flops = N * K * P * (P + 1)  # upper triangular U_k
    rate(_core.quadratic, lambda: (matrix, MEAN[0], U, MEAN, BIAS, Z, False), B=MOVED, FLOP=flops)
