"""Checks of single columns and pairs: dispersion of counts, dependence within classes, normality."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtrc, ndtr

from likelier.array_types import Floats, Indices
from likelier.comparison.assumptions.sample import (
    FEWEST,
    LEVEL,
    Sample,
    anderson_darling,
    chi2,
    f_ratio,
    holm,
    of_anderson_darling,
    of_correlation,
)

# Whether counts vary as the models of counts have it.


SOME_DISPERSION, MUCH_DISPERSION = 1.25, 2.0  # times the variance that the model expects, or that much less
LEAST_MEAN = 0.5  # rows of smaller counts do not follow χ²


@dataclass(frozen=True)
class Dispersion:
    """The variance of counts over what is expected, (K, p); NaN where counts are too small to tell.

    Poisson: s²/m, about χ² over n - 1 (Fisher 1925). Multinomial: the mean of (x - Nq)² / (Nq(1 - q)), N
    the sum of a row and q the column's share in the class.
    """

    index: Floats
    p: Floats  # corrected

    @property
    def departs(self) -> NDArray[np.bool_]:
        return np.asarray((self.p < LEVEL) & (self.off >= np.log(SOME_DISPERSION)))

    @property
    def far(self) -> NDArray[np.bool_]:
        return np.asarray(self.departs & (self.off >= np.log(MUCH_DISPERSION)))

    @property
    def off(self) -> Floats:
        """|ln index|, 0 where there is none."""
        return np.abs(np.log(np.maximum(np.nan_to_num(self.index, nan=1.0), 1e-300)))


def are_counts(sample: Sample) -> bool:
    """Whether all numbers are whole, from 0 on."""
    there = sample.X[~np.isnan(sample.X)]
    return bool(len(there)) and bool((there >= 0).all()) and bool((there == np.floor(there)).all())


def dispersions_of(sample: Sample) -> tuple[Dispersion, Dispersion] | None:
    """As Poisson counts, and as multinomial ones; None where columns are no counts."""
    if not are_counts(sample):
        return None
    K, p = len(sample.members), len(sample.names)
    poisson, multinomial = np.full((2, K, p), np.nan), np.full((2, K, p), np.nan)
    for k, rows in enumerate(sample.members):
        X = sample.X[rows]
        for j, x in enumerate(X.T):
            there = x[~np.isnan(x)]
            if len(there) >= FEWEST and there.mean() >= LEAST_MEAN:
                poisson[:, k, j] = _against(((there - there.mean()) ** 2 / there.mean()).sum(), len(there))
        multinomial[:, k] = _multinomial(X[~np.isnan(X).any(axis=1)])
    return Dispersion(poisson[0], holm(poisson[1])), Dispersion(multinomial[0], holm(multinomial[1]))


def _against(statistic: float, n: int) -> tuple[float, float]:
    """Over its degrees of freedom, and both-sided."""
    p = 2 * min(chdtr(n - 1, statistic), chdtrc(n - 1, statistic))
    return float(statistic) / (n - 1), float(min(p, 1.0))


def _multinomial(X: Floats) -> Floats:
    """(2, p) index and p-value of each column, given the sums of rows."""
    N = X.sum(axis=1)
    X, N = X[N > 0], N[N > 0]
    found = np.full((2, X.shape[1]), np.nan)
    if len(X) < FEWEST:
        return found
    q = X.sum(axis=0) / N.sum()
    for j in np.flatnonzero((q < 1) & (q * N.mean() >= LEAST_MEAN)):
        expected = N * q[j]
        found[:, j] = _against(((X[:, j] - expected) ** 2 / (expected * (1 - q[j]))).sum(), len(X))
    return found


# Whether columns depend on each other within classes.


SOME_DEPENDENCE, STRONG = 0.2, 0.5  # of the strength: below, it does not matter; from there on, it does


class Pair(NamedTuple):
    """Two columns in one class. figure: r, Cramér's V or η, as it was found."""

    one: str
    other: str
    group: str
    measure: Literal["r", "V", "η"]
    figure: float
    strength: float  # from 0 to 1, less what chance adds
    p: float  # corrected for all pairs and classes


