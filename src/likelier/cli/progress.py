"""Progress bars of commands on a terminal; nothing elsewhere."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from likelier.engines import Pass, watching
from likelier.engines.run import PieceRowCounts
from likelier.states import Survey

PATIENCE = 1.0  # seconds before anything is shown


def rows_bar(total: int | None) -> Any:
    """A bar of rows; none where standard error is no terminal."""
    return tqdm(
        total=total,
        unit=" rows",
        unit_scale=True,
        disable=None,
        leave=False,
        delay=PATIENCE,
        dynamic_ncols=True,
    )


def each(items: Sequence[Any], noun: str) -> Iterable[Any]:
    """The items, with a bar of those that are done."""
    bar: Iterable[Any] = tqdm(
        items, unit=f" {noun}", disable=None, leave=False, delay=PATIENCE, dynamic_ncols=True
    )
    return bar


@contextmanager
def showing(doing: str = "learning, pass {}") -> Iterator[None]:
    """A bar of the passes that run here, if standard error is a terminal and they take long enough."""
    if not sys.stderr.isatty():
        yield
        return
    bar = PassBar(doing)
    try:
        with watching(bar):
            yield
    finally:
        bar.close()


class PassBar:
    """An observer with a bar: which pass it is, rows and rows a second, the time left, the objective.

    Where nobody knows how many rows there are, the share of the parts that are done says it, and later the
    passes before. A survey reads labels alone, of each chunk every one once: of it, parts are counted.
    """

    def __init__(self, doing: str = "learning, pass {}") -> None:
        self._doing = doing
        self._bar: Any = None
        self._since = time.monotonic()
        self._number = 0  # of the pass, surveys apart
        self._known: int | None = None  # rows of an earlier pass
        self._figure = ""

    def begin(self, what: Pass) -> None:
        self._what, self._surveys = what, issubclass(what.state, Survey | PieceRowCounts)
        self._number += not self._surveys
        self._parts = self._rows = 0
        self._begun = time.time()
        if self._bar is not None:
            self._start()

    def done(self, *, parts: int, rows: int) -> None:
        self._parts += parts
        self._rows += rows
        if self._bar is None and time.monotonic() - self._since >= PATIENCE:
            self._start()
        if self._bar is not None:
            self._bar.total = self._total()
            self._bar.update((self._parts if self._surveys else self._rows) - self._bar.n)

    def end(self) -> None:
        if self._parts == self._what.parts and not self._surveys:
            self._known = self._rows

    def reached(self, figure: str, value: float) -> None:
        self._figure = f"{figure} {value:.6g}"
        if self._bar is not None:
            self._bar.set_postfix_str(self._figure)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.close()

    def _start(self) -> None:
        found = "counting the rows" if self._what.state is PieceRowCounts else "finding the classes"
        words = found if self._surveys else self._doing.format(self._number)
        unit, total = " parts" if self._surveys else " rows", self._total()
        if self._bar is None:
            self._bar = tqdm(
                desc=words, unit=unit, total=total, unit_scale=True, leave=False, dynamic_ncols=True
            )
        else:
            self._bar.set_description_str(words, refresh=False)
            self._bar.unit, self._bar.total = unit, total
            self._bar.reset()
        self._bar.start_t = self._begun  # it may not have been shown from the first

    def _total(self) -> int | None:
        """How many there will be, as far as it can be said."""
        if self._surveys:
            return self._what.parts
        known = self._known if self._what.rows is None else self._what.rows
        if known is None and self._parts:
            known = self._rows * self._what.parts // self._parts
        return None if known is None else max(known, self._rows)
