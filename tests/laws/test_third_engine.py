"""An engine that a user registers: estimators, files and observers take it without any other change."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone

import likelier as lk
from laws.comparing import assert_same_bits, assert_same_model
from laws.elsewhere import Elsewhere
from laws.executor_engine import EXECUTORS
from laws.generators import large_table
from laws.parts import parts_of
from laws.test_states import every_state
from likelier.data import Arrays, Dense, NonFinite
from likelier.engines import chunks, first_chunk, register, run, serial, watching
from likelier.engines.run import RUNNERS
from likelier.states import Moments


@pytest.fixture
def pool():
    register("executor", EXECUTORS)
    yield get_reusable_executor(max_workers=2)
    del RUNNERS["executor"]


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    for i, rows in enumerate(np.array_split(np.arange(300), 4)):
        lines = [f"{y[r]},{','.join(map(repr, X[r].tolist()))}" for r in rows]
        (tmp_path / f"{i}.csv").write_text("\n".join(["y,a,b,c", *lines]) + "\n")
    return lk.scan(tmp_path, target="y")


def test_it_is_written_in_less_than_a_hundred_lines():
    written = Path(EXECUTORS.engine.__code__.co_filename).read_text(encoding="utf-8")
    assert len(written.splitlines()) < 100


@every_state
def test_every_state_is_the_same_bit_for_bit(kind, pool):
    rows = large_table(600, 3, 3, weights="fractional")
    chunk, start = kind.view(rows, "C"), partial(kind.start, rows.K, rows.p)
    with parts_of(256):
        found = run(Elsewhere.of(chunk, pool), start)
        assert_same_bits(found, serial(Arrays(chunk.X, chunk.y, chunk.w), start))


@pytest.mark.parametrize(
    "model",
    [
        lk.GaussianNB(),
        lk.NaiveBayes(),
        lk.LinearDiscriminantAnalysis(),
        lk.LogisticRegression(tol=1e-3),
        lk.SGDClassifier(random_state=0),
        lk.Ridge(),
        lk.Perceptron(random_state=0),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_fits_and_predictions_are_the_same_bit_for_bit(model, files, pool):
    if isinstance(model, lk.SGDClassifier):  # parts step by themselves wherever rows are elsewhere
        fitted = clone(model).fit(files.on(pool))
        assert np.isfinite(fitted.coef_).all()
        return
    one, other = clone(model).fit(files), clone(model).fit(files.on(pool))
    assert_same_model(one, other)
    np.testing.assert_array_equal(one.predict(files), other.predict(files.on(pool)))


def test_rows_are_fetched_in_order(pool):
    X = np.arange(100.0)[:, None]
    there = Elsewhere(Dense(X), np.arange(100), cluster=pool)
    with parts_of(80):
        found = list(chunks(there))
    assert len(found) > 1
    np.testing.assert_array_equal(np.concatenate([chunk.X.to_array() for chunk in found]), X)
    assert first_chunk(there).X.shape[0] == 100


def test_errors_are_those_of_the_earliest_part_and_observers_hear_of_all(pool):
    X = np.zeros((200, 1))
    X[[50, 150]] = np.inf
    there = Elsewhere(Dense(X), np.zeros(200, np.int32), cluster=pool)
    with parts_of(8), pytest.raises(NonFinite) as found:
        run(there, moments)
    assert found.value.row == 50

    class Counting:
        parts = 0

        def begin(self, what):
            self.parts -= what.parts

        def done(self, *, parts, rows):
            self.parts += parts

        def end(self):
            pass

        def reached(self, figure, value):
            pass

    with parts_of(80), watching(observer := Counting()):
        run(Elsewhere(Dense(np.zeros((100, 1))), np.zeros(100, np.int32), cluster=pool), moments)
    assert observer.parts == 0


def moments():
    return Moments.start(1, 1, "full")


def test_what_no_engine_knows_is_refused(files):
    with pytest.raises(TypeError, match=r"on takes a distributed\.Client or a SparkSession; got int"):
        files.on(3)
    with pytest.raises(TypeError, match=r"no engine can run on a _Reusable\w*; engines: threads, dask"):
        lk.GaussianNB().fit(files.on(get_reusable_executor(max_workers=2)))
