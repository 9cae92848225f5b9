"""drawn against its twin, the hashes of NumPy."""

import numpy as np
import pytest

from kernels.twins import hashed


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 655, 4097])
@pytest.mark.parametrize("top", [0, 2**57, 2**63, 2**64 - 1])
def test_the_rows_with_the_least_keys_are_drawn(core, n, top):
    for first, seed in ((0, 0), (10**12, 7), (3, 2**63)):
        places = np.full(n, -1, dtype=np.int64)
        found = places[: core.drawn(first, seed, top, places)]
        np.testing.assert_array_equal(found, np.flatnonzero(hashed(first, n, seed) <= np.uint64(top)))
