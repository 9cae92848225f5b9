"""The rows of the races of scale, and what is measured on them; all at a small size."""

from contextlib import contextmanager

import benchmarks.race.cli  # enters all problems
import dask
import numpy as np
import pyarrow as pa
import pytest
from benchmarks.race import meters, scale_contenders, scale_measures
from benchmarks.race.cli import chosen
from benchmarks.race.clusters import Shared, arrays_of, classes, frame_of
from benchmarks.race.penalised import objective
from benchmarks.race.registry import CONTENDERS, PROBLEMS, Contender
from benchmarks.race.runner import Row
from benchmarks.race.scale_contenders import in_memory
from benchmarks.race.scale_measures import minimising_together, passing, resident
from benchmarks.race.tables import TARGET, P, Tables, rows
from benchmarks.race.targets import TARGETS, Target
from benchmarks.race.trial import run
from pyarrow import csv, parquet
from sklearn.linear_model import LogisticRegression

import likelier
from likelier import GaussianNB

N = 5000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tables")
    Tables(N, group=1 << 10, file_rows=N // 2).save(made)
    return made


@pytest.fixture(scope="module")
def tables(folder):
    return Tables.load(folder)


# ---- rows --------------------------------------------------------------------------------------------
def test_files_hold_the_rows(tables):
    assert len(tables.files) == 2
    footer = parquet.read_metadata(tables.files[0])
    assert [footer.row_group(i).num_rows for i in range(footer.num_row_groups)] == [1024, 1024, 452]
    X, y = rows(N // 2, 2, 1)
    second = parquet.read_table(tables.files[1])
    np.testing.assert_array_equal(second.column("x3").to_numpy(), X[3])
    np.testing.assert_array_equal(second.column(TARGET).to_numpy(), y)
    assert second.num_columns == P + 1


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    PROBLEMS["csv"].make(1e-6).save(folder)
    return Tables.load(folder)


def test_csv_is_one_file_of_short_numbers(text):
    (path,) = text.files
    found = csv.read_csv(path)
    assert found.column("x0").to_numpy() == pytest.approx(rows(N, 2, 0)[0][0], abs=6e-7)
    assert found.schema.field(TARGET).type == pa.int64()


def test_rows_held_out_are_of_no_file(tables):
    X = tables.X_test.column("x0").to_numpy()
    assert not np.isin(X, np.concatenate([rows(N // 2, 2, i)[0][0] for i in (0, 1)])).any()
    assert len(X) == len(tables.y_test)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas', which Dask's reader uses
def test_frames_and_arrays_hold_the_same_rows(tables):
    frame = frame_of(tables)
    assert frame.npartitions == 6  # row groups
    with here():
        X, y = arrays_of(tables)
        assert X.numblocks == (6, 1)
        from_frame = GaussianNB().fit(frame.drop(columns=TARGET), frame[TARGET])
        from_array = GaussianNB().fit(X, y)
    expected = GaussianNB().fit(*in_memory(tables))
    for found in (from_frame, from_array):
        np.testing.assert_allclose(found.theta_, expected.theta_, rtol=1e-10)
        np.testing.assert_array_equal(found.class_count_, expected.class_count_)


# ---- measures ----------------------------------------------------------------------------------------
def test_what_comes_before_the_pass_is_not_timed(tables):
    said = []

    @contextmanager
    def ready(given):
        said.append("enter")
        yield lambda: said.append("pass")
        said.append("leave")

    assert passing(lambda: ready, tables).keys() == {"fit", "fit_mb"}
    assert said == ["enter", "pass", "pass", "pass", "leave"]


def test_long_calls_are_made_once_and_others_twice(monkeypatch):
    for seconds, calls in ((1.0, 3), (20.0, 2), (70.0, 1)):
        monkeypatch.setattr(scale_measures, "timed", lambda call, s=seconds: call() or s)
        said = []
        assert scale_measures.called(lambda said=said: said.append(0) or len(said)) == (
            [seconds] * calls,
            calls,
        )


def test_memory_is_all_that_is_held(tables, monkeypatch):
    monkeypatch.setattr(scale_measures, "workers", list)  # other tests may have left some to this process

    @contextmanager
    def holding(given):
        yield lambda: np.ones(20_000_000).sum()

    held = resident(lambda: holding, tables)
    assert held["rss_mb"] > 160
    assert "workers_mb" not in held  # none were started


def test_models_that_know_of_fewer_classes_answer_0_for_the_others():
    class Two:
        coef_ = np.zeros((1, 20))

        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    @contextmanager
    def ready(given):
        yield Two

    data = classes(500, 500, 5, 20)._replace(least=np.ones(1))
    figures = minimising_together(lambda: ready, Shared(data))
    assert figures.keys() == {
        "fit",
        "log_loss",
        "accuracy",
    }  # no gap: its weights are not those of 5 classes
    lost = (data.y_test > 1).mean()
    assert figures["log_loss"] == pytest.approx(-np.log(0.5) * (1 - lost) - np.log(2**-52) * lost)


def test_own_processes_are_not_others(monkeypatch):
    class Child:
        def cpu_times(self):
            return (100.0, 100.0, 0.0, 0.0)

    class Self:
        def children(self, recursive):
            return [Child()]

    class Alone:
        def children(self, recursive):
            return []

    monkeypatch.setattr(meters.psutil, "Process", Alone)
    before = meters.OtherProcesses._read()[1]
    monkeypatch.setattr(meters.psutil, "Process", Self)
    assert meters.OtherProcesses._read()[1] - before >= 200 - 1


# ---- contenders --------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["GaussianNB", "LDA"])
def test_models_pass_over_files(folder, name):
    figures = run(f"parquet/likelier/{name}", folder)["figures"]
    assert 0.15 < figures["log_loss"] < 0.25
    assert figures.keys() == {"fit", "fit_mb", "log_loss", "accuracy"}


@pytest.mark.parametrize("name", scale_contenders.PARQUET)
def test_readers_of_parquet_read_everything(tables, name):
    assert scale_contenders.PARQUET[name](tables) == N


@pytest.mark.parametrize("name", scale_contenders.CSV)
def test_readers_of_csv_read_everything(text, name):
    assert scale_contenders.CSV[name](text) == N


def test_passes_over_files_and_in_memory_are_one_pass(tables):
    values = []
    for where in ("over files", "in memory"):
        with CONTENDERS[f"files-logistic/likelier/a pass {where}"].make()(tables) as step:
            values.append(step())
    for ours, theirs in zip(*values, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    PROBLEMS["memory"].make(1e-9).save(folder)
    return Tables.load(folder)


@pytest.mark.parametrize("name", scale_contenders.HELD)
def test_memory_is_that_of_as_many_files(many, name, monkeypatch):
    scanned, scan = [], likelier.scan
    monkeypatch.setattr(
        likelier, "scan", lambda files, **roles: scanned.append(len(files)) or scan(files, **roles)
    )
    held = resident(CONTENDERS[f"memory/likelier/{name}, 1 GB"].make, many)
    assert held["rss_mb"] > 10
    for size in (4, 10):
        scale_contenders.first(many, size, labelled=True)
    assert scanned == [2, 8, 20]


def test_a_peer_learns_on_workers_what_scikit_learn_does(tmp_path, monkeypatch):
    pytest.importorskip("dask_ml")
    monkeypatch.setattr(scale_contenders, "cluster", here)
    data = classes(3000, 1000, 2, 5)
    known = LogisticRegression(tol=1e-10, solver="newton-cholesky").fit(data.X, data.y)
    least = objective(data.X, data.y, known.coef_, known.intercept_, 1.0)
    Shared(data._replace(least=np.array([least]))).save(tmp_path)
    for problem, name, twin in (
        ("dask-ml-bayes", "GaussianNB", "GaussianNB"),
        ("dask-ml", "lbfgs", "newton-cholesky"),
    ):
        ours, theirs = (key if key == "GaussianNB" else f"LogisticRegression {key}" for key in (name, twin))
        figures, expected = (
            run(f"{problem}/{library}/{model}", tmp_path)["figures"]
            for library, model in (("dask-ml", ours), ("scikit-learn", theirs))
        )
        assert figures["log_loss"] == pytest.approx(expected["log_loss"], rel=1e-3)
        assert abs(figures.get("gap", 0.0)) < 1e-4
        assert ("gap" in figures) == (name == "lbfgs")


@contextmanager
def here():
    """Dask without workers: everything in this process, at once."""
    with dask.config.set(scheduler="synchronous"):
        yield


# ---- targets -----------------------------------------------------------------------------------------
def row(key, **figures):
    return key, Row(Contender(*key.split("/"), make=lambda: None), [{"figures": figures, "others": 0.0}])


def test_reading_is_added_to_the_pass_in_memory():
    target = next(t for t in TARGETS if t.plus)
    found = dict(
        [
            row("files-logistic/likelier/a pass over files", fit=2.0),
            row("files-logistic/likelier/a pass in memory", fit=0.5),
            row("files-logistic/pyarrow/dataset", fit=9.0),
        ]
    )
    assert target.got(found) == pytest.approx(9.5 / 2)
    found |= dict([row("files-logistic/pyarrow/row groups by threads", fit=1.0)])
    assert target.got(found) == pytest.approx(0.75)
    assert target.reached(found, 0.75)
    del found["files-logistic/likelier/a pass in memory"]
    assert target.got(found) is None


def test_targets_are_about_contenders_that_are_entered():
    for target in TARGETS:
        assert target.ours in CONTENDERS
        for key in (target.theirs, target.plus):
            assert key is None or "*" in key or key in CONTENDERS


def test_memory_has_to_stay_flat():
    flat = Target("flat", "memory/likelier/a, 10 GB", "rss_mb", "memory/likelier/a, 1 GB", at_least=0.8)
    found = dict(
        [row("memory/likelier/a, 10 GB", rss_mb=500.0), row("memory/likelier/a, 1 GB", rss_mb=300.0)]
    )
    assert not flat.reached(found, flat.got(found))


def test_long_problems_are_run_only_if_they_are_named():
    problems = {c.problem for c in chosen([])}
    assert "parquet" in problems
    assert not {"memory", "memory-64k"} & problems
    assert {c.problem for c in chosen(["memory/"])} == {"memory"}
    assert not any(c.problem.startswith("memory") for c in chosen(["GaussianNB"]))
    assert len(chosen(["memory/*NaiveBayes*1 GB"])) == 1
    assert benchmarks.race.cli.main(["--list", "--only", "memory-64k"]) == 0
