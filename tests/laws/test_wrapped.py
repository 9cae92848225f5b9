"""The laws of a wrapper: what travels of it is small, and reads the same rows."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import likelier as lk
from likelier.data import Source
from likelier.data.files.scan import Scan
from likelier.data.transforms import (
    ByClass,
    Head,
    MarginOffset,
    Recoded,
    Selected,
    StridedParts,
    StridedRows,
)
from likelier.engines.run import SideState, run
from likelier.states import ColumnMoments

# A new wrapper joins here.
WRAPPERS: dict[str, Callable[[Source], Any]] = {
    "ByClass": lambda source: ByClass(source, np.array([1.0, 2.0])),
    "Head": lambda source: Head(source, 2),
    "Recoded": lambda source: Recoded(source, frozenset()),
    "Selected": lambda source: Selected(source, np.array([2, 0])),
    "StridedRows": lambda source: StridedRows(source, 3),
    "StridedParts": lambda source: StridedParts(source, 1),
    "MarginOffset": lambda source: MarginOffset(source, 0.5, 1),
    "all at once": lambda source: ByClass(
        MarginOffset(Recoded(Selected(source, np.array([2, 0])), frozenset()), 0.5, 1), np.array([1.0, 2.0])
    ),
}
every_wrapper = pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=list(WRAPPERS))


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Scan:
    """A thousand files, of which two are there: the footer of one is that of all."""
    folder = tmp_path_factory.mktemp("many")
    rng = np.random.default_rng(0)
    table = pa.table({f"x{j}": rng.normal(size=9) for j in range(4)} | {"y": np.arange(9) % 2})
    pq.write_table(table, folder / "0.parquet")
    found = lk.scan(folder, target="y")
    return Scan(found.files * 1000, found.roles)


@every_wrapper
def test_a_part_that_travels_is_small_and_reads_the_same_rows(wrap, scanned):
    source = wrap(scanned.coded(np.array([0, 1])))
    parts = source.parts(0)
    assert len(parts) == 1000
    for part in (parts[0], parts[-1]):
        sent = pickle.dumps(part)
        assert len(sent) < 5000
        for one, like in zip(pickle.loads(sent)(), part(), strict=True):
            np.testing.assert_array_equal(one.X.to_array(), like.X.to_array())
            np.testing.assert_array_equal(one.y, like.y)
            assert one.first == like.first
            for ours, theirs in ((one.w, like.w), (one.offset, like.offset)):
                assert (ours is None) == (theirs is None)
                np.testing.assert_array_equal(ours, theirs)


@every_wrapper
def test_what_has_travelled_still_knows_its_columns(wrap, scanned):
    source = wrap(scanned)
    again = pickle.loads(pickle.dumps(source))
    assert (again.p, again.rows, again.y_shape) == (source.p, source.rows, source.y_shape)
    np.testing.assert_array_equal(again.names, source.names)


def test_a_connection_stays_where_it_is(scanned: Scan, tmp_path: Path):
    class Client:
        submit = scheduler_info = None

        def __reduce__(self) -> Any:
            raise TypeError("a connection cannot be sent")

    there = scanned.on(Client())
    assert there.cluster is not None
    assert there.coded(np.array([0, 1])).cluster is there.cluster
    assert pickle.loads(pickle.dumps(there)).cluster is None
    pickle.dumps(StridedRows(there, 2).parts(0)[0])
    with pytest.raises(TypeError, match=r"takes a distributed\.Client or a SparkSession; got str"):
        scanned.on("tcp://127.0.0.1:8786")


def test_a_state_beside_another_sees_what_that_sees_and_is_handed_over(scanned: Scan):
    source = Scan(scanned.files[:5], scanned.roles)
    met: list[Any] = []
    rows = ByClass(source.coded(np.array([0, 1])), np.array([1.0, 3.0]))

    def start() -> ColumnMoments:
        return ColumnMoments.start(2, source.p)

    found = run(rows, start, SideState(start, met.append))
    np.testing.assert_array_equal(found.n, run(rows, start).n)
    np.testing.assert_array_equal(met[0].n, found.n)
    assert len(met) == 1
