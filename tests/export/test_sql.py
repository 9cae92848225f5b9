"""A model as one SELECT answers as the model does, in DuckDB, SQLite and PostgreSQL, and as BigQuery."""

import math
import sqlite3

import numpy as np
import pandas as pd
import pytest
from tests import postgres_server

import likelier as lk
from export.models import CASES, LDA, quietly, table
from likelier.estimators.exports import described
from likelier.export.program import NotExpressible
from likelier.export.sql import to_sql


def types_of(X, real):
    """A type for each column."""
    kinds = {"f": real, "i": "INTEGER", "b": "BOOLEAN", "M": "TIMESTAMP"}
    return {name: kinds.get(X[name].dtype.kind, "TEXT") for name in X.columns}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def cells(X, *, nan=None):
    """Rows of plain values; missing numbers are NULL, or NaN every second row."""
    found = []
    for i, row in enumerate(X.astype(object).itertuples(index=False)):
        gone = [value is None or value is pd.NaT or value != value for value in row]
        missing = [
            nan if i % 2 and nan is not None and X.dtypes.iloc[j].kind == "f" else None
            for j in range(len(row))
        ]
        plain = [v.to_pydatetime() if isinstance(v, pd.Timestamp) else v for v in row]
        found.append([missing[j] if gone[j] else plain[j] for j in range(len(row))])
    return found


class SQLite:
    name, real, holds = "sqlite", "REAL", "?"

    def __init__(self):
        self.connection = sqlite3.connect(":memory:")

    def load(self, X, name="t"):
        columns = ", ".join(f"{quoted(each)} {kind}" for each, kind in types_of(X, self.real).items())
        self.run(f"DROP TABLE IF EXISTS {quoted(name)}")
        self.run(f"CREATE TABLE {quoted(name)} ({columns})")
        marks = ", ".join([self.holds] * X.shape[1])
        self.many(f"INSERT INTO {quoted(name)} VALUES ({marks})", self.rows_of(X))

    def rows_of(self, X):
        return [[str(v) if hasattr(v, "isoformat") else v for v in row] for row in cells(X)]

    def many(self, statement, rows):
        self.connection.executemany(statement, rows)

    def run(self, statement):
        return self.connection.execute(statement).fetchall()

    def asked(self, statement):
        cursor = self.connection.execute(statement)
        return [each[0] for each in cursor.description], cursor.fetchall()


class DuckDB(SQLite):
    name, real = "duckdb", "DOUBLE"

    def __init__(self):
        self.connection = pytest.importorskip("duckdb", reason="duckdb is not installed").connect()

    def load(self, X, name="t"):
        types = types_of(X, self.real)
        frame = pd.DataFrame(
            cells(X, nan=math.nan), columns=[f"c{j}" for j in range(X.shape[1])], dtype=object
        )
        self.connection.register("given", frame.astype(object).where(frame.notna(), None))
        held = ", ".join(
            f"CAST(c{j} AS {kind}) AS {quoted(each)}" for j, (each, kind) in enumerate(types.items())
        )
        self.run(f"CREATE OR REPLACE TABLE {quoted(name)} AS SELECT {held} FROM given")
        for each, kind in types.items():
            if kind == "DOUBLE":  # NaN is missing as well as NULL is
                self.run(
                    f"UPDATE {quoted(name)} SET {quoted(each)} = 'NaN' "
                    f"WHERE {quoted(each)} IS NULL AND rowid % 2 = 1"
                )


class BigQuery(DuckDB):
    """BigQuery's dialect as sqlglot reads it, and DuckDB computes it."""

    name = "bigquery"

    def __init__(self):
        self.sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is not installed")
        super().__init__()

    def asked(self, statement):
        (translated,) = self.sqlglot.transpile(statement, read="bigquery", write="duckdb")
        # What sqlglot leaves as it is: DuckDB's weeks are those of ISO, and its days begin with 0.
        translated = translated.replace("EXTRACT(ISOWEEK ", "EXTRACT(WEEK ")
        return super().asked(translated.replace("EXTRACT(DAYOFWEEK ", "1 + EXTRACT(DAYOFWEEK "))


