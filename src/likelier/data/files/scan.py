"""`scan`: which files are meant, and the source over tables in files larger than memory."""

import glob
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import frames
from likelier.data.chunk import PART_BYTES, Chunk, Part
from likelier.data.files import locations
from likelier.data.files.base import ClusterFiles, File, Span
from likelier.data.files.columns import DeclaredTypes, Kind, PaddedFile, Roles, kinds
from likelier.data.files.csv import BLOCK_BYTES, Delimited, Dialect
from likelier.data.files.jsonl import JSONLines
from likelier.data.files.parquet import Parquet
from likelier.data.files.svmlight import SparseScan, scan_lines
from likelier.data.frames import same_kind
from likelier.data.labels import levels_of, with_weight
from likelier.data.row_numbers import UncountedPieces, firsts, found, rows_of
from likelier.display import some_of
from likelier.streams.formats import FORMATS, delimited_by, scanned

# Which files are meant, and which columns they must have.


def find(path: Any, format: str | None) -> tuple[list[str], str]:
    """The files that are meant, sorted, and their format."""
    known = scanned()
    if format is not None and format not in known:
        raise ValueError(f"format must be one of {', '.join(map(repr, known))}; got {format!r}.")
    if not isinstance(path, str | os.PathLike | Iterable):
        raise TypeError(f"path must be a file, a folder, a glob pattern, or a list of them; got {path!r}.")
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    paths = sorted({file for one in given for file in _matches(os.fspath(one), format)})
    if not paths:
        raise ValueError("no files: the list is empty")
    if format is not None:
        return paths, format
    formats = {file: _format_of(file) for file in paths}
    unclear = [file for file, kind in formats.items() if kind is None]
    if unclear:
        raise ValueError(
            f"{unclear[0]}: the format cannot be inferred from the name. Pass format=, one of "
            f"{', '.join(map(repr, known))}."
        )
    kinds = {kind: file for file, kind in formats.items() if kind is not None}
    if len(kinds) > 1:
        raise ValueError(f"files of several formats: {', '.join(kinds.values())}. Scan one at a time.")
    return paths, next(iter(kinds))


def _matches(path: str, format: str | None) -> list[str]:
    path = locations.plain(path)
    if locations.is_folder(path):
        found = [
            file for file in locations.below(path) if format is not None or _format_of(file) is not None
        ]
        if not found:
            endings = ", ".join(ending for kind in scanned().values() for ending in kind.endings)
            raise FileNotFoundError(f"{path}: the folder has no files whose names end with {endings}.")
        return found
    if locations.is_file(path):
        return [path]
    found = locations.matching(path)
    if not found:
        raise FileNotFoundError(f"no file matches {path!r}{_hint(path)}")
    return found


def _format_of(path: str) -> str | None:
    endings = [ending.lower() for ending in Path(locations.name_of(path)).suffixes]
    if endings and endings[-1] in locations.PACKINGS:
        endings.pop()
    suited = (name for name, kind in scanned().items() if endings and endings[-1] in kind.endings)
    return next(suited, None)


def _hint(path: str) -> str:
    if locations.is_url(path):
        return ""
    folder, name = Path(path).parent, Path(path).name
    if not folder.is_dir():
        return "" if glob.has_magic(str(folder)) else f": there is no folder {folder}"
    near = get_close_matches(name, [file.name for file in folder.iterdir()], n=3)
    return f"; near it: {', '.join(near)}" if near else ""


def known_columns(files: Sequence[File], columns: Sequence[str]) -> None:
    """Refuse a column that a file has not, has twice, or has of another type than the first file."""
    first = files[0]
    for file in files:
        counts = Counter(file.names)
        for name in columns:
            if counts[name] == 0:
                raise ValueError(f"{file.path}: no column named {name!r}{_near(name, file.names)}")
            if counts[name] > 1:
                raise ValueError(
                    f"{file.path}: {counts[name]} columns named {name!r}. Each needs a name of its own; in "
                    "CSV they stand on the first line."
                )
            if not same_kind(file.types[name], first.types[name]):
                raise unlike(file, first, name)