@dataclass(frozen=True)
class Pairs:
    """Every pair of columns in every class: columns of numbers come first, then those of categories.

    Two of numbers by their correlation r; two of categories by Cramér's V (1946); a number and a category
    by the correlation ratio η, the share of its deviation that lies between categories (Fisher 1925).
    `squares` are r², V² and η² less what independent columns have on average (Ezekiel 1930, Bergsma 2013).
    """

    names: tuple[str, ...]  # of all columns
    groups: tuple[str, ...]
    numbers: int  # how many columns are of numbers
    one: Indices  # (m,)
    other: Indices  # (m,), larger
    group: Indices  # (m,)
    figure: Floats  # (m,)
    squares: Floats  # (m,)
    p: Floats  # (m,) corrected
    sphericity: Floats  # (K,) p-values of no correlation (Bartlett 1951), corrected; NaN: few rows

    @property
    def strength(self) -> Floats:
        return np.sqrt(np.maximum(self.squares, 0.0))

    @property
    def of_numbers(self) -> NDArray[np.bool_]:
        """(m,) pairs of two columns of numbers."""
        return self.other < self.numbers

    def among(self, numbers_only: bool) -> "Pairs":
        """Of columns of numbers alone, or all."""
        if not numbers_only:
            return self
        held = self.of_numbers
        return replace(
            self,
            names=self.names[: self.numbers],
            one=self.one[held],
            other=self.other[held],
            group=self.group[held],
            figure=self.figure[held],
            squares=self.squares[held],
            p=self.p[held],
        )

    @property
    def overall(self) -> float:
        """The root mean square of the strength, in the class where it is largest."""
        means = [self.squares[self.group == k].mean() for k in np.unique(self.group)]
        return float(np.sqrt(max([0.0, *means])))

    @property
    def touched(self) -> NDArray[np.bool_]:
        """Of each column whether it depends strongly on another in some class."""
        strong = (self.p < LEVEL) & (self.strength >= STRONG)
        found = np.zeros(len(self.names), dtype=np.bool_)
        found[self.one[strong]] = found[self.other[strong]] = True
        return found

    def strongest(self, most: int = 1) -> list[Pair]:
        """Those that are more than chance, the strongest first; each in the class where it is strongest."""
        seen: dict[tuple[int, int], Pair] = {}
        for i in np.argsort(-self.strength, kind="stable"):
            key = int(self.one[i]), int(self.other[i])
            if len(seen) == most:
                break
            if self.p[i] < LEVEL and self.strength[i] >= SOME_DEPENDENCE and key not in seen:
                seen[key] = self._pair(i)
        return list(seen.values())

    def _pair(self, i: np.intp) -> Pair:
        a, b = int(self.one[i]), int(self.other[i])
        measure: Literal["r", "V", "η"] = "r" if b < self.numbers else "V" if a >= self.numbers else "η"
        return Pair(
            self.names[a],
            self.names[b],
            self.groups[self.group[i]],
            measure,
            float(self.figure[i]),
            float(self.strength[i]),
            float(self.p[i]),
        )


class _Association(NamedTuple):
    one: int
    other: int
    figure: float
    square: float
    p: float


def pairs_of(sample: Sample) -> Pairs:
    """Of all columns, in each class."""
    p, K = len(sample.names), len(sample.members)
    first, second = np.triu_indices(p, 1)
    blocks, sphericity = [], np.full(K, np.nan)
    for k, rows in enumerate(sample.members):
        R, n = correlations(sample.Z[rows])
        still = ~_varying(sample.Z[rows])
        R[still], R[:, still] = np.nan, np.nan
        r, often = R[first, second], n[first, second]
        square = r**2 - (1 - r**2) / np.maximum(often - 2, 1)
        mixed = [*_ratios(sample, rows), *_contingencies(sample, rows)]
        theirs = np.array(mixed, dtype=np.float64).reshape(-1, 5)
        ours = np.column_stack([first, second, r, square, of_correlation(r, often)])
        block = np.vstack([ours[often >= FEWEST], theirs])
        block = block[~np.isnan(block[:, 4])]
        blocks.append(np.column_stack([block, np.full(len(block), k)]))
        if (n == len(rows)).all():  # of gaps R need not be a correlation matrix
            sphericity[k] = bartlett(R, len(rows))
    one, other, figure, squares, chance, group = np.vstack(blocks).T if blocks else np.empty((6, 0))
    return Pairs(
        sample.names + sample.categories,
        sample.groups,
        p,
        one.astype(np.intp),
        other.astype(np.intp),
        group.astype(np.intp),
        figure,
        squares,
        holm(chance),
        holm(sphericity),
    )


