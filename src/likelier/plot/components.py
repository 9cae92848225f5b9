"""The components of mixtures, and how rows belong to them."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from likelier import links
from likelier.data import Arrays, Dense
from likelier.families import Diagonal, Mixture, Params
from likelier.model import Bayes, ask
from likelier.plot.axes import MUTED, Columns, Floats, Table, axes, color, ink
from likelier.plot.supports import is_whole, outside

AROUND = 0.08  # of the range of X, left around it
GRID = 400  # points of a curve
RADII = (1.0, 2.0)  # deviations from its mean at which a component is drawn
RUG = 0.05  # of the height of the curves, for the rows below them


def responsibilities(model: Any, X: Any, *, columns: Any = None, ax: Any = None) -> Any:
    """Rows in the colours of the components, mixed as p(m | x); the components at 1 and 2 deviations.

    model: a fitted `GaussianMixture`, `Mixture` or `MixtureDiscriminantAnalysis`. columns: the one or two
    to draw, by number or name, if X has more; the colours are of all columns. Of one column: the densities
    w_m p_m(x), and their sum (dashed), above the rows.

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
    return ax


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
