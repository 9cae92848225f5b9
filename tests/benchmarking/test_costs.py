"""The cost model: its states are those of the models, and its predictions follow the formulas."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.race.runner import ROOT
from benchmarks.scale import cli, passes
from benchmarks.scale.costs import BY_NAME, COSTS, PART, Cluster, Machine, predicted_cost
from hypothesis import given
from hypothesis import strategies as st

from likelier import data as rows_of

CLUSTER = Cluster(100, 2, 1e9, 1e11, 1e9, 1e9)
MACHINE = Machine(30e9, 100e9, 1e9, 2e9, 0.3e9)


@pytest.fixture(scope="module")
def source():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 5))
    return rows_of.Arrays(rows_of.Dense(X), rng.integers(3, size=600).astype(np.int32))


@pytest.mark.parametrize("name", passes.PASSES)
@pytest.mark.parametrize("K", [2, 3])
def test_states_are_as_large_as_they_are_said_to_be(source, name, K):
    source = replace(source, y=source.y % K)
    state = passes.PASSES[name](source, K)
    assert state.nbytes == BY_NAME[name].state(5, K)


def test_every_cost_has_a_pass():
    assert {cost.name for cost in COSTS} == {*passes.PASSES, passes.SPARSE_PASS}
    few = passes.sparse_rows(50, 40, 7)
    state = passes.expanding(curved=False)(few, 2)
    assert state.nbytes == BY_NAME[passes.SPARSE_PASS].state(40, 2)
    assert few.X.row_bytes == 7 * 12


def test_a_part_is_that_of_sources():
    assert PART == rows_of.PART_BYTES
    wide = BY_NAME["QDA"]
    assert wide.part(1000, 10) == 4 * wide.state(1000, 10)


@given(
    cost=st.sampled_from(COSTS),
    p=st.integers(1, 2000),
    K=st.integers(2, 20),
    total=st.floats(1e6, 1e13),
    workers=st.integers(1, 500),
)
def test_more_of_anything_takes_no_less(cost, p, K, total, workers):
    cluster = replace(CLUSTER, workers=workers)
    found = predicted_cost(cost, p, K, total, cluster)
    assert found.rows * cost.row(p) == pytest.approx(total)
    assert found.tasks <= 2 * found.parts
    assert found.reading >= total / (workers * cluster.read) * (1 - 1e-12)
    assert found.seconds >= max(found.reading + found.computing, found.scheduling)
    assert predicted_cost(cost, p, K, 2 * total, cluster).scheduling >= found.scheduling / 2
    assert MACHINE.computing(cost, p, K) <= MACHINE.computing(cost, p + 1, K)
    assert MACHINE.over_parquet(cost, p, K) > cost.row(p) / MACHINE.decode


def test_one_task_has_nothing_to_merge():
    found = predicted_cost(BY_NAME["LDA"], 100, 2, 1e6, replace(CLUSTER, workers=1, threads=1))
    assert (found.parts, found.tasks, found.merging, found.moved) == (1, 1, 0, 0)
    assert found.reading == pytest.approx(1e6 / 1e9)


def test_row_groups_are_not_cut():
    fine, coarse = (predicted_cost(BY_NAME["GaussianNB"], 100, 2, 1e12, CLUSTER, g) for g in (0, 8e8))
    assert coarse.parts == 1250
    assert fine.parts > 100_000
    assert fine.tasks > coarse.tasks


def test_tables_show_every_model(tmp_path):
    assert all(cost.name in cli.formulas() for cost in COSTS)
    assert cli.predicted(MACHINE).count("\n") == len(cli.ASKED) + 1
    *dense, text = cli.written(tmp_path, 1e-9)
    lines = list(cli.measured_passes(dense, text, MACHINE, 1e-9))
    assert len(lines) == 2 * len(dense) * len(passes.PASSES) + 3
    assert {line[2] for line in lines} == {"memory", "Parquet", "CSV"}


def test_tables_have_their_places_in_the_page():
    page = (ROOT / "docs" / "scaling.md").read_text()
    tables = {"costs": "a", "limits": "b", "passes": "c", "predicted": "d"}
    found = cli.put(tables, page)
    assert "<!-- passes -->\nc\n<!-- end of passes -->" in found
    assert cli.put(tables, found) == found
    assert found.splitlines()[0] == page.splitlines()[0]
    with pytest.raises(ValueError, match="no place for costs"):
        cli.put(tables, found.replace("<!-- end of costs -->", ""))


def test_the_page_has_the_formulas_that_are_computed():
    assert cli.formulas() in (ROOT / "docs" / "scaling.md").read_text()
