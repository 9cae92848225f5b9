"""A comparison in words: tables that fit a terminal, and what a reader should know."""

import re
from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from likelier.shown import Table, aligned, counted, html

if TYPE_CHECKING:
    from likelier.comparing.table import Comparison, Metric, Result

WIDTH = 122
NATURE = ["model", "kind", "models", "independent", "boundary"]
NARROWEST = 40  # to which remarks are broken


def text(comparison: "Comparison", width: int = WIDTH) -> str:
    """Figures, natures and remarks, in lines of that width, as far as there is room for a table."""
    running = [result for result in comparison.results if not result.sits_out]
    wrapped = max(width, NARROWEST)
    parts = [
        [fill(_head(comparison), wrapped)],
        next(
            (table for table in _tables(comparison, running) if _width(table) <= width),
            _least(comparison, running),
        ),
        _natures(running, width),
        [fill(note, wrapped, subsequent_indent="  ") for note in _remarks(comparison)],
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in part) for part in parts if part)


def notebook(comparison: "Comparison") -> str:
    """The same as HTML, which has room for all figures."""
    running = [result for result in comparison.results if not result.sits_out]
    metrics, known = comparison.metrics, _known(running)
    every = {metric.name for metric in metrics}
    figures = Table(_figures(comparison, running, metrics, every, " ± ", times=True), left=2)
    natures = [Table([NATURE, *known], left=len(NATURE))] if known else []
    return html([_head(comparison), figures, *natures, *_remarks(comparison)])


def _head(comparison: "Comparison") -> str:
    rows, classes = comparison.rows, comparison.classes
    kind = "a target of numbers" if classes is None else counted(len(classes), "class")
    return (
        f"{counted(len(rows), 'row')}, {counted(rows.p, 'column')}, {kind}; {comparison.cv}-fold "
        f"cross-validation, seed {comparison.seed}; by {comparison.metric.replace('_', '-')}, mean ± "
        "standard error"
    )


# ---- figures -------------------------------------------------------------------------------------
def _tables(comparison: "Comparison", results: Sequence["Result"]) -> Iterator[list[str]]:
    """With all errors, close by if need be; with that of the metric alone; without times."""
    every, one = {metric.name for metric in comparison.metrics}, {comparison.metric}
    for errors, sign, times in (
        (every, " ± ", True),
        (every, "±", True),
        (one, " ± ", True),
        (one, "±", False),
    ):
        yield _aligned(_figures(comparison, results, comparison.metrics, errors, sign, times=times))


def _least(comparison: "Comparison", results: Sequence["Result"]) -> list[str]:
    """The metric alone."""
    chosen = [metric for metric in comparison.metrics if metric.name == comparison.metric]
    return _aligned(_figures(comparison, results, chosen, {comparison.metric}, "±", times=False))


def _figures(
    comparison: "Comparison",
    results: Sequence["Result"],
    metrics: Sequence["Metric"],
    errors: set[str],
    sign: str,
    *,
    times: bool,
) -> list[list[str]]:
    """The rows of the table, headings first."""
    headings = ["", "model", *(metric.heading for metric in metrics)]
    rows = [headings + (["fit", "predict", "params"] if times else [])]
    for result in results:
        mark = "*" if result is comparison.best else "=" if comparison.is_tied(result) else ""
        row = [mark, result.model, *(_figure(result, m, sign if m.name in errors else "") for m in metrics)]
        if times:
            params = "-" if result.parameters is None else f"{result.parameters:,}"
            row += [seconds(result.seconds("fit")), seconds(result.seconds("predict")), params]
        rows.append(row)
    return rows


def _figure(result: "Result", metric: "Metric", sign: str) -> str:
    """The mean, and behind the sign its error."""
    value, error = result.mean(metric.name), result.error_of(metric.name)
    if np.isnan(value):
        return "-"
    return metric.shown(value) + (f"{sign}{metric.shown(error)}" if sign and not np.isnan(error) else "")


def _natures(results: Sequence["Result"], width: int) -> list[str]:
    """What models take for granted, as a table, or as sentences where that is too wide."""
    known = _known(results)
    if not known:
        return []
    table = _aligned([NATURE, *known], left=len(NATURE))
    if _width(table) <= width:
        return table
    said = (f"{row[0]}: {'; '.join(cell for cell in row[1:3] if cell)}" for row in known)
    return [fill(line, max(width, NARROWEST), subsequent_indent="  ") for line in said]


def _known(results: Sequence["Result"]) -> list[list[str]]:
    """A row for each model whose nature is known."""
    rows = (
        [r.model, r.nature.kind, r.nature.models, r.nature.independent, r.nature.boundary] for r in results
    )
    return [row for row in rows if any(row[1:])]


def _aligned(table: Sequence[Sequence[str]], left: int = 2) -> list[str]:
    """As lines, one below the headings: the first columns to the left, the others to the right."""
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    heads, *lines = aligned(Table(table, left))
    return [heads, "  ".join("-" * width for width in widths), *lines]


def _width(lines: Sequence[str]) -> int:
    return max(len(line) for line in lines)


# ---- remarks -------------------------------------------------------------------------------------
def _remarks(comparison: "Comparison") -> list[str]:
    """What a reader should know; what the models have to say, each remark once."""
    said = ["* best; = not told apart from it (corrected t-test, 5 %)", *comparison.rows.notes]
    makers: dict[str, list[str]] = {}
    for result in comparison.results:
        for note in ((f"sits out: {result.sits_out}",) if result.sits_out else ()) + result.notes:
            makers.setdefault(first_sentence(note), []).append(result.model)
    return said + [f"{'; '.join(models)}: {note}" for note, models in makers.items()]


def first_sentence(note: str) -> str:
    """Of what a model says; all of it is in `notes`."""
    return re.split(r"(?<=[^.]\.)\s+(?=[A-Z])", " ".join(note.split()))[0].removesuffix(".")


def seconds(value: float) -> str:
    """A time, in words; of none, a dash."""
    if np.isnan(value):
        return "-"
    if value < 1:
        return f"{1e3 * value:.1f} ms" if value < 0.01 else f"{1e3 * value:.0f} ms"
    return f"{value:.1f} s"