def unlike(file: File, first: File, name: str) -> ValueError:
    """A column has another type in one file than in the first."""
    return ValueError(
        f"{file.path}: column {name!r} is of type {file.types[name]}, and in {first.path} of type "
        f"{first.types[name]}. Write it with one type everywhere."
    )


def _near(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, n=3)
    if near:
        return f"; near it: {', '.join(map(repr, near))}"
    return f"; columns: {some_of([repr(name) for name in names], 20)}"


# Tables in files, larger than memory: the source that `scan` makes.

Batches = Callable[[], Iterator[tuple[int, Any]]]
# A glimpse of labels: from so many places, the first block or so many rows of each.
PLACES, GLIMPSE = 8, 1 << 14
DOCUMENT = 1 << 10  # bytes that a document is taken to have, where files are cut by rows


def scan(
    path: Any,
    target: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    format: str | None = None,
    *,
    text: str | None = None,
    types: Mapping[str, Kind] | None = None,
    missing: str | Sequence[str] | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
) -> "Scan | SparseScan":
    """Open files as one data source, which estimators fit in place of X and y.

    The rows are read in parts, in parallel, and need not fit into memory. Before an estimator asks for
    rows, only footers and headers are read, the first 8 MB of CSV and JSON lines, and all of svmlight and
    VW files, once, to find how many columns they have.

    Parameters
    ----------
    path : str, path-like or list of these
        A file, a folder, a glob pattern (`**` matches nested folders), a URL of any of these, or a list of
        them. Files are read in sorted order.
    target : str or list of str, default=None
        The column of y; a list for several targets. None for rows without labels. svmlight and VW lines
        begin with the target, and their columns have no names: leave it out for these formats.
    features : list of str, default=None
        The columns of X. None takes all columns but the target and the weight.
    weight : str, default=None
        The column of the sample weights.
    format : {"parquet", "csv", "tsv", "jsonl", "svmlight", "vw"}, default=None
        The format of all files. None goes by the endings of the file names.
    text : str, default=None
        A column of documents as X, in place of `features`: for `TextClassifier`, and for vectorisers, which
        make columns of its terms as the files are read.
    types : dict of str to {"number", "category", "text", "date"}, default=None
        The types of columns, by name, where the file does not declare them or declares another type.
        Dates become days since 1970.
    missing : str or list of str, default=None
        CSV and TSV: cells that stand for a missing value, besides empty ones.
    encoding : str, default=None
        CSV and TSV: the encoding of the text. None is UTF-16 where the file begins with its byte order
        mark, and UTF-8 otherwise.
    delimiter : str, default=None
        CSV and TSV: the separator of cells. None is a comma or a tab, as the format says; where the first
        line of a CSV file has no comma, a semicolon, tab or vertical bar.
    header : bool, default=True
        CSV and TSV: whether the first line holds the column names. Without a header the columns are named
        "0", "1", "2" and so on.

    Returns
    -------
    Scan or SparseScan
        A source of rows: pass it to `fit`, `predict`, `evaluate` or `compare`. `.on(client)` reads the
        files on a Dask cluster.

    Raises
    ------
    FileNotFoundError
        If no file matches the path.
    ValueError
        If a column does not exist, has different types in different files, or the format is not clear.

    See Also
    --------
    compare : Cross-validate models on the rows of a scan.
    evaluate : Metrics of a fitted model on the rows of a scan.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import likelier as lk
    >>> table = pd.DataFrame({"height": [1.6, 1.8, 1.7, 2], "weight": [55, 80, 62, 90], "sex": [*"fmfm"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_csv(f"{folder}/people.csv", index=False)
    ...     rows = lk.scan(f"{folder}/*.csv", target="sex")
    ...     model = lk.GaussianNB().fit(rows)
    >>> model.feature_names_in_.tolist(), model.classes_.tolist()
    (['height', 'weight'], ['f', 'm'])
    """
    paths, kind = find(path, format)
    if FORMATS[kind].delimiter is None:
        cells = {
            "missing": missing,
            "encoding": encoding,
            "delimiter": delimiter,
            "header": header and None,
        }
        _refuse_text(paths[0], kind, **cells)
    if FORMATS[kind].sparse:
        named = {"target": target, "features": features, "weight": weight, "text": text, "types": types}
        _refuse_columns(paths[0], kind, **named)
        return scan_lines(paths, kind)
    files = READERS[kind](paths, _Cells(kind, missing, encoding, delimiter, bool(header)))
    files = _declared(files, kinds(types)) if types else files
    if text is not None:
        return _texts(files, target, text, features, weight)
    return _table(files, target, features, weight)


