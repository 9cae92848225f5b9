"""Standalone Python and C answer as the model does."""

import ctypes
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import likelier as lk
from export.models import CASES, quietly
from likelier.estimators.exports import described


def rows_of(X):
    """Rows as dicts, cells as they come in JSON."""
    held = X.astype(object).where(X.notna(), None)
    return [
        {name: v.to_pydatetime() if isinstance(v, pd.Timestamp) else v for name, v in row.items()}
        for row in held.to_dict("records")
    ]


def some(X):
    """Rows of each kind: far away, odd, complete, and with gaps."""
    return X.iloc[[*range(24), *range(min(240, len(X)), min(252, len(X)))]]


def assert_close(ours, theirs, digits):
    ours, theirs = np.asarray(ours, dtype=float).reshape(np.shape(theirs)), np.asarray(theirs)
    size = np.maximum(1.0, np.abs(theirs))
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    assert np.nanmax(np.abs(ours - theirs) / size, initial=0.0) <= digits


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_python_answers_as_the_model_does(case):
    model, X = case.fit(), some(case.rows())
    source = lk.to_python(model)
    names = {}
    exec(compile(source, "model.py", "exec"), names)
    rows, digits = rows_of(X), max(case.digits, 1e-11)
    if "predict_proba" in names:
        assert_close(
            [names["predict_proba"](row) for row in rows], quietly(lambda: model.predict_proba(X)), digits
        )
    predicted = quietly(lambda: model.predict(X))
    if described(model).classes:
        assert [names["predict"](row) for row in rows] == predicted.tolist()
    else:
        assert_close([names["predict"](row) for row in rows], predicted, digits)


# ---- C -------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compiles a source without warnings, and loads it."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    folder = tmp_path_factory.mktemp("c")

    def compiled(source):
        number = len(list(folder.glob("*.c")))
        path, library = folder / f"m{number}.c", folder / f"m{number}.so"
        path.write_text(source, encoding="utf-8")
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O0", "-shared", "-fPIC"]
        done = subprocess.run(
            [compiler, *flags, path, "-o", library, "-lm"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(library))

    return compiled


def cells_of(library, program, row):
    """A row as C takes it."""
    found = []
    for j, each in enumerate(program.inputs):
        value = row[each.name]
        if each.kind == "category" and all(isinstance(level, str) for level in each.levels):
            library.likelier_level.restype = ctypes.c_double
            found.append(library.likelier_level(j, None if value is None else value.encode()))
        elif value is None:
            found.append(np.nan)
        elif each.kind == "category":
            library.likelier_level_of.restype = ctypes.c_double
            found.append(library.likelier_level_of(j, ctypes.c_double(float(value))))
        elif each.kind == "date":
            found.append((pd.Timestamp(value) - pd.Timestamp(0)) / pd.Timedelta(days=1))
        else:
            found.append(float(value))
    return (ctypes.c_double * len(found))(*found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_c_answers_as_the_model_does(case, compiled):
    model, X = case.fit(), some(case.rows())
    program = described(model)
    library = compiled(lk.to_c(model))
    rows = [cells_of(library, program, row) for row in rows_of(X)]
    digits, K = max(case.digits, 1e-11), program.K

    def asked(function):
        found = (ctypes.c_double * K)()
        return [(function(row, found), list(found))[1] for row in rows]

    predicted = quietly(lambda: model.predict(X))
    if not program.classes:
        assert_close(asked(library.likelier_scores), predicted, digits)
        return
    if program.probable:
        assert_close(asked(library.likelier_proba), quietly(lambda: model.predict_proba(X)), digits)
    assert [program.classes[library.likelier_predict(row)] for row in rows] == predicted.tolist()
    if isinstance(program.classes[0], str):
        library.likelier_class.restype = ctypes.c_char_p
        assert [library.likelier_class(k).decode() for k in range(K)] == list(program.classes)
