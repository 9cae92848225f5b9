"""What goes wrong under way: files that change, disks that fill up, people who have waited long enough.

Each is said in one error that names the file; nothing half done is left, and an estimator is as it was.
"""

import gzip
import os
import pickle
import resource
import signal
import threading
import time
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

import likelier as lk
from likelier.engines import watching

RUN, JOURNAL = (import_module(f"likelier.engines.{name}") for name in ("run", "checkpoint"))
MAIN = threading.main_thread().ident  # to which terminals send their signals
N = 4000
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.normal(size=N), "y": RNG.integers(0, 2, N)})


def _packed(frame, path):
    with gzip.open(path, "wt") as file:
        frame.to_csv(file, index=False)


WRITERS = {
    "parquet": lambda frame, path: frame.to_parquet(path, row_group_size=300),
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "csv.gz": _packed,
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "svmlight": lambda frame, path: dump_svmlight_file(frame[["a", "b"]], frame["y"], str(path)),
}


@pytest.fixture
def interruptible():
    """Ctrl-C interrupts; shells start what runs in the background with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


every_format = pytest.mark.parametrize("ending", list(WRITERS))


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Three files of a format; parts and chunks are small."""
    monkeypatch.setenv("LIKELIER_THREADS", "2")
    monkeypatch.setattr("likelier.data.files.scan.PART_BYTES", 1 << 12)
    monkeypatch.setattr("likelier.data.files.csv.BLOCK_BYTES", 1 << 12, raising=False)
    monkeypatch.setattr("likelier.data.files.scan.BLOCK_BYTES", 1 << 12, raising=False)

    def write(ending):
        for i in range(3):
            WRITERS[ending](FRAME, tmp_path / f"{i}.{ending}")
        target = None if ending == "svmlight" else "y"
        return lk.scan([tmp_path / f"{i}.{ending}" for i in range(3)], target=target)

    return write


# ---- what may happen to a file -------------------------------------------------------------------
def gone(path):
    path.unlink()


