"""Densities of single columns by class, with the rows."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from likelier.array_types import Floats
from likelier.data import levels_of
from likelier.families import Complements, Histograms, Mixed, Multinomials
from likelier.plot.axes import (
    Table,
    axes,
    color,
    is_whole,
    label_rows,
    marker,
    outside,
    support_of,
    tint,
    titled,
)

GRID = 400  # points of a curve
AROUND = 0.15  # of the range of the column, left around it
MOST_BINS = 60
MOST_LEVELS = 40  # whole numbers up to so many are bars, more of them a curve
MOST_CATEGORIES = 20  # of more, the commonest
HIGHEST = 3.0  # times the highest bar: where a spike of a density is cut off


def class_densities(
    model: Any, X: Any, y: Any, column: Any = 0, *, bins: Any = "auto", ax: Any = None
) -> Any:
    """Draw the density p(x_j | C_k) of a column for each class, over a histogram of the rows of the class.

    Counts and categories are drawn as bars for the relative frequencies of the rows, and points for the
    probabilities of the model; of more than 20 categories the most frequent ones are drawn.

    Parameters
    ----------
    model : estimator or None
        A fitted generative classifier. None draws the rows alone.
    X : array or data frame
        The rows.
    y : array of shape (n,)
        The labels of the rows.
    column : int or str, default=0
        The column, by number or name. Of a model of several columns its marginal density is drawn.
    bins : int, str or array, default="auto"
        The bins of the histogram, as for `numpy.histogram`.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw on. None makes new ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = lk.GaussianNB().fit(X, y)
    >>> ax = lk.plot.class_densities(model, X, y, "proline")
    >>> ax.get_xlabel()
    'proline'
    """
    table = Table.of(X)
    places = table.places(column)
    if len(places) != 1:
        raise ValueError(f"column must be a single column; got {column!r}.")
    density = None if model is None else Density.of(model, table, int(places[0]))
    classes = levels_of(np.asarray(y)) if model is None else np.asarray(model.classes_)
    labels = label_rows(y, table.shape[0], classes)
    values = table.column(int(places[0]))
    ax = axes(ax)
    if density is not None and density.threshold is not None:
        values = np.where(np.isnan(values), np.nan, values > density.threshold)
    held = _levels(values)
    counted = _is_counted(held)
    stepwise = counted if density is None else density.stepwise or counted
    if values.dtype.kind == "f" and (not stepwise or len(held) > MOST_LEVELS):
        _curves(ax, density, table.numbers(int(places[0])), labels, classes, bins)
    else:
        _bars(ax, density, values, held, labels, classes)
    ax.set_xlabel(table.name(int(places[0])) + _left_out(values, held))
    ax.set_ylim(bottom=0)
    if len(classes) > 1:
        ax.legend(framealpha=0.9)
    return titled(ax, "Density by class")


class Density(NamedTuple):
    """The densities of one column, one for each class."""

    model: Any
    table: Table
    column: int
    log_prior: Floats  # (K,)
    support: Any
    threshold: float | None  # of booleans: above it
    atoms: Floats  # values that have a probability

    @classmethod
    def of(cls, model: Any, table: Table, column: int) -> "Density":
        check_is_fitted(model)
        alone = table.shape[1] == 1
        if not hasattr(model, "predict_joint_log_proba") or not (alone or hasattr(model, "marginal")):
            raise ValueError(
                f"a {type(model).__name__} has no densities p(x | C) of its columns: generative models "
                "have (model=None draws the rows alone)"
            )
        one = model if alone else model.marginal(table.keys(np.array([column]), model))
        inner = getattr(one, "_model", None)
        params = getattr(inner, "params", None)
        parts = [group.params for group in params.groups] if isinstance(params, Mixed) else [params]
        if any(isinstance(part, Multinomials | Complements) for part in parts):
            raise ValueError(
                f"the densities of this {type(model).__name__} are of counts given their sum: a single "
                "column has no density. Draw its coefficients."
            )
        log_prior = getattr(inner, "log_prior", None)
        if log_prior is None:
            log_prior = np.log(one.class_prior_)
        threshold = getattr(parts[0], "threshold", None)
        return cls(one, table, column, log_prior, support_of(one), threshold, _atoms(parts[0]))

    @property
    def stepwise(self) -> bool:
        """Whether values have probabilities, all or some."""
        return self.discrete or bool(len(self.atoms))

    @property
    def discrete(self) -> bool:
        """Whether there is nothing between whole numbers."""
        return self.threshold is not None or is_whole(self.support)

    def at(self, values: NDArray[Any]) -> Floats:
        """p(x | C_k), (m, K); 0 where a family has none."""
        found = np.zeros((len(values), len(self.log_prior)))
        inside = np.ones(len(values), dtype=np.bool_)
        if values.dtype.kind == "f":
            inside[outside(self.support, values)] = False
        if inside.any():
            rows = self.table.alone(np.array([self.column]), [values[inside]])
            Z = np.asarray(self.model.predict_joint_log_proba(rows))
            with np.errstate(invalid="ignore"):  # a class without rows has neither
                found[inside] = np.exp(Z - self.log_prior)
        return found


def _atoms(params: Any) -> Floats:
    if not isinstance(params, Histograms):
        return np.empty(0)
    return np.asarray(params.bins[0].edges[:-1][params.bins[0].atoms])


def _levels(values: NDArray[Any]) -> NDArray[Any]:
    """The values that there are, in order: all whole numbers between them, or the commonest categories."""
    if values.dtype.kind == "f":
        found = np.unique(values[~np.isnan(values)])
        if len(found) and np.array_equal(found, np.floor(found)) and found[-1] - found[0] < MOST_LEVELS:
            return np.arange(found[0], found[-1] + 1)
        return found
    there = [value for value in values.tolist() if value is not None]
    levels, counts = np.unique(np.array(there, dtype=object).astype(str), return_counts=True)
    kept = {str(value): value for value in there}
    common = np.sort(np.argsort(-counts, kind="stable")[:MOST_CATEGORIES])
    return np.array([kept[level] for level in levels[common]], dtype=object)


def _left_out(values: NDArray[Any], held: NDArray[Any]) -> str:
    """How many categories there are, where not all of them are drawn."""
    if values.dtype.kind == "f":
        return ""
    count = len({str(value) for value in values.tolist() if value is not None})
    return f" ({len(held)} most frequent of {count:,} categories)" if count > len(held) else ""


def _is_counted(held: NDArray[Any]) -> bool:
    """Whether these are all whole numbers of a range, of which each has its own bar."""
    if held.dtype.kind != "f" or not 1 < len(held) <= MOST_LEVELS:
        return False
    return bool((held == np.floor(held)).all() and held[-1] - held[0] == len(held) - 1)


def _by_class(values: NDArray[Any], labels: NDArray[Any], classes: NDArray[Any]) -> Iterator[Any]:
    for k, label in enumerate(classes):
        own = values[labels == label]
        there = ~np.isnan(own) if own.dtype.kind == "f" else np.array([v is not None for v in own], bool)
        yield k, label, own[there]


def _bars(
    ax: Any,
    density: Density | None,
    values: NDArray[Any],
    held: NDArray[Any],
    labels: NDArray[Any],
    classes: NDArray[Any],
) -> None:
    """The share of each value in each class, beside each other, with the probabilities of the model.

    A model that has a density of whole numbers is drawn as a curve: bars are 1 wide, so that shares and
    densities have the same unit.
    """
    K, at, highest = len(classes), np.arange(len(held)), 0.0
    curved = density is not None and not density.stepwise
    asked = np.linspace(held[0] - 0.5, held[-1] + 0.5, GRID) if curved else held
    P = None if density is None else density.at(_asked(density, asked))
    for k, label, own in _by_class(values, labels, classes):
        shift = (k - (K - 1) / 2) * 0.8 / K
        share = np.array([np.mean(own == value) if len(own) else 0.0 for value in held])
        highest = max(highest, float(share.max(initial=0.0)))
        name = label if P is None else None  # else the points or the line have it
        ax.bar(at + shift, share, 0.8 / K, color=tint(ax, k, 0.45), label=name)
        if P is not None and curved:
            ax.plot(asked - held[0], P[:, k], color=color(k), label=label)
        elif P is not None:
            style = {"markeredgecolor": ax.get_facecolor(), "markeredgewidth": 0.5, "linestyle": "none"}
            ax.plot(at + shift, P[:, k], color=color(k), marker=marker(k), label=label, **style)
    if P is not None and curved and np.nanmax(P) > HIGHEST * highest > 0:
        ax.set_ylim(top=HIGHEST * highest)
    names = [f"{value:g}" if isinstance(value, float) else str(value) for value in held.tolist()]
    if density is not None and density.threshold is not None:
        names = [f"{'>' if value else '≤'} {density.threshold:g}" for value in held]
    long = sum(map(len, names)) > 60
    ax.set_xticks(at, names, rotation=45 if long else 0, ha="right" if long else "center")
    ax.set_ylabel("probability")


def _asked(density: Density, held: NDArray[Any]) -> NDArray[Any]:
    """Booleans as numbers on either side of their threshold."""
    return held if density.threshold is None else density.threshold + np.asarray(held, dtype=np.float64)


def _curves(
    ax: Any, density: Density | None, x: Floats, labels: NDArray[Any], classes: NDArray[Any], bins: Any
) -> None:
    there = x[~np.isnan(x)]
    edges = np.histogram_bin_edges(there, bins)
    if isinstance(bins, str) and len(edges) > MOST_BINS + 1:
        edges = np.histogram_bin_edges(there, MOST_BINS)
    low, high = edges[[0, -1]]
    around = AROUND * (high - low)
    below = (
        low - around if low < 0 else max(low - around, -0.02 * (high - low))
    )  # counts and lengths: from 0
    grid = np.linspace(below, high + around, GRID)
    if density is not None and density.discrete:
        grid = np.unique(np.floor(grid))
    P = None if density is None else density.at(grid)
    highest, width = 0.0, edges[1] - edges[0]
    for k, label, own in _by_class(x, labels, classes):
        if len(own):
            share = np.histogram(own, edges, density=True)[0]
            highest = max(highest, float(share.max()))
            ax.stairs(
                share, edges, fill=True, color=color(k), alpha=0.3, label=label if P is None else None
            )
        if P is not None:
            ax.plot(grid, P[:, k], color=color(k), label=label)
    if density is not None and len(density.atoms):
        _stems(ax, density.atoms, density.at(density.atoms) / width)
    if P is not None and np.nanmax(P) > HIGHEST * highest > 0:
        ax.set_ylim(top=HIGHEST * highest)
    ax.set_xlim(grid[0], grid[-1])
    ax.set_ylabel("density")


def _stems(ax: Any, atoms: Floats, heights: Floats) -> None:
    """Probabilities of single values, as high as the bars of a histogram that they fill."""
    for k, of_class in enumerate(heights.T):
        ax.vlines(atoms, 0, of_class, color=color(k), linewidth=1)
        ax.plot(atoms, of_class, color=color(k), marker=marker(k), markersize=4, linestyle="none")
