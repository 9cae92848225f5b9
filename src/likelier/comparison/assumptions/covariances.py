"""Whether classes have one covariance, and whether columns are Gaussian together."""

from dataclasses import dataclass, replace

import numpy as np

from likelier.array_types import Floats
from likelier.comparison.assumptions.sample import LEVEL, Sample, chi2, holm, normal

SOME, MUCH = 0.05, 0.2  # nats a row that one covariance costs
FEWEST = 50  # rows of a class, from which Mardia's kurtosis has about its limiting distribution
MOST_PAIRED = 1000  # rows of a class, of which all pairs are looked at
LIGHT, HEAVY = 0.1, 0.3  # of the kurtosis, less and more than a Gaussian's
LOPSIDED = 0.5  # the skewness of a column, on average


@dataclass(frozen=True)
class CovarianceSpread:
    """The covariances of classes, side by side.

    box: M = (N - K) ln |S| - Σ (n_k - 1) ln |S_k| (Box 1949), p by χ². nats: ½ (M - its mean for equal
    covariances)/(N - K), what one covariance for all costs a row on average, as a divergence: unlike p it
    does not grow with the rows.
    """

    box: float
    p: float
    nats: float
    ratio: float  # the largest, of a column's deviations in two classes
    column: str
    wide: str  # the class where it is wider
    narrow: str

    @property
    def differs(self) -> bool:
        return self.p < LEVEL and self.nats >= SOME

    @property
    def far(self) -> bool:
        return self.differs and self.nats >= MUCH


@dataclass(frozen=True)
class JointNormality:
    """One class: Mardia's skewness and kurtosis (1970), of all columns at once; n complete rows.

    heavy: the kurtosis over a Gaussian's. lopsided: √(skewness / p) less what chance adds: of independent
    columns the root mean square of their skewness.
    """

    group: str
    n: int
    skewness: float
    kurtosis: float
    heavy: float
    lopsided: float
    p: float  # of both, corrected for all classes

    @property
    def departs(self) -> bool:
        return self.p < LEVEL and (abs(self.heavy - 1) >= LIGHT or self.lopsided >= LOPSIDED)

    @property
    def far(self) -> bool:
        return self.departs and (abs(self.heavy - 1) >= HEAVY or self.lopsided >= 2 * LOPSIDED)


def complete(sample: Sample) -> list[Floats]:
    """The rows of each class that have no gap."""
    there = np.isfinite(sample.Z.sum(axis=1))
    return [sample.Z[rows[there[rows]]] for rows in sample.members]


def covariance_spread_of(sample: Sample) -> CovarianceSpread | str:
    """The covariances of classes; or why they cannot be compared."""
    p, blocks = len(sample.names), complete(sample)
    if not p or len(blocks) < 2:
        return "there are no columns of numbers" if not p else "fewer than two classes have rows enough"
    few = min(range(len(blocks)), key=lambda k: len(blocks[k]))
    if len(blocks[few]) < p + 2:
        rows = f"{len(blocks[few])} complete row{'' if len(blocks[few]) == 1 else 's'}"
        return f"class {sample.groups[few]} has {rows} for the covariance of {p} columns"
    box = box_m(blocks)
    if box is None:
        return "some columns are constant in a class, or follow exactly from others"
    M, df, c, N = box
    deviations = np.array([block.std(axis=0, ddof=1) for block in blocks])  # (K, p)
    ratios = deviations.max(axis=0) / deviations.min(axis=0)
    j = int(ratios.argmax())
    statistic = (1 - c) * M
    return CovarianceSpread(
        M,
        chi2(statistic, df),
        max(0.5 * (statistic - df) / (N - len(blocks)), 0.0),
        float(ratios[j]),
        sample.names[j],
        sample.groups[int(deviations[:, j].argmax())],
        sample.groups[int(deviations[:, j].argmin())],
    )


def box_m(blocks: list[Floats]) -> tuple[float, float, float, int] | None:
    """M, its degrees of freedom, its correction c, and the rows; None where a covariance is singular."""
    p, K = blocks[0].shape[1], len(blocks)
    free = np.array([len(block) - 1 for block in blocks])
    covariances = [np.atleast_2d(np.cov(block.T)) for block in blocks]
    pooled = sum(f * S for f, S in zip(free, covariances, strict=True)) / free.sum()
    logs = [_log_det(S) for S in (*covariances, pooled)]
    if not np.isfinite(logs).all():
        return None
    M = float(free.sum() * logs[-1] - free @ logs[:-1])
    c = (2 * p**2 + 3 * p - 1) / (6 * (p + 1) * (K - 1)) * ((1 / free).sum() - 1 / free.sum())
    return M, p * (p + 1) * (K - 1) / 2, float(c), int(free.sum()) + K


def _log_det(S: Floats) -> float:
    """ln |S|, -inf where it is singular in floating point."""
    d = np.sqrt(np.diagonal(S))
    if not (d > 0).all():
        return -np.inf
    values = np.linalg.eigvalsh(S / np.outer(d, d))
    return float(np.log(values).sum() + 2 * np.log(d).sum()) if values[0] > 1e-12 else -np.inf


def joint_of(sample: Sample) -> tuple[JointNormality, ...]:
    """Of each class that has rows enough."""
    p, found = len(sample.names), zip(sample.groups, complete(sample), strict=True)
    told = [
        mardia(group, block) for group, block in found if p > 1 and len(block) >= max(FEWEST, 2 * p + 2)
    ]
    held = [each for each in told if each is not None]
    p_values = holm(np.array([each.p for each in held]))
    return tuple(replace(each, p=float(chance)) for each, chance in zip(held, p_values, strict=True))


def mardia(group: str, X: Floats) -> JointNormality | None:
    """Skewness of at most 1000 rows, for all pairs of them; kurtosis of all."""
    n, p = X.shape
    whitened = _whitened(X)
    if whitened is None:
        return None
    kurtosis = float(((whitened**2).sum(axis=1) ** 2).mean())
    mean = p * (p + 2) * (n - 1) / (n + 1)  # Mardia 1974: exact for Gaussian rows, as is the variance
    variance = 8 * p * (p + 2) * (n - 3) * (n - p - 1) * (n - p + 1) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    far_out = normal((kurtosis - mean) / np.sqrt(variance))
    few = whitened if n <= MOST_PAIRED else _whitened(X[np.linspace(0, n - 1, MOST_PAIRED).astype(int)])
    if few is None:
        return None
    m = len(few)
    G = few @ few.T
    skewness = float((G * G * G).mean())
    small = (p + 1) * (m + 1) * (m + 3) / (m * ((m + 1) * (p + 1) - 6))
    chance = chi2(small * m * skewness / 6, p * (p + 1) * (p + 2) / 6)
    expected = p * (p + 1) * (p + 2) / m / small
    lopsided = float(np.sqrt(max(skewness - expected, 0.0) / p))
    return JointNormality(
        group, n, skewness, kurtosis, kurtosis / mean, lopsided, min(2 * min(far_out, chance), 1.0)
    )


def _whitened(X: Floats) -> Floats | None:
    """Rows of covariance I (of divisor n); None where it is singular."""
    centred = X - X.mean(axis=0)
    d = np.sqrt((centred**2).mean(axis=0))
    if not (d > 0).all():
        return None
    centred = centred / d
    values, vectors = np.linalg.eigh(centred.T @ centred / len(X))
    return centred @ vectors / np.sqrt(values) if values[0] > 1e-12 else None
