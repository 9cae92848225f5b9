"""A table scored by a model and by its export, and the largest difference: `likelier export --check`."""

import ctypes
import shutil
import sqlite3
import subprocess
import tempfile
import warnings
from argparse import Namespace
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from likelier import optional
from likelier.cli.arguments import paths, reading
from likelier.cli.predict_rows import features_of, plan
from likelier.data import frames
from likelier.display import counted
from likelier.estimators.exports import described
from likelier.export.dialects import DIALECTS
from likelier.export.program import Program

MOST_ROWS = 10_000  # that are scored
CLOSE = 1e-6  # a larger difference is a failure


def compared(model: Any, written: Any, options: Namespace, about: Mapping[str, Any]) -> str:
    """What was found, in a sentence; a difference that is no rounding is an error."""
    how = reading(options, about, features_of(model))
    task = plan(model, paths(options), options.format, [], None, None, how)
    table = _read(task.source)
    program = described(model)
    named = table.rename_columns([each.name for each in program.inputs])
    theirs = _answers_of_model(model, program, named)
    ours = RUNNERS[options.to](written, model, program, named, options)
    gone = [value is None for value in ours] if ours.dtype == object else np.isnan(ours).any(axis=1)
    rows, lost = len(ours), int(np.sum(gone))
    said = f"check: {counted(rows, 'row')}"
    if lost:
        said += f" ({lost:,} without an answer in the export, for values are missing)"
    if ours.dtype == object:
        wrong = sum(a != b for a, b, skip in zip(ours, theirs, gone, strict=True) if not skip)
        if wrong:
            raise ValueError(f"{said}: {wrong:,} labels differ between the model and its export")
        return f"{said}: all labels are the same"
    size = np.maximum(1.0, np.abs(theirs)) if not program.classes else 1.0
    found = np.abs(ours - theirs) / size
    largest = float(np.max(found[~np.asarray(gone)], initial=0.0))
    if not largest <= CLOSE:
        raise ValueError(f"{said}: the export differs from the model by {largest:.3g}")
    return f"{said}: the largest difference is {largest:.2g}"


def _read(source: Any) -> pa.Table:
    """The first rows of a file, as plain cells."""
    found, count = [], 0
    for batches in source.batches([], []):
        for _, batch in batches():
            held = batch.select(list(source.names)).slice(0, MOST_ROWS - count)
            columns = [frames.plain(column) for column in held.columns]
            found.append(pa.table(columns, names=list(source.names)))
            count += held.num_rows
            if count >= MOST_ROWS:
                return pa.concat_tables(found)
    if not found:
        raise ValueError("--check: the table has no rows")
    return pa.concat_tables(found)


def _answers_of_model(model: Any, program: Program, table: pa.Table) -> Any:
    X: Any = table
    if getattr(model, "feature_names_in_", None) is None:
        X = np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64)
    if program.probable:
        return np.asarray(model.predict_proba(X))
    found = np.asarray(model.predict(X))
    return found if program.classes else found.reshape(len(found), -1)


# ---- the exports ---------------------------------------------------------------------------------
def _sql(written: str, model: Any, program: Program, table: pa.Table, options: Namespace) -> Any:
    """The statement for all that the model answers, in a database in memory."""
    if options.dialect not in ("duckdb", "sqlite"):
        raise ValueError(
            f"--check runs SQL in DuckDB and SQLite; {options.dialect} needs a server of yours"
        )
    output = "proba" if program.probable else "label" if program.classes else "score"
    statement = model.to_sql(options.table, options.dialect, output)
    rows = (_in_sqlite if options.dialect == "sqlite" else _in_duckdb)(statement, table, options.table)
    return _as_array(rows, program)


def _as_array(rows: Any, program: Program) -> Any:
    if program.classes and not program.probable:
        found = np.empty(len(rows), dtype=object)
        found[:] = [row[0] for row in rows]
        return found
    return np.array(rows, dtype=np.float64).reshape(len(rows), -1)


def _in_duckdb(statement: str, table: pa.Table, name: str) -> Any:
    duckdb = optional.load("duckdb", "--check of this dialect of SQL needs")
    with duckdb.connect() as database:
        database.register("given rows", table)
        quoted = DIALECTS["duckdb"].identifier(name)
        database.execute(f'CREATE TABLE {quoted} AS SELECT * FROM "given rows"')
        return database.execute(statement).fetchall()


