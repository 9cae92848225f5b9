"""The cells of a design matrix, beside NumPy: dense and as CSR, on every instruction level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SEEDS = st.integers(0, 10_000)


def case(seed):
    """Columns, a plan, and the design matrix as it must be."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(0, 200)), int(rng.integers(1, 6))
    kinds = rng.choice(["number", "integer", "category", "left out"], p)
    to, missing = np.full(p, -1, np.int32), np.full(p, -1, np.int32)
    shift, scale, fill = rng.normal(size=p), rng.uniform(0.5, 2, p), rng.normal(size=p)
    columns, tables, expected, P = [], [], [], 0
    for j, kind in enumerate(kinds):
        table = np.empty(0, np.int32)
        if kind in ("number", "integer"):
            x = (
                rng.normal(size=(n, 2))[:, 0]
                if kind == "number"
                else rng.integers(-2, 3, n).astype(np.int16)
            )
            gone = np.zeros(n, bool)
            if kind == "number":
                gone = rng.random(n) < 0.2
                x[gone] = np.nan
            to[j], P = P, P + 1
            expected.append(np.where(gone, fill[j], (x - shift[j]) / scale[j]))
            if rng.random() < 0.5:
                missing[j], P = P, P + 1
                expected.append(gone.astype(float))
        elif kind == "category":
            L, made = int(rng.integers(1, 5)), int(rng.integers(1, 4))
            x = rng.integers(-1, L + 1, n).astype(np.int32)
            places = rng.integers(-1, made, L + 2).astype(np.int32)
            expected += [(places[x + 1] == k).astype(float) for k in range(made)]
            table = np.where(places >= 0, places + P, -1).astype(np.int32)
            P += made
        else:
            x = np.zeros(n, np.int32)
        columns.append(x)
        tables.append(table)
    at = np.cumsum([0, *map(len, tables)]).astype(np.int64)
    plan = (to, missing, shift, scale, fill, at, np.concatenate(tables).astype(np.int32), P)
    return columns, plan, np.column_stack(expected) if expected else np.zeros((n, 0))


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_rows_and_cells(core, seed):
    columns, plan, expected = case(seed)
    X, n = core.Matrix.columns(tuple(columns)), len(columns[0])
    out = np.zeros(expected.shape)
    assert core.design_rows(X, *plan, out) is None
    np.testing.assert_array_equal(out, expected)
    counts = np.full(n, -1)
    assert core.design_counts(X, *plan, counts) is None
    np.testing.assert_array_equal(counts, (expected != 0).sum(axis=1))
    for kind in (np.int32, np.int64):
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(kind)
        values, places = np.zeros(starts[-1]), np.zeros(starts[-1], kind)
        assert core.design_cells(X, *plan, starts, values, places) is None
        again = np.zeros(expected.shape)
        again[np.repeat(np.arange(n), counts), places] = values
        np.testing.assert_array_equal(again, expected)


@pytest.mark.parametrize("row", [0, 63, 64, 99])
def test_an_infinite_cell_is_named(core, row):
    x = np.ones(100)
    x[row] = -np.inf
    one = np.zeros(1)
    plan = (np.zeros(1, np.int32), -np.ones(1, np.int32), one, one + 1, one)
    plan += (np.zeros(2, np.int64), np.empty(0, np.int32), 1)
    assert core.design_rows(core.Matrix.columns((x,)), *plan, np.zeros((100, 1))) == (row, 0)
