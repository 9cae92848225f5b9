"""Where EM starts, and covariances of four shapes as scikit-learn has them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache, partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.cluster import KMeans, kmeans_plusplus

from likelier.array_types import Floats
from likelier.data import CSR, Arrays, Chunk, Dense, Source, refuse_cells
from likelier.engines import run
from likelier.engines.run import numbered
from likelier.estimators import validation
from likelier.families import Diagonal, Family, Full, Tied
from likelier.model import Bayes
from likelier.states import PatternMoments, RowSample

# Covariances of four shapes as scikit-learn shows them, and as users hand them in.

Gaussians = Full | Tied | Diagonal

# reg_covar acts where a variance is not this much above it: elsewhere it takes some 1e-6 off ln p(x).
NEAR = 1e3


def no_variance(reg_covar: float) -> str:
    """What is said of a component that has collapsed."""
    return (
        f"the covariance of a component is (nearly) singular and was held up by reg_covar={reg_covar:g}. "
        "It has collapsed onto a few rows, or columns are constant or depend on each other. Use "
        "fewer components, more starts (n_init), another covariance_type, or a larger reg_covar."
    )


def covariances(params: Any, shape: str) -> Floats:
    """(M, p, p), tied (p, p), diag (M, p), spherical (M,)."""
    if isinstance(params, Diagonal):
        return params.var[:, 0].copy() if shape == "spherical" else params.var
    cov: Floats = params.cov
    return cov


def outside(model: Bayes, values: Floats, power: int) -> Floats:
    """Powers of the columns as users count them, where all columns are in one unit."""
    if model.units is None:
        return values
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(values, power * int(model.units[0]))


def root_precisions(cov: Floats, shape: str) -> Floats:
    """Upper triangular L⁻ᵀ with Σ = LLᵀ; of variances 1/√v."""
    if shape in ("diag", "spherical"):
        return np.asarray(1 / np.sqrt(cov))
    try:
        each = [
            solve_triangular(np.linalg.cholesky(S), np.eye(len(S)), lower=True).T
            for S in cov.reshape(-1, *cov.shape[-2:])
        ]
    except np.linalg.LinAlgError:
        raise ValueError(
            "Fitting the mixture model failed because some components have ill-defined empirical "
            "covariance (for instance caused by singleton or collapsed samples). Try to decrease the "
            "number of components, increase reg_covar, or scale the input data."
        ) from None
    return np.stack(each).reshape(cov.shape)


def precisions(roots: Floats, shape: str) -> Floats:
    """Σ⁻¹ from its roots."""
    if shape in ("diag", "spherical"):
        return np.asarray(roots**2)
    return np.asarray(roots @ np.swapaxes(roots, -1, -2))


def free_parameters(shape: str, M: int, p: int) -> int:
    """Of covariances, means and weights."""
    cov = {"full": M * p * (p + 1) // 2, "tied": p * (p + 1) // 2, "diag": M * p, "spherical": M}
    return cov[shape] + M * p + M - 1


# ---- in ------------------------------------------------------------------------------------------
def _checked(name: str, given: Any, size: tuple[int, ...]) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if values.shape != size:
        raise ValueError(f"The parameter '{name}' should have the shape of {size}, but got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"The parameter '{name}' contains NaN or infinity.")
    return values


def weights_of(given: Any, M: int) -> Floats:
    """Weights of components: not negative, their sum 1."""
    weights = _checked("weights", given, (M,))
    if (weights < 0).any() or (weights > 1).any():
        raise ValueError(
            "The parameter 'weights' should be in the range [0, 1], but got max value "
            f"{weights.max():.5f}, min value {weights.min():.5f}"
        )
    if abs(1 - weights.sum()) > 1e-8:
        raise ValueError(
            f"The parameter 'weights' should be normalized, but got sum(weights) = {weights.sum():.5f}"
        )
    return weights


def means_of(given: Any, M: int, p: int) -> Floats:
    """Means of components."""
    return _checked("means", given, (M, p))


def covariances_of(given: Any, shape: str, M: int, p: int) -> Floats:
    """Covariances from the precisions that a user hands in."""
    sizes = {"full": (M, p, p), "tied": (p, p), "diag": (M, p), "spherical": (M,)}
    values = _checked(f"{shape} precision", given, sizes[shape])
    if shape in ("diag", "spherical"):
        if (values <= 0).any():
            raise ValueError(f"'{shape} precision' should be positive")
        return np.asarray(1 / values)
    for one in values.reshape(-1, p, p):
        if not np.allclose(one, one.T) or not (np.linalg.eigvalsh(one) > 0).all():
            raise ValueError(f"'{shape} precision' should be symmetric, positive-definite")
    inverse = np.linalg.inv(values)
    return np.asarray((inverse + np.swapaxes(inverse, -1, -2)) / 2)


def gaussians(mean: Floats, cov: Floats, shape: str) -> Gaussians:
    """Parameters from means and covariances of a shape."""
    match shape:
        case "full":
            return Full.of(mean, cov)
        case "tied":
            return Tied(mean, cov)
        case "spherical":
            return Diagonal(mean, np.repeat(cov[:, None], mean.shape[1], axis=1))
    return Diagonal(mean, cov)


# Where EM starts: some memberships of some rows, as scikit-learn chooses them.

Codes = NDArray[np.int32]
Init = Literal["kmeans", "k-means++", "random", "random_from_data"]
INITS: tuple[str, ...] = get_args(Init)

MOST_ROWS = 20_000  # of a source that is not in memory: its start is chosen from a sample
SMALL = 1 << 20  # cells, times components, that one thread takes less than a millisecond or two for


def rows_for(source: Source) -> Arrays:
    """All rows that have a weight; of a source that is not in memory, or sparse, a sample of them."""
    if not isinstance(source, Arrays) or isinstance(source.X, CSR):
        some = run(numbered(source), partial(RowSample, MOST_ROWS)).rows()
        validation.weighty(some is not None)
        assert some is not None
        return Arrays(Dense(some.X.to_array()), some.y, some.w, names=source.names)
    if source.w is None or source.w.all():
        return source
    at = np.flatnonzero(source.w)
    validation.weighty(len(at))
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
    # Imported late, as it is not needed before a mixture starts.
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
