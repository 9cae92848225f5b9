"""Expectation and maximisation as a film."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likelier.data import Arrays, Dense
from likelier.estimators import door
from likelier.estimators.shapes import gaussians
from likelier.families import ridged
from likelier.mixing import Problem
from likelier.model import Bayes, log_of
from likelier.plot.axes import MUTED, Floats, Table, color, ink, pyplot
from likelier.plot.components import RADII, RUG, Parts, blended, spread
from likelier.plot.film import place_of, written

STILL = 1e-6  # a gain of log-likelihood a row below which nothing moves any more
RIDGE = 1e-6  # of the variance of the columns, added to that of a component
NARROW = 0.1  # of the covariance of all rows: that of components as they begin
MOST_BINS = 40


Show = Callable[[Any], list[Any]]  # of a step, or its number: draws it


class Step(NamedTuple):
    """A mixture on its way, before a step."""

    parts: Parts
    R: Floats  # (n, M)
    log_likelihood: float  # a row


def em_steps(
    X: Any,
    n_components: int = 2,
    *,
    steps: int = 40,
    means: Any = None,
    random_state: int | None = 0,
    path: str | Path | None = None,
    fps: float = 5.0,
    ax: Any = None,
) -> Any:
    """EM for a mixture of Gaussians, step by step, as an animation (Dempster, Laird & Rubin 1977).

    X: one or two columns. It begins badly, with all means at rows that are neighbours and narrow about
    them; or at `means` (n_components, p). It ends after so many steps, or where nothing moves. To
    the right the mean log-likelihood, which no step lowers. path: a .gif, or an .html file that needs
    nothing else. ax: two axes, for the mixture and for the likelihood. Returns matplotlib's animation:
    keep it until it is shown. Its `steps` say what each frame shows: `R`, p(m | x), and `log_likelihood`.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True, as_frame=True)
    >>> film = lk.plot.em_steps(X[["petal length (cm)", "petal width (cm)"]], 3, path="em.gif")
    ... # doctest: +SKIP
    """
    target = None if path is None else place_of(path)
    table = Table.of(X)
    if table.shape[1] > 2:
        raise ValueError(f"X has {table.shape[1]} columns: one or two can be seen")
    values = table.values
    found = climbed(values, n_components, steps, means, random_state)
    if ax is None:
        _, ax = pyplot().subplots(1, 2, figsize=(9, 4.2), width_ratios=[3, 2], layout="constrained")
    elif np.size(ax) != 2:
        raise ValueError("ax: two axes are needed, for the mixture and for the likelihood")
    show = _scene(table, values, found, *np.ravel(ax))
    from matplotlib.animation import FuncAnimation

    figure = np.ravel(ax)[0].figure
    film: Any = FuncAnimation(figure, show, frames=len(found), interval=1000 / fps)
    film.steps = found
    if target is not None:
        written(target, figure, show, len(found), fps)
        film._draw_was_started = True  # else matplotlib warns of a film that nobody has seen
    return film


# ---- the steps -----------------------------------------------------------------------------------
def climbed(X: Floats, M: int, steps: int, means: Any, random_state: int | None) -> list[Step]:
    """The mixture before each step, and after the last."""
    M = int(door.number("n_components", M, 1, whole=True))
    steps = int(door.number("steps", steps, 1, whole=True))
    there = X[~np.isnan(X).any(axis=1)]
    different = len(np.unique(there, axis=0))
    if different < max(M, 2):
        raise ValueError(f"X has {different} different rows, too few for {M} components")
    cov = np.atleast_2d(np.cov(there.T))
    ridge = RIDGE * float(np.trace(cov)) / len(cov)
    cov = NARROW * cov + ridge * np.eye(len(cov))
    at = _beginning(there, M, means, random_state)
    problem = Problem(Arrays(Dense(np.ascontiguousarray(X))), ridged("full", ridge), M)
    model = Bayes(gaussians(at, np.repeat(cov[None], M, axis=0), "full"), log_of(np.full(M, 1 / M)))
    found: list[Step] = []
    while len(found) <= steps:
        seen = problem.expect(model)
        parts = Parts(model.params, model.log_prior, [f"component {m}" for m in range(M)])
        step = Step(parts, parts.of_rows(problem.source), seen.log_likelihood / seen.weight)
        still = bool(found) and step.log_likelihood - found[-1].log_likelihood < STILL
        found.append(step)
        if still:
            break
        model = problem.maximise(seen.stats)
    return found


def _beginning(X: Floats, M: int, means: Any, random_state: int | None) -> Floats:
    """A row and those next to it, in units of the columns: about the worst place to begin."""
    if means is not None:
        at = np.asarray(means, dtype=np.float64).reshape(-1, X.shape[1])
        if at.shape != (M, X.shape[1]) or not np.isfinite(at).all():
            raise ValueError(f"means: {M} rows of {X.shape[1]} numbers are needed")
        return at
    different = np.unique(X, axis=0)
    deviation = different.std(axis=0)
    z = different / np.where(deviation > 0, deviation, 1.0)
    first = np.random.default_rng(random_state).integers(len(z))
    return different[np.argsort(((z - z[first]) ** 2).sum(axis=1), kind="stable")[:M]]


# ---- the film ------------------------------------------------------------------------------------
def _scene(table: Table, X: Floats, found: list[Step], left: Any, right: Any) -> Show:
    """Both axes as they are at a step."""
    show = (_curves if X.shape[1] == 1 else _ellipses)(left, X, found)
    left.set_xlabel(table.name(0))
    left.set_ylabel("density" if X.shape[1] == 1 else table.name(1))
    heights = [step.log_likelihood for step in found]
    right.plot(heights, color=ink(right, MUTED / 2))
    (so_far,) = right.plot([], [], color=color(0), marker="o", markersize=4)
    right.set(xlabel="step", ylabel="log-likelihood of a row")
    low, high = (
        heights[min(1, len(found) - 2)],
        heights[-1],
    )  # the first step leaps: the others are looked at
    if high > low:
        right.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))

    def at(number: int) -> list[Any]:
        so_far.set_data(np.arange(number + 1), heights[: number + 1])
        left.set_title(f"step {number}", fontsize="medium")
        return [so_far, *show(found[number])]

    return at


def _ellipses(ax: Any, X: Floats, found: list[Step]) -> Show:
    rows = ax.scatter(*X.T, s=16, linewidths=0)
    drawn = [
        (radius, m, ax.plot([], [], color=color(m), linewidth=2.2 - 0.7 * radius)[0])
        for radius in RADII
        for m in range(found[0].R.shape[1])
    ]
    ends = [spread(column)[[0, -1]] for column in X.T]
    ax.set(xlim=ends[0], ylim=ends[1])

    def show(step: Step) -> list[Any]:
        rows.set_facecolor(blended(step.R))
        lines = {radius: step.parts.outlines(radius) for radius in RADII}
        for radius, m, line in drawn:
            line.set_data(*lines[radius][m])
        return [rows, *(line for *_, line in drawn)]

    return show


def _curves(ax: Any, X: Floats, found: list[Step]) -> Show:
    x = X[:, 0]
    there, grid = x[~np.isnan(x)], spread(x)
    bins = min(len(np.histogram_bin_edges(there, "auto")) - 1, MOST_BINS)
    share, *_ = ax.hist(there, bins, density=True, color=ink(ax, 0.15))
    top = max(share.max(), found[-1].parts.densities(grid).sum(axis=1).max())
    lines = [ax.plot([], [], color=color(m))[0] for m in range(found[0].R.shape[1])]
    (whole,) = ax.plot([], [], color=ink(ax, MUTED), linestyle="--", linewidth=1)
    rows = ax.scatter(x, np.full(len(x), -RUG * top), s=30, marker="|", linewidths=0.8)
    ax.set(xlim=grid[[0, -1]], ylim=(-2 * RUG * top, 1.1 * top))

    def show(step: Step) -> list[Any]:
        P = step.parts.densities(grid)
        for line, p in zip(lines, P.T, strict=True):
            line.set_data(grid, p)
        whole.set_data(grid, P.sum(axis=1))
        rows.set_color(blended(step.R))
        return [*lines, whole, rows]

    return show
