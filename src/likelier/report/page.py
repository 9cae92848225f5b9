"""The page of a report: its sections, tables and sentences."""

import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np

from likelier.array_types import Floats
from likelier.comparison.assumptions import Checks, Verdict
from likelier.comparison.result import Comparison, Metric, Result, how_split, next_code, seconds
from likelier.display import counted, some_of
from likelier.report import figures
from likelier.report.charts import Labels, champions, evaluated_charts, planes, residuals
from likelier.report.figures import COLORS, palette
from likelier.report.texts import explained_texts
from likelier.saving.format import replacing

# What each model assumes, and whether the rows support it.

MOST_COLUMNS = 15
HEADS = (
    "model",
    "kind",
    "what it models",
    "independent columns",
    "boundary",
    "supported by the data?",
)


def model_traits(comparison: Comparison) -> str:
    """What each model assumes, and whether the rows support it."""
    checks = comparison.checks()
    head = "".join(f'<th scope="col">{text}</th>' for text in HEADS)
    body = "".join(
        _traits(result, checks.of(result.model, result.traits))
        for result in comparison.results
        if result.folds and not result.baseline
    )
    table = f'<table class="natures"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return table + _evidence(checks)


def _traits(result: Result, found: Verdict) -> str:
    traits = result.traits
    cells = [("kind", traits.kind), ("models", traits.models), ("independent columns", traits.independent)]
    cells.append(("boundary", traits.boundary))
    said = "".join(f'<td data-label="{label}">{escape(text) or "–"}</td>' for label, text in cells)
    badge = f'<span class="verdict {found.verdict.replace(" ", "-")}">{found.verdict}</span>'
    assumes = f"Assumes {escape(found.assumes)}. " if found.assumes else ""
    why = f"{found.why[:1].upper()}{found.why[1:]}."
    assessed = f"<p>{badge} {assumes}</p><p>{escape(why)}</p>"
    return f'<tr><th scope="row">{escape(result.model)}</th>{said}<td class="said">{assessed}</td></tr>'


def _evidence(checks: Checks) -> str:
    """What verdicts rest on."""
    columns = [*checks.columns.values()]
    shown = columns[:MOST_COLUMNS]
    if len(columns) > len(shown):
        shown.append(f"and {len(columns) - len(shown)} more columns")
    pairs = [*checks.dependences().values()]
    found = [("Columns within classes", shown), ("Dependent columns", pairs)]
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
        return "<p>Every model was skipped; the reasons are listed below.</p>"
    said = [f"<b>{escape(best.model)}</b> does best: {heading(metric)} {figure(best, metric)}."]
    ties = [result.model for result in comparison.results[1:] if comparison.is_tied(result)]
    if ties:
        verb = "is" if len(ties) == 1 else "are"
        said.append(f"{listed(ties)} {verb} not significantly different from it (corrected t-test, 5 %).")
    elif sum(bool(result.folds) for result in comparison.results) > 1:
        said.append("All other models are significantly worse (corrected t-test, 5 %).")
    base = next((result for result in comparison.results if result.baseline and result.folds), None)
    if base is not None and base is not best:
        what = "the mean" if comparison.classes is None else "the class frequencies"
        value = metric.shown(base.mean(metric.name))
        said.append(f"The baseline, which predicts {what} alone, has {value}.")
    return f'<p class="lead">{" ".join(said)}</p>'


def facts(comparison: Comparison) -> str:
    """The table in numbers."""
    rows, kinds = comparison.rows, {"number": "numeric", "category": "categorical", "text": "text"}
    held = [f"{len(rows.of(kind))} {name}" for kind, name in kinds.items() if rows.of(kind)]
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


def skipped_models(comparison: Comparison) -> str:
    """Who did not take part, and why; each reason once."""
    return _grouped("Skipped models", [(r.model, r.skipped) for r in comparison.results if r.skipped])


def remarks(comparison: Comparison) -> str:
    """What models had to say while they were fitted; each remark once."""
    said = [(result.model, note) for result in comparison.results for note in result.notes]
    return _grouped("Warnings", said)


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
    """How it was made, and how to get the model."""
    code = map(str.strip, next_code("X, y").splitlines())
    return (
        f"{counted(len(comparison.rows), 'row')}, {how_split(comparison)}. All metrics are for held-out "
        "rows; plots of a single model show a fit to all rows, or to a sample of them. The best model, "
        f"fitted to all rows and saved: <code>{escape('; '.join(code))}</code>, or <code>likelier train "
        f"DATA --target {escape(comparison.rows.target or 'Y')} -o best.lk</code>."
    )


# The table of results, with a picture in every row.

WIDE, HIGH = 120, 16  # of the picture in a row
ROOM = 6  # about it


def results(comparison: Comparison) -> str:
    """Models by figures; what is not there is left empty."""
    running = [result for result in comparison.results if result.folds]
    metric, metrics = metric_of(comparison), _ranking_first(comparison)
    heads = ["model", *(heading(m) for m in metrics), "fit", "predict", "parameters"]
    classes = ["name", *("metric" if m is metric else "" for m in metrics), "", "", ""]
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


