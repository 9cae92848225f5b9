"""The files that `likelier predict` writes: CSV, Parquet, or a folder of Parquet files."""

import csv
import io
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from likelier.saving.format import replacing

# Tables of answers to files: made ready by whoever answers, written in their order.

Ready = Callable[[Any], Any]  # a table as `write` takes it
_PART = re.compile(r"part-\d{5,}\.parquet")


class Output(Protocol):
    """Takes tables of one schema, part after part."""

    def part(self, number: int, /) -> Any:
        """A context for the tables of a part, in which each is made ready (`Ready`), in any thread."""

    def write(self, ready: Any, /) -> None:
        """In the order of all tables."""


class CSV:
    """Lines of text, quotation marks only where they are needed."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.begun = file, False

    @contextmanager
    def part(self, number: int) -> Iterator[Ready]:
        yield lambda table: (table.schema.names, _quoted_lines(table))

    def write(self, ready: Any) -> None:
        names, lines = ready
        if not self.begun:
            header = io.StringIO()
            csv.writer(header, lineterminator="\n").writerow(names)
            self.file.write(header.getvalue().encode())
            self.begun = True
        self.file.write(lines)

    def close(self) -> None:
        pass

    def drop(self) -> None:
        pass


def _quoted_lines(table: Any) -> Any:
    for field in table.schema:
        if pa.types.is_nested(field.type):
            raise ValueError(
                f"--keep {field.name}: a column of type {field.type} cannot be written as CSV: "
                "write Parquet, "
                "-o OUT.parquet"
            )
    try:
        return _lines(table, "none")
    except pa.ArrowInvalid:  # a cell has a comma, a quotation mark or an end of line in it
        return _lines(table, "needed")


def _lines(table: Any, quoting: str) -> Any:
    lines = pa.BufferOutputStream()
    arrow_csv.write_csv(table, lines, arrow_csv.WriteOptions(include_header=False, quoting_style=quoting))
    return lines.getvalue()


class Parquet:
    """A row group for each table."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.writer: Any = None

    @contextmanager
    def part(self, number: int) -> Iterator[Ready]:
        yield lambda table: table

    def write(self, ready: Any) -> None:
        if self.writer is None:
            self.writer = _writer(self.file, ready.schema)
        self.writer.write_table(ready)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()

    def drop(self) -> None:
        """Of a file that is given up: else Arrow would end it as it is cleared away, and complain."""
        if self.writer is not None:
            self.writer.is_open = False


def _writer(file: Any, schema: Any) -> Any:
    """Words as dictionaries; probabilities hardly repeat, and to look whether they do takes long."""
    words = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return pq.ParquetWriter(file, schema, use_dictionary=words)


class Folder:
    """A Parquet file for each part, in a folder that has its name once all are whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def part(self, number: int) -> Iterator[Ready]:
        """Parts are written side by side: nothing is left to do in their order."""
        with (self.folder / f"part-{number:05d}.parquet").open("xb") as file:
            out = Parquet(file)
            with _ending_well(out):
                yield out.write
            file.flush()
            os.fsync(file.fileno())

    def write(self, ready: Any) -> None:
        pass


# ---- where it goes -------------------------------------------------------------------------------
KINDS: dict[str, type[CSV | Parquet]] = {".csv": CSV, ".parquet": Parquet, ".pq": Parquet}


def is_folder(path: str) -> bool:
    """Whether answers are to be a folder of files."""
    return path.endswith(("/", os.sep)) or Path(path).is_dir()


@contextmanager
def opened(path: str, *, overwrite: bool) -> Iterator[Output]:
    """An output that has its name once it is whole; whatever fails, all is as it was."""
    with _naming(path):
        if is_folder(path):
            with _replacing_folder(Path(path), overwrite=overwrite) as folder:
                yield Folder(folder)
            return
        with replacing(Path(path)) as file:
            out = KINDS[_ending(path)](file)
            with _ending_well(out):
                yield out


@contextmanager
def _ending_well(out: CSV | Parquet) -> Iterator[None]:
    """Closed if all went well, else given up."""
    try:
        yield
        out.close()
    except BaseException:
        out.drop()
        raise


def _ending(path: str) -> str:
    ending = Path(path).suffix.lower()
    if ending not in KINDS:
        raise ValueError(
            f"-o must end in .csv or .parquet, or in a slash for a folder of Parquet files ({path}/); "
            f"got {path}."
        )
    return ending


def check_place(path: str, *, overwrite: bool) -> None:
    """Refuse a place that answers cannot be written to, before any are found."""
    if is_folder(path):
        _check_folder(Path(path), overwrite=overwrite)
    else:
        _ending(path)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Errors of the system without a name, or with that of a file in the making, are about what is written:
    a full disk, most likely."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        if problem.errno is None or (problem.filename is not None and ".part" not in str(problem.filename)):
            raise
        raise OSError(problem.errno, f"cannot be written: {problem.strerror}", path) from None


def _check_folder(path: Path, *, overwrite: bool) -> None:
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name}/ in: make it first")
    if not path.exists():
        return
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is a file, and not a folder: name another, or drop the slash")
    held = sorted(one.name for one in path.iterdir())
    if held and not overwrite:
        raise FileExistsError(
            f"the folder {path} is not empty (it has {held[0]}): name another, or say --overwrite"
        )
    others = [name for name in held if not _PART.fullmatch(name)]
    if others:
        raise FileExistsError(
            f"the folder {path} has {others[0]}, which is not part of earlier predictions: choose "
            "another folder"
        )


@contextmanager
def _replacing_folder(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """A folder to fill, which then takes the place of one that is empty or has earlier answers."""
    path = Path(os.path.realpath(path))
    _check_folder(path, overwrite=overwrite)
    new, old = (path.with_name(f".{secrets.token_hex(8)}.{what}") for what in ("part", "old"))
    try:
        new.mkdir()  # in here: an interruption may come as soon as it is there
        yield new
        _check_folder(path, overwrite=overwrite)
        if path.exists():
            path.rename(old)
        try:
            new.rename(path)
        except BaseException:
            if old.exists():
                old.rename(path)
            raise
    finally:
        for one in (new, old):
            shutil.rmtree(one, ignore_errors=True)
