"""JSON lines: an object a row, its keys the columns, those of objects within it named a.b."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from likelier.data.files import base
from likelier.data.files.base import FIRST_BYTES, Span, Unnumbered, reading
from likelier.data.files.locations import Stamp, check_packing, stamp
from likelier.data.frames import is_text

Path = tuple[str, ...]  # of keys, from the object of a row to a cell

# Cells of several kinds: no model can use them.
_MIXED = pa.dense_union([pa.field("number", pa.float64()), pa.field("other", pa.string())])


@dataclass(frozen=True)
class JSONLines(Unnumbered):
    """A file, and the columns that the first rows of all files have."""

    path: str
    seen: Stamp
    paths: Mapping[str, Path] = field(default_factory=dict)
    known: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()  # one comes twice where {"a.b": 1} stands beside {"a": {"b": 1}}

    @classmethod
    def open(cls, path: str) -> Self:
        with reading(path):
            seen = stamp(path)
            check_packing(path)
        return cls(path, seen)

    @property
    def types(self) -> Mapping[str, Any]:
        return self.known

    def first_columns(self) -> list[tuple[Path, Any]] | None:
        """The columns that the first rows have, and their types; None: there are no rows."""
        with reading(self.path, self.seen):
            for at, block in base.blocks(self.path, 0, None, FIRST_BYTES):
                if block.strip():
                    return self._inferred(at, block)
        return None

    def _inferred(self, at: int, block: bytes) -> list[tuple[Path, Any]]:
        if block.lstrip().startswith(b"["):
            raise ValueError(
                f"{self.path}: this is a JSON array: JSON lines, with one object a line, can be read."
            )
        try:
            return list(_leaves((), _parsed(block, None).schema))
        except pa.ArrowInvalid as error:
            self._check_objects(at, block, str(error))
        return [(path, _type_of(kinds)) for path, kinds in _kinds(block).items()]

    def with_columns(self, columns: Sequence[tuple[Path, Any]]) -> Self:
        """The same file with these columns."""
        named = [(".".join(path), path, kind) for path, kind in columns]
        paths = {name: path for name, path, _ in named}
        known = {name: kind for name, _, kind in named}
        return type(self)(self.path, self.seen, paths, known, tuple(name for name, _, _ in named))

    def counted(self) -> int | None:
        return self.count() if base.can_be_cut(self.path) else None

    def count(self) -> int:
        return sum(base.census(self.path, self.seen, False, base.UNIT).rows)

    def spans(self, rows: int) -> list[Span]:
        """Cut at the ends of lines, where the file can be cut, into parts of so many rows."""
        if not base.can_be_cut(self.path):
            return [Span()]
        return base.census(self.path, self.seen, False, base.UNIT).spans(rows)

    def read(
        self, numbers: Sequence[str], labels: Sequence[str], span: Span, size: int, rows: int
    ) -> Iterator[Any]:
        # What looks whole in the first rows need not be so in the last: numbers are read as floats.
        boolean = pa.bool_()
        types = {name: boolean if self.known[name] == boolean else pa.float64() for name in numbers}
        types |= {name: self._label_type(name) for name in labels}
        schema = _schema([(self.paths[name], kind) for name, kind in types.items()])
        with reading(self.path, self.seen):
            for at, block in base.read(self.path, self.seen, span, size):
                yield self._batch(at, block, schema, types)

    def _label_type(self, name: str) -> Any:
        known = self.known[name]
        return pa.string() if pa.types.is_null(known) else known

    def _batch(self, at: int, block: bytes, schema: Any, types: Mapping[str, Any]) -> Any:
        try:
            table = _parsed(block, schema) if block.strip() else schema.empty_table()
            cells = [_column(table, self.paths[name], kind) for name, kind in types.items()]
        except pa.ArrowInvalid as error:
            self._check_objects(at, block, str(error))
            self._check_types(at, block, types)
            raise
        return pa.record_batch(cells, names=list(types))

    def verbatim(self, names: Sequence[str]) -> Self:
        return self  # what is written in quotation marks is text, and all else is not

    def described(self, name: str) -> str:
        """The type of a column, and, where there are several, the first cell of another than the first."""
        if self.known[name] != _MIXED:
            return str(self.known[name])
        first = None
        for at, block in base.blocks(self.path, 0, None, base.UNIT):
            for number, line in _numbered(block):
                value = _cell(json.loads(line), self.paths[name])[0]
                kind = None if value is None else _KINDS[type(value)]
                if kind is not None and first not in (None, kind):
                    on = base.line_at(self.path, at) + number
                    return f"several kinds: {first}, and {_short(value)} on line {on}"
                first = first or kind
        return "several kinds"

    def place(self, row: int) -> str:
        line = base.row_line(self.path, row)
        return f"row {row}{f' (line {line})' if line else ''} of {self.path}"

    # ---- what is wrong, and on which line: found by reading once more, slowly ------------------------
    def _check_objects(self, at: int, block: bytes, error: str) -> None:
        """Refuse a line that is no object."""
        for number, line in _numbered(block):
            try:
                found = json.loads(line, object_pairs_hook=_each_once, parse_float=_finite)
                json.dumps(found, ensure_ascii=False).encode()  # half of a surrogate pair is no text
            except ValueError as problem:  # no JSON, or no UTF-8
                raise self._bad(at, number, f"it cannot be read as JSON: {problem}") from None
            if not isinstance(found, dict):
                raise self._bad(at, number, f"{_KINDS[type(found)]} where an object {{...}} is expected")

    def _check_types(self, at: int, block: bytes, types: Mapping[str, Any]) -> None:
        """Refuse a cell that is not of its column's type."""
        for number, line in _numbered(block):
            row = json.loads(line)
            for name, kind in types.items():
                value, whole = _cell(row, self.paths[name])
                if value is not None and not (whole and _fits(value, kind)):
                    why = f"{_short(value)} is not of type {kind}, which the column has in the first rows"
                    raise self._bad(at, number, f"column {name!r}: {why}")

    def _bad(self, at: int, number: int, why: str) -> ValueError:
        line = base.line_at(self.path, at) + number
        return ValueError(f"{self.path}, line {line}: {why}. Mend or drop it; a missing cell is null.")


