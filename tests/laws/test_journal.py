"""The laws of a checkpoint: a fit that is cut off, wherever, and begun again ends in the same bits."""

import os
import pickle
import threading
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris

import likelier as lk
from laws.comparing import assert_same_bits
from laws.generators import large_table
from laws.parts import parts_of
from laws.test_em import little_room
from laws.test_states import every_state
from likelier.data import Arrays, Dense
from likelier.engines.checkpoint import LARGE, MAGIC, RECORDS, Digests, Journal, changes, restored
from likelier.saving.models import content_of
from likelier.storage import Archive, Frames, decode, encode, packed

RUN, JOURNAL = (import_module(f"likelier.engines.{name}") for name in ("run", "checkpoint"))
IRIS = load_iris()


class Cut(BaseException):
    """What comes from outside, at any time."""


@dataclass
class Reader:
    """Counts the parts that are read; at the one whose number is `fatal` the fit is cut off.

    Not those of predictions, which a journal cannot keep.
    """

    fatal: int = -1
    read: int = 0

    def __call__(self, start, part, go_on):
        if not getattr(start(), "lasting", True):
            return absorb(start, part, go_on)
        self.read += 1
        if self.read - 1 == self.fatal:
            raise Cut
        return absorb(start, part, go_on)


absorb = RUN.absorb


@pytest.fixture
def alone(monkeypatch):
    """One thread: parts are read in order, none while another fails."""
    monkeypatch.setenv("LIKELIER_THREADS", "1")


def reading(fit, fatal=-1) -> tuple[Any, int]:
    """What a fit returns, None if it was cut off, and how many parts it has read."""
    reader = Reader(fatal)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RUN, "absorb", reader)
        try:
            return fit(), reader.read
        except Cut:
            return None, reader.read


# ---- models --------------------------------------------------------------------------------------
MODELS = {
    "GaussianNB": lk.GaussianNB(),
    "LDA": lk.LinearDiscriminantAnalysis(),
    "LDA, shrunk": lk.LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "QDA": lk.QuadraticDiscriminantAnalysis(),
    "NaiveBayes": lk.NaiveBayes(),
    "kernels": lk.KernelDensityClassifier(),
    "logistic regression": lk.LogisticRegression(),
    "lbfgs": lk.LogisticRegression(solver="lbfgs"),
    "cross-validated": lk.LogisticRegressionCV(
        Cs=3, cv=2, l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False
    ),
    "LinearSVC": lk.LinearSVC(loss="hinge", C=0.1, tol=0.01),
    "mixture": lk.GaussianMixture(2, random_state=0),
    "MDA": lk.MixtureDiscriminantAnalysis(2, random_state=0),
    "ridge": lk.Ridge(),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))


def resumed(fit: Any, path: Path, cuts: Any) -> None:
    """Cut off at each of these parts, counted from where the fit before came to, and then not."""
    whole, parts = reading(fit)
    done = 0
    for cut in cuts:
        left = parts - done
        if left <= 0:
            break
        result, read = reading(lambda: fit(checkpoint=path), cut % left)
        assert result is None
        done += read - 1  # but for the part at which it ended
        assert path.exists() == (done > 0)
    again, read = reading(lambda: fit(checkpoint=path))
    assert read == parts - done  # none twice, none left out
    assert not path.exists()
    assert content_of(again, statistics=True) == content_of(whole, statistics=True)