def _in_sqlite(statement: str, table: pa.Table, name: str) -> Any:
    quoted = DIALECTS["sqlite"].identifier
    database = sqlite3.connect(":memory:")
    try:
        columns = ", ".join(quoted(each) for each in table.column_names)
        database.execute(f"CREATE TABLE {quoted(name)} ({columns})")
        marks = ", ".join("?" * table.num_columns)
        cells = [
            [str(value) if isinstance(value, date | datetime) else value for value in row.values()]
            for row in table.to_pylist()
        ]
        database.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", cells)
        return database.execute(statement).fetchall()
    finally:
        database.close()


def _python(written: str, model: Any, program: Program, table: pa.Table, options: Namespace) -> Any:
    names: dict[str, Any] = {}
    exec(compile(written, "exported", "exec"), names)  # our own text
    answer = names["predict_proba" if program.probable else "predict"]
    return _as_array([np.atleast_1d(answer(row)).tolist() for row in table.to_pylist()], program)


def _c(written: str, model: Any, program: Program, table: pa.Table, options: Namespace) -> Any:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise ValueError("--check of C needs a compiler, and there is no cc, gcc or clang")
    with tempfile.TemporaryDirectory(prefix="likelier-c-") as folder:
        source, library = Path(folder) / "model.c", Path(folder) / "model.so"
        source.write_text(written, encoding="utf-8")
        command = [compiler, "-std=c99", "-O1", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
        subprocess.run(command, check=True)
        loaded = ctypes.CDLL(str(library))
        return _as_array([_c_answer(loaded, program, row) for row in table.to_pylist()], program)


def _c_answer(loaded: Any, program: Program, row: Mapping[str, Any]) -> list[Any]:
    cells = (ctypes.c_double * len(program.inputs))(
        *(_c_cell(loaded, j, each, row[each.name]) for j, each in enumerate(program.inputs))
    )
    if program.classes and not program.probable:
        k = loaded.likelier_predict(cells)
        return [None if k < 0 else program.classes[k]]
    found = (ctypes.c_double * program.K)()
    (loaded.likelier_proba if program.probable else loaded.likelier_scores)(cells, found)
    return list(found)


def _c_cell(loaded: Any, j: int, each: Any, value: Any) -> float:
    if each.kind == "category":
        if all(isinstance(level, str) for level in each.levels):
            loaded.likelier_level.restype = ctypes.c_double
            return float(loaded.likelier_level(j, None if value is None else value.encode()))
        loaded.likelier_level_of.restype = ctypes.c_double
        return float(loaded.likelier_level_of(j, ctypes.c_double(np.nan if value is None else value)))
    if value is None:
        return float("nan")
    if isinstance(value, date):
        return float(np.datetime64(value, "us").astype(np.int64) / 86_400e6)
    return float(value)


def _sklearn(written: Any, model: Any, program: Program, table: pa.Table, options: Namespace) -> Any:
    if vars(model).get("_design") is not None:  # a pipeline, whose design matrix takes the table
        X: Any = table
    else:
        X = np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64)
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    found = written.predict_proba(X) if program.probable else written.predict(X)
    return _as_array(np.asarray(found).reshape(len(table), -1).tolist(), program)


class _Cells(dict[str, Any]):
    """Columns by their names, as an ONNX model takes them in."""

    @property
    def columns(self) -> list[str]:
        """The names."""
        return list(self)


def _onnx(written: Any, model: Any, program: Program, table: pa.Table, options: Namespace) -> Any:
    from likelier.estimators.to_onnx import inputs_of

    onnxruntime = optional.load("onnxruntime", "--check of ONNX needs")
    columns = zip(table.column_names, table.columns, strict=True)
    cells = _Cells({name: column.to_numpy() for name, column in columns})
    session = onnxruntime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    found = dict(zip(names, session.run(None, inputs_of(model, cells)), strict=True))
    wanted = "probabilities" if program.probable else "label" if program.classes else "prediction"
    return _as_array(np.asarray(found[wanted]).reshape(len(table), -1).tolist(), program)


RUNNERS = {"sql": _sql, "python": _python, "c": _c, "sklearn": _sklearn, "onnx": _onnx}
