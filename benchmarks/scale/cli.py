"""The tables of docs/scaling.md: costs, limits, measured passes and predictions."""

import argparse
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.race.clusters import cluster
from benchmarks.race.meters import OtherProcesses
from benchmarks.race.report import DISTURBED, table
from benchmarks.race.runner import SCRATCH
from benchmarks.race.tables import P, Tables
from benchmarks.scale import limits, passes
from benchmarks.scale.costs import (
    BY_NAME,
    COSTS,
    SPARSE,
    Cluster,
    Cost,
    Machine,
    PredictedCost,
    predicted_cost,
)

ROWS = 4_000_000
TEXT_ROWS = 500_000
SPARSE_ROWS = 500_000
WIDE = 1_000_000  # columns of sparse rows
TERABYTE = 1e12
# A worker in a rented rack: as this machine, behind a network of 10 Gbit/s that rows come through, too.
NETWORK = 1.25e9


def sized(count: float) -> str:
    """Bytes in the unit that suits."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} B"


# ---- formulas ----------------------------------------------------------------------------------------
def formulas() -> str:
    """What a row and a pass cost, at p = 30."""
    lines = []
    for cost in COSTS:
        p = WIDE if cost.cells is not None else P
        for K in (2, 10):
            cells = [
                sized(cost.row(p)),
                f"{cost.flops(p, K):,.0f}",
                sized(cost.state(p, K)),
                str(cost.passes),
            ]
            lines.append(
                [cost.name, f"{p:,}", str(K), *cells, sized(2 * (cost.part(p, K) + cost.state(p, K)))]
            )
    heads = ["model", "p", "K", "a row", "flops a row", "state", "passes", "held by a thread"]
    return table(heads, lines)


# ---- this machine ------------------------------------------------------------------------------------
def measured_limits(dense: Tables, text: Tables, threads: int) -> tuple[Machine, str]:
    """The machine, and a table of it."""
    machine = Machine(
        memory=limits.memory(threads),
        flops=limits.flops(),
        gather=limits.gather(threads),
        decode=limits.decoding(dense),
        text=limits.parsing(text),
    )
    with cluster() as client:
        per_task, moved = limits.task(client), limits.transfer(client)
    found = {
        "memory, read": f"{sized(machine.memory)}/s",
        "multiplications and additions (dgemm)": f"{machine.flops / 1e9:.3g} GFLOP/s",
        "numbers at random places of 8 MB": f"{machine.gather / 1e9:.2g} G/s",
        "files in the page cache": f"{sized(limits.cached(dense.files, threads))}/s",
        "files that the page cache was to forget": f"{sized(limits.stored(dense.files, threads))}/s",
        "Parquet, decoded by pyarrow: numbers": f"{sized(machine.decode)}/s",
        "CSV, parsed by pyarrow: text": f"{sized(machine.text)}/s",
        "a task of Dask's that does nothing": f"{per_task * 1e3:.2f} ms",
        "states of 8 MB, to the driver": f"{sized(moved)}/s",
    }
    return machine, table([f"limit, {threads} threads", "measured"], list(found.items()))


def _line(name: str, K: int, where: str, predicted: float, took: float, n: int) -> list[str]:
    """predicted: seconds for a row; took: for all."""
    speed = f"{n / took / 1e6:.1f}"
    return [name, str(K), where, f"{1e-6 / predicted:.1f}", speed, f"{n * predicted / took:.0%}"]


def measured_passes(
    dense: Sequence[Tables], text: Tables, machine: Machine, share: float
) -> Iterator[list[str]]:
    """Each model's pass over rows in memory, Parquet and CSV, beside what the limits allow."""
    width = limits.size(text.files) / text.n
    for tables in dense:
        K, files, rows = tables.K, passes.in_files(tables), passes.at_hand(tables)
        for name, walk in passes.PASSES.items():
            cost = BY_NAME[name]
            for where, source, predicted in (
                ("memory", rows, machine.computing(cost, P, K)),
                ("Parquet", files, machine.over_parquet(cost, P, K)),
            ):
                took = limits.best(lambda walk=walk, source=source, K=K: walk(source, K), 3)
                yield _line(name, K, where, predicted, took, tables.n)
    lines = passes.in_files(text)
    for name in ("GaussianNB", "LDA"):
        took = limits.best(lambda name=name: passes.PASSES[name](lines, text.K), 3)
        yield _line(name, text.K, "CSV", machine.over_text(BY_NAME[name], P, text.K, width), took, text.n)
    cost, n = BY_NAME[passes.SPARSE_PASS], max(1000, round(SPARSE_ROWS * share))
    source = passes.sparse_rows(n, WIDE, SPARSE)
    took = limits.best(lambda: passes.expanding(curved=False)(source, 2), 3)
    yield _line(cost.name, 2, "memory", machine.computing(cost, WIDE, 2), took, n)


