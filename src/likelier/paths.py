"""One problem under one penalty after another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.abilities import chosen
from likelier.data import Source
from likelier.objective import Objective
from likelier.penalties import Penalty
from likelier.solvers import Solution
from likelier.solving import Terms, solve
from likelier.states import Expansion

Floats = NDArray[np.float64]


class Recalled(NamedTuple):
    """Sums over rows of a source at θ."""

    source: Source
    theta: Floats
    sums: Expansion


@dataclass
class Recalling(Objective):
    """An objective that recalls its last sums over rows: another penalty at the same θ costs no pass.

    And the last that had a Hessian: a solver may begin with it.
    """

    last: dict[bool, Recalled] = field(default_factory=dict, repr=False)  # by whether there is a Hessian

    @classmethod
    def of(cls, objective: Objective) -> "Recalling":
        return cls(**{each.name: getattr(objective, each.name) for each in fields(Objective) if each.init})

    def beneath(self, penalty: Penalty) -> "Recalling":
        return replace(self, penalty=penalty, passes=0, _gauge=None)

    def nearby(self, theta: Floats) -> tuple[float, Floats, Floats, bool]:
        kept = self.last.get(True)
        if kept is None or kept.source is not self.source or np.array_equal(kept.theta, theta):
            return super().nearby(theta)
        assert kept.sums.H is not None
        H = self._curvature(kept.sums.H.copy())
        self._close(H)
        return *self.gradient(theta), H, False

    def _sums(self, theta: Floats, *, curved: bool) -> Expansion:
        for kept in (self.last[is_curved] for is_curved in (True, curved) if is_curved in self.last):
            if kept.source is self.source and np.array_equal(kept.theta, theta):
                break
        else:
            kept = self.last[curved] = Recalled(self.source, theta, super()._sums(theta, curved=curved))
        sums = kept.sums
        H = sums.H.copy() if curved and sums.H is not None else None
        return replace(sums, f=sums.f.copy(), g=sums.g.copy(), H=H)


def path(
    objective: Objective, penalties: Sequence[Penalty], solver: str, terms: Terms
) -> Iterator[Solution]:
    """The solution under each of the penalties, from that of the one before: the strongest first.

    The curvature at the last solution is also that of the next problem there, so that its first step
    needs no pass; a small step along the path needs hardly another.
    """
    start, problem = np.zeros(objective.size), Recalling.of(objective)
    for penalty in penalties:
        problem = problem.beneath(penalty)
        found = solve(problem, start, chosen(solver, problem), terms)
        yield found
        start, terms = found.last.theta, terms._replace(fresh=False)