def names_in(path: Any, format: str | None, how: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of the first file, whatever they are; how: what `scan` is told of text."""
    (first, *_), kind = find(path, format)
    if FORMATS[kind].delimiter is not None:
        cells = _Cells(kind, None, how.get("encoding"), how.get("delimiter"), how.get("header", True))
        return Delimited.open(first, cells.dialect, encoding=cells.encoding).names
    return READERS[kind]([first], _Cells(kind))[0].names


class _Cells(NamedTuple):
    """What `scan` is told of the cells of delimited text."""

    kind: str
    missing: str | Sequence[str] | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: bool = True

    @property
    def dialect(self) -> Dialect:
        given = self.delimiter
        said = FORMATS[self.kind].delimiter or "," if given is None else delimited_by(given)
        return Dialect(said, given is not None, bool(self.header))


def _declared(files: tuple[File, ...], types: Mapping[str, Kind]) -> tuple[File, ...]:
    """The files with columns of the kinds that are said."""
    known_columns(files, list(types))
    return tuple(
        DeclaredTypes(file.with_types(types) if isinstance(file, Delimited) else file, types)
        for file in files
    )


def _refuse_text(path: str, kind: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{path}: {name}={value!r} is for CSV and TSV, and this is {kind}. Leave it out."
            )


def _refuse_columns(path: str, kind: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{path}: {name}={value!r} names a column, and in {kind} files columns have no names: the "
                "target stands first on each line, and X is all that follows. Leave it out."
            )


def _table(files: tuple[File, ...], target: Any, features: Any, weight: str | None) -> "Scan":
    """Columns by their names."""
    targets = _listed(target)
    others = (*targets, *_listed(weight))
    rest = [name for name in dict.fromkeys(files[0].names) if name not in (*others, *files[0].index)]
    chosen = tuple(rest) if features is None else _listed(features)
    roles = Roles(chosen, targets, isinstance(target, str), weight)
    if not roles.features:
        raise ValueError(f"{files[0].path}: no column is left for X beside {', '.join(map(repr, others))}.")
    known_columns(files, roles.columns)
    if not any(file.rows is None or file.rows for file in files):
        raise ValueError(f"{files[0].path}: no rows{_beside(files)}.")
    return Scan(files, roles)


def _texts(files: tuple[File, ...], target: Any, text: str, features: Any, weight: str | None) -> "Scan":
    """A column of documents."""
    if features is not None:
        raise ValueError(
            f"text={text!r} makes the documents X, and features={features!r} other columns: pass one of "
            "them."
        )
    known_columns(files, [text])
    if isinstance(files[0], Delimited):  # what looks like numbers are documents, too
        files = _declared(files, {text: "text"})
    if not frames.is_text(files[0].types[text]):
        raise ValueError(
            f"{files[0].path}: text={text!r} is a column of type {files[0].described(text)}: documents are "
            "strings."
        )
    source = _table(files, target, [text], weight)
    return replace(source, roles=replace(source.roles, text=True))


def _listed(names: Any) -> tuple[str, ...]:
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


def _beside(files: Sequence[File]) -> str:
    return f", nor in the {len(files) - 1} other files" if len(files) > 1 else ""


def _parquet(paths: Sequence[str], how: _Cells) -> tuple[File, ...]:
    return tuple(Parquet.open(path) for path in paths)


def _json_lines(paths: Sequence[str], how: _Cells) -> tuple[File, ...]:
    """Columns are those of the first file that has rows."""
    objects = [JSONLines.open(path) for path in paths]
    for file in objects:
        columns = file.first_columns()
        if columns is not None:
            return tuple(one.with_columns(columns) for one in objects)
    raise ValueError(f"{objects[0].path}: no rows{_beside(objects)}.")


def _delimited(paths: Sequence[str], how: _Cells) -> tuple[File, ...]:
    """Types are those of the first file that has rows."""
    marks = [how.missing] if isinstance(how.missing, str) else how.missing
    headers = [Delimited.open(path, how.dialect, marks, how.encoding) for path in paths]
    for header in headers:
        first = header.typed()
        if first is not None:
            return tuple(file.like(first) for file in headers)
    held = "a header and no rows" if how.header else "no rows"
    raise ValueError(f"{headers[0].path}: {held}{_beside(headers)}.")


# How files of each format (`FORMATS`) are opened: with the names and types of their columns.
READERS: dict[str, Callable[[Sequence[str], _Cells], tuple[File, ...]]] = {
    "csv": _delimited,
    "tsv": _delimited,
    "parquet": _parquet,
    "jsonl": _json_lines,
}


@dataclass(frozen=True, repr=False, eq=False)
class Scan(ClusterFiles):
    """A table in files, as returned by `scan`: rows that are read in parts and need not fit into memory.

    Attributes
    ----------
    names : ndarray of str
        The columns of X.
    targets : tuple of str
        The columns of y; empty if the rows have no labels.
    rows : int or None
        The number of rows; None if the files do not record it (CSV, JSON lines).
    p : int
        The number of columns of X.

    See Also
    --------
    scan : Open files as a source.
    """

    files: tuple[File, ...]
    roles: Roles
    cluster: Any = field(default=None, compare=False)  # a Dask client, whose workers read; None: we do
    exact: bool = False  # rows are numbered by what was counted
    known: dict[int, int] = field(default_factory=dict, compare=False)  # rows of files that were counted

    def __repr__(self) -> str:
        p = self.p
        rows = "" if self.rows is None else f"{self.rows} rows, "
        shown = ", ".join(self.roles.features[:5]) + (", ..." if p > 5 else "")
        targets = (
            self.roles.targets[0] if self.roles.flat and self.roles.targets else list(self.roles.targets)
        )
        y = f", target={targets!r}" if self.roles.targets else ""
        w = f", weight={self.roles.weight!r}" if self.roles.weight is not None else ""
        what = "documents" if self.roles.text else f"{p} features"
        return f"<Scan of {self._held}: {rows}{what} ({shown}){y}{w}>"

    @property
    def p(self) -> int:
        """The number of columns of X."""
        return len(self.roles.features)

    @property
    def names(self) -> NDArray[Any]:
        """The names of the columns of X."""
        return np.array(self.roles.features, dtype=object)

    @property
    def rows(self) -> int | None:
        """The number of rows; None if the files do not record it."""
        known = [file.rows for file in self.files if file.rows is not None]
        return sum(known) if len(known) == len(self.files) else None

    @property
    def delimited(self) -> bool:
        """Whether types are what the cells look like: those of CSV and TSV."""
        file: Any = self.files[0]
        while isinstance(file, DeclaredTypes | PaddedFile):
            file = file.file
        return isinstance(file, Delimited)

    @property
    def y_shape(self) -> tuple[int, ...]:
        return () if self.roles.flat else (len(self.roles.targets),)

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the columns of y."""
        return self.roles.targets

    def labels(self) -> Self:
        """The labels alone, each of a chunk once."""
        (name,) = self.roles.targets
        kind = self.files[0].types[name]
        if not frames.is_label(kind):
            raise ValueError(
                f"{self.files[0].path}: target {name!r} is of type {self.files[0].described(name)}: labels "
                "are numbers, strings (in UTF-8) or dates."
            )
        for file in self.files:
            if not frames.same_type(file.types[name], kind):
                raise unlike(file, self.files[0], name)
        return replace(self, roles=replace(self.roles, features=(), y="labels"))

    def glimpse(self) -> NDArray[Any] | None:
        """Labels of some rows from all over; None: where columns lie apart, all are as cheap to read.

        None as well where most of these rows have a label of their own: others will have further ones.
        """
        if self.rows is not None:
            return None
        found, rows = self.some_labels()
        return None if found is not None and len(found) > rows / 2 else found

    def some_labels(self) -> tuple[NDArray[Any] | None, int]:
        """The labels of some rows from all over, each once, and how many rows these are."""
        roles = self.labels().roles
        pieces = [(file, span) for file in self.files for span in file.spans(1)]
        some = np.unique(np.linspace(0, len(pieces) - 1, PLACES, dtype=np.intp))
        seen: list[Any] = []
        rows = 0
        for file, span in (pieces[i] for i in some):
            for chunk in islice(roles.chunks(file, 0, span, BLOCK_BYTES, GLIMPSE), 1):
                assert chunk.y is not None
                assert chunk.w is not None
                seen.append(with_weight(chunk.y, chunk.w))
                rows += chunk.X.shape[0]
        return levels_of(np.concatenate(seen)) if seen else None, rows

    def partly(self) -> Self:
        """The same rows, of which some may lack a label."""
        return replace(self, roles=replace(self.roles, partly=True))

    def coded(self, levels: NDArray[Any]) -> Self:
        return replace(self, roles=replace(self.roles, y="codes", levels=levels))

    def with_types(self, types: Mapping[str, Kind]) -> Self:
        """The same rows, with columns of the kinds that are said."""
        return replace(self, files=_declared(self.files, types))

    def taking(self, features: Sequence[str], *, y: bool) -> Self:
        """The same rows with these columns as X, with or without y and weights."""
        roles = replace(self.roles, features=tuple(features))
        if not y:
            roles = Roles(roles.features, text=roles.text)
        known_columns(self.files, roles.columns)
        return replace(self, roles=roles)

    def without_target(self) -> Self:
        """The same rows and weights, without y."""
        return replace(self, roles=replace(self.roles, targets=(), y="numbers", levels=None))

    def lacking(self, columns: Sequence[str], texts: Collection[str]) -> tuple[Self, list[str]]:
        """The same files, with these columns in all of them, and which ones some lack: every cell of those
        is missing there. texts: columns of text."""
        lost = {name: None for file in self.files for name in columns if name not in file.names}
        files = []
        for file in self.files:
            lacks = tuple(name for name in columns if name not in file.names)
            files.append(PaddedFile(file, lacks, frozenset(texts)) if lacks else file)
        return replace(self, files=tuple(files)), list(lost)

    def others(self, columns: Sequence[str]) -> Mapping[str, str]:
        """Which of these columns are no numbers, and what they are."""
        first = self.files[0]
        if self.roles.text:
            return dict.fromkeys(columns, "documents, for TextClassifier or a vectoriser")
        return {name: first.described(name) for name in columns if not frames.is_number(first.types[name])}

    def texts(self, columns: Sequence[str]) -> frozenset[str]:
        """Which of these columns are text, and could be categories: documents could not."""
        if self.roles.text:
            return frozenset()
        return frozenset(name for name in columns if frames.is_text(self.files[0].types[name]))

    def dates(self, columns: Sequence[str]) -> list[str]:
        """Which of these columns hold dates."""
        return [name for name in columns if frames.is_date(self.files[0].types[name])]

    def categorised(self, columns: Collection[str]) -> Self:
        """The same with these columns as categories: as they are written in the files."""
        files = tuple(file.verbatim(list(columns)) for file in self.files)
        return replace(self, files=files, roles=replace(self.roles, categories=frozenset(columns)))

    def worded(self) -> Self:
        """The same with text and booleans as categories."""
        types, names = self.files[0].types, list(self.names)
        booleans = {name for name in names if frames.is_boolean(types[name])}
        found = self.categorised(self.texts(names))
        return replace(found, roles=replace(found.roles, categories=found.roles.categories | booleans))

    def parts(self, state_bytes: int) -> Sequence[Part]:
        types, four = self.files[0].types, 4 * state_bytes
        if self.roles.text:  # documents are read in small pieces, whatever becomes of them
            return self._parts(
                max(1, max(PART_BYTES, four) // DOCUMENT), BLOCK_BYTES, BLOCK_BYTES // DOCUMENT
            )
        wide = sum(frames.width(types[name]) for name in self.roles.features or self.roles.columns)
        rows = max(1, max(PART_BYTES, four) // wide)
        return self._parts(rows, max(BLOCK_BYTES, four), rows)

    def _parts(self, rows: int, size: int, most: int) -> list[Part]:
        """Parts of so many rows, chunks of about so many bytes of text, or of so many rows at most."""
        return [
            partial(self.roles.chunks, file, number, span, size, most)
            for file, number in zip(self.files, firsts(self._lengths(self.exact)), strict=True)
            for span in file.spans(rows)
        ]

    def batches(self, others: Sequence[str], verbatim: Sequence[str]) -> Sequence[Batches]:
        """Parts as record batches, with the number of each one's first row: X, and other columns beside it.

        verbatim: which of the others are to be as they are written in the file, not as numbers.
        """
        rows = max(1, PART_BYTES // (8 * (self.p + len(others))))
        return [
            partial(self._batches, others, file.verbatim(verbatim), number + span.first, span, rows)
            for file, number in zip(self.files, firsts(self._lengths(self.exact)), strict=True)
            for span in file.spans(rows)
        ]

    def _batches(
        self, others: Sequence[str], file: File, first: int, span: Span, rows: int
    ) -> Iterator[tuple[int, Any]]:
        words = [name for name in self.roles.features if name in self.roles.categories]
        numbers = [name for name in self.roles.features if name not in self.roles.categories]
        for batch in file.read(numbers, [*words, *others], span, BLOCK_BYTES, rows):
            yield first, batch
            first += batch.num_rows

    def _lengths(self, known: bool) -> list[int | None]:
        """The rows of each file; `known`: by what was counted, too."""
        if len(self.files) == 1:  # nothing comes behind it
            return [None]
        counts = [file.counted() for file in self.files]
        return [self.known.get(i) if n is None and known else n for i, n in enumerate(counts)]

    @property
    def provisional(self) -> bool:
        """Whether rows have no true numbers: some files would have to be read to count those before."""
        return not self.exact and None in self._lengths(False)[:-1]

    def _unknown(self) -> list[int]:
        """Files before others whose rows nobody has counted."""
        return [i for i, n in enumerate(self._lengths(True)[:-1]) if n is None]

    def uncounted(self) -> UncountedPieces | None:
        """What counts the rows of files that come before others; None: all are counted."""
        parts = [partial(_counted, i, self.files[i]) for i in self._unknown()]
        return UncountedPieces(parts, self.cluster) if parts else None

    def counted(self, rows: Mapping[int, int]) -> None:
        """Keep how many rows were found in each file: should one change, reading it will fail."""
        self.known.update({i: rows.get(i, 0) for i in self._unknown()})

    def numbered(self) -> Self:
        """The same rows with their true numbers, all files but the last being counted."""
        return replace(self, exact=True)

    def place(self, row: int) -> str:
        at, number = found(row, self._lengths(True))
        return self.files[at].place(number)


def _counted(number: int, file: File) -> Iterator[Chunk]:
    yield rows_of(number, file.count())
