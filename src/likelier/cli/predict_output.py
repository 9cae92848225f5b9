"""What `likelier predict` writes: CSV, Parquet or folders of Parquet, and how good the answers are."""

import csv
import io
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from likelier.array_types import Floats
from likelier.data import frames
from likelier.display import counted
from likelier.estimators.predictions import ClassCodes, probable
from likelier.evaluation import (
    ClassPredictions,
    Evaluation,
    LabelEvaluation,
    LabelSums,
    ValueEvaluation,
    ValueSums,
)
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


# How good predictions are, where the labels are known: what `likelier predict` reports at the end.


class Evaluator(Protocol):
    """Adds up how good answers are; one for each part, merged."""

    def start(self) -> Any:
        """Sums of no rows yet."""

    def add(self, sums: Any, predicted: Any, target: Any, /) -> None:
        """Rows without a label or value are left out."""

    def found(self, sums: Any, /) -> Evaluation: ...


class LabelEvaluator:
    """Of labels; one that the model does not know is an error."""

    def __init__(self, model: Any, naming: ClassCodes) -> None:
        self.model, self.naming = model, naming

    def start(self) -> LabelSums:
        return LabelSums.start(self.naming.K, apart=True)

    def add(self, sums: LabelSums, predicted: ClassPredictions, target: Any) -> None:
        there = frames.encoded(target)[0] >= 0
        codes = self.naming.places[frames.recoded(target, self.naming.sorted)] if there.any() else -1
        sums.add(predicted, np.where(there, codes, -1))

    def found(self, sums: LabelSums) -> LabelEvaluation:
        return LabelEvaluation(
            type(self.model).__name__, self.model.classes_, probable(self.model), sums=sums
        )


class ValueEvaluator:
    """Of values."""

    def __init__(self, model: Any, target: str) -> None:
        self.model, self.target = model, target

    def start(self) -> ValueSums:
        return ValueSums.start(1)

    def add(self, sums: ValueSums, predicted: NDArray[Any], target: Any) -> None:
        y = np.asarray(frames.arrow_numbers(target), dtype=np.float64)
        sums.add(predicted, np.where(np.isfinite(y), y, np.nan))

    def found(self, sums: ValueSums) -> ValueEvaluation:
        return ValueEvaluation(type(self.model).__name__, (self.target,), sums=sums)


def in_words(found: Evaluation) -> str:
    """One line."""
    if found.rows == 0:
        what = "a label" if isinstance(found, LabelEvaluation) else "a value"
        return f"no row has {what}: how good the answers are is not known"
    figures = dict(found.figures)
    if isinstance(found, LabelEvaluation) and len(found.classes) == 2:
        figures["auc_deviation"] = auc_deviation(found.sums.figures.bins)
    shown = [_figure(name, figures) for name in figures]
    text = f"{', '.join(filter(None, shown))} on {counted(found.rows, 'row')}"
    if not isinstance(found, LabelEvaluation) or not found.unknown:
        return text
    unknown = counted(found.unknown, "label")
    return f"{text} ({unknown} that the model does not know: counted as errors, and in no other metric)"


def auc_deviation(bins: Floats) -> float:
    """The standard error of the AUC (DeLong, DeLong and Clarke-Pearson 1988); bins: rows of two classes.

    The share of the rows of the other class that a row is on the right side of varies from row to row: with
    n rows of one class and m of the other, Var = var(first shares) / n + var(second shares) / m.
    """
    n, m = bins[:, 0], bins[:, 1]
    if min(n.sum(), m.sum()) <= 1:
        return float("nan")
    below = (np.cumsum(n) - n / 2) / n.sum()  # of the first class, for a row of the second
    above = 1 - (np.cumsum(m) - m / 2) / m.sum()
    spread = [w @ (v - w @ v / w.sum()) ** 2 / (w.sum() - 1) / w.sum() for w, v in ((m, below), (n, above))]
    return float(np.sqrt(sum(spread)))


def _figure(name: str, figures: Mapping[str, float]) -> str | None:
    value = figures[name]
    if np.isnan(value):
        return None
    if name == "error":
        return f"error {100 * value:.2f} %"
    if name == "auc":
        off = figures.get("auc_deviation", np.nan)
        return f"AUC {value:.4f}" + (f" ± {off:.4f}" if np.isfinite(off) else "")
    words = {"log_loss": "log-loss", "calibration_error": "calibration error"}
    if name in words:
        return f"{words[name]} {value:.4f}"
    words = {"rmse": "RMSE", "mae": "MAE", "r2": "R²"}
    return f"{words[name]} {value:.6g}" if name in words else None


def written(labels: Any) -> list[str]:
    """Labels as they stand in the column of answers: 2, where svmlight's are 2.0."""
    return list(pa.array(labels).cast(pa.string()).to_pylist())


def as_json(found: Evaluation) -> dict[str, Any]:
    """All figures, by their names; those that are not finite are null."""
    figures: dict[str, Any] = {"model": found.model, "rows": found.rows, "weight": found.weight}
    figures |= {name: value if np.isfinite(value) else None for name, value in found.figures.items()}
    if isinstance(found, LabelEvaluation):
        figures |= {
            "classes": written(found.classes),
            "confusion": found.confusion.tolist(),
            "unknown": found.unknown,
        }
    return figures