@every_model
@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_is_cut_off_goes_on_to_the_same_bits(model, alone, tmp_path):
    X, y = IRIS.data, IRIS.target

    def fit(**how):
        return clone(model).fit(X, y, **how)

    with parts_of(1 << 9):
        parts = reading(fit)[1]
        for cuts in ([0, parts // 3, parts // 4], [parts - 1]):
            resumed(fit, tmp_path / "fit.ck", cuts)


@settings(max_examples=12)
@given(cuts=st.lists(st.integers(0, 1000), min_size=1, max_size=4), every=st.sampled_from([0.0, 5.0]))
def test_wherever_and_however_often(cuts, every, tmp_path_factory):
    X = np.where(np.arange(600).reshape(150, 4) % 17 == 0, np.nan, IRIS.data)
    w = 1 + np.arange(150) % 3
    path = tmp_path_factory.getbasetemp() / "often.ck"

    def fit(**how):
        return lk.QuadraticDiscriminantAnalysis().fit(X, IRIS.target, w, **how)

    with parts_of(1 << 9), pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIKELIER_THREADS", "1")
        patch.setattr(JOURNAL, "EVERY", every)
        patch.setattr(JOURNAL, "PAUSE", 0.0)
        resumed(fit, path, cuts)


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_a_pass_that_fails_and_is_made_up_for_fails_again(alone, tmp_path, monkeypatch):
    """Rows with cells missing in too many ways: the pass that finds it out ends, and others follow."""
    little_room(monkeypatch)
    rng = np.random.default_rng(0)
    X, path = np.where(rng.random((150, 4)) < 0.3, np.nan, IRIS.data), tmp_path / "fit.ck"

    def fit(**how):
        return lk.QuadraticDiscriminantAnalysis().fit(X, IRIS.target, **how)

    with parts_of(1 << 9):
        whole, parts = reading(fit)
        assert whole._statistics is None
        assert reading(lambda: fit(checkpoint=path), parts // 2)[0] is None
        again, read = reading(lambda: fit(checkpoint=path))
    assert read < parts
    assert content_of(again, statistics=True) == content_of(whole, statistics=True)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Iris in three files, of each kind."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(IRIS.data, columns=list("abcd")).assign(species=IRIS.target_names[IRIS.target])
    for i in range(3):
        frame[i::3].to_csv(f"{i}.csv", index=False)
        frame[i::3].to_parquet(f"{i}.parquet", row_group_size=10)
    return tmp_path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("model", [lk.GaussianNB(), lk.NaiveBayes(), lk.LogisticRegression()], ids=str)
def test_over_files(model, kind, files, alone, monkeypatch):
    monkeypatch.setattr("likelier.data.files.scan.PART_BYTES", 1 << 8)
    monkeypatch.setattr("likelier.data.files.csv.UNIT", 1 << 9)

    def fit(**how):
        return clone(model).fit(lk.scan(f"*.{kind}", target="species"), **how)

    parts = reading(fit)[1]
    assert parts > 2
    for cuts in ([parts // 3], [1, parts // 2]):
        resumed(fit, files / "files.ck", cuts)


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_that_are_ahead_change_nothing(threads, tmp_path, monkeypatch):
    path, X, y = tmp_path / "fit.ck", np.tile(IRIS.data, (9, 1)), np.tile(IRIS.target, 9)
    monkeypatch.setattr(JOURNAL, "EVERY", 0.0)
    before = threading.active_count()  # those that tests before this one have left
    with parts_of(1 << 10):
        whole = lk.QuadraticDiscriminantAnalysis().fit(X, y)
        monkeypatch.setenv("LIKELIER_THREADS", str(threads))
        for fatal in (7, 20):
            reading(lambda: lk.QuadraticDiscriminantAnalysis().fit(X, y, checkpoint=path), fatal)
        again = lk.QuadraticDiscriminantAnalysis().fit(X, y, checkpoint=path)
    assert content_of(again, statistics=True) == content_of(whole, statistics=True)
    assert threading.active_count() <= before + threads


def test_a_fit_without_a_checkpoint_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lk.GaussianNB().fit(IRIS.data, IRIS.target)
    lk.GaussianNB().fit(IRIS.data, IRIS.target, checkpoint="fit.ck")
    assert not list(tmp_path.iterdir())


def test_an_estimator_whose_fit_is_cut_off_is_as_it_was(alone, tmp_path):
    model = lk.GaussianNB().fit(IRIS.data[:100], IRIS.target[:100])
    before = pickle.dumps(model)
    assert reading(lambda: model.fit(IRIS.data, IRIS.target, checkpoint=tmp_path / "fit.ck"), 0)[0] is None
    assert pickle.dumps(model) == before


def test_two_that_write_to_one_file_are_told_and_neither_takes_what_is_the_others(tmp_path):
    path = tmp_path / "fit.ck"
    one, other = Frames(path, MAGIC), Frames(path, MAGIC)
    one.rewrite(0, [b"one"])
    with pytest.raises(OSError, match="another process uses it"):
        other.rewrite(0, [b"other"])
    other.remove()
    assert one[0] == b"one"
    Frames(path, MAGIC).remove()  # of a third, which went on from there and is done
    for use in (lambda: one.rewrite(1, [b"more"]), lambda: one[0]):
        with pytest.raises(OSError, match=r"fit\.ck was written or removed meanwhile"):
            use()
    one.remove()
    assert not list(tmp_path.iterdir())


# ---- what is refused ----------------------------------------------------------------------------
def cut_off(path, model=None, X=IRIS.data, y=IRIS.target, fatal=12, **how):
    """A checkpoint of a fit that is not done."""
    model = lk.GaussianNB() if model is None else model
    with parts_of(1 << 9):
        assert reading(lambda: clone(model).fit(X, y, checkpoint=path, **how), fatal)[0] is None
    assert path.exists()


def refused(path, model=None, X=IRIS.data, y=IRIS.target, **how):
    before = path.read_bytes()
    with parts_of(1 << 9), pytest.raises(ValueError, match="checkpoint") as problem:
        clone(lk.GaussianNB() if model is None else model).fit(X, y, checkpoint=path, **how)
    assert path.read_bytes() == before
    assert str(path) in str(problem.value)
    return str(problem.value)


@pytest.fixture
def path(alone, tmp_path):
    return tmp_path / "fit.ck"


def test_another_fit_is_refused_and_it_is_said_what_differs(path):
    cut_off(path)
    other, one = IRIS.data.copy(), "another fit: "
    other[77, 2] = np.nextafter(other[77, 2], 9)
    assert f"{one}the model was GaussianNB, and is QuadraticDiscriminantAnalysis" in refused(
        path, lk.QuadraticDiscriminantAnalysis()
    )
    assert f"{one}var_smoothing was 1e-09, and is 0.1" in refused(path, lk.GaussianNB(var_smoothing=0.1))
    weighted = lk.GaussianNB(priors=[0.2, 0.3, 0.5])
    assert f"{one}priors was None, and is [0.2, 0.3, 0.5]" in refused(path, weighted)
    assert f"{one}rows was 150, and is 149" in refused(path, None, IRIS.data[:-1], IRIS.target[:-1])
    assert "reads other rows or columns" in refused(path, None, other)
    assert "reads other rows or columns" in refused(path, None, IRIS.data[:, :3])
    assert "reads other rows or columns" in refused(path, None, IRIS.data, (IRIS.target + 1) % 3)
    assert "reads other rows or columns" in refused(path, sample_weight=np.arange(150.0))
    with parts_of(1 << 9):  # and the fit that it is of goes on
        lk.GaussianNB().fit(IRIS.data, IRIS.target, checkpoint=path)
    assert not path.exists()


def test_other_versions_and_parts_are_refused(path, monkeypatch):
    cut_off(path)
    with parts_of(1 << 11), pytest.raises(ValueError, match="pass 1 of this fit is cut into other parts"):
        lk.GaussianNB().fit(IRIS.data, IRIS.target, checkpoint=path)
    monkeypatch.setattr("likelier.estimators.base.version", lambda name: "99")
    assert "the version of likelier was" in refused(path)


def test_another_beginning_is_refused(path):
    model = lk.LogisticRegression(warm_start=True, solver="newton-cg").fit(IRIS.data, IRIS.target)
    with parts_of(1 << 9):
        parts = reading(lambda: pickle.loads(pickle.dumps(model)).fit(IRIS.data, IRIS.target))[1]
        assert reading(lambda: model.fit(IRIS.data, IRIS.target, checkpoint=path), parts - 1)[0] is None
    assert "starts from other numbers" in refused(
        path, lk.LogisticRegression(warm_start=True, solver="newton-cg")
    )


def test_files_that_have_changed_are_named(files, path):
    def fit():
        return lk.GaussianNB().fit(lk.scan("*.csv", target="species"), checkpoint=path)

    assert reading(fit, 2)[0] is None
    with Path("1.csv").open("a") as file:
        file.write("1,2,3,4,setosa\n")
    with pytest.raises(ValueError, match=r"another fit: the stamp of .*1\.csv was \[\d+, \d+\], and is \["):
        fit()
    Path("1.csv").unlink()
    with pytest.raises(ValueError, match="another fit: the stamp of"):
        fit()
    assert path.exists()


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0)], ids=["None", "RandomState"])
@pytest.mark.parametrize("kind", [lk.GaussianMixture, lk.MixtureDiscriminantAnalysis])
def test_fits_that_start_at_random_need_a_seed(kind, random_state, path):
    with pytest.raises(ValueError, match="random_state must be an integer"):
        kind(2, random_state=random_state).fit(IRIS.data, IRIS.target, checkpoint=path)


def test_a_seed_may_be_a_number_of_numpy(path):
    lk.GaussianMixture(2, random_state=np.int64(0)).fit(IRIS.data, checkpoint=path)


def test_places_where_no_file_can_be_are_refused_before_anything_is_read(path, tmp_path):
    (tmp_path / "folder").mkdir()
    for wrong, error in (
        (tmp_path / "no" / "fit.ck", FileNotFoundError),
        (tmp_path / "folder", IsADirectoryError),
    ):
        with pytest.raises(error, match="folder"):
            lk.GaussianNB().fit(None, None, checkpoint=wrong)


# ---- files that are broken, or worse -------------------------------------------------------------
def test_a_file_that_is_not_whole_is_refused_by_name(path):
    cut_off(path)
    content = path.read_bytes()
    for at in np.random.default_rng(0).integers(0, len(content), 25):
        for broken in (content[:at], content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]):
            path.write_bytes(broken)
            assert "is not a checkpoint that can be read" in refused(path)
    for other in (b"", b"PAR1", content + b"x", MAGIC):
        path.write_bytes(other)
        assert "is not a checkpoint that can be read" in refused(path)


def forged(path, change):
    """A file that was changed by somebody who knows how to make it look whole."""
    frames = Frames(path, MAGIC)
    all_of_them = [frames[i] for i in range(len(frames))]
    archive = Archive(BytesIO(all_of_them[-1]))
    header, arrays = archive.header, {name: archive.array(name) for name in archive.names}
    del header["arrays"]
    change(header, arrays)
    frames.rewrite(0, [*all_of_them[:-1], packed(header, arrays)])


class Evil:
    def __reduce__(self):
        return os.mkdir, ("/tmp/likelier-was-here",)


def _pickled(header, arrays):
    header["states"] = {"bytes": pickle.dumps(Evil()).hex()}


def _constructed(header, arrays):
    header["states"] = [{"record": "os.mkdir", "fields": {"path": "here"}}]


def _grown(header, arrays):
    name = next(name for name in arrays if arrays[name].ndim == 2)
    arrays[name] = np.zeros((9, 9))


def _retyped(header, arrays):
    name = next(name for name in arrays if arrays[name].dtype == np.float64)
    arrays[name] = arrays[name].astype(np.float32)


def _elsewhere(header, arrays):
    (state,) = header["states"][:1]
    state["dict"].append(["/nowhere", 1])


def _miscounted(header, arrays):
    header["parts"] = 1000


def _renamed(header, arrays):
    header["about"] = {"state": 1}


FORGERIES = [_pickled, _constructed, _grown, _retyped, _elsewhere, _miscounted, _renamed]


@pytest.mark.parametrize("change", FORGERIES, ids=lambda change: change.__name__)
def test_what_a_file_says_is_data_and_checked_as_such(change, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cut_off(path)
    forged(path, lambda header, arrays: None)
    untouched = path.read_bytes()
    forged(path, change)
    assert path.read_bytes() != untouched
    assert "is not a checkpoint that can be read" in refused(path)
    assert list(tmp_path.iterdir()) == [path]
    assert not Path("/tmp/likelier-was-here").exists()


# ---- what rows are known by ----------------------------------------------------------------------
@settings(max_examples=20)
@given(
    n=st.integers(1, 3),
    at=st.integers(0, 10**9),
    dtype=st.sampled_from(["f8", "f4", "i2"]),
    order=st.sampled_from("CF"),
)
def test_no_cell_of_a_large_array_can_change_unseen(n, at, dtype, order):
    X = np.zeros((n * LARGE // 32 + 5, 7), dtype=dtype, order=order)
    before = Digests().of(X)
    assert Digests().of(X.copy(order)) == before
    X.flat[at % X.size] = 1
    assert Digests().of(X) != before


@settings(max_examples=30)
@given(
    at=st.lists(st.integers(0, LARGE // 8 + 99), min_size=2, max_size=2, unique=True),
    cells=st.sampled_from([(0, 1), (1.0, 2.0), (0.0, -0.0), (1e300, 3.0), (-1.0, 1.0)]),
)
def test_no_two_cells_of_a_large_array_can_swap_unseen(at, cells):
    array = np.zeros(LARGE // 8 + 100, np.float64 if isinstance(cells[0], float) else np.int64)
    array[at] = cells
    before = Digests().of(array)
    array[at] = cells[::-1]
    assert Digests().of(array) != before


def test_digests_tell_values_apart():
    values = [
        None,
        0,
        0.0,
        -0.0,
        False,
        "",
        "0",
        b"0",
        (),
        [],
        {},
        [0],
        (0,),
        {0: 0},
        np.zeros(1),
        np.zeros((1, 1)),
    ]
    values += [
        np.float32(0),
        np.float64(0),
        np.array(["a"]),
        np.array(["a"], object),
        np.array(["b"], object),
    ]
    values += [
        Dense(np.zeros((1, 1))),
        Arrays(Dense(np.zeros((1, 1)))),
        lk.GaussianNB(),
        lk.GaussianNB(priors=[1.0]),
        len,
        max,
    ]
    found = [Digests().of(value) for value in values]
    assert len(set(found)) == len(found)
    assert found == [Digests().of(value) for value in values]


# ---- what is written -----------------------------------------------------------------------------
@every_state
@pytest.mark.parametrize("n", [0, 60])
def test_states_come_back_as_they_were(kind, n):
    rows = large_table(60, 3, 3, weights="fractional")
    state, empty = kind.start(rows.K, rows.p), kind.start(rows.K, rows.p)
    if n:
        state.update(kind.view(rows, "C"))
    arrays: dict[str, Any] = {}
    plain = encode(changes(state, empty), "state", arrays, RECORDS)
    archive = Archive(BytesIO(packed({"state": plain}, arrays)))
    found = restored(empty, decode(archive.header["state"], archive.array, RECORDS))
    assert type(found) is type(state)
    assert_same_bits(found, state)
    for one in (state, found):  # and go on alike
        one.merge(kind.of(rows))
    assert_same_bits(found, state)


def test_nothing_is_written_before_it_is_time(alone, tmp_path, monkeypatch):
    """Five seconds apart, and a tenth of the time at most."""
    now, written, path = [0.0], [], tmp_path / "fit.ck"
    monkeypatch.setattr(JOURNAL.time, "monotonic", lambda: now[0])
    whole = Journal.write

    def slow(self):
        written.append(now[0])
        now[0] += 2.0
        whole(self)

    monkeypatch.setattr(Journal, "write", slow)

    def tick(start, part, go_on):
        now[0] += 1.0
        return absorb(start, part, go_on)

    monkeypatch.setattr(RUN, "absorb", tick)
    with parts_of(1 << 8):
        lk.GaussianNB().fit(IRIS.data, IRIS.target, checkpoint=path)
    assert written[0] == 5.0
    assert len(written) >= 2
    assert (np.diff(written) >= 5).all()
