"""Mixture components, memberships, and EM as an animation."""

import base64
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from likelier import links
from likelier.array_types import Floats
from likelier.data import Arrays, Dense
from likelier.em import EMProblem
from likelier.estimators import validation
from likelier.estimators.generative.mixture_init import gaussians
from likelier.families import Diagonal, Mixture, Params, ridged
from likelier.model import Bayes, ask, log_of
from likelier.plot.axes import MUTED, Columns, Table, axes, color, ink, is_whole, outside, pyplot, titled
from likelier.storage import place_for, write

# The components of mixtures, and how rows belong to them.

AROUND = 0.08  # of the range of X, left around it
GRID = 400  # points of a curve
RADII = (1.0, 2.0)  # deviations from its mean at which a component is drawn
RUG = 0.05  # of the height of the curves, for the rows below them


def responsibilities(model: Any, X: Any, *, columns: Any = None, ax: Any = None) -> Any:
    """Draw rows in the colours of the components of a mixture, mixed by p(m | x), and the components.

    Components are drawn as ellipses at 1 and 2 standard deviations. For one column, the densities
    w_m p_m(x) and their sum (dashed) are drawn above the rows.

    Parameters
    ----------
    model : estimator
        A fitted `GaussianMixture`, `Mixture` or `MixtureDiscriminantAnalysis`.
    X : array or data frame
        The rows.
    columns : int, str or list of these, default=None
        The one or two columns to draw, by number or name; needed if X has more than two. The
        responsibilities are those of all columns.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw on. None makes new ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    See Also
    --------
    em_steps : An animation of the fit.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_iris
    >>> X, _ = load_iris(return_X_y=True, as_frame=True)
    >>> model = lk.GaussianMixture(3, random_state=0).fit(X)
    >>> ax = lk.plot.responsibilities(model, X, columns=[2, 3])
    >>> ax.get_ylabel()
    'petal width (cm)'
    """
    table, parts = Table.of(X), Parts.of(model)
    shown = table.drawn(columns)
    R = parts.of_rows(model._known_rows(X))
    points = np.column_stack([table.numbers(int(j)) for j in shown])
    ax = axes(ax)
    part = parts.marginal(shown)
    if len(shown) == 1:
        _densities(ax, part, points[:, 0], R)
        ax.set_ylabel("density")
    else:
        ax.scatter(*points.T, s=20, c=blended(R), linewidths=0)
        _outlines(ax, part)
        ax.set_ylabel(table.name(int(shown[1])))
    ax.set_xlabel(table.name(int(shown[0])))
    ax.legend(framealpha=0.9)
    return titled(ax, "Responsibilities")


class Parts(NamedTuple):
    """Components of a mixture, or of all mixtures of a classifier."""

    params: Params  # of M components
    log_weight: Floats  # (M,), of all of them together
    labels: list[str]

    @classmethod
    def of(cls, model: Any) -> Self:
        check_is_fitted(model)
        inner: Any = getattr(model, "_model", None)
        params: Any = getattr(inner, "params", None)
        if isinstance(params, Mixture):
            owner = params.owner
            number = np.arange(len(owner)) - np.searchsorted(owner, owner)
            names = [f"{model.classes_[k]}, {m}" for k, m in zip(owner, number, strict=True)]
            return cls(params.components, params.log_weight + inner.log_prior[owner], names)
        if not isinstance(inner, Bayes) or hasattr(model, "classes_"):
            raise ValueError(
                f"a {type(model).__name__} has no components: draw a GaussianMixture, a Mixture or a "
                "MixtureDiscriminantAnalysis"
            )
        return cls(params, inner.log_prior, [f"component {m}" for m in range(len(inner.log_prior))])

    def marginal(self, columns: Columns) -> Self:
        if len(columns) == self.params.shape[1] and (columns == np.arange(len(columns))).all():
            return self
        return self._replace(params=self.params.marginal(columns))

    @property
    def weights(self) -> Floats:
        return np.asarray(np.exp(self.log_weight))

    def of_rows(self, rows: Any) -> Floats:
        """p(m | x), (n, M)."""
        return np.asarray(ask(self._joint, rows, links.softmax, self.params.support).out)

    def densities(self, x: Floats) -> Floats:
        """w_m p_m(x) of one column, (n, M)."""
        rows = Arrays(Dense(np.ascontiguousarray(x[:, None])))
        return np.asarray(np.exp(ask(self._joint, rows, links.identity, self.params.support).out))

    def grid(self, x: Floats) -> Floats:
        """Values of one column to draw densities at, all of which they are for."""
        found, support = spread(x), self.params.support
        found = np.unique(np.round(found)) if is_whole(support) else found
        return np.delete(found, outside(support, found))

    @property
    def _joint(self) -> Any:
        return Bayes(self.params, self.log_weight).joint

    def outlines(self, radius: float) -> list[Floats]:
        """The points (2, 65) of two columns at so many deviations from the mean of each Gaussian; of
        others none.
        """
        mean, cov = getattr(self.params, "mean", None), _covariances(self.params)
        if mean is None or cov is None:
            return []
        turn = np.linspace(0, 2 * np.pi, 65)
        circle = radius * np.stack([np.cos(turn), np.sin(turn)])
        return [m[:, None] + _root(S) @ circle for m, S in zip(mean, cov, strict=True)]


