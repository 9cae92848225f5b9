"""code, code_bytes and recode against their twins."""

import numpy as np
import pytest

from kernels import twins

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
ROWS = [0, 1, 63, 64, 65, 655, 4097]


def assert_same_coding(found: tuple[np.ndarray, np.ndarray], y: np.ndarray) -> None:
    codes, first = found
    assert (codes.dtype, first.dtype) == (np.int32, np.int64)
    expected_codes, expected_first = twins.code(y)
    np.testing.assert_array_equal(codes, expected_codes)
    np.testing.assert_array_equal(first, expected_first)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("span", ["few", "all"])
def test_whole_numbers_are_coded_as_they_first_appear(core, dtype, span):
    """A small range goes through a table, the full range of the type through a hash map."""
    limits = np.iinfo(dtype)
    for n in ROWS:
        rng = np.random.default_rng(n)
        low, high = (limits.min, limits.max) if span == "all" else (max(limits.min, -3), 4)
        y = rng.integers(low, high, n, dtype=dtype, endpoint=True)
        if span == "all" and n > 2:
            y[[0, -1]], y[n // 2 :: 3] = [limits.max, limits.min], limits.max
        assert_same_coding(core.code(y), y)


def test_a_range_at_the_edge_of_the_table_is_coded_too(core):
    for width in (1023, 1024, 1025, 4 * 300 - 1, 4 * 300, 4 * 300 + 1):
        for base in (-(2**63), -5, 0, 2**63 - 1 - width):
            y = base + np.random.default_rng(width).integers(0, width, 300, endpoint=True)
            y[:2] = [base, base + width]
            assert_same_coding(core.code(y), y)


@pytest.mark.parametrize("width", [1, 3, 8, 16, 40])
def test_bytes_are_coded_as_they_first_appear(core, width):
    for n in ROWS:
        rng = np.random.default_rng([n, width])
        levels = rng.integers(0, 256, (9, width), dtype=np.uint8)
        levels[1], levels[1, -1] = levels[0], levels[0, -1] + 1  # the last byte counts
        y = levels[np.sort(rng.integers(0, 9, n))] if n % 2 else levels[rng.integers(0, 9, n)]
        assert_same_coding(core.code_bytes(y), np.ascontiguousarray(y).view(f"V{width}").ravel())


def test_strings_are_their_bytes(core):
    y = np.array(["a", "", "ab", "a", "b\0c", "b", ""])
    assert_same_coding(core.code_bytes(y.view(np.uint8).reshape(len(y), -1)), y)


def test_codes_outlive_the_call(core):
    codes, first = core.code(np.arange(5000) % 7)
    np.full(50_000, -1)  # room that was freed would be taken again
    np.testing.assert_array_equal(codes, np.arange(5000) % 7)
    np.testing.assert_array_equal(first, np.arange(7))


def test_recode_looks_codes_up_in_place(core):
    for n in ROWS:
        rng = np.random.default_rng(n)
        codes, table = rng.integers(0, 9, n).astype(np.int32), rng.integers(-1, 5, 9).astype(np.int32)
        expected = table[codes]
        core.recode(codes, table)
        np.testing.assert_array_equal(codes, expected)
