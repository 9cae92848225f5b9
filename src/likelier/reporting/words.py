"""What is said about a comparison, as HTML."""

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from likelier.comparing.table import Comparison, Metric, Result
from likelier.reporting.pictures import COLORS
from likelier.shown import counted

MOST_NAMED = 6
MOST_SHARES = 12  # classes that have a part of the bar of their own


def listed(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """In words; of many, the first."""
    shown = [f"<b>{escape(name)}</b>" for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def metric_of(comparison: Comparison) -> Metric:
    """What the best is best by."""
    return next(m for m in comparison.metrics if m.name == comparison.metric)


def figure(result: Result, metric: Metric) -> str:
    """Mean ± standard error; a dash where there is none."""
    value, error = result.mean(metric.name), result.error_of(metric.name)
    if np.isnan(value):
        return "–"
    about = "" if np.isnan(error) else f' <span class="se">± {metric.shown(error)}</span>'
    return f"{metric.shown(value)}{about}"


def heading(metric: Metric) -> str:
    """Its name, not shortened."""
    return {"calibr.": "calibration"}.get(metric.heading, metric.heading)


def verdict(comparison: Comparison) -> str:
    """The answer, in three sentences."""
    metric, best = metric_of(comparison), comparison.best
    if not best.folds:
        return "<p>No model could take these rows: each says why below.</p>"
    said = [f"<b>{escape(best.model)}</b> does best: {heading(metric)} {figure(best, metric)}."]
    ties = [result.model for result in comparison.results[1:] if comparison.is_tied(result)]
    if ties:
        verb = "is" if len(ties) == 1 else "are"
        said.append(
            f"{listed(ties)} {verb} not told apart from it: the difference may be luck of the folds."
        )
    elif sum(bool(result.folds) for result in comparison.results) > 1:
        said.append("No other model comes as close: the difference is more than luck of the folds.")
    base = next((result for result in comparison.results if result.baseline and result.folds), None)
    if base is not None and base is not best:
        what = "the mean" if comparison.classes is None else "how common each class is"
        said.append(f"Knowing nothing but {what} gives {metric.shown(base.mean(metric.name))}.")
    return f'<p class="lead">{" ".join(said)}</p>'


def facts(comparison: Comparison) -> str:
    """The table in numbers."""
    rows, kinds = comparison.rows, ("number", "category", "text")
    held = [f"{len(rows.of(kind))} {kind}" for kind in kinds if rows.of(kind)]
    columns = "a sparse matrix" if rows.sparse is not None else ", ".join(held)
    found = [(f"{len(rows):,}", "row" if len(rows) == 1 else "rows", "")]
    found.append((f"{rows.p:,}", "column" if rows.p == 1 else "columns", columns))
    target = "" if rows.target is None else f"target: {rows.target}"
    if comparison.classes is None:
        y = np.asarray(rows.y, dtype=float)
        named = f"mean of {rows.target or 'the target'}"
        found.append((f"{y.mean():.4g}", named, f"from {y.min():.4g} to {y.max():.4g}"))
    else:
        found.append((f"{len(comparison.classes):,}", "classes", target))
    found.append((f"{rows.gaps:,}", "missing cells", ""))
    found.append((f"{comparison.cv}", "folds", f"seed {comparison.seed}"))
    if np.isfinite(comparison.seconds):
        found.append((f"{comparison.seconds:.1f} s", "to compare", ""))
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd><dd>{escape(more)}</dd></div>"
        for value, name, more in found
    )
    return f'<dl class="facts">{cells}</dl>'


def shares(comparison: Comparison, weight: NDArray[np.float64]) -> str:
    """How common each class is."""
    assert comparison.classes is not None
    share = weight / weight.sum()
    order = (
        np.arange(len(share))
        if len(share) <= MOST_SHARES
        else np.argsort(-share, kind="stable")[: MOST_SHARES - 1]
    )
    parts, keys = [], []
    for k in order:
        name, size = escape(str(comparison.classes[k])), f"{100 * share[k]:.1f} %"
        parts.append(
            f'<i class="fill-{k % COLORS}" style="flex:{share[k]:.5f}" title="{name}: {size}"></i>'
        )
        keys.append(f'<li><i class="fill-{k % COLORS}"></i>{name} <span>{size}</span></li>')
    if len(order) < len(share):
        rest = 1 - share[order].sum()
        parts.append(f'<i class="fill-rest" style="flex:{rest:.5f}"></i>')
        more = f"{len(share) - len(order)} other classes"
        keys.append(f'<li><i class="fill-rest"></i>{more} <span>{100 * rest:.1f} %</span></li>')
    bar = f'<div class="shares" aria-hidden="true">{"".join(parts)}</div>'
    return f'{bar}<ul class="key">{"".join(keys)}</ul>'


def sitting_out(comparison: Comparison) -> str:
    """Who did not take part, and why; each reason once."""
    return _grouped("Sitting out", [(r.model, r.sits_out) for r in comparison.results if r.sits_out])


def remarks(comparison: Comparison) -> str:
    """What models had to say while they were fitted; each remark once."""
    said = [(result.model, note) for result in comparison.results for note in result.notes]
    return _grouped("What the models said", said)


def _grouped(title: str, said: Sequence[tuple[str, str | None]]) -> str:
    makers: dict[str, list[str]] = {}
    for model, note in said:
        makers.setdefault(str(note), []).append(model)
    if not makers:
        return ""
    items = "".join(
        f"<li>{listed(list(dict.fromkeys(models)), 20)}: {escape(note)}</li>"
        for note, models in makers.items()
    )
    return f"<h3>{title}</h3><ul class='notes'>{items}</ul>"


def notes(comparison: Comparison) -> str:
    """What became of columns and rows."""
    items = "".join(f"<li>{escape(note)}</li>" for note in comparison.rows.notes)
    return f"<ul class='notes'>{items}</ul>" if items else ""


def about(comparison: Comparison) -> str:
    """How it was made."""
    return (
        f"{counted(len(comparison.rows), 'row')}, {comparison.cv}-fold cross-validation, seed "
        f"{comparison.seed}. Figures are those of rows that were held out; pictures of one model are of a "
        "fit to all rows, or to a sample of them."
    )