def _covariances(params: Any) -> Floats | None:
    """(M, p, p)."""
    if isinstance(params, Diagonal):
        return np.stack([np.diag(v) for v in params.var])
    cov = getattr(params, "cov", None)
    if cov is None:
        return None
    return np.broadcast_to(cov, (params.shape[0], *cov.shape[-2:]))


def _root(S: Floats) -> Floats:
    """A with A Aᵀ = S, which may be flat in some direction."""
    values, vectors = np.linalg.eigh(S)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def blended(R: Floats) -> NDArray[Any]:
    """(n, 3) colours: those of the components, mixed as rows belong to them."""
    return np.asarray(np.clip(R @ np.array([color(m) for m in range(R.shape[1])]), 0, 1))


def _outlines(ax: Any, parts: Parts) -> None:
    for radius in RADII:
        for m, line in enumerate(parts.outlines(radius)):
            label = f"{parts.labels[m]}: {parts.weights[m]:.2f}" if radius == RADII[0] else None
            ax.plot(*line, color=color(m), linewidth=2.2 - 0.7 * radius, label=label)
    if not ax.get_legend_handles_labels()[0]:
        for m, name in enumerate(parts.labels):
            ax.plot([], [], "o", color=color(m), label=f"{name}: {parts.weights[m]:.2f}")


def _densities(ax: Any, parts: Parts, x: Floats, R: Floats) -> None:
    grid = parts.grid(x)
    P = parts.densities(grid)
    for m, name in enumerate(parts.labels):
        ax.plot(grid, P[:, m], color=color(m), label=f"{name}: {parts.weights[m]:.2f}")
    ax.plot(grid, P.sum(axis=1), color=ink(ax, MUTED), linestyle="--", linewidth=1, label="all")
    below = np.full(len(x), -RUG * P.sum(axis=1).max())
    ax.scatter(x, below, s=30, c=blended(R), marker="|", linewidths=0.8)
    ax.set_xlim(grid[0], grid[-1])


def spread(x: Floats) -> Floats:
    """Points from end to end of a column, and a little beyond."""
    low, high = np.nanmin(x), np.nanmax(x)
    around = AROUND * (high - low) if high > low else 1.0
    return np.linspace(low - around, high + around, GRID)


# Pictures one after another in one file.

DPI = 80
COLORS = 64  # of a GIF: fewer make smaller files, and flat colours need few
LAST = 2000  # milliseconds for the end of a GIF, before it begins again

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>EM, step by step</title>
<style>
:root { color-scheme: light dark }
body { font: 16px system-ui, sans-serif; margin: 1rem auto; max-width: 60rem; padding: 0 .5rem }
img { width: 100%%; display: block; background: white }
p { display: flex; gap: .7rem; align-items: center }
input { flex: 1 } button { min-width: 5rem; font: inherit }
</style></head>
<body>
<img id="picture" alt="EM, step by step">
<p><button id="play">Pause</button>
<input id="step" type="range" min="0" max="%d" value="0" aria-label="step">
<output id="number">0</output></p>
<script>
const frames = %s.map(frame => "data:image/png;base64," + frame), last = frames.length - 1;
const [picture, play, step, number] =
  ["picture", "play", "step", "number"].map(id => document.getElementById(id));