def _ranking_first(comparison: Comparison) -> list[Metric]:
    """The metrics; the one that ranks the models comes first, where a narrow screen shows it."""
    return sorted(comparison.metrics, key=lambda metric: metric.name != comparison.metric)


def _row(comparison: Comparison, result: Result, scale: "Scale") -> str:
    best, tied = result is comparison.best, comparison.is_tied(result)
    badge = '<span class="best">best</span>' if best else '<span class="tied">tied</span>' if tied else ""
    cells = [f'<th scope="row" class="name">{escape(result.model)} {badge}</th>']
    cells.append(f'<td class="drawn">{scale.drawn(result, best)}</td>')
    for metric in _ranking_first(comparison):
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
    """Where a metric lies in the small plot of its row.

    The axis ends at the baseline, so that bad models do not squeeze the good ones together: what is worse
    is drawn as an arrow at that end. It is logarithmic where metrics differ by orders of magnitude.
    """

    def __init__(self, low: float, high: float, metric: Metric, log: bool) -> None:
        self.low, self.high, self.metric, self.log = low, high, metric, log

    @classmethod
    def of(cls, results: Sequence[Result], metric: Metric) -> "Scale":
        means = np.array([result.mean(metric.name) for result in results])
        errors = np.array([result.error_of(metric.name) for result in results])
        base = np.array([result.baseline for result in results], dtype=np.bool_)
        there = np.isfinite(means)
        means, errors, base = means[there], np.nan_to_num(errors[there]), base[there]
        if not len(means):
            return cls(0.0, 1.0, metric, False)
        low, high = float((means - errors).min()), float((means + errors).max())
        if base.any() and metric.rising and means.max() > means[base][0]:
            low = max(low, float((means - errors)[base][0]))
        elif base.any() and not metric.rising and means.min() < means[base][0]:
            high = min(high, float((means + errors)[base][0]))
        if means.min() > 0 and high > 20 * means.min() and not metric.rising:
            return cls(float(means.min()) / 2, high, metric, True)
        return cls(low, high, metric, False)

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
        outside = 1 if value > self.high else -1 if value < self.low else 0
        if outside:
            tip = WIDE - 1 if outside > 0 else 1
            back = tip - 8 * outside
            mark = f'<path class="beyond" d="M{back} {y - 4}L{tip} {y}L{back} {y + 4}Z"/>'
        else:
            mark = (
                f'<line class="bar" x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{y}" y2="{y}"/>'
                f'<circle class="{"top" if best else ""}" cx="{self.at(value):.1f}" cy="{y}" r="4"/>'
            )
        return (
            f'<svg width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" aria-hidden="true">'
            f'<line class="rail" x1="0" x2="{WIDE}" y1="{y}" y2="{y}"/>{mark}</svg>'
        )


# The parts of the page, one below the other, and the data that its script draws.

FEW = 6  # classes whose confusion has room beside other charts
UNSEEN = "All predictions are for rows that were held out from training."
NEEDS_SCRIPT = "<noscript><p>These charts need JavaScript, which is switched off.</p></noscript>"


class Section(NamedTuple):
    """A part that has a heading."""

    name: str
    heading: str
    inner: str

    @property
    def html(self) -> str:
        head = f'<h2 id="{self.name}-title">{self.heading}</h2>'
        return f'<section id="{self.name}" aria-labelledby="{self.name}-title">{head}{self.inner}</section>'


def classified(comparison: Comparison) -> tuple[list[Section], dict[str, Any]]:
    """Where classes are to be found."""
    assert comparison.classes is not None
    best = [kind[0] for kind in champions(comparison)]
    data: dict[str, Any] = {"classes": [str(label) for label in comparison.classes], "colours": COLORS}
    data |= {"evaluated": evaluated_charts(comparison), "planes": planes(comparison)}
    sections = [
        _results(comparison),
        _evaluated(data["evaluated"]),
        _planes(data["planes"], data["classes"]),
        Section("densities", "Densities by class", figures.densities(comparison, best)),
        *_looked_at(comparison, best, figures.over_time(comparison)),
    ]
    texts = explained_texts(comparison)
    if texts:
        sections.insert(-1, Section("texts", "Texts and their words", texts))
    return sections, data


def regressed(comparison: Comparison) -> tuple[list[Section], dict[str, Any]]:
    """Where numbers are to be found."""
    data = {"residuals": residuals(comparison)}
    sections = [_results(comparison), _residuals(data["residuals"])]
    best = [kind[0] for kind in champions(comparison)]
    return [*sections, *_looked_at(comparison, best, "")], data


def _results(comparison: Comparison) -> Section:
    inner = results(comparison) + skipped_models(comparison) + remarks(comparison)
    return Section("results", "Results", inner)


def _looked_at(comparison: Comparison, best: Sequence[Result], over_time: str) -> list[Section]:
    found = [Section("coefficients", "Feature effects", figures.coefficients(comparison, best))]
    rows = figures.learning(comparison, best) + over_time
    if rows:
        found.append(Section("rows", "Learning curve and mistakes", f'<div class="stills">{rows}</div>'))
    return [*found, Section("assumptions", "Assumptions", model_traits(comparison))]


