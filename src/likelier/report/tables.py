"""The tables and texts of the report, as HTML."""

from collections.abc import Sequence
from html import escape

import numpy as np

from likelier.array_types import Floats
from likelier.comparison.assumptions import Checks, Verdict
from likelier.comparison.result import Comparison, Metric, Result, seconds
from likelier.display import counted, some_of
from likelier.report.figures import COLORS

# What each model takes for granted, and whether the rows bear it out.

MOST_COLUMNS = 15
HEADS = ("model", "kind", "what it models", "independent columns", "boundary", "do the data bear it out?")


def natures(comparison: Comparison) -> str:
    """What each model takes for granted, and whether the rows bear it out."""
    checks = comparison.checks()
    head = "".join(f'<th scope="col">{text}</th>' for text in HEADS)
    body = "".join(
        _nature(result, checks.of(result.model, result.nature))
        for result in comparison.results
        if result.folds and not result.baseline
    )
    table = f'<table class="natures"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return table + _evidence(checks)


def _nature(result: Result, found: Verdict) -> str:
    nature = result.nature
    cells = [("kind", nature.kind), ("models", nature.models), ("independent columns", nature.independent)]
    cells.append(("boundary", nature.boundary))
    said = "".join(f'<td data-label="{label}">{escape(text) or "–"}</td>' for label, text in cells)
    badge = f'<span class="verdict {found.verdict.replace(" ", "-")}">{found.verdict}</span>'
    assumes = f"Assumes {escape(found.assumes)}. " if found.assumes else ""
    why = f"{found.why[:1].upper()}{found.why[1:]}."
    judged = f"<p>{badge} {assumes}</p><p>{escape(why)}</p>"
    return f'<tr><th scope="row">{escape(result.model)}</th>{said}<td class="said">{judged}</td></tr>'


def _evidence(checks: Checks) -> str:
    """What verdicts rest on."""
    columns = [*checks.columns.values()]
    shown = columns[:MOST_COLUMNS]
    if len(columns) > len(shown):
        shown.append(f"and {len(columns) - len(shown)} more columns")
    pairs = [*checks.dependences().values()]
    found = [("Columns within classes", shown), ("What depends on each other", pairs)]
    lists = "".join(_list(title, lines) for title, lines in found if lines)
    return lists + "".join(f'<p class="under small">{escape(note)}</p>' for note in checks.notes)


def _list(title: str, lines: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h3>{title}</h3><ul class='notes'>{items}</ul>"


# What is said about a comparison, as HTML.

MOST_NAMED = 6
MOST_SHARES = 12  # classes that have a part of the bar of their own


def listed(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """In words; of many, the first."""
    shown = [f"<b>{escape(name)}</b>" for name in names[:most]]
    if len(names) > most:
        return some_of([*shown, *names[most:]], most)
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


def shares(comparison: Comparison, weight: Floats) -> str:
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


# The table of results, with a picture in every row.

WIDE, HIGH = 120, 16  # of the picture in a row
ROOM = 6  # about it


def results(comparison: Comparison) -> str:
    """Models by figures; what is not there is left empty."""
    running = [result for result in comparison.results if result.folds]
    metric = metric_of(comparison)
    heads = ["model", *(heading(m) for m in comparison.metrics), "fit", "predict", "parameters"]
    classes = ["name", *("metric" if m is metric else "" for m in comparison.metrics), "", "", ""]
    name, *others = (
        f'<th scope="col" class="{kind}"><button type="button">{escape(text)}</button></th>'
        for text, kind in zip(heads, classes, strict=True)
    )
    scale = Scale.of(running, metric)
    drawn = f'<th scope="col" class="drawn">{heading(metric)}{scale.said}</th>'
    body = "".join(_row(comparison, result, scale) for result in running)
    caption = (
        f"Mean ± standard error over {comparison.cv} folds, corrected for their overlap (Nadeau and Bengio "
        f"2003); by {heading(metric)}, {'more' if metric.rising else 'less'} is better."
    )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Results"><table class="results" '
        f'aria-describedby="results-said"><thead><tr>{name}{drawn}{"".join(others)}</tr></thead>'
        f'<tbody>{body}</tbody></table></div><p class="under small" id="results-said">{caption}</p>'
    )


def _row(comparison: Comparison, result: Result, scale: "Scale") -> str:
    best, tied = result is comparison.best, comparison.is_tied(result)
    badge = '<span class="best">best</span>' if best else '<span class="tied">tied</span>' if tied else ""
    cells = [f'<th scope="row" class="name">{escape(result.model)} {badge}</th>']
    cells.append(f'<td class="drawn">{scale.drawn(result, best)}</td>')
    for metric in comparison.metrics:
        value = result.mean(metric.name)
        kind = "metric" if metric.name == comparison.metric else ""
        cells.append(f'<td class="{kind}" data-value="{_value(value)}">{figure(result, metric)}</td>')
    for times in (result.fit, result.predict):
        value = float(np.mean(times)) if len(times) else float("nan")
        cells.append(f'<td data-value="{_value(value)}">{seconds(value) if len(times) else "–"}</td>')
    n = result.parameters
    cells.append(f'<td data-value="{"" if n is None else n}">{"–" if n is None else f"{n:,}"}</td>')
    kind = "is-best" if best else "is-tied" if tied else "is-base" if result.baseline else ""
    return f'<tr class="{kind}">{"".join(cells)}</tr>'


def _value(value: float) -> str:
    return f"{value:.6g}" if np.isfinite(value) else ""


class Scale:
    """Where a figure lies in the picture; by its logarithm where figures differ by orders of magnitude."""

    def __init__(self, low: float, high: float, metric: Metric, log: bool) -> None:
        self.low, self.high, self.metric, self.log = low, high, metric, log

    @classmethod
    def of(cls, results: Sequence[Result], metric: Metric) -> "Scale":
        means = np.array([result.mean(metric.name) for result in results])
        errors = np.array([result.error_of(metric.name) for result in results])
        there = np.isfinite(means)
        means, errors = means[there], np.nan_to_num(errors[there])
        if not len(means):
            return cls(0.0, 1.0, metric, False)
        log = bool(means.min() > 0 and means.max() > 20 * means.min() and not metric.rising)
        if log:
            return cls(float(means.min()) / 2, float((means + errors).max()), metric, True)
        return cls(float((means - errors).min()), float((means + errors).max()), metric, False)

    @property
    def said(self) -> str:
        return " (log scale)" if self.log else ""

    def at(self, value: float) -> float:
        low, high = (np.log(self.low), np.log(self.high)) if self.log else (self.low, self.high)
        value = np.log(max(value, self.low)) if self.log else value
        share = (value - low) / (high - low) if high > low else 0.5
        return ROOM + float(np.clip(share, 0, 1)) * (WIDE - 2 * ROOM)

    def drawn(self, result: Result, best: bool) -> str:
        """A point, and a line of one standard error to both sides."""
        value, error = result.mean(self.metric.name), result.error_of(self.metric.name)
        if not np.isfinite(value):
            return ""
        error = error if np.isfinite(error) else 0.0
        ends = [self.at(value - error), self.at(value + error)]
        y = HIGH / 2
        return (
            f'<svg width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" aria-hidden="true">'
            f'<line class="rail" x1="0" x2="{WIDE}" y1="{y}" y2="{y}"/>'
            f'<line class="bar" x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{y}" y2="{y}"/>'
            f'<circle class="{"top" if best else ""}" cx="{self.at(value):.1f}" cy="{y}" r="4"/></svg>'
        )