def truncated(path):
    os.truncate(path, path.stat().st_size // 2 + 1)


def emptied(path):
    os.truncate(path, 0)


def replaced(path):
    other = path.with_name("other")
    other.write_bytes(path.read_bytes()[::-1])
    other.replace(path)


def grown(path):
    with path.open("ab") as file:
        file.write(b"1,2,0\n")


HARMS = {
    gone: "has been removed since it was scanned",
    truncated: "has changed since it was scanned",
    emptied: "has changed since it was scanned",
    replaced: "has changed since it was scanned",
    grown: "has changed since it was scanned",
}
every_harm = pytest.mark.parametrize(("harm", "said"), HARMS.items(), ids=[h.__name__ for h in HARMS])


@contextmanager
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    end = time.monotonic() + 5
    while set(threading.enumerate()) - before and time.monotonic() < end:
        time.sleep(0.01)
    assert set(threading.enumerate()) <= before


@every_harm
@every_format
@pytest.mark.parametrize("at", ["between passes", "in a pass"])
def test_files_that_change_under_way_are_named(ending, harm, said, at, written, tmp_path, monkeypatch):
    """Between the survey and the pass that counts, or after the first chunk of a pass over the file."""
    source, absorb, victim = written(ending), RUN.absorb, tmp_path / f"1.{ending}"
    harmed, lock = [], threading.Lock()

    def once():
        with lock:
            if not harmed:
                harmed.append(harm(victim))

    def harmful(start, part, go_on):
        return absorb(start, part, lambda rows: (once(), go_on(rows))[1])

    model = lk.LogisticRegression().fit(RNG.normal(size=(50, 2)), np.arange(50) % 2)
    before = pickle.dumps(model)
    with no_thread_is_left(), monkeypatch.context() as patch, watching(Ends(once)):
        if at == "in a pass":
            patch.setattr(RUN, "absorb", harmful)
        with pytest.raises(ValueError, match=rf"{victim.name}: the file {said}"):
            model.fit(source)
    assert pickle.dumps(model) == before


class Ends:
    """An observer that does something whenever a pass is over."""

    def __init__(self, act):
        self.end = act

    def begin(self, what):
        pass

    def done(self, *, parts, rows):
        pass

    def reached(self, figure, value):
        pass


@every_harm
@every_format
def test_files_that_change_while_a_part_is_read_are_named(ending, harm, said, written, tmp_path):
    """Some of a file has been handed out, and the rest is no longer there: no signal, no half of a line."""
    source, victim = written(ending), tmp_path / f"0.{ending}"

    def harmed():
        for number, _ in enumerate(source.parts(0)[0]()):
            if number == 0:
                harm(victim)

    with no_thread_is_left(), pytest.raises(ValueError, match=rf"{victim.name}: the file {said}"):
        harmed()


# ---- Ctrl-C --------------------------------------------------------------------------------------
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_ctrl_c_ends_a_pass_soon_and_leaves_nothing(interruptible, threads, ending, written, monkeypatch):
    source, absorb, lock = written(ending), RUN.absorb, threading.Lock()
    monkeypatch.setenv("LIKELIER_THREADS", str(threads))
    chunks, after = 0, 0

    def interrupted(start, part, go_on):
        def slowly(rows):
            nonlocal chunks, after
            with lock:
                chunks += 1
                after += chunks > 5
            if chunks == 5:
                signal.pthread_kill(MAIN, signal.SIGINT)
            time.sleep(0.01)
            return go_on(rows)

        return absorb(start, part, slowly)

    model = lk.GaussianNB().fit(RNG.normal(size=(50, 2)), np.arange(50) % 2)
    before = pickle.dumps(model)
    monkeypatch.setattr(RUN, "absorb", interrupted)
    with no_thread_is_left(), pytest.raises(KeyboardInterrupt):
        model.fit(source)
    assert after <= 4 * threads  # what ran has ended after its chunk, and nothing else has begun
    assert pickle.dumps(model) == before


def test_ctrl_c_in_mid_chunk_waits_for_that_chunk_alone(interruptible, written, monkeypatch):
    """A chunk that has begun is a kernel at work: it is waited for, and no other is begun."""
    source, absorb, begun, ended = written("parquet"), RUN.absorb, [], []

    def slow(start, part, go_on):
        begun.append(part)
        if len(begun) == 2:
            signal.pthread_kill(MAIN, signal.SIGINT)
        time.sleep(0.2)
        state = absorb(start, part, go_on)
        ended.append(part)
        return state

    monkeypatch.setattr(RUN, "absorb", slow)
    with no_thread_is_left(), pytest.raises(KeyboardInterrupt):
        lk.GaussianNB().fit(source)
    assert len(begun) == len(ended) == 2


# ---- a full disk ---------------------------------------------------------------------------------
@contextmanager
def room_for(size):
    """No file may become longer: writing fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def full_at_the_end(size):
    """A disk that says only when all is to be settled that there was no room."""

    def fsync(number):
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", fsync)
        yield


every_disk = pytest.mark.parametrize("full", [room_for, full_at_the_end])


@every_disk
def test_a_model_on_a_full_disk(full, tmp_path):
    model = lk.GaussianNB().fit(FRAME[["a", "b"]], FRAME["y"])
    path = tmp_path / "m.lk"
    for before in (b"", b"an older model"):
        if before:
            path.write_bytes(before)
        with full(1000), pytest.raises(OSError, match=r"cannot be written: .*m\.lk") as problem:
            lk.save(model, path)
        assert problem.value.filename == str(path)
        assert [each.name for each in tmp_path.iterdir()] == (["m.lk"] if before else [])
    assert path.read_bytes() == before


@every_disk
def test_a_checkpoint_on_a_full_disk(full, tmp_path, monkeypatch):
    """The fit ends with what is wrong; the checkpoint that was there is as it was, and is gone on from."""
    monkeypatch.setattr(JOURNAL, "EVERY", 0.0)
    monkeypatch.setattr(JOURNAL, "PAUSE", 0.0)
    monkeypatch.setattr("likelier.data.chunk.PART_BYTES", 1 << 12)
    path, X, y = tmp_path / "fit.ck", FRAME[["a", "b"]], FRAME["y"]
    write, count = JOURNAL.Journal.write, 0

    def some(self):
        nonlocal count
        count += 1
        with full(1000) if count > 9 else room_for(resource.RLIM_INFINITY):
            write(self)

    monkeypatch.setattr(JOURNAL.Journal, "write", some)
    model = lk.LinearDiscriminantAnalysis()
    with pytest.raises(OSError, match=r"cannot be written: .*fit\.ck"):
        model.fit(X, y, checkpoint=path)
    assert not hasattr(model, "classes_")
    assert [each.name for each in tmp_path.iterdir()] == ["fit.ck"]
    monkeypatch.setattr(JOURNAL.Journal, "write", write)
    model.fit(X, y, checkpoint=path)
    np.testing.assert_array_equal(model.coef_, lk.LinearDiscriminantAnalysis().fit(X, y).coef_)
    assert not list(tmp_path.iterdir())


def test_an_interruption_stays_one_if_the_disk_is_full_as_well(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKELIER_THREADS", "1")
    monkeypatch.setattr("likelier.data.chunk.PART_BYTES", 1 << 12)
    absorb, read = RUN.absorb, []

    def interrupted(start, part, go_on):
        read.append(part)
        if len(read) == 5:
            raise KeyboardInterrupt
        return absorb(start, part, go_on)

    monkeypatch.setattr(RUN, "absorb", interrupted)
    path = tmp_path / "fit.ck"
    with room_for(100), pytest.raises(KeyboardInterrupt) as problem:
        lk.GaussianNB().fit(FRAME[["a", "b"]], FRAME["y"], checkpoint=path)
    assert "checkpoint could not be written" in problem.value.__notes__[0]
    assert not list(tmp_path.iterdir())


def test_answers_on_a_full_disk(tmp_path, monkeypatch, capsys):
    from likelier.cli import main

    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("t.csv", index=False)
    lk.save(lk.GaussianNB().fit(lk.scan("t.csv", target="y")), "m.lk")
    with room_for(5000):
        assert main(["predict", "m.lk", "t.csv", "-o", "out.csv"]) == 2
    assert "out.csv: cannot be written" in capsys.readouterr().err
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["m.lk", "t.csv"]