# ---- 1 TB on 100 workers -----------------------------------------------------------------------------
# Model, columns, classes, bytes of a row group (0: cut as it likes).
ASKED = [
    ("GaussianNB", 100, 2, 0.0),
    ("LDA", 100, 2, 0.0),
    ("LDA", 100, 2, (1 << 20) * 808.0),
    ("QDA", 1000, 10, 0.0),
    ("LogisticRegression, newton", 100, 2, 0.0),
    ("LogisticRegression, newton", 100, 10, 0.0),
    ("LogisticRegression, newton", 1000, 2, 0.0),
    ("LogisticRegression, lbfgs, sparse", WIDE, 2, 0.0),
    ("GaussianMixture, K components", 100, 10, 0.0),
]


def rack(machine: Machine, workers: int = 100, threads: int = 2) -> Cluster:
    return Cluster(workers, threads, min(machine.decode, NETWORK), machine.flops, machine.gather, NETWORK)


def predicted(machine: Machine, workers: int = 100) -> str:
    """A pass, and a fit, of 1 TB."""
    lines = [_predicted_line(BY_NAME[name], *asked, rack(machine, workers)) for name, *asked in ASKED]
    heads = ["model", "p", "K", "rows", "parts", "tasks", "reading", "computing", "scheduler", "merging"]
    return table([*heads, "state", "moved", "a pass", "passes", "a fit"], lines)


def _predicted_line(cost: Cost, p: int, K: int, group: float, machines: Cluster) -> list[str]:
    found: PredictedCost = predicted_cost(cost, p, K, TERABYTE, machines, group)
    seconds = (found.reading, found.computing, found.scheduling, found.merging)
    name = cost.name + (", row groups of 1M rows" if group else "")
    return [
        *(name, f"{p:,}", str(K), f"{found.rows:.1e}", f"{found.parts:,}", f"{found.tasks:,}"),
        *(f"{each:.3g} s" for each in seconds),
        *(sized(found.state), sized(found.moved), f"{found.seconds:.3g} s", str(cost.passes)),
        f"{found.seconds * cost.passes / 60:.3g} min",
    ]


# ---- everything --------------------------------------------------------------------------------------
def parser() -> argparse.ArgumentParser:
    """All options."""
    new = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    new.add_argument("--scale", type=float, default=1.0, help="share of the rows (default: 1)")
    new.add_argument(
        "--into", type=Path, metavar="PAGE", help="put the tables in their places in this page"
    )
    return new


def written(folder: Path, share: float) -> list[Tables]:
    """Parquet of 2 and of 10 classes, and CSV of 2."""
    n, n_text = (max(5000, round(size * share)) for size in (ROWS, TEXT_ROWS))
    made = []
    for number, tables in enumerate((Tables(n), Tables(n, K=10), Tables(n_text, "csv"))):
        place = folder / str(number)
        place.mkdir()
        tables.save(place)
        made.append(replace(tables, folder=str(place)))
    return made


def put(tables: Mapping[str, str], text: str) -> str:
    """A page with each table between the marks of its name."""
    for name, new in tables.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        head, found, rest = text.partition(begin)
        _, ended, tail = rest.partition(end)
        if not (found and ended):
            raise ValueError(f"the page has no place for {name}: it wants {begin!r} and {end!r}")
        text = head + begin + new + end + tail
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables, and put them in their page."""
    options = parser().parse_args(arguments)
    threads = int(os.environ.setdefault("LIKELIER_THREADS", str(len(os.sched_getaffinity(0)))))
    with tempfile.TemporaryDirectory(prefix="scale-", dir=os.environ.get(SCRATCH)) as name:
        *dense, text = written(Path(name), options.scale)
        others = OtherProcesses()
        machine, shown = measured_limits(dense[0], text, threads)
        lines = list(measured_passes(dense, text, machine, options.scale))
        if (busy := others.cores()) > DISTURBED:
            shown += (
                f"\n| cores that other processes took meanwhile: do not trust these figures | {busy:.2f} |"
            )
    heads = ["model", "K", "rows in", "M rows/s allowed", "M rows/s measured", "share"]
    found = {
        "costs": formulas(),
        "limits": shown,
        "passes": table(heads, lines),
        "predicted": predicted(machine),
    }
    for name, each in found.items():
        print(f"## {name}\n\n{each}\n")
    if options.into is not None:
        options.into.write_text(put(found, options.into.read_text()))
    return 0