def _parsed(block: bytes, schema: Any) -> Any:
    """A table; schema: what is wanted of it (None: all that is there)."""
    options = {} if schema is None else {"unexpected_field_behavior": "ignore", "explicit_schema": schema}
    return arrow_json.read_json(
        pa.BufferReader(block),
        read_options=arrow_json.ReadOptions(use_threads=False, block_size=max(len(block), 1)),
        parse_options=arrow_json.ParseOptions(**options),
    )


def _leaves(path: Path, fields: Any) -> Iterator[tuple[Path, Any]]:
    """The columns of a schema, those of objects within objects taken apart. Dates are text in JSON."""
    for one in fields:
        if pa.types.is_struct(one.type):
            yield from _leaves((*path, one.name), [one.type.field(i) for i in range(one.type.num_fields)])
        else:
            yield (*path, one.name), pa.string() if pa.types.is_temporal(one.type) else one.type


def _schema(columns: Sequence[tuple[Path, Any]]) -> Any:
    """The other way round: columns as objects within objects."""
    tree: dict[str, Any] = {}
    for path, kind in columns:
        at = tree
        for key in path[:-1]:
            at = at.setdefault(key, {})
        at[path[-1]] = kind

    def fields(tree: dict[str, Any]) -> list[Any]:
        return [
            pa.field(key, pa.struct(fields(held)) if isinstance(held, dict) else held)
            for key, held in tree.items()
        ]

    return pa.schema(fields(tree))


def _column(table: Any, path: Path, kind: Any) -> Any:
    """The cells of a column; text as codes, and checked to be UTF-8."""
    column = table.column(path[0])
    for key in path[1:]:
        column = pc.struct_field(column, key)
    column = column.combine_chunks()
    if not is_text(kind):
        return column
    coded = column.dictionary_encode()
    coded.dictionary.validate(full=True)
    return coded


def _cell(row: Any, path: Path) -> tuple[Any, bool]:
    """What is at the end of a path, or where it ends too early; and whether it is its end."""
    for depth, key in enumerate(path):
        row = row.get(key)
        if not isinstance(row, dict):
            return row, depth == len(path) - 1
    return row, True


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:40] + "…"


_KINDS = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


def _numbered(block: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, by their number from 0."""
    return ((i, line) for i, line in enumerate(block.split(b"\n")) if line.strip())


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} comes twice")
    return found


def _finite(text: str) -> float:
    found = float(text)
    if math.isinf(found):
        raise ValueError(f"{text} is too large for a number of 64 bits")
    return found


def _kinds(block: bytes) -> dict[Path, set[type]]:
    """What kinds of cells each column has."""
    found: dict[Path, set[type]] = {}

    def add(path: Path, held: Mapping[str, Any]) -> None:
        for key, value in held.items():
            if isinstance(value, dict):
                add((*path, key), value)
            elif value is not None:
                found.setdefault((*path, key), set()).add(type(value))

    for _, line in _numbered(block):
        add((), json.loads(line))
    objects = {path[:i] for path in found for i in range(1, len(path))}
    return {path: kinds | ({dict} if path in objects else set()) for path, kinds in found.items()}


def _type_of(kinds: set[type]) -> Any:
    if kinds <= {int, float}:
        return pa.int64() if kinds == {int} else pa.float64()
    simple = {str: pa.string(), bool: pa.bool_(), list: pa.list_(pa.null())}
    return simple.get(next(iter(kinds)), _MIXED) if len(kinds) == 1 else _MIXED


def _fits(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):
        return bool(pa.types.is_boolean(kind))
    if isinstance(value, int | float):
        whole = isinstance(value, int) and abs(value) < 1 << 63
        return bool(pa.types.is_floating(kind)) or (whole and bool(pa.types.is_integer(kind)))
    return isinstance(value, str) and is_text(kind)
