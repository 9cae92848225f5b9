"""Errors that hold where rows of one cluster (a patient, a school, a firm) depend on each other."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats, row_weights
from likelier.data import Chunk
from likelier.states import Setting


@dataclass(frozen=True)
class Clusters:
    """The cluster of each row of a table in memory."""

    codes: NDArray[np.intp]  # (n,)
    count: int

    @classmethod
    def of(cls, groups: Any, n: int) -> Self:
        """From labels of any type; one for each row, none of them missing."""
        given = np.asarray(groups)
        if given.ndim != 1 or len(given) != n:
            raise ValueError(
                f"groups must hold the cluster of each of the {n} rows of X; got shape {given.shape}."
            )
        places: dict[Any, int] = {}
        for row, name in enumerate(values := given.tolist()):
            if _missing(name):
                raise ValueError(
                    f"groups contains a missing value in row {row}: drop such rows, or name them."
                )
            places.setdefault(name, len(places))
        return cls(np.fromiter(map(places.__getitem__, values), np.intp, n), len(places))

    def rows(self, chunk: Chunk) -> NDArray[np.intp]:
        """Those of a chunk."""
        return self.codes[chunk.first : chunk.first + chunk.X.shape[0]]


def _missing(name: Any) -> bool:
    return name is None or type(name).__name__ in ("NAType", "NaTType") or name != name


@dataclass
class ClusterSums:
    """The sum of what each cluster's rows have, and their weight: a state."""

    clusters: Clusters
    sums: Floats  # (G, m)
    n: Floats  # (G,)

    @property
    def nbytes(self) -> int:
        return self.sums.nbytes

    def add(self, chunk: Chunk, rows: Floats) -> None:
        """Rows (n, m) that have been multiplied by their weights."""
        codes, w = self.clusters.rows(chunk), row_weights(chunk.w, len(rows))
        order = np.argsort(codes, kind="stable")
        first = np.flatnonzero(np.diff(codes[order], prepend=-1))
        self.sums[codes[order[first]]] += np.add.reduceat(rows[order], first, axis=0)
        self.n += np.bincount(codes, w, self.clusters.count)

    def merge(self, other: Self) -> None:
        self.sums, self.n = self.sums + other.sums, self.n + other.n

    def correction(self, n: float, used: float) -> tuple[float, int]:
        """G/(G-1) (n-1)/(n-k), as Stata and statsmodels have it, and the number G of clusters with rows."""
        G = int((self.n > 0).sum())
        if G < 2:
            raise ValueError("cov='cluster' needs at least 2 clusters: groups has one value for all rows.")
        return G / (G - 1) * (n - 1) / (n - used) if n > used else np.nan, G


@dataclass
class ClusterScores(ClusterSums):
    """Σ w ∂ℓ/∂θ of each cluster: their products are the meat of Liang & Zeger (1986)."""

    setting: Setting
    theta: Floats  # (q, p + 1)
    intercept: bool

    @classmethod
    def start(cls, setting: Setting, theta: Floats, intercept: bool, clusters: Clusters) -> Self:
        G = clusters.count
        return cls(clusters, np.zeros((G, setting.m)), np.zeros(G), setting, theta, intercept)

    def update(self, chunk: Chunk) -> None:
        assert chunk.y is not None
        w = np.where(chunk.y >= 0, row_weights(chunk.w, chunk.X.shape[0]), 0.0)
        chunk = chunk._replace(w=w)
        step = max(1, CELLS // self.setting.m)
        for start in range(0, len(w), step):
            self._absorb(chunk.take(slice(start, start + step)))

    def _absorb(self, chunk: Chunk) -> None:
        X = np.column_stack([chunk.X.to_array() - self.setting.shift, np.ones(chunk.X.shape[0])])
        Z = X @ self.theta.T
        if chunk.offset is not None:
            Z += chunk.offset.reshape(Z.shape)
        X[:, -1] = self.intercept
        assert chunk.y is not None
        assert chunk.w is not None
        S = self.setting.loss.gradient(Z, np.maximum(chunk.y, 0)) * chunk.w[:, None]
        self.add(chunk, (S[:, :, None] * X[:, None, :]).reshape(len(X), -1))


CELLS = 1 << 20  # of the rows that are summed at once
