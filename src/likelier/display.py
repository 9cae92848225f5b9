"""Sentences and tables, as text for a terminal and as HTML for a notebook: both say the same."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape
from itertools import chain
from typing import NamedTuple

# Colours are those of the page, which may be light or dark.
_WHOLE = "overflow-x:auto"
_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.5em 0"
_CELL = "padding:.15em .7em;vertical-align:top;text-align:"
_HEADING = "border-bottom:1px solid currentColor;" + _CELL
_SENTENCE = "margin:.3em 0"


class Table(NamedTuple):
    """Cells as they are shown."""

    rows: Sequence[Sequence[str]]
    left: int = 1  # so many columns are set to the left, the others to the right
    headed: bool = True  # whether the first row is headings


Part = str | Table  # "" is an empty line, which only text has


class Displayable(ABC):
    """What prints as sentences and tables, and is shown as HTML in notebooks."""

    @abstractmethod
    def _parts(self) -> Iterable[Part]:
        """From top to bottom."""

    def __str__(self) -> str:
        return text(self._parts())

    def _repr_html_(self) -> str:
        return html(self._parts())


def counted(n: float, noun: str) -> str:
    """So many of them, in words."""
    return f"{n:,.15g} {noun}{'' if n == 1 else 'es' if noun.endswith('s') else 's'}"


def some_of(names: Sequence[str], most: int = 10) -> str:
    """Names, of many the first few, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def text(parts: Iterable[Part]) -> str:
    """Lines, the columns of tables aligned."""
    lines = ([part] if isinstance(part, str) else aligned(part) for part in parts)
    return "\n".join(chain.from_iterable(lines))


def aligned(table: Table) -> list[str]:
    """A line for each row."""
    widths = [max(map(len, cells)) for cells in zip(*table.rows, strict=True)]
    sides = [str.ljust if i < table.left else str.rjust for i in range(len(widths))]
    return [
        "  ".join(side(cell, w) for side, cell, w in zip(sides, row, widths, strict=True)).rstrip()
        for row in table.rows
    ]


def html(parts: Iterable[Part]) -> str:
    """The same as one element, with no style but its own; names are escaped."""
    found = (_sentence(part) if isinstance(part, str) else _table(part) for part in parts if part)
    return f'<div class="likelier" style="{_WHOLE}">{"".join(found)}</div>'


def _sentence(said: str) -> str:
    return f'<p style="{_SENTENCE}">{escape(said)}</p>'


def _table(table: Table) -> str:
    rows = [_row(row, table, heading=table.headed and i == 0) for i, row in enumerate(table.rows)]
    head = f"<thead>{rows.pop(0)}</thead>" if table.headed else ""
    return f'<table style="{_TABLE}">{head}<tbody>{"".join(rows)}</tbody></table>'


def _row(cells: Sequence[str], table: Table, *, heading: bool) -> str:
    tag, style = ("th", _HEADING) if heading else ("td", _CELL)
    sides = ["left" if i < table.left else "right;white-space:nowrap" for i in range(len(cells))]
    shown = (
        f'<{tag} style="{style}{side}">{escape(c)}</{tag}>' for c, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(shown)}</tr>"
