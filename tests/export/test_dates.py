"""Parts of dates, which designs of a comparison have, are the same in every export."""

import ctypes

import numpy as np
import pandas as pd
import pytest

from export.test_sql import database, database_server  # noqa: F401
from export.test_standalone import cells_of, compiled  # noqa: F401
from likelier.data.table_columns import DATE_PARTS
from likelier.export import c, evaluate, python, sql
from likelier.export.program import Input, Linear, NotExpressible, Number, Program, Sum

PARTS = ("", *DATE_PARTS)
# Around ends of years, leap days and weeks of the year before; before 1970, too.
DAYS = [-3000.5, -1.0, 0.0, 364.99, 11016.25, 18260.0, 18261.5, 18321.0, 19722.75, 19723.0, 20088.999]
WHEN = pd.to_datetime(np.round(np.array(DAYS) * 86400), unit="s")


def program(zone=None):
    """Each part as a target of its own."""
    P = len(PARTS)
    columns = tuple(Number(0, part) for part in PARTS)
    term = Linear(np.arange(P), np.eye(P), np.zeros(P), np.zeros((P, P)), skip=True)
    return Program(
        "Parts", (Input("when", "date", zone=zone),), columns, Sum(np.zeros(P), (term,)), "targets"
    )


def expected(zone=None):
    days = WHEN.to_numpy().astype("datetime64[us]").astype(np.int64) / 86_400e6
    return evaluate.scores(program(zone), {"when": days})


def test_sql(database):  # noqa: F811
    database.load(pd.DataFrame({"when": WHEN}))
    _, rows = database.asked(sql.to_sql(program(), "t", database.name, "score"))
    np.testing.assert_allclose(np.array(rows, dtype=float), expected(), atol=1e-8)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_python(zone):
    names = {}
    exec(python.to_python(program(zone)), names)
    ours = [names["predict"]({"when": when.to_pydatetime()}) for when in WHEN]
    np.testing.assert_allclose(ours, expected(zone), atol=1e-9)
    assert names["predict"]({"when": "2024-12-30T01:30:00Z"})[4] == 1  # the first week of 2025
    assert names["predict"]({"when": None}) == [0.0] * len(PARTS)


def test_c(compiled):  # noqa: F811
    library, held = compiled(c.to_c(program())), (ctypes.c_double * len(PARTS))()
    ours = []
    for when in WHEN:
        library.likelier_scores(cells_of(library, program(), {"when": when}), held)
        ours.append(list(held))
    np.testing.assert_allclose(ours, expected(), atol=1e-9)


def test_zones_are_refused_where_there_are_none():
    for write in (c.to_c, lambda one: sql.to_sql(one, "t", "sqlite", None)):
        with pytest.raises(NotExpressible, match="time"):
            write(program("Europe/Berlin"))
    assert "AT TIME ZONE 'Europe/Berlin'" in sql.to_sql(program("Europe/Berlin"), "t", "postgres", None)