def correlations(X: Floats) -> tuple[Floats, Floats]:
    """(p, p) r of each pair of columns, of the rows where both are; and how many those are."""
    M = (~np.isnan(X)).astype(np.float64)
    X = np.nan_to_num(X)
    X = (X - X.sum(axis=0) / np.maximum(M.sum(axis=0), 1)) * M
    n = M.T @ M
    often = np.maximum(n, 1)
    sums, squares = X.T @ M, (X**2).T @ M
    spread = squares - sums**2 / often  # (p, p): of the first column, in rows where the second is
    products = X.T @ X - sums * sums.T / often
    scale = np.sqrt(np.maximum(spread * spread.T, 0.0))
    constant = (spread <= 1e-12 * squares) | (spread.T <= 1e-12 * squares.T)
    R = np.where(constant, np.nan, products / np.where(constant, 1.0, scale))
    return np.clip(R, -1.0, 1.0), n


def _varying(X: Floats) -> NDArray[np.bool_]:
    """(p,) columns of which 8 rows or more differ from the commonest value: fewer make any correlation."""
    found = np.zeros(X.shape[1], dtype=np.bool_)
    for j, x in enumerate(X.T):
        x = x[~np.isnan(x)]
        found[j] = len(x) >= FEWEST and (x != np.sort(x)[len(x) // 2]).sum() >= FEWEST
    return found


def bartlett(R: Floats, n: int) -> float:
    """The p-value of Σ diagonal: -(n - 1 - (2p + 5)/6) ln |R| is about χ² of p(p - 1)/2 (Bartlett 1951)."""
    p = len(R)
    if p < 2 or n <= p + 1 or np.isnan(R).any():
        return np.nan
    sign, log = np.linalg.slogdet(R)
    return chi2(-(n - 1 - (2 * p + 5) / 6) * log, p * (p - 1) / 2) if sign > 0 else 0.0


def _ratios(sample: Sample, rows: Indices) -> Iterator[_Association]:
    p = len(sample.names)
    for c in range(len(sample.categories)):
        codes = sample.codes[rows, c]
        for j in range(p):
            x = sample.Z[rows, j]
            there = (codes >= 0) & ~np.isnan(x)
            if there.sum() >= FEWEST:
                figure, square, chance = correlation_ratio(x[there], merged(codes[there]))
                yield _Association(j, p + c, figure, square, chance)


def _contingencies(sample: Sample, rows: Indices) -> Iterator[_Association]:
    p = len(sample.names)
    for a, b in combinations(range(len(sample.categories)), 2):
        one, other = sample.codes[rows, a], sample.codes[rows, b]
        there = (one >= 0) & (other >= 0)
        if there.sum() >= FEWEST:
            yield _Association(p + a, p + b, *cramer(merged(one[there]), merged(other[there])))


def merged(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Categories rarer than √(5n) as one: of two columns each cell then expects 5 rows (Cochran 1954)."""
    counts = np.bincount(codes)
    rare = counts < np.sqrt(5 * len(codes))
    if counts[rare].sum() < np.sqrt(5 * len(codes)) and not rare.all():
        rare[np.where(rare, len(codes) + 1, counts).argmin()] = True  # too few even as one
    number = np.where(rare, 0, np.cumsum(~rare))
    return np.asarray(np.unique(number[codes], return_inverse=True)[1])


def correlation_ratio(x: Floats, codes: NDArray[np.int64]) -> tuple[float, float, float]:
    """η, η² less what chance adds, and the p-value of one mean (analysis of variance)."""
    n, counts = len(x), np.bincount(codes)
    L = len(counts)
    centred = x - x.mean()
    whole = float((centred**2).sum())
    means = np.bincount(codes, centred) / counts
    between = float((counts * means**2).sum())
    if L < 2 or n <= L or whole <= 1e-12 * float((x**2).sum()):
        return np.nan, np.nan, np.nan
    square = between / whole
    left = max(whole - between, 0.0)
    F = between / (L - 1) / (left / (n - L)) if left > 0 else np.inf
    return float(np.sqrt(square)), 1 - (1 - square) * (n - 1) / (n - L), f_ratio(F, L - 1, n - L)


def cramer(one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[float, float, float]:
    """V, V² less what chance adds (Bergsma 2013), and the p-value of independence (Pearson's χ²)."""
    r, c, n = int(one.max()) + 1, int(other.max()) + 1, len(one)
    if min(r, c) < 2:
        return np.nan, np.nan, np.nan
    table = np.bincount(one * c + other, minlength=r * c).reshape(r, c)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    statistic, df = float(((table - expected) ** 2 / expected).sum()), (r - 1) * (c - 1)
    sides = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    square = (statistic / n - df / (n - 1)) / sides
    return float(np.sqrt(statistic / n / (min(r, c) - 1))), square, chi2(statistic, df)


# Whether the numbers of a column are Gaussian in each class, and how far from it they are.


MILD, FAR = 0.03, 0.08  # of the distance from a Gaussian: below, it does not matter; from there on, it does
CHANCE = 0.62  # √n times the distance that Gaussian rows have on average
FEW_VALUES = 10  # different ones, at most, are a scale more than a measurement
MOST_COMMON = 0.5  # the share of rows from which one value is the column


@dataclass(frozen=True)
class Shapes:
    """Of each class and column of numbers, (K, p); NaN where fewer than 8 cells are there.

    distance: sup |F_n(t) - Φ((t - m)/s)| (Kolmogorov 1933), less 0.62/√n, which Gaussian rows have on
    average: by so much a share of rows that a Gaussian expects is wrong. p: of the test of Anderson and
    Darling (1954) for a Gaussian of any mean and deviation, corrected for all columns and classes.
    """

    n: NDArray[np.int64]
    mean: Floats
    deviation: Floats
    skewness: Floats  # g₁ = m₃ / m₂^(3/2)
    kurtosis: Floats  # g₂ = m₄ / m₂² - 3
    distance: Floats
    p: Floats
    values: NDArray[np.int64]  # (p,) different ones
    commonest: Floats  # (p,) the share of cells that are the commonest value
    common: Floats  # (p,) that value

    @property
    def departs(self) -> NDArray[np.bool_]:
        """(K, p) that are not Gaussian, by more than could be chance and than would not matter."""
        constant = self.deviation == 0
        return np.asarray(((self.p < LEVEL) & (self.distance >= MILD)) | constant)

    @property
    def far(self) -> NDArray[np.bool_]:
        """(K, p) that are far from Gaussian."""
        return np.asarray(self.departs & ~(self.distance < FAR))

    @property
    def checked(self) -> NDArray[np.bool_]:
        return self.n >= FEWEST


def shapes_of(sample: Sample) -> Shapes:
    """Of all classes and columns of numbers."""
    K, p = len(sample.members), len(sample.names)
    found, units = np.full((4, K, p), np.nan), np.full((2, K, p), np.nan)
    n = np.zeros((K, p), dtype=np.int64)
    for k, rows in enumerate(sample.members):
        for j, (x, z) in enumerate(zip(sample.X[rows].T, sample.Z[rows].T, strict=True)):
            there = ~np.isnan(x)
            n[k, j] = there.sum()
            if n[k, j] >= FEWEST:
                found[:, k, j] = gaussian(z[there])
                with np.errstate(over="ignore"):
                    units[:, k, j] = _moments(x[there])
    skewness, kurtosis, distance, chance = found
    mean, deviation = units
    return Shapes(n, mean, deviation, skewness, kurtosis, distance, holm(chance), *_ties(sample.X))


def _moments(x: Floats) -> tuple[float, float]:
    """Mean and deviation, exactly 0 of a constant."""
    return float(x.mean()), 0.0 if (x == x[0]).all() else float(x.std(ddof=1))


def gaussian(x: Floats) -> tuple[float, float, float, float]:
    """Skewness, kurtosis, the distance from a Gaussian, and the p-value of being one; NaN of a constant."""
    n = len(x)
    centred = x - x.mean()
    squares = centred * centred
    m2 = float(squares.mean())
    if m2 == 0 or (x == x[0]).all():
        return np.nan, np.nan, np.nan, np.nan
    z = np.sort(centred) / np.sqrt(m2 * n / (n - 1))
    steps, expected = np.arange(n + 1) / n, ndtr(z)
    distance = max((steps[1:] - expected).max(), (expected - steps[:-1]).max())
    return (
        float((squares * centred).mean() / m2**1.5),
        float((squares * squares).mean() / m2**2 - 3),
        max(float(distance) - CHANCE / np.sqrt(n), 0.0),
        of_anderson_darling(anderson_darling(z), n),
    )


def _ties(X: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
    """(p,) how many different values there are; the share of the commonest; and which that is."""
    values, share, common = np.zeros(X.shape[1], dtype=np.int64), np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for j, column in enumerate(X.T):
        different, often = np.unique(column[~np.isnan(column)], return_counts=True)
        values[j] = len(different)
        share[j], common[j] = often.max() / often.sum(), different[often.argmax()]
    return values, share, common
