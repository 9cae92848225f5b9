"""The page: sections put together, and written."""

import json
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from likelier.comparing.table import Comparison
from likelier.reporting import words
from likelier.reporting.curves import Labels
from likelier.reporting.pictures import palette
from likelier.reporting.sections import classified, regressed
from likelier.saving.disk import replacing


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
        f'<header><p class="mark">likelier compare</p><h1>{escape(title)}</h1>{words.verdict(comparison)}'
        f"{words.facts(comparison)}{_shares(comparison)}{words.notes(comparison)}"
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav></header>'
    )
    main = "".join(each.html for each in sections)
    return Template(_part("page.html")).substitute(
        title=escape(title),
        style=style,
        body=f"{head}<main>{main}</main><footer><p>{words.about(comparison)}</p></footer>",
        data=_json(data),
        script=_part("report.js"),
    )


def _shares(comparison: Comparison) -> str:
    return "" if comparison.classes is None else words.shares(comparison, Labels.of(comparison).weight)


def _part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _json(data: dict[str, Any]) -> str:
    """As it may stand in a script element: nothing in it ends one, or begins a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
