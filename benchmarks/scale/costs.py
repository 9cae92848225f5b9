"""The cost model: what a row and a pass cost, as formulas in p columns and K classes.

A pass reads bytes, computes with them, and moves states; everything else is small. Each formula is that of
docs/scaling.md, and each `state` is what the state of that model says of itself (a test compares them).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log

NUMBER = 8  # bytes
INDEX = 4  # of a cell that is stored because it is not 0
PART = 8 << 20  # bytes of rows in a part, at least
EXP = 10  # multiplications that an exponential is worth

Size = Callable[[int, int], float]


@dataclass(frozen=True)
class Cost:
    """Of a model with p columns and K classes or components; cells: stored of a row, all p by default."""

    name: str
    flops: Size  # for a row, in a pass
    state: Size  # bytes
    passes: int  # over X, of a fit
    cells: int | None = None

    def row(self, p: int) -> float:
        """Bytes of a row, with its label, as they are in memory."""
        return NUMBER + (NUMBER * p if self.cells is None else (NUMBER + INDEX) * self.cells)

    def gathers(self, K: int) -> float:
        """Weights of a row that are looked up, and slopes that are added, at places far apart."""
        return 0 if self.cells is None else 2 * weights(K) * self.cells

    def part(self, p: int, K: int) -> float:
        """Bytes of a part: enough that its state is worth merging."""
        return max(PART, 4 * self.state(p, K))


def newton(p: int, K: int) -> float:
    """Scores, gradient, and the Hessian's q(q + 1)/2 blocks, of which a triangle each is computed."""
    q = weights(K)
    return q * (q + 1) / 2 * p**2 + 4 * q * p + EXP * q


def weights(K: int) -> int:
    """Rows of weights: one tells two classes apart."""
    return 1 if K == 2 else K


def expansion(p: int, K: int, *, curved: bool) -> float:
    """Loss, gradient and Hessian of m = q(p + 1) weights."""
    m = weights(K) * (p + 1)
    return NUMBER * (1 + m + (m**2 if curved else 0))


def gradient(cells: int, K: int) -> float:
    """Scores and gradient: two multiplications and two additions for each cell and row of weights."""
    q = weights(K)
    return 4 * q * cells + EXP * q


SPARSE = 100  # cells of a sparse row that are not 0

COSTS = [
    Cost("GaussianNB", lambda p, K: 4 * p, lambda p, K: NUMBER * (K + 3 * K * p), 1),
    Cost("LDA", lambda p, K: p**2 + 3 * p, lambda p, K: NUMBER * (K + K * p + p**2), 1),
    Cost("QDA", lambda p, K: p**2 + 3 * p, lambda p, K: NUMBER * (K + K * p + K * p**2), 1),
    Cost("LogisticRegression, newton", newton, lambda p, K: expansion(p, K, curved=True), 4),
    Cost("LogisticRegression, lbfgs", gradient, lambda p, K: expansion(p, K, curved=False), 5),
    Cost(
        "LogisticRegression, lbfgs, sparse",
        lambda p, K: gradient(SPARSE, K),
        lambda p, K: expansion(p, K, curved=False),
        37,
        cells=SPARSE,
    ),
    Cost(
        "GaussianMixture, K components",
        lambda p, K: 2 * K * p**2 + EXP * K,
        lambda p, K: NUMBER * (K + K * p + K * p**2),
        30,
    ),
]
BY_NAME = {cost.name: cost for cost in COSTS}


# ---- one machine -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Machine:
    """What all its threads can do together, by the second."""

    memory: float  # bytes read
    flops: float
    gather: float  # numbers from places far apart
    decode: float  # bytes of numbers from Parquet, in the page cache
    text: float  # bytes of CSV

    def computing(self, cost: Cost, p: int, K: int) -> float:
        """Seconds for a row that is in memory: bound by reading it, multiplying, or looking weights up."""
        return max(cost.row(p) / self.memory, cost.flops(p, K) / self.flops, cost.gathers(K) / self.gather)

    def over_parquet(self, cost: Cost, p: int, K: int) -> float:
        """A thread decodes a batch and absorbs it while it is in the cache: one after the other."""
        return cost.row(p) / self.decode + cost.flops(p, K) / self.flops

    def over_text(self, cost: Cost, p: int, K: int, width: float) -> float:
        """width: bytes of a line."""
        return width / self.text + cost.flops(p, K) / self.flops


# ---- many machines -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Cluster:
    """Workers of some threads; what each worker can do by the second."""

    workers: int
    threads: int
    read: float  # bytes of numbers, fetched and decoded
    flops: float
    gather: float
    network: float  # bytes
    latency: float = 1e-3  # seconds, of a message and what it sets off
    task: float = 1e-3  # seconds of the scheduler's, for each task


@dataclass(frozen=True)
class PredictedCost:
    """A pass on a cluster: seconds by what they go to, and sizes."""

    rows: float
    parts: int
    tasks: int
    reading: float
    computing: float
    scheduling: float
    merging: float
    state: float
    moved: float  # bytes of states

    @property
    def seconds(self) -> float:
        """The scheduler works beside the workers; what is merged last, is merged alone."""
        return max(self.reading + self.computing, self.scheduling) + self.merging


def predicted_cost(
    cost: Cost, p: int, K: int, total: float, cluster: Cluster, group: float = 0
) -> PredictedCost:
    """A pass over so many bytes of rows; group: bytes of a row group, which is not cut."""
    from likelier.engines.dask import MERGED, run_length

    n, state = total / cost.row(p), cost.state(p, K)
    parts = max(1, ceil(total / max(cost.part(p, K), group)))
    threads = cluster.workers * cluster.threads
    leaves = ceil(parts / run_length(parts, threads))
    merges = ceil((leaves - 1) / (MERGED - 1))
    moved = (leaves + merges - 1) * state if merges else 0.0
    uneven = ceil(leaves / threads) * threads / leaves  # the last tasks do not fill all threads
    reading = total / (cluster.workers * cluster.read)
    row = max(cost.flops(p, K) / cluster.flops, cost.gathers(K) / cluster.gather)
    computing = n * row / cluster.workers
    depth = ceil(log(leaves, MERGED))
    return PredictedCost(
        rows=n,
        parts=parts,
        tasks=leaves + merges,
        reading=reading * uneven,
        computing=computing * uneven,
        scheduling=(leaves + merges) * cluster.task,
        merging=depth * (MERGED * state / cluster.network + cluster.latency)
        + moved / (cluster.workers * cluster.network),
        state=state,
        moved=moved,
    )