let timer;
function show() { picture.src = frames[step.value]; number.value = step.value; }
function stop() { clearInterval(timer); timer = null; play.textContent = "Play"; }
function next() { if (+step.value >= last) return stop(); step.value++; show(); }
function go() {
  if (+step.value >= last) step.value = 0;
  show(); play.textContent = "Pause"; timer = setInterval(next, %d);
}
play.onclick = () => timer ? stop() : go();
step.oninput = () => { stop(); show(); };
go();
</script></body></html>
"""


def place_of(path: str | Path) -> Path:
    """Where a film comes to lie; refused if none can."""
    found = Path(path)
    if found.suffix.lower() not in (".gif", ".html"):
        raise ValueError(f"path must end in .gif or .html; got {str(path)!r}.")
    return place_for(found)


def written(path: Path, figure: Any, show: Callable[[Any], Any], frames: int, fps: float) -> None:
    """All frames in one file, which is whole or not there; the figure is closed."""
    show(frames - 1)
    figure.canvas.draw()
    figure.set_layout_engine("none")  # laid out once: or else every frame anew, and axes would tremble
    pictures = [_picture(figure, show, number) for number in range(frames)]
    content = _gif(pictures, fps) if path.suffix.lower() == ".gif" else _page(pictures, fps)
    write(path, content)
    pyplot().close(figure)


def _picture(figure: Any, show: Callable[[Any], Any], number: int) -> bytes:
    show(number)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DPI)
    return out.getvalue()


def _gif(pictures: Sequence[bytes], fps: float) -> bytes:
    from PIL import Image

    first, *others = (Image.open(io.BytesIO(each)).convert("RGB").quantize(COLORS) for each in pictures)
    durations = [*[1000 / fps] * len(others), LAST]
    out = io.BytesIO()
    first.save(out, "GIF", save_all=True, append_images=others, duration=durations, loop=0)
    return out.getvalue()


def _page(pictures: Sequence[bytes], fps: float) -> bytes:
    """With a slider, and nothing from elsewhere (matplotlib's own page fetches its buttons)."""
    frames = [base64.b64encode(each).decode() for each in pictures]
    return (PAGE % (len(frames) - 1, frames, 1000 / fps)).encode()


# Expectation and maximisation as a film.

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
    """Animate the EM algorithm for a Gaussian mixture, step by step (Dempster, Laird & Rubin 1977).

    It starts badly, with all means at neighbouring rows and small covariances, or at given means, and ends
    when nothing changes any more. The mean log-likelihood is drawn next to the mixture; no step lowers it.

    Parameters
    ----------
    X : array or data frame of shape (n, 1) or (n, 2)
        The rows.
    n_components : int, default=2
        The number of components.
    steps : int, default=40
        The maximum number of EM steps.
    means : array of shape (n_components, p), default=None
        The means to start from.
    random_state : int or None, default=0
        The seed that chooses the rows to start from.
    path : str or path-like, default=None
        A file to write: a `.gif`, or an `.html` file that needs no other files.
    fps : float, default=5.0
        Frames per second.
    ax : sequence of two matplotlib.axes.Axes, default=None
        The axes for the mixture and for the log-likelihood. None makes new ones.

    Returns
    -------
    matplotlib.animation.FuncAnimation
        Keep it until it is shown. Its `steps` hold, for each frame, the responsibilities `R` and the
        `log_likelihood`.

    See Also
    --------
    responsibilities : The fitted mixture, as one plot.

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
        raise ValueError(f"X must have one or two columns to be drawn; got {table.shape[1]}.")
    values = table.values
    found = climbed(values, n_components, steps, means, random_state)
    if ax is None:
        _, ax = pyplot().subplots(1, 2, figsize=(9, 4.2), width_ratios=[3, 2], layout="constrained")
    elif np.size(ax) != 2:
        raise ValueError(f"ax must be two axes, for the mixture and for the likelihood; got {np.size(ax)}.")
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
    M = int(validation.number("n_components", M, 1, whole=True))
    steps = int(validation.number("steps", steps, 1, whole=True))
    there = X[~np.isnan(X).any(axis=1)]
    different = len(np.unique(there, axis=0))
    if different < max(M, 2):
        raise ValueError(
            f"X must have at least {max(M, 2)} different rows for {M} components; got {different}."
        )
    cov = np.atleast_2d(np.cov(there.T))
    ridge = RIDGE * float(np.trace(cov)) / len(cov)
    cov = NARROW * cov + ridge * np.eye(len(cov))
    at = _beginning(there, M, means, random_state)
    problem = EMProblem(Arrays(Dense(np.ascontiguousarray(X))), ridged("full", ridge), M)
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
            raise ValueError(f"means must be finite and have shape ({M}, {X.shape[1]}); got {means!r}.")
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
