"""What follows if the columns are independent given the class."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import refuse_cells
from likelier.families.base import (
    Columns,
    Conditioned,
    Floats,
    Support,
    given_and_rest,
    log_density,
)
from likelier.scores import Scores


@dataclass(frozen=True)
class Independent(ABC):
    """p(x | C_k) = Π_j p(x_j | C_k), columns all of one family. A subclass's fields are arrays (K, p)."""

    @property
    def shape(self) -> tuple[int, int]:
        K, p = getattr(self, fields(self)[0].name).shape
        return K, p

    @property
    def support(self) -> Support | None:
        return None

    @property
    def free(self) -> int:
        return sum(getattr(self, each.name).size for each in fields(self))

    @property
    @abstractmethod
    def expected(self) -> Floats:
        """E[x_j | C_k], (K, p)."""

    @abstractmethod
    def scores(self) -> Scores: ...

    @abstractmethod
    def each(self, x: Floats) -> Floats:
        """ln p of single cells, x (…, p) held against the parameters (K, p); NaN where x is missing."""

    def parts(self, X: Floats) -> Floats:
        """ln p(x_j | C_k), column by column: (n, K, p); 0 where x_j is missing."""
        return np.asarray(np.nan_to_num(self.each(X[:, None, :]), nan=0.0))

    @abstractmethod
    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats: ...

    def discriminants(self) -> Scores | None:
        return None

    def marginal(self, columns: Columns) -> Self:
        return replace(self, **{f.name: getattr(self, f.name)[:, columns] for f in fields(self)})

    def condition(self, given: Mapping[int, float]) -> Conditioned:
        """What is known says nothing of the rest."""
        columns, values, rest = given_and_rest(given, self.shape[1])
        if len(columns) == 0:
            return Conditioned(self, np.zeros(self.shape[0]))
        return Conditioned(self.marginal(rest), log_density(self.marginal(columns), values))

    def fill(self, X: Floats, P: Floats) -> Floats:
        refuse_cells(X, gaps=True)
        return np.where(np.isnan(X), P @ self.expected, X)
