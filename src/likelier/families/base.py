"""What every family of class-conditional densities offers."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from likelier.scores import Scores
from likelier.states import State

Floats = NDArray[np.float64]
Columns = NDArray[np.intp]


class Params(Protocol):
    """p(x | C_k) for K classes over p columns: immutable."""

    @property
    def shape(self) -> tuple[int, int]:
        """K, p."""

    def scores(self) -> Scores:
        """ln p(x | C_k), exactly."""

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """A row of each of these classes."""

    def marginal(self, columns: Columns) -> "Params":
        """The density of these columns alone."""

    def condition(self, given: Mapping[int, float]) -> "Conditioned":
        """The density of the other columns, knowing these."""

    def fill(self, X: Floats, P: Floats) -> Floats:
        """X with E[x_j | what is there, C_k] for each missing cell, the classes weighed by P (n, K)."""


class Conditioned(NamedTuple):
    """p(rest | given, C_k), and ln p(given | C_k) (K,), by which the classes are weighed anew."""

    params: Params
    log_given: Floats


class Family(Protocol):
    """Smoothing, floors and shrinkage act in `estimate` only: the statistics stay what was seen."""

    def stats(self, K: int, p: int) -> State: ...

    def estimate(self, stats: Any) -> Params: ...
