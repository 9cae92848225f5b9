"""One problem under one penalty after another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from likelier.data import Source
from likelier.objective import Objective
from likelier.penalties import Penalty
from likelier.solvers import Solution
from likelier.solving import Terms, chosen, solve
from likelier.states import Expansion

Floats = NDArray[np.float64]


@dataclass
class Recalling(Objective):
    """An objective that recalls its last expansion: another penalty at the same θ costs no pass."""

    last: list[tuple[Source, Expansion]] = field(default_factory=list, repr=False)  # one at most

    @classmethod
    def of(cls, objective: Objective) -> "Recalling":
        return cls(**{each.name: getattr(objective, each.name) for each in fields(Objective)})

    def under(self, penalty: Penalty) -> "Recalling":
        return replace(self, penalty=penalty, passes=0, _gauge=None)

    def _sums(self, theta: Floats, *, curved: bool) -> Expansion:
        source, kept = self.last[0] if self.last else (None, None)
        known = kept is not None and source is self.source and np.array_equal(kept.theta.ravel(), theta)
        if kept is None or not known or (curved and kept.H is None):
            kept = super()._sums(theta, curved=curved)
            self.last[:] = [(self.source, kept)]
        H = kept.H.copy() if curved and kept.H is not None else None
        return replace(kept, f=kept.f.copy(), g=kept.g.copy(), H=H)


def path(
    objective: Objective, penalties: Sequence[Penalty], solver: str, terms: Terms
) -> Iterator[Solution]:
    """The solution under each of the penalties, from that of the one before: the strongest first.

    The curvature at the last solution is also that of the next problem there, so that its first step
    needs no pass; a small step along the path needs hardly another.
    """
    start, problem = np.zeros(objective.size), Recalling.of(objective)
    for penalty in penalties:
        problem = problem.under(penalty)
        found = solve(problem, start, chosen(solver, problem), terms)
        yield replace(found, extra={"passes": float(problem.passes)})
        start, terms = found.last.theta, terms._replace(fresh=False)
