"""BLAS on one thread: for as long as anyone wants it, and not for longer."""

import multiprocessing
import sys
from pathlib import Path
from threading import Barrier, Thread

import numpy as np
import pytest
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController

from likelier.families.covariance import on_one_thread
from likelier.threads import one_blas_thread, one_thread_if

BLAS = ThreadpoolController().select(user_api="blas")


def _threads() -> list[int]:
    return [library["num_threads"] for library in BLAS.info()]


def test_one_thread_within_and_as_many_as_before_after():
    with BLAS.limit(limits=2):
        before = _threads()
        with one_thread_if(True):
            assert set(_threads()) == {1}
            with one_blas_thread():
                assert set(_threads()) == {1}
            assert set(_threads()) == {1}, "the inner one ended the outer one"
        assert _threads() == before
        with one_thread_if(False):
            assert _threads() == before


def test_two_fits_at_the_same_time_leave_the_threads_as_they_were():
    """The second begins while the first holds one thread, and ends after it."""
    begun, both_in, first_out = (Barrier(2, timeout=10) for _ in range(3))
    seen: list[set[int]] = []

    def first() -> None:
        with one_blas_thread():
            begun.wait()
            both_in.wait()
        first_out.wait()

    def second() -> None:
        begun.wait()
        with one_blas_thread():
            both_in.wait()
            first_out.wait()
            seen.append(set(_threads()))

    with BLAS.limit(limits=2):
        before = _threads()
        fits = [Thread(target=first), Thread(target=second)]
        for fit in fits:
            fit.start()
        for fit in fits:
            fit.join()
        assert seen == [{1}]
        assert _threads() == before


def test_a_failure_within_gives_the_threads_back():
    with BLAS.limit(limits=2):
        before = _threads()
        try:
            with one_blas_thread():
                raise ValueError
        except ValueError:
            pass
        assert _threads() == before


def test_small_covariances_are_factored_on_one_thread(monkeypatch):
    seen = []

    @on_one_thread
    def watched(cov):
        seen.append(_threads())

    with BLAS.limit(limits=2):
        before = _threads()
        watched(np.eye(100))
        watched(np.stack([np.eye(100)] * 2))
        watched(np.eye(4))  # wakes none
        watched(np.eye(1200))
        assert _threads() == before
    assert all(set(threads) == {1} for threads in seen[:2])
    assert seen[2:] == [before, before]


def _held_in_a_fork(pipe) -> None:
    with one_blas_thread():
        inside = _threads()
    pipe.send((inside, _threads(), len(list(Path("/proc/self/task").iterdir()))))


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted by /proc")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_is_not_given_threads_that_spin():
    """OpenBLAS starts its threads anew when it is told their number after a fork."""
    if any(library["threading_layer"] != "pthreads" for library in BLAS.info()):
        pytest.skip("another BLAS than OpenBLAS on its own threads")
    forks = multiprocessing.get_context("fork")
    with BLAS.limit(limits=2):
        here, there = forks.Pipe(False)
        child = forks.Process(target=_held_in_a_fork, args=(there,))
        child.start()
        inside, after, threads = here.recv()
        child.join()
    assert set(inside) == {1}
    assert set(after) == {2}
    assert threads == 1
