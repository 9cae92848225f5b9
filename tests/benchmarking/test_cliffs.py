"""The map of shapes: what is measured, kept, summed up and drawn."""

import numpy as np
import pytest
from benchmarks.cliffs.cases import PAIRS, tables
from benchmarks.cliffs.cli import measure
from benchmarks.cliffs.clock import both, seconds
from benchmarks.cliffs.results import Cell, heat_map, load, markdown, save, summary

CELLS = [
    Cell("fit", "Ridge", "50 × 4, 3", 1e-3, 2e-3),
    Cell("fit", "Ridge", "CSR 9 × 9, 2", 1e-3, 4e-4),
    Cell("fit", "GaussianNB", "50 × 4, 3", 2e-3, 2e-3),
    Cell("one", "Ridge", "50 × 4, 3", 1e-3, 1e-3),
]


def test_a_summary_counts_cells_by_their_ratios():
    fit, one = summary(CELLS).splitlines()
    assert "66.7% of 3 cells" in fit
    assert "1 below 0.5, worst 0.40" in fit
    assert f"geometric mean {(2 * 0.4 * 1) ** (1 / 3):.2f}" in fit
    assert "100.0% of 1 cells" in one


def test_a_table_has_a_row_for_each_shape_and_is_empty_where_nothing_was_measured():
    lines = markdown(CELLS, "fit").splitlines()
    assert lines[0] == "| fit | Ridge | GaussianNB |"
    assert lines[2:] == ["| 50 × 4, 3 | 2 | 1 |", "| CSR 9 × 9, 2 | 0.4 |  |"]


def test_cells_are_kept_in_a_file(tmp_path):
    save(CELLS, tmp_path / "cells.csv")
    assert load(tmp_path / "cells.csv") == CELLS


def test_a_heat_map_shows_every_ratio():
    pytest.importorskip("matplotlib").use("agg")
    axes = heat_map(CELLS, "fit").axes[0]
    assert [text.get_text() for text in axes.texts] == ["2.0", "1.0", "0.4"]


@pytest.mark.parametrize("task", ["fit", "predict", "one"])
def test_a_pair_is_timed(task):
    (small,) = tables(["50 × 4,"])
    pair = next(pair for pair in PAIRS if pair.name == "GaussianNB")
    ours, theirs = both(pair, small, task, rounds=1)
    assert 0 < ours < 30
    assert 0 < theirs < 30


def test_every_table_is_taken_by_some_pair():
    for table in tables(["50 × 4,", "60 × 30,", "CSR 200"]):
        taken = [pair for pair in PAIRS if pair.takes(table)]
        assert len(taken) > 5
        for pair in taken:
            X, y = pair.data(table)
            assert X.shape[0] == len(y)
            assert not pair.positive or X.min() >= 0


def test_a_fit_that_fails_says_why():
    def broken():
        raise ValueError("no such model")

    with pytest.raises(RuntimeError, match="ValueError: no such model"):
        seconds(broken, np.zeros((2, 1)), np.array([0, 1]), "fit")


def test_models_and_tables_can_be_chosen():
    cells = measure(["one"], ["GaussianNB"], ["50 × 4,"])
    assert [(cell.model, cell.table) for cell in cells] == [("GaussianNB", "50 × 4, 3")]
