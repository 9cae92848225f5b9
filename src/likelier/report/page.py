"""The report page: its sections, put together and written."""

import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from likelier.comparison.result import Comparison, Result
from likelier.report import figures, tables
from likelier.report.charts import Labels, champions, judged, planes, residuals
from likelier.report.figures import COLORS, palette
from likelier.report.tables import natures, remarks, results, sitting_out
from likelier.saving.format import replacing

# The parts of the page, one below the other, and the data that its script draws.

FEW = 6  # classes whose confusion has room beside other charts
UNSEEN = "Every row was answered by a model that had not seen it."
NEEDS_SCRIPT = (
    "<noscript><p>These charts are drawn by a script, and scripts are switched off.</p></noscript>"
)


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
    data: dict[str, Any] = {"classes": [str(label) for label in comparison.classes], "colors": COLORS}
    data |= {"judged": judged(comparison), "planes": planes(comparison)}
    sections = [
        _results(comparison),
        _judged(data["judged"]),
        _planes(data["planes"], data["classes"]),
        Section("densities", "The classes, column by column", figures.densities(comparison, best)),
        *_looked_at(comparison, best, figures.over_time(comparison)),
    ]
    return sections, data


def regressed(comparison: Comparison) -> tuple[list[Section], dict[str, Any]]:
    """Where numbers are to be found."""
    data = {"residuals": residuals(comparison)}
    sections = [_results(comparison), _residuals(data["residuals"])]
    best = [kind[0] for kind in champions(comparison)]
    return [*sections, *_looked_at(comparison, best, "")], data


def _results(comparison: Comparison) -> Section:
    inner = results(comparison) + sitting_out(comparison) + remarks(comparison)
    return Section("results", "Results", inner)


def _looked_at(comparison: Comparison, best: Sequence[Result], over_time: str) -> list[Section]:
    found = [Section("coefficients", "What the columns add", figures.coefficients(comparison, best))]
    rows = figures.learning(comparison, best) + over_time
    if rows:
        found.append(Section("rows", "Row by row", f'<div class="stills">{rows}</div>'))
    return [*found, Section("assumptions", "What each model assumes", natures(comparison))]


# ---- charts that the script draws ----------------------------------------------------------------
def _judged(found: dict[str, Any]) -> Section:
    room = "broad" if len(found["squares"]) > FEW else ""
    charts = [
        _chart("ROC", '<div id="roc"></div><div id="roc-key" class="keys"></div>'),
        _chart(
            "Calibration",
            '<div id="calibration"></div><p class="under">Groups of equal size, with 95 % intervals: on '
            "the diagonal, probabilities mean what they say.</p>",
        ),
        _chart(
            "Confusion",
            '<div id="confusion" class="scroll" tabindex="0" role="region" aria-label="Confusion matrix">'
            "</div>",
            room,
        ),
    ]
    chooser = _chooser("model", "Model", [each["name"] for each in found["models"]])
    return Section("answers", "How well classes are told apart", f"<p>{UNSEEN}</p>{_live(chooser, charts)}")


def _planes(found: dict[str, Any], classes: Sequence[str]) -> Section:
    heading = "Where the lines are drawn"
    if "none" in found:
        return Section("regions", heading, f"<p>{escape(found['none'])}</p>")
    pairs = [" and ".join(pair["names"]) for pair in found["pairs"]]
    names = [model["name"] for model in found["pairs"][0]["models"]]
    charts = [
        _chart(
            _options(f"plane-{i}-model", [names[m] for m in panel], panel, f"Model of picture {i + 1}"),
            f'<div id="plane-{i}"></div><p class="under" id="plane-{i}-said"></p>',
        )
        for i, panel in enumerate(found["panels"])
    ]
    keys = "".join(
        f'<li><i class="fill-{k % COLORS}"></i>{escape(name)}</li>' for k, name in enumerate(classes)
    )
    words = (
        "<p>The best models of each kind, fitted again to two columns alone, of those that tell most. "
        "Lines are where the likeliest class changes; tints are steps of its probability, at 0.6, 0.75, "
        "0.9 and 0.99.</p>"
    )
    chooser = _chooser("pair", "Columns", pairs) + f'<ul class="key">{keys}</ul>'
    return Section("regions", heading, words + _live(chooser, charts))


def _residuals(found: dict[str, Any]) -> Section:
    drawn, n = found["drawn"], found["rows"]
    some = f" {drawn:,} of {n:,} rows are drawn." if drawn < n else ""
    charts = [
        _chart("True against said", '<div id="said"></div>'),
        _chart("Residuals", '<div id="residuals"></div>'),
    ]
    chooser = _chooser("model", "Model", [each["name"] for each in found["models"]])
    return Section("answers", "How close the answers are", f"<p>{UNSEEN}{some}</p>{_live(chooser, charts)}")


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
        f'<header><p class="mark">likelier compare</p><h1>{escape(title)}</h1>{tables.verdict(comparison)}'
        f"{tables.facts(comparison)}{_shares(comparison)}{tables.notes(comparison)}"
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav></header>'
    )
    main = "".join(each.html for each in sections)
    return Template(_part("page.html")).substitute(
        title=escape(title),
        style=style,
        body=f"{head}<main>{main}</main><footer><p>{tables.about(comparison)}</p></footer>",
        data=_json(data),
        script=_part("report.js"),
    )


def _shares(comparison: Comparison) -> str:
    return "" if comparison.classes is None else tables.shares(comparison, Labels.of(comparison).weight)


def _part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _json(data: dict[str, Any]) -> str:
    """As it may stand in a script element: nothing in it ends one, or begins a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
