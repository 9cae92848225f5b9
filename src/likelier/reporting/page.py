"""The page: sections put together, and written."""

import json
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from likelier.comparing.table import Comparison, Result
from likelier.reporting import stills, tables
from likelier.reporting.curves import Labels, judged, residuals
from likelier.reporting.pictures import COLORS, palette
from likelier.reporting.plane import planes
from likelier.reporting.telling import champions
from likelier.saving.disk import replacing


def written(comparison: Comparison, path: Path) -> Path:
    """Write the report of a comparison; a file appears under its name when it is whole."""
    text = page(comparison)
    with replacing(Path(path)) as file:
        file.write(text.encode())
    return Path(path)


def page(comparison: Comparison) -> str:
    """The report: HTML that needs nothing else."""
    classify = comparison.classes is not None
    sections, data = (_classified if classify else _regressed)(comparison)
    sections = [section for section in sections if section]
    title = "Which classifier suits this data?" if classify else "Which regression suits this data?"
    title = f"{title[:-10]}{comparison.name}?" if comparison.name else title
    contents = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in sections)
    head = (
        f'<header><p class="mark">likelier compare</p><h1>{escape(title)}</h1>{tables.verdict(comparison)}'
        f"{tables.facts(comparison)}{_shares(comparison)}{tables.notes(comparison)}"
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav></header>'
    )
    main = "".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{heading}</h2>{inner}</section>'
        for name, heading, inner in sections
    )
    foot = f"<footer><p>{tables.about(comparison)}</p></footer>"
    return Template(_part("page.html")).substitute(
        title=escape(title),
        style=palette() + _part("report.css"),
        body=f"{head}<main>{main}</main>{foot}",
        data=_json(data),
        script=_part("report.js"),
    )


Section = tuple[str, str, str]  # its name, its heading, its HTML


def _classified(comparison: Comparison) -> tuple[list[Section], dict[str, Any]]:
    assert comparison.classes is not None
    best = champions(comparison)
    data: dict[str, Any] = {"classes": [str(label) for label in comparison.classes], "colors": COLORS}
    sections = [_results(comparison)]
    if any(result.folds for result in comparison.results):
        data["judged"] = judged(comparison)
        sections.append(_judged(data["judged"]))
        data["planes"] = planes(comparison, best)
        sections.append(_planes(data["planes"], data["classes"]))
        sections += _looked_at(comparison, best)
    sections.append(_natures(comparison))
    return sections, data


def _regressed(comparison: Comparison) -> tuple[list[Section], dict[str, Any]]:
    data = {"residuals": residuals(comparison)}
    sections = [_results(comparison), _residuals(data["residuals"])]
    return [*sections, *_looked_at(comparison, champions(comparison)), _natures(comparison)], data


def _looked_at(comparison: Comparison, best: list[Result]) -> list[Section]:
    """Pictures of the best models; those that there are."""
    found = [("coefficients", "What the columns add", stills.coefficients(comparison, best))]
    rows = stills.learning(comparison, best)
    if comparison.classes is not None:
        found.insert(0, ("densities", "The classes, column by column", stills.densities(comparison, best)))
        rows += stills.over_time(comparison)
    if rows:
        found.append(("learning", "Row by row", f'<div class="stills">{rows}</div>'))
    return found


def _shares(comparison: Comparison) -> str:
    return "" if comparison.classes is None else tables.shares(comparison, Labels.of(comparison).weight)


def _results(comparison: Comparison) -> Section:
    inner = tables.results(comparison) + tables.sitting_out(comparison) + tables.remarks(comparison)
    return "results", "Results", inner


NEEDS_SCRIPT = "<noscript><p>These charts are drawn by a script in this page, which is switched off.</p></noscript>"


def _judged(found: dict[str, Any]) -> Section:
    room = "broad" if len(found["squares"]) > 6 else ""
    inner = (
        f"<p>Every row was answered by a model that had not seen it.</p>{NEEDS_SCRIPT}"
        f'<div class="live">{_chooser("model", "Model", [each["name"] for each in found["models"]])}'
        '<div class="charts">'
        '<figure><figcaption>ROC</figcaption><div id="roc"></div><div id="roc-key" class="keys"></div></figure>'
        '<figure><figcaption>Calibration</figcaption><div id="calibration"></div>'
        '<p class="under">Groups of equal size, with 95 % intervals: on the diagonal, probabilities mean what '
        "they say.</p></figure>"
        f'<figure class="{room}"><figcaption>Confusion</figcaption><div id="confusion" class="scroll" tabindex="0" '
        'role="region" aria-label="Confusion matrix"></div></figure></div></div>'
    )
    return "answers", "How well classes are told apart", inner


def _planes(found: dict[str, Any], classes: list[str]) -> Section:
    if "none" in found:
        return "regions", "Where the lines are drawn", f"<p>{escape(found['none'])}</p>"
    pairs = [" and ".join(pair["names"]) for pair in found["pairs"]]
    figures = "".join(
        f'<figure><figcaption>{escape(model["name"])}</figcaption><div id="plane-{i}"></div>'
        f'<p class="under" id="plane-{i}-said"></p></figure>'
        for i, model in enumerate(found["pairs"][0]["models"])
    )
    keys = "".join(f'<li><i class="fill-{k % COLORS}"></i>{escape(name)}</li>' for k, name in enumerate(classes))
    inner = (
        "<p>The best generative and the best discriminative model, fitted again to two columns alone, those "
        "that tell most: the solid line is where the likeliest class changes, tints are steps of its "
        f"probability, at 0.6, 0.75, 0.9 and 0.99.</p>{NEEDS_SCRIPT}"
        f'<div class="live">{_chooser("pair", "Columns", pairs)}'
        f'<ul class="key">{keys}</ul><div class="charts">{figures}</div></div>'
    )
    return "regions", "Where the lines are drawn", inner


def _residuals(found: dict[str, Any]) -> Section:
    some = f" {found['drawn']:,} of {found['rows']:,} rows are drawn." if found["drawn"] < found["rows"] else ""
    inner = (
        f"<p>Every row was answered by a model that had not seen it.{some}</p>{NEEDS_SCRIPT}"
        f'<div class="live">{_chooser("model", "Model", [each["name"] for each in found["models"]])}'
        '<div class="charts"><figure><figcaption>True against said</figcaption><div id="said"></div></figure>'
        '<figure><figcaption>Residuals</figcaption><div id="residuals"></div></figure></div></div>'
    )
    return "answers", "How close the answers are", inner


def _natures(comparison: Comparison) -> Section:
    return "assumptions", "What each model assumes", tables.natures(comparison)


def _chooser(name: str, label: str, choices: list[str]) -> str:
    options = "".join(f'<option value="{i}">{escape(choice)}</option>' for i, choice in enumerate(choices))
    return f'<div class="choose"><label for="{name}">{label}</label><select id="{name}" autocomplete="off">{options}</select></div>'


def _part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _json(data: dict[str, Any]) -> str:
    """As it may stand in a script element: nothing in it ends one, or begins a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
