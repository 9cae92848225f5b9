"""The laws of an Engine: the same result as serial, bit for bit, whoever runs the parts."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib.externals.loky import get_reusable_executor

from laws.comparing import assert_close, assert_same_bits
from laws.executor_engine import on_executor
from laws.generators import LAYOUTS, large_table, tables
from laws.parts import parts_of
from laws.test_states import STATES, every_state
from likelier.data import Arrays, Chunk, Dense, NonFinite
from likelier.engines import serial, threads
from likelier.engines.run import Pass, absorb, cores, run, watching
from likelier.states import Moments
from likelier.states.base import Tree, merge_in_order

MODULE = import_module("likelier.engines.run")  # its name in the package is that of the function


def in_processes(source: Any, start: Any, tree: Tree | None = None) -> Any:
    return on_executor(get_reusable_executor(max_workers=2))(source, start, tree)


LOCAL = {f"threads({count})": threads(count) for count in (1, 2, 3, 7)}
every_local_engine = pytest.mark.parametrize("engine", LOCAL.values(), ids=list(LOCAL))
# A new engine joins here.
ENGINES = LOCAL | {"processes": in_processes}
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=list(ENGINES))


def source_of(chunk: Chunk) -> Arrays:
    return Arrays(chunk.X, chunk.y, chunk.w)


# ---- the same result -----------------------------------------------------------------------------
@every_engine
@every_state
@pytest.mark.parametrize("layout", ["C", "Fortran", "CSR, 32 bit"])
def test_every_engine_equals_serial_bit_for_bit(engine, kind, layout):
    rows = large_table(2000, 3, 3, weights="fractional")
    source, start = source_of(kind.view(rows, layout)), partial(kind.start, rows.K, rows.p)
    with parts_of(256):
        assert len(source.parts(start().nbytes)) > 10
        one = serial(source, start)
        for _ in range(3):  # threads that raced would not always agree
            assert_same_bits(engine(source, start), one)
    assert_close(one, kind.of(rows), rows)


@every_state
@given(rows=tables(), count=st.integers(1, 5))
def test_small_and_empty_sources_too(kind, rows, count):
    start = partial(kind.start, rows.K, rows.p)
    with parts_of(64):
        source = source_of(kind.view(rows, "C"))
        one = serial(source, start)
        assert_same_bits(threads(count)(source, start), one)
    assert_close(one, kind.of(rows), rows)


def test_run_takes_the_number_of_threads_from_the_environment(monkeypatch):
    monkeypatch.setenv("LIKELIER_THREADS", "5")
    assert cores() == 5
    for wrong in ("0", "-1", "two", "", "1.5"):
        monkeypatch.setenv("LIKELIER_THREADS", wrong)
        with pytest.raises(ValueError, match="LIKELIER_THREADS"):
            cores()
    monkeypatch.delenv("LIKELIER_THREADS")
    assert cores() >= 1


# ---- merging -------------------------------------------------------------------------------------
@every_state
@pytest.mark.parametrize("count", range(1, 21))
def test_merging_in_order_is_a_plain_fold_up_to_rounding(kind, count):
    rows = large_table(300, 3, 3)
    pieces = rows.cut([300 * i // count for i in range(1, count)])
    fold = kind.start(rows.K, rows.p)
    for piece in pieces:
        fold.merge(kind.of(piece))
    assert_close(merge_in_order(kind.of(piece) for piece in pieces), fold, rows)


@dataclass
class Order:
    """A state that remembers the order in which rows came; merging is concatenation."""

    rows: list[int] = field(default_factory=list)
    nbytes: int = 0

    def update(self, chunk: Chunk) -> None:
        self.rows.extend(range(chunk.first, chunk.first + chunk.X.shape[0]))

    def merge(self, other: "Order") -> None:
        self.rows.extend(other.rows)


@given(n=st.integers(0, 300), width=st.integers(1, 9), size=st.integers(1, 500), count=st.integers(1, 4))
def test_states_are_merged_in_the_order_of_their_parts(n, width, size, count):
    source = Arrays(Dense(np.zeros((n, width))))
    with parts_of(size):
        assert threads(count)(source, Order).rows == list(range(n))


@every_engine
@given(parts=st.integers(1, 20), begun=st.integers(0, 20))
def test_a_pass_goes_on_from_where_a_tree_has_come_to(engine, parts, begun):
    source, start = Arrays(Dense(np.arange(float(parts))[:, None])), Order
    with parts_of(8):
        assert len(source.parts(0)) == parts
        tree = Tree()
        for part in source.parts(0)[:begun]:
            tree.add(absorb(start, part))
        assert len(tree.waiting) == min(begun, parts).bit_count()
        assert engine(source, start, tree).rows == list(range(parts))


# ---- parts ---------------------------------------------------------------------------------------
@given(
    n=st.integers(0, 1000),
    p=st.integers(1, 40),
    size=st.integers(1, 4000),
    state=st.integers(0, 3000),
    layout=st.sampled_from(list(LAYOUTS)),
)
def test_parts_hold_every_row_once_and_in_order(n, p, size, state, layout):
    X, y, w = np.arange(1.0, n * p + 1).reshape(n, p), np.arange(n), np.arange(n) / 2
    source = Arrays(LAYOUTS[layout](X), y, w)
    with parts_of(size):
        chunks = [chunk for part in source.parts(state) for chunk in part()]
    assert [chunk.first for chunk in chunks] == np.cumsum([0, *(len(c.y) for c in chunks)])[:-1].tolist()
    np.testing.assert_array_equal(np.vstack([chunk.X.to_array() for chunk in chunks]), X)
    np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), y)
    np.testing.assert_array_equal(np.concatenate([chunk.w for chunk in chunks]), w)
    if n:  # no part is idle, and none exceeds its size by more than the rounding to whole rows
        sizes = [len(chunk.y) for chunk in chunks]
        assert min(sizes) >= 1
        assert max(sizes) - min(sizes) <= 1
        assert max(sizes) <= max(1, max(size, 4 * state) // source.X.row_bytes)


@given(n=st.integers(0, 400), state=st.integers(0, 2000), count=st.integers(1, 9))
def test_parts_depend_on_the_data_and_the_state_alone(n, state, count):
    source = Arrays(Dense(np.zeros((n, 3))), np.zeros(n, np.int32))
    with parts_of(200), pytest.MonkeyPatch.context() as patch:
        cuts = []
        for workers in (1, count):
            patch.setenv("LIKELIER_THREADS", str(workers))
            cuts.append([(c.first, len(c.y)) for part in source.parts(state) for c in part()])
    assert cuts[0] == cuts[1]


def test_a_part_can_be_read_twice():
    source = source_of(large_table(100, 2, 2).chunk())
    (part,) = source.parts(0)
    for _ in range(2):
        (chunk,) = part()
        np.testing.assert_array_equal(chunk.X.to_array(), source.X.to_array())


def test_coded_chunks_carry_codes_and_minus_1_for_what_is_no_level():
    y = np.array(["b", "a", "z", "b"])
    (part,) = Arrays(Dense(np.zeros((4, 1))), y).coded(np.array(["a", "b"])).parts(0)
    (chunk,) = part()
    np.testing.assert_array_equal(chunk.y, [1, 0, -1, 1])
    assert chunk.y.dtype == np.int32


# ---- flight --------------------------------------------------------------------------------------
class Traffic:
    """A source of many parts that counts how many are begun and not yet merged."""

    rows = None

    def __init__(self, parts: int, fails: Any = (), slow: Any = (0,)) -> None:
        self.count, self.fails, self.slow = parts, fails, slow
        self.lock = threading.Lock()
        self.begun: list[int] = []
        self.merged = self.most = 0

    def parts(self, state_bytes: int) -> list[Any]:
        return [partial(self._read, number) for number in range(self.count)]

    def _read(self, number: int) -> Iterator[Chunk]:
        with self.lock:
            self.begun.append(number)
            self.most = max(self.most, len(self.begun) - self.merged)
        if number in self.slow:
            time.sleep(0.1)  # the others pile up behind it, as far as they may
        if number in self.fails:
            raise OSError(f"part {number}")
        yield Chunk(Dense(np.full((1, 1), float(number))), np.zeros(1, np.int32))


class Gate(Tree):
    """Where states merge, counted."""

    def __init__(self, traffic: Traffic) -> None:
        super().__init__()
        self.traffic = traffic

    def add(self, state: Any) -> None:
        with self.traffic.lock:
            self.traffic.merged += 1
        super().add(state)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_two_parts_for_each_thread_are_in_flight_and_no_more(count):
    traffic = Traffic(parts=50)
    threads(count)(traffic, partial(Moments.start, 1, 1, "full"), Gate(traffic))
    assert sorted(traffic.begun) == list(range(50))
    assert count <= traffic.most <= 2 * count


@every_local_engine
def test_the_earliest_failure_is_raised_and_the_rest_is_not_run(engine):
    traffic = Traffic(parts=200, fails={3, 4, 5, 100})
    with pytest.raises(OSError, match=r"^part 3$"):
        engine(traffic, partial(Moments.start, 1, 1, "full"))
    assert set(range(4)) <= set(traffic.begun)
    assert len(traffic.begun) < 40


def test_parts_that_still_wait_when_one_fails_are_not_begun():
    """Two of four in flight run when the first fails; one more may slip in before the rest is off."""
    traffic = Traffic(parts=50, fails={0}, slow=range(1, 50))
    with pytest.raises(OSError, match="part 0"):
        threads(2)(traffic, partial(Moments.start, 1, 1, "full"))
    assert len(traffic.begun) <= 3


@every_local_engine
def test_an_engine_leaves_no_thread_behind(engine):
    before = threading.active_count()
    with pytest.raises(OSError, match="part 3"):
        engine(Traffic(parts=20, fails={3}), partial(Moments.start, 1, 1, "full"))
    engine(Traffic(parts=20), partial(Moments.start, 1, 1, "full"))
    assert threading.active_count() == before


class Heard:
    """An observer that takes down what it is told."""

    def __init__(self) -> None:
        self.passes: list[list[Any]] = []
        self.open = False

    def begin(self, what: Pass) -> None:
        assert not self.open
        self.open = True
        self.passes.append([what, 0, 0])

    def done(self, *, parts: int, rows: int) -> None:
        assert self.open
        self.passes[-1][1] += parts
        self.passes[-1][2] += rows

    def end(self) -> None:
        self.open = False


@every_local_engine
def test_an_observer_hears_of_every_pass_part_and_row(engine):
    source = Arrays(Dense(np.zeros((100, 1))))
    heard = Heard()
    with parts_of(8 * 7):
        with watching(heard):
            engine(source, Order)
            with watching(None):
                engine(source, Order)
            tree = Tree([Order(), Order()], 3)
            engine(source, Order, tree)
        engine(source, Order)
        cut = source.parts(0)
    what = Pass(Order, 100, len(cut))
    left = sum(chunk.X.shape[0] for part in cut[3:] for chunk in part())
    assert heard.passes == [[what, len(cut), 100], [what, len(cut), left]]


@every_local_engine
def test_an_observer_hears_the_end_of_a_pass_that_fails(engine):
    heard = Heard()
    with watching(heard), pytest.raises(OSError, match="part 3"):
        engine(Traffic(parts=20, fails={3}), partial(Moments.start, 1, 1, "full"))
    assert not heard.open
    assert heard.passes[0][0] == Pass(Moments, None, 20)
    assert heard.passes[0][1] == 3


@every_engine
@pytest.mark.parametrize(
    "kind", [kind for kind in STATES if kind.by_class and kind.whole], ids=lambda kind: kind.name
)
def test_the_bad_cell_that_is_named_is_the_first_of_all_parts(engine, kind):
    X = np.ones((2000, 3))
    X[1900, 0] = X[777, 2] = X[777, 1] = np.inf
    source = Arrays(Dense(X), np.zeros(2000, np.int32))
    with parts_of(64), pytest.raises(NonFinite) as bad:
        engine(source, partial(kind.start, 1, 3))
    assert (bad.value.row, bad.value.column, bad.value.value) == (777, 1, np.inf)


def test_a_single_part_runs_here_without_a_pool(monkeypatch):
    """A small table must not pay for the machinery."""

    def refuse(*args: Any) -> None:
        raise AssertionError("a pool was made")

    monkeypatch.setattr(MODULE, "ThreadPoolExecutor", refuse)
    monkeypatch.setenv("LIKELIER_THREADS", "4")
    rows = large_table(100, 2, 2)
    start = partial(Moments.start, 2, 2, "full")
    source = source_of(rows.chunk())
    (part,) = source.parts(0)
    assert_same_bits(run(source, start), absorb(start, part))
