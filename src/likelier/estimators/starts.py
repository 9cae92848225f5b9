"""Where EM starts: some memberships of some rows, as scikit-learn chooses them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache, partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, kmeans_plusplus

from likelier.data import CSR, Arrays, Chunk, Dense, Source, refuse_cells
from likelier.engines import run
from likelier.engines.numbering import numbered
from likelier.estimators import door
from likelier.families import Family
from likelier.states import PatternMoments, Sample

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Init = Literal["kmeans", "k-means++", "random", "random_from_data"]
INITS: tuple[str, ...] = get_args(Init)

MOST_ROWS = 20_000  # of a source that is not in memory: its start is chosen from a sample
SMALL = 1 << 20  # cells, times components, that one thread takes less than a millisecond or two for


def rows_for(source: Source) -> Arrays:
    """All rows that have a weight; of a source that is not in memory, or sparse, a sample of them."""
    if not isinstance(source, Arrays) or isinstance(source.X, CSR):
        some = run(numbered(source), partial(Sample, MOST_ROWS)).rows()
        door.weighty(some is not None)
        assert some is not None
        return Arrays(Dense(some.X.to_array()), some.y, some.w, names=source.names)
    if source.w is None or source.w.all():
        return source
    at = np.flatnonzero(source.w)
    door.weighty(len(at))
    chunk = Chunk(source.X, source.y, source.w).take(at)
    return replace(source, X=chunk.X, y=chunk.y, w=chunk.w)


def cells_of(rows: Arrays) -> Floats:
    """X, each cell missing or finite, and not so large that its square is not."""
    X = rows.X.to_array()
    refuse_cells(X, gaps=True)
    large = np.argwhere(np.abs(X) > 1e150)
    if len(large):
        row, column = (int(i) for i in large[0])
        raise ValueError(
            f"Input X contains values so large that their squares overflow: row {row}, column {column} is "
            f"{X[row, column]:g}. Divide such columns."
        )
    return X


def filled(X: Floats) -> Floats:
    """X with the mean of its column for each missing cell: good enough to start from."""
    gone = np.isnan(X)
    if not gone.any():
        return X
    seen = (~gone).sum(axis=0)
    mean = np.where(gone, 0.0, X).sum(axis=0) / np.maximum(seen, 1)
    return np.where(gone, mean, X)


def standardised(X: Floats) -> Floats:
    """Columns of mean 0 and deviation 1; constant ones stay so."""
    sd = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(sd > 0, sd, 1.0))


def check_enough(X: Floats, M: int, whose: str = "") -> None:
    """Refuse more components than there are different rows: some would have none of their own."""
    if len(X) < M:
        raise ValueError(
            f"Expected n_samples >= n_components but got n_components = {M}, n_samples = {len(X)}{whose}"
        )
    kinds: set[bytes] = set()
    for row in X:
        kinds.add((row + 0.0).tobytes())  # -0 is 0
        if len(kinds) >= M:
            return
    raise ValueError(
        f"n_components={M}, and there are only {len(kinds)} different rows{whose}: each component needs "
        f"one of its own. Use n_components={len(kinds)} or fewer."
    )


@cache
def _openmp() -> Any:
    """What sets the threads of k-means; found once, since that takes milliseconds."""
    # Late: it is not needed before a mixture starts.
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="openmp")


def _few_threads(work: int) -> AbstractContextManager[Any]:
    """One thread for little work, which would wait for the others for longer than it takes.

    OpenMP keeps this number for each thread that calls it: other threads do not notice.
    """
    if work > SMALL:
        return nullcontext()
    found: AbstractContextManager[Any] = _openmp().limit(limits=1)
    return found


def clusters(X: Floats, w: Floats | None, M: int, random_state: Any) -> Codes:
    """Labels by k-means."""
    if M == 1:
        return np.zeros(len(X), dtype=np.int32)
    with _few_threads(X.size * M):
        found = KMeans(n_clusters=M, n_init=1, random_state=random_state).fit(X, sample_weight=w)
    return np.asarray(found.labels_, dtype=np.int32)


def _one_row_each(rows: NDArray[Any], n: int) -> Codes:
    codes = np.full(n, -1, dtype=np.int32)
    codes[rows] = np.arange(len(rows))
    return codes


def _codes(init: str, X: Floats, w: Floats | None, M: int, random_state: Any) -> Codes:
    if init == "kmeans":
        return clusters(X, w, M, random_state)
    if init == "k-means++":
        chosen = kmeans_plusplus(X, M, sample_weight=w, random_state=random_state)[1]
    else:
        chosen = random_state.choice(len(X), size=M, replace=False)
    return _one_row_each(chosen, len(X))


def counted(rows: Arrays, codes: Codes, family: Family, M: int) -> Any:
    """Statistics of rows that belong to these components."""
    start = partial(family.stats, M, rows.p)
    if isinstance(start(), PatternMoments):  # which would solve for what is missing, and need not yet
        rows = replace(rows, X=Dense(filled(rows.X.to_array())))
    return run(replace(rows, y=codes, levels=None), start)


def _at_random(rows: Arrays, M: int, random_state: Any) -> Iterator[Chunk]:
    """Random memberships, a chunk at a time and in order: the same numbers as all at once."""
    for chunk in (chunk for part in rows.parts(0) for chunk in part()):
        R = random_state.uniform(size=(chunk.X.shape[0], M))
        yield chunk._replace(y=R / R.sum(axis=1)[:, None])


def started(init: str, rows: Arrays, family: Family, M: int, random_state: Any, *, scaled: bool) -> Any:
    """The statistics that EM starts from; scaled: distances between rows are of standardised columns."""
    if init == "random":
        stats = family.stats(M, rows.p)
        some = (
            replace(rows, X=Dense(filled(rows.X.to_array()))) if isinstance(stats, PatternMoments) else rows
        )
        for chunk in _at_random(some, M, random_state):
            stats.update(chunk)
        return stats
    X = filled(rows.X.to_array())
    if scaled:
        X = standardised(X)
    return counted(rows, _codes(init, X, rows.w, M, random_state), family, M)