class Postgres(SQLite):
    name, real, holds = "postgres", "DOUBLE PRECISION", "%s"

    def __init__(self, url):
        self.connection = pytest.importorskip("psycopg", reason="psycopg is not installed").connect(
            url,
            autocommit=True,
            prepare_threshold=None,  # the types of what is inserted change from table to table
        )

    def rows_of(self, X):
        return cells(X, nan=math.nan)

    def many(self, statement, rows):
        with self.connection.cursor() as cursor:
            cursor.executemany(statement.replace("%", "%%").replace("%%s", "%s"), rows)

    def run(self, statement):
        self.connection.execute(statement)


database_server = postgres_server.postgres_server


@pytest.fixture(scope="module", params=[SQLite, DuckDB, BigQuery, Postgres], ids=lambda kind: kind.name)
def database(request):
    given = [request.getfixturevalue("database_server")] if request.param is Postgres else []
    database = request.param(*given)
    yield database
    database.connection.close()


def answers(database, model, X, output):
    """What the SELECT returns, (n, K)."""
    statement = to_sql(described(model), "t", database.name, output)
    names, rows = database.asked(statement)
    return names, rows, statement


def gaps_of(program, X):
    """Rows that SQL has no answer for: they lack cells of columns with a covariance, or of shares."""
    text = str(program.scores)
    blind = "IfComplete" in text or "Dirichlet" in text
    gone = X.isna() | (X.select_dtypes("number") <= 0) if "Dirichlet" in text else X.isna()
    return gone.any(axis=1).to_numpy() & blind


def far_of(X):
    """Rows with more than one cell beyond 1e100: SQL takes all of these for 1e100."""
    held = X.select_dtypes("number").abs() > 1e100
    return (held.sum(axis=1) > 1).to_numpy()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_select_answers_as_the_model_does(case, database):
    model, X = case.fit(), case.rows()
    program = described(model)
    database.load(X)
    left = gaps_of(program, X) | far_of(X)
    if (database.name, case.name) == ("postgres", "GaussianNB in units"):
        with pytest.raises(Exception, match="underflow"):  # PostgreSQL refuses squares that are almost 0
            answers(database, model, X, "proba")
        return
    output = "proba" if program.probable else "score" if program.answer == "targets" else "label"
    _, rows, statement = answers(database, model, X, output)
    assert len(rows) == len(X)
    if output == "label":
        assert [row[0] for row, gone in zip(rows, left, strict=True) if not gone] == quietly(
            lambda: model.predict(X)
        )[~left].tolist()
        return
    theirs = quietly(lambda: model.predict_proba(X) if output == "proba" else model.predict(X))
    ours = np.array(rows, dtype=float).reshape(np.shape(theirs))
    size = np.maximum(1.0, np.abs(theirs))
    assert np.abs((ours - theirs) / size)[~left].max() <= 1e-9, statement
    if output == "proba":
        labels = [row[0] for row in answers(database, model, X, "label")[1]]
        sure = ~left & (np.sort(theirs, axis=1)[:, -2:] @ [-1, 1] > 1e-8)
        expected = [program.classes[k] for k in theirs.argmax(axis=1)]
        pairs = zip(labels, expected, sure, strict=True)
        assert all(ours == theirs for ours, theirs, known in pairs if known)


@pytest.fixture
def plain():
    return quietly(lambda: lk.NaiveBayes().fit(*table()))


def test_an_unknown_dialect_is_refused_and_the_known_ones_are_listed(plain):
    with pytest.raises(
        ValueError, match="dialect must be one of 'duckdb', 'sqlite', 'postgres', 'bigquery'; got 'mysql'"
    ):
        to_sql(described(plain), "t", "mysql", None)


def test_output_that_there_is_not(plain):
    with pytest.raises(
        ValueError, match="output must be None or one of 'proba', 'score', 'label'; got 'all'"
    ):
        to_sql(described(plain), "t", "duckdb", "all")
    svc = lk.LinearSVC().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(NotExpressible, match="LinearSVC has no probabilities"):
        to_sql(described(svc), "t", "duckdb", "proba")


HOSTILE = '"; drop table t; --', "it's", "new\nline", "ünï 🎈", "score no", "largest", "a" * 70, "SELECT"


