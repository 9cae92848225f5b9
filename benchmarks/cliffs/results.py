"""Cells of the map: their summary, the table, the file that keeps them and the heat map."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

KEPT = Path(__file__).parent / "measured.csv"  # what docs/benchmarks.md shows
EQUAL = 0.8  # ratios above are no slower: repeats differ by as much
CLIFF = 0.5
TITLES = {"fit": "fit", "predict": "predict all rows", "one": "predict one row"}


@dataclass(frozen=True)
class Cell:
    """One class on one table: seconds of likelier and of scikit-learn."""

    task: str
    model: str
    table: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """How many times faster likelier is."""
        return self.theirs / self.ours


def summary(cells: Sequence[Cell]) -> str:
    """How many cells are no slower, the worst and the geometric mean, in one line a task."""
    lines = []
    for task in dict.fromkeys(cell.task for cell in cells):
        ratios = np.array([cell.ratio for cell in cells if cell.task == task])
        lines.append(
            f"{TITLES[task]}: {(ratios >= EQUAL).mean():.1%} of {len(ratios)} cells no slower than "
            f"scikit-learn (ratio of at least {EQUAL}), {(ratios < CLIFF).sum()} below {CLIFF}, "
            f"worst {ratios.min():.2f}, geometric mean {np.exp(np.log(ratios).mean()):.2f}"
        )
    return "\n".join(lines)


def markdown(cells: Sequence[Cell], task: str) -> str:
    """Ratios of one task: a row for each table, a column for each model."""
    models, tables, ratio = _grid(cells, task)
    lines = [f"| {TITLES[task]} | " + " | ".join(models) + " |", "|---" * (len(models) + 1) + "|"]
    for row, table in zip(ratio, tables, strict=True):
        lines.append(f"| {table} | " + " | ".join("" if np.isnan(r) else f"{r:.2g}" for r in row) + " |")
    return "\n".join(lines)


def save(cells: Sequence[Cell], path: Path = KEPT) -> None:
    """Write the cells as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "model", "table", "likelier_ms", "scikit_learn_ms"])
        for cell in cells:
            writer.writerow(
                [cell.task, cell.model, cell.table, f"{cell.ours * 1e3:.4g}", f"{cell.theirs * 1e3:.4g}"]
            )


def load(path: Path = KEPT) -> list[Cell]:
    """Read what `save` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Cell(task, model, table, float(ours) / 1e3, float(theirs) / 1e3)
            for task, model, table, ours, theirs in list(csv.reader(file))[1:]
        ]


def heat_map(cells: Sequence[Cell], task: str = "fit") -> Any:
    """Draw the ratios of one task, blue where likelier is faster; gives the figure."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import TwoSlopeNorm

    models, tables, ratio = _grid(cells, task)
    figure, axes = plt.subplots(
        figsize=(2 + 0.62 * len(models), 2 + 0.32 * len(tables)), layout="constrained"
    )
    norm = TwoSlopeNorm(vcenter=0.0, vmin=-np.log2(10), vmax=np.log2(40))
    image = axes.imshow(np.log2(ratio), cmap="RdBu", norm=norm, aspect="auto")
    axes.set_xticks(range(len(models)), models, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(tables)), tables)
    axes.set_title(f"{TITLES[task]}: times faster than scikit-learn (rows × columns, classes)")
    for (i, j), value in np.ndenumerate(ratio):
        if not np.isnan(value):
            dark = abs(norm(np.log2(value)) - 0.5) > 0.33
            text = f"{value:.0f}" if value >= 10 else f"{value:.1f}"
            axes.text(j, i, text, ha="center", va="center", fontsize=8, color="white" if dark else "black")
    bar = figure.colorbar(image, ax=axes, shrink=0.9)
    marks = [0.1, 0.5, 1, 5, 40]
    bar.set_ticks(list(np.log2(marks)), labels=[f"{mark:g}×" for mark in marks])
    return figure


def _grid(cells: Sequence[Cell], task: str) -> tuple[list[str], list[str], np.ndarray]:
    """Models, tables, and the ratios (tables, models), NaN where a pair was not measured."""
    chosen = [cell for cell in cells if cell.task == task]
    models = list(dict.fromkeys(cell.model for cell in chosen))
    tables = list(dict.fromkeys(cell.table for cell in chosen))
    ratio = np.full((len(tables), len(models)), np.nan)
    for cell in chosen:
        ratio[tables.index(cell.table), models.index(cell.model)] = cell.ratio
    return models, tables, ratio
