"""Is `auto` near the best solver there is? Fits of many shapes of table by every solver that may suit.

usage: python -m benchmarks.solvers [--shapes 200] [--late 2] [--only 17]

Shapes, classes, kinds of rows and C are drawn at random, always the same. Times are those of this process
(CPU), the best of several, so that others on the machine matter less. It prints the shapes for which `auto`
took more than twice as long as the best, and ends with 1 if there are any.
"""

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import likelier as lk

CELLS = 4e6  # of a table, times classes, at most
SOLVERS = ("newton", "lbfgs", "newton-cg", "dual")
LARGEST = 1500  # weights, up to which Newton's method is tried
REPEATED = 0.3  # seconds, in which a fit is repeated


class Shape(NamedTuple):
    """A table to fit, and how strongly its weights are held."""

    n: int
    p: int
    K: int
    stored: int  # cells of a row; 0: dense
    apart: float  # how far the means of classes are from each other
    C: float

    def __str__(self) -> str:
        kind = f"CSR, {self.stored} a row" if self.stored else "dense"
        return f"{self.n} x {self.p}, {self.K} classes, {kind}, {self.apart:.2g} apart, C={self.C:g}"

    def table(self) -> tuple[Any, np.ndarray]:
        rng = np.random.default_rng([self.n, self.p, self.K])
        y = rng.integers(0, self.K, self.n)
        y[: 2 * self.K] = np.repeat(np.arange(self.K), 2)
        if not self.stored:
            return rng.normal(size=(self.n, self.p)) + self.apart * rng.normal(size=(self.K, self.p))[y], y
        X = sparse.random_array((self.n, self.p), density=self.stored / self.p, format="csr", rng=rng)
        X.data[:] = 1 + np.floor(3 * X.data)
        return X, y


def shapes(count: int) -> list[Shape]:
    """The first of an endless row of them."""
    rng, found = np.random.default_rng(0), []
    while len(found) < count:
        n, p = (round(10 ** rng.uniform(1.3, most)) for most in (4.5, 3.7))
        K = int(rng.choice([2, 2, 2, 3, 5, 10, 30]))
        stored = int(10 ** rng.uniform(0.7, 1.9)) if rng.uniform() < 0.35 else 0
        apart, C = float(rng.choice([0.02, 0.1, 0.5])), float(rng.choice([0.01, 1, 1, 100]))
        cells = n * (stored or p) * K
        if 4 * K <= n and cells <= CELLS and 4 * stored <= p:
            found.append(Shape(n, p, K, stored, apart, C))
    return found


def seconds(solver: str, shape: Shape, X: Any, y: np.ndarray) -> tuple[float, Any]:
    """The best of some fits; without an end: it did not converge."""
    best, spent, model = np.inf, 0.0, lk.LogisticRegression(C=shape.C, solver=solver)
    while spent < REPEATED and np.isfinite(spent):
        start = time.process_time()
        model.fit(X, y)
        took = time.process_time() - start
        best, spent = min(best, took), spent + max(took, REPEATED / 5)
    return (best if model.converged_ else np.inf), model


def compared(shape: Shape) -> tuple[float, str]:
    """How much longer `auto` takes than the best, and what there is to say of it."""
    X, y = shape.table()
    q = 1 if shape.K == 2 else shape.K
    names = [name for name in SOLVERS if name != "newton" or q * (shape.p + 1) <= LARGEST]
    times = {name: seconds(name, shape, X, y)[0] for name in names}
    auto, model = seconds("auto", shape, X, y)
    said = ", ".join(f"{name} {took * 1e3:.1f}" for name, took in times.items())
    return auto / min(times.values()), f"{shape}: auto {auto * 1e3:.1f} ms ({model.solver_}); {said}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", type=int, default=200)
    parser.add_argument("--late", type=float, default=2.0, help="how much longer than the best is too long")
    parser.add_argument("--only", type=int, action="append", help="the number of a shape")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # a solver that comes nowhere is none that could be missed
    ratios = {}
    for number, shape in enumerate(shapes(asked.shapes)):
        if asked.only and number not in asked.only:
            continue
        ratios[number], said = compared(shape)
        if ratios[number] > asked.late or asked.only:
            print(f"{ratios[number]:5.2f}  {number:3d}  {said}", flush=True)
    found = np.array(list(ratios.values()))
    late = int((found > asked.late).sum())
    print(
        f"{late} of {len(found)} shapes took more than {asked.late:g} times as long as the best solver; "
        f"median {np.median(found):.2f}, the worst {found.max():.2f}"
    )
    return 1 if late else 0


if __name__ == "__main__":
    raise SystemExit(main())
