"""Files and pipes of text as batches of hashed rows, all read alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from likelier._core import HashedRows, TextParser
from likelier.streams.ahead import Fill
from likelier.streams.reading import Format, Text, format_of

NUMBER, WORD = "number", "word"  # what a column can be


class Told(NamedTuple):
    """What has been found so far, when a batch was filled."""

    labels: Sequence[str]  # in the order of their codes
    columns: dict[str, str]
    bad: int  # lines that could not be read
    first_bad: Sequence[str]  # what was wrong with the first of them
    changed: int  # cells of number columns that were words
    read: int  # bytes, as they lie on disk
    doubts: Sequence[str] = ()  # columns that are words for the sake of a few cells


class Wish(NamedTuple):
    """What of the text is what."""

    format: Format | None = None  # None: as names and contents say
    target: str | None = None
    weight: str | None = None
    features: Sequence[str] | None = None
    ignored: Sequence[str] = ()
    crosses: Sequence[Sequence[str]] = ()
    finite: bool = False  # numbers that are not finite make a bad line
    header: bool | None = None
    learning: bool = True
    missing: Sequence[str] = ()  # cells that stand for none; none of them: NA and its like, of numbers
    encoding: str | None = None  # None: UTF-8

    def check(self, name: str, columns: Sequence[str] | None = None) -> None:
        """Refuse a table without the columns that are named; None: it has no list of them."""
        if self.learning and self.target is None:
            some = f" It has the columns {', '.join(columns[:20])}." if columns else ""
            raise ValueError(f"{name}: which column is to be predicted? Name it with --target.{some}")
        if self.target is not None and self.target == self.weight:
            raise ValueError(f"{name}: column {self.target!r} cannot be both target and weight")
        if columns is None:
            return
        for column in (self.target, self.weight, *(self.features or []), *self.ignored):
            if column is not None and column not in columns:
                near = get_close_matches(column, columns, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f": it has {', '.join(columns[:20])}"
                raise ValueError(f"{name} has no column {column!r}{hint}")


@dataclass
class TextFeed:
    """Files one after another. What was found of columns and labels holds for those that follow."""

    paths: Sequence[str]
    wish: Wish
    labels: Sequence[str] = ()
    columns: dict[str, str] = field(default_factory=dict)
    _bad: int = 0
    _first: list[str] = field(default_factory=list)
    _changed: int = 0
    _read: int = 0
    _doubts: list[str] = field(default_factory=list)

    @property
    def size(self) -> int | None:
        """Bytes of all files; None where one is a pipe."""
        files = [Path(path) for path in self.paths]
        return sum(file.stat().st_size for file in files) if all(file.is_file() for file in files) else None

    def fills(self) -> Iterator[Fill[Told]]:
        """Each puts the next rows into a batch."""
        for path in self.paths:
            with Text(path, encoding=self.wish.encoding) as text:
                parser = self._parser(text)
                try:
                    for block in text.blocks():
                        yield partial(self._fill, text, parser, block, False)
                except ValueError:  # a packed file that is damaged: what was held back is all there is
                    yield partial(self._fill, text, parser, b"", False)
                    raise
                yield partial(self._fill, text, parser, b"", True)
            self._bad += parser.bad
            self._first += _said(text, parser)
            self._doubts += _doubted(text, parser)
            self._changed += parser.changed
            self._read += text.position

    def _parser(self, text: Text) -> TextParser:
        wish = self.wish
        kind, delimiter = wish.format or format_of(text.name, text.start)
        if kind in ("csv", "json"):
            wish.check(text.name)
        by_kind = {
            kind: [name for name, is_ in self.columns.items() if is_ == kind] for kind in (NUMBER, WORD)
        }
        return TextParser(
            kind,
            target=wish.target,
            weight=wish.weight,
            features=wish.features,
            ignored=wish.ignored,
            crosses=wish.crosses,
            labels=self.labels,
            finite=wish.finite,
            delimiter=delimiter,
            quotes=delimiter != "\t",
            header=wish.header,
            numbers=by_kind[NUMBER],
            words=by_kind[WORD],
            missing=wish.missing,
            weightless=False,  # a row that weighs nothing is not learned from: its label has not come
        )

    def _fill(
        self, text: Text, parser: TextParser, block: bytes, last: bool, rows: HashedRows
    ) -> tuple[HashedRows, Told]:
        try:
            parser.parse(block, rows, last)
        except ValueError as problem:
            raise ValueError(f"{text.name}: {problem}") from None
        self.labels = parser.labels
        if not self.columns or last:
            self.columns |= dict.fromkeys(parser.numbers, NUMBER) | dict.fromkeys(parser.words, WORD)
        first = [*self._first, *_said(text, parser)]
        return rows, Told(
            self.labels,
            self.columns,
            self._bad + parser.bad,
            first,
            self._changed + parser.changed,
            self._read + text.position,
            [*self._doubts, *_doubted(text, parser)],
        )


def _said(text: Text, parser: TextParser) -> list[str]:
    return [f"{text.name}, line {line}: {what}: {shown}" for line, what, shown in parser.first_bad]


def _doubted(text: Text, parser: TextParser) -> list[str]:
    return [
        f"{text.name}, line {line}: {cell!r} is not a number, so column {name!r} is read as categories, "
        f"though {numbers} of its first {numbers + others} cells are numbers. If {cell!r} marks a missing "
        f"value: --missing {quote(cell)}; if the column is numbers all the same: --types {name}=number"
        for name, line, cell, numbers, others in parser.doubtful
    ]