# ---- charts that the script draws ----------------------------------------------------------------
def _evaluated(found: dict[str, Any]) -> Section:
    room = "broad" if len(found["squares"]) > FEW else ""
    charts = [
        _chart("ROC", '<div id="roc"></div><div id="roc-key" class="keys"></div>'),
        _chart(
            "Calibration",
            '<div id="calibration"></div><p class="under">Groups of equal size, with 95 % intervals. On '
            "the diagonal, predicted probabilities equal observed frequencies.</p>",
        ),
        _chart(
            "Confusion matrix",
            '<div id="confusion" class="scroll" tabindex="0" role="region" aria-label="Confusion matrix">'
            "</div>",
            room,
        ),
    ]
    chooser = _chooser("model", "Model", [each["name"] for each in found["models"]])
    return Section("answers", "Discrimination and calibration", f"<p>{UNSEEN}</p>{_live(chooser, charts)}")


def _planes(found: dict[str, Any], classes: Sequence[str]) -> Section:
    heading = "Decision boundaries"
    if "none" in found:
        return Section("regions", heading, f"<p>{escape(found['none'])}</p>")
    pairs = [" and ".join(pair["names"]) for pair in found["pairs"]]
    names = [model["name"] for model in found["pairs"][0]["models"]]
    charts = [
        _chart(
            _options(f"plane-{i}-model", [names[m] for m in panel], panel, f"Model of plot {i + 1}"),
            f'<div id="plane-{i}"></div><p class="under" id="plane-{i}-said"></p>',
        )
        for i, panel in enumerate(found["panels"])
    ]
    keys = "".join(
        f'<li><i class="fill-{k % COLORS}"></i>{escape(name)}</li>' for k, name in enumerate(classes)
    )
    words = (
        "<p>The best models of each kind, fitted to two of the most informative columns only. Lines are "
        "where the most probable class changes; shades are steps of its probability: 0.6, 0.75, 0.9 and "
        "0.99.</p>"
    )
    chooser = _chooser("pair", "Columns", pairs) + f'<ul class="key">{keys}</ul>'
    return Section("regions", heading, words + _live(chooser, charts))


def _residuals(found: dict[str, Any]) -> Section:
    drawn, n = found["drawn"], found["rows"]
    some = f" {drawn:,} of {n:,} rows are drawn." if drawn < n else ""
    charts = [
        _chart("Observed and predicted values", '<div id="said"></div>'),
        _chart("Residuals", '<div id="residuals"></div>'),
    ]
    chooser = _chooser("model", "Model", [each["name"] for each in found["models"]])
    return Section("answers", "Predictions and residuals", f"<p>{UNSEEN}{some}</p>{_live(chooser, charts)}")


def _live(chooser: str, charts: Sequence[str]) -> str:
    return f'{NEEDS_SCRIPT}<div class="live">{chooser}<div class="charts">{"".join(charts)}</div></div>'


def _chart(caption: str, inner: str, kind: str = "") -> str:
    return f'<figure class="{kind}"><figcaption>{caption}</figcaption>{inner}</figure>'


def _chooser(name: str, label: str, choices: Sequence[str]) -> str:
    select = _options(name, choices, range(len(choices)), label)
    return f'<div class="choose"><label for="{name}">{label}</label>{select}</div>'


def _options(name: str, choices: Sequence[str], values: Sequence[int], label: str) -> str:
    options = "".join(
        f'<option value="{value}">{escape(choice)}</option>'
        for value, choice in zip(values, choices, strict=True)
    )
    return f'<select id="{name}" autocomplete="off" aria-label="{label}">{options}</select>'


# The page: sections put together, and written.


def written(comparison: Comparison, path: Path) -> Path:
    """Write the report of a comparison; a file appears under its name when it is whole."""
    text = page(comparison)
    with replacing(Path(path)) as file:
        file.write(text.encode())
    return Path(path)


def page(comparison: Comparison) -> str:
    """The report: HTML that needs nothing else."""
    style = palette() + _part("report.css")
    sections, data = (regressed if comparison.classes is None else classified)(comparison)
    title = f"Which {'regression' if comparison.classes is None else 'classifier'} suits "
    title += f"{comparison.name or 'this data'}?"
    contents = "".join(f'<li><a href="#{each.name}">{each.heading}</a></li>' for each in sections)
    head = (
        f'<header><p class="mark">likelier compare</p><h1>{escape(title)}</h1>{verdict(comparison)}'
        f"{facts(comparison)}{_shares(comparison)}{notes(comparison)}"
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav></header>'
    )
    main = "".join(each.html for each in sections)
    return Template(_part("page.html")).substitute(
        title=escape(title),
        style=style,
        body=f"{head}<main>{main}</main><footer><p>{about(comparison)}</p></footer>",
        data=_json(data),
        script=_part("report.js"),
    )


def _shares(comparison: Comparison) -> str:
    return "" if comparison.classes is None else shares(comparison, Labels.of(comparison).weight)


def _part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _json(data: dict[str, Any]) -> str:
    """As it may stand in a script element: nothing in it ends one, or begins a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
