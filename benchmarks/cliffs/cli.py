"""The command line of the map."""

import argparse
import sys
from pathlib import Path

from benchmarks.cliffs.cases import PAIRS, tables
from benchmarks.cliffs.clock import TASKS, both
from benchmarks.cliffs.results import CLIFF, EQUAL, KEPT, Cell, heat_map, markdown, save, summary

RESULTS = Path(__file__).parents[2] / "results"
DESCRIPTION = """\
Times of likelier's drop-in classes beside scikit-learn's on many shapes of tables: ratios on stdout,
cells.csv and a heat map for each task in results/. The exit code is 1 where more than 3 % of the cells
are slower than 0.8 of scikit-learn's speed, or one is slower than half of it."""


def parser() -> argparse.ArgumentParser:
    """All options."""
    new = argparse.ArgumentParser(prog="python -m benchmarks.cliffs", description=DESCRIPTION)
    add = new.add_argument
    add("--task", action="append", choices=TASKS, help="what is timed (default: all three)")
    add("--only", action="append", default=[], metavar="TEXT", help="models whose name begins with this")
    add("--table", action="append", default=[], metavar="TEXT", help="tables whose name contains this")
    add("--keep", action="store_true", help=f"keep the cells for the documentation, in {KEPT.name}")
    return new


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, draw; 1 where there is a cliff."""
    chosen = parser().parse_args(arguments)
    cells = measure(chosen.task or list(TASKS), chosen.only, chosen.table)
    if not cells:
        print("nothing to measure", file=sys.stderr)
        return 2
    RESULTS.mkdir(exist_ok=True)
    save(cells, RESULTS / "cells.csv")
    if chosen.keep:
        save(cells)
    for task in dict.fromkeys(cell.task for cell in cells):
        print(markdown(cells, task), end="\n\n")
        heat_map(cells, task).savefig(RESULTS / f"cliffs-{task}.png", dpi=110)
    for cell in sorted((c for c in cells if c.ratio < EQUAL), key=lambda c: c.ratio):
        times = f"{cell.ours * 1e3:.2f} ms, scikit-learn {cell.theirs * 1e3:.2f} ms"
        print(f"{cell.ratio:.2f}x  {cell.task} {cell.model} on {cell.table}: {times}")
    print(summary(cells))
    slow = sum(cell.ratio < EQUAL for cell in cells) / len(cells)
    return int(slow > 0.03 or any(cell.ratio < CLIFF for cell in cells))


def measure(tasks: list[str], only: list[str], names: list[str]) -> list[Cell]:
    """Every chosen class on every chosen table."""
    cells = []
    for table in tables(names):
        print(table.name, file=sys.stderr)
        for pair in PAIRS:
            if pair.takes(table) and (not only or any(pair.name.startswith(name) for name in only)):
                cells += [Cell(task, pair.name, table.name, *both(pair, table, task)) for task in tasks]
    return cells
