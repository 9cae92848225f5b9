"""What each model takes for granted, and whether the rows bear it out."""

from collections.abc import Sequence
from html import escape

from likelier.comparing.assumptions import Checks, Verdict
from likelier.comparing.table import Comparison, Result

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
