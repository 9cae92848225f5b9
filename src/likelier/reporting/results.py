"""The table of results, with a picture in every row."""

from collections.abc import Sequence
from html import escape

import numpy as np

from likelier.comparing.table import Comparison, Metric, Result, seconds
from likelier.reporting.words import figure, heading, metric_of

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