def hostile(n=80):
    """Columns and categories that would end a statement, if they were not quoted."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame(rng.normal(y[:, None], 1, (n, len(HOSTILE))), columns=list(HOSTILE))
    levels = np.array(["'; drop table t; --", 'say "hi"', "back\\slash", "two\nlines", "🎈", "%s", "NULL"])
    X["kind"] = levels[rng.integers(0, len(levels), n)].astype(object)
    X.loc[::9, "kind"] = None
    return X, np.array(["it's", '"yes"\n; --'], dtype=object)[y]


@pytest.mark.parametrize("estimator", [lk.NaiveBayes(), lk.LogisticRegression(), LDA()], ids=repr)
def test_names_and_values_are_quoted(estimator, database):
    X, y = hostile()
    model = quietly(lambda: estimator.fit(X, y))
    database.load(X, 'my "table"')
    _, rows = database.asked(model.to_sql('my "table"', database.name))
    ours = np.array(rows, dtype=float)
    np.testing.assert_allclose(ours, quietly(lambda: model.predict_proba(X)), atol=1e-9, rtol=0)
    _, rows = database.asked(model.to_sql('my "table"', database.name, "label", keep=["largest"]))
    assert [row[1] for row in rows] == quietly(lambda: model.predict(X)).tolist()
    assert [row[0] for row in rows] == X["largest"].tolist()


def test_names_of_columns_are_those_that_bigquery_takes():
    model = lk.GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], np.array(["a.b", "a.b", "(c)", "(c)"]))
    assert "AS `proba_a_b`" in model.to_sql("t", "bigquery")
    assert 'AS "proba_a.b"' in model.to_sql("t", "duckdb")
    alike = lk.GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], np.array(["a.b", "a.b", "a_b", "a_b"]))
    assert "AS `proba_0`" in alike.to_sql("t", "bigquery")


def test_columns_without_names_are_called_by_their_numbers(database):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 2, 30)
    model = lk.GaussianNB().fit(X, y)
    database.load(pd.DataFrame(X, columns=["c0", "c1", "c2"]), "rows")
    names, rows = database.asked(model.to_sql("rows", database.name))
    assert names == ["proba_0", "proba_1"]
    np.testing.assert_allclose(np.array(rows), model.predict_proba(X), atol=1e-9)


def test_a_schema_is_a_name_of_its_own(plain):
    assert 'FROM "main"."my.table" AS t' in plain.to_sql(("main", "my.table"), "sqlite")
    assert "FROM `a`.`b\\`c` AS t" in plain.to_sql(("a", "b`c"), "bigquery")
    with pytest.raises(ValueError, match="table must be a name, or a sequence of names"):
        plain.to_sql("")


def test_the_scores_are_those_of_the_decision_function(database):
    (X, y), V = table(), CASES[0].rows().iloc[30:200]
    model, several = quietly(lambda: lk.LogisticRegression().fit(X, y)), CASES[0].fit()
    database.load(X)
    rows = database.asked(model.to_sql("t", database.name, "score"))[1]
    np.testing.assert_allclose(np.ravel(rows), model.decision_function(X), atol=1e-9)
    database.load(V)
    names, rows = database.asked(several.to_sql("t", database.name, "score"))
    assert names == ["score_a", "score_b", "score_c"]
    np.testing.assert_allclose(np.array(rows), several.decision_function(V), rtol=1e-9)


def test_what_cannot_be_written_says_why():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(1500, 1)), rng.integers(0, 2, 1500)
    with pytest.raises(NotExpressible, match="is a sum over 1,500 components or kernels"):
        lk.KernelDensityClassifier().fit(X, y).to_sql("t")
    wide = lk.GaussianNB().fit(rng.normal(size=(4, 10_001)), [0, 0, 1, 1])
    with pytest.raises(NotExpressible, match="reads 10,001 columns, and tables have at most 10,000"):
        wide.to_sql("t")
    nul = pd.DataFrame({"a\0b": X[:, 0]})
    with pytest.raises(NotExpressible, match="contains a NUL character"):
        lk.GaussianNB().fit(nul, y).to_sql("t")


def test_wide_models_do_not_nest_too_deeply(database):
    rng = np.random.default_rng(3)
    n, p = 60, 900 if database.name == "postgres" else 1200  # rows of its tables have 8160 bytes at most
    X = pd.DataFrame(rng.poisson(1.0, (n, p)).astype(float), columns=[f"w{j}" for j in range(p)])
    y = rng.integers(0, 2, n)
    database.load(X.iloc[:5])
    for model in (lk.MultinomialNB().fit(X, y), quietly(lambda: lk.LogisticRegression().fit(X, y))):
        rows = database.asked(model.to_sql("t", database.name))[1]
        np.testing.assert_allclose(np.array(rows), model.predict_proba(X.iloc[:5]), atol=1e-9)
