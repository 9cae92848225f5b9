"""What a fitted model has learned, as a small table: weights, or means by class."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_ROWS, MOST_COLUMNS = 30, 8  # beyond which a table tells nobody anything


class LearnedTable(NamedTuple):
    """A row for each column that the model takes, a column for each class, component or target."""

    title: str
    heads: list[str]
    names: list[str]
    values: NDArray[np.float64]  # (p, K)
    spread: NDArray[np.float64] | None = None  # (p, K) standard deviations

    def lines(self) -> list[str]:
        """The table, unless it is too wide."""
        if len(self.heads) > MOST_COLUMNS:
            return []
        cells = [[f"{value:.5g}" for value in row] for row in self.values]
        if self.spread is not None:
            cells = [
                [f"{cell} ± {sd:.3g}" for cell, sd in zip(row, sds, strict=True)]
                for row, sds in zip(cells, self.spread, strict=True)
            ]
        table = [[self.title, *self.heads]]
        table += [[name, *row] for name, row in zip(self.names, cells, strict=True)][:MOST_ROWS]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        shown = [
            "  ".join(
                [
                    f"{row[0]:<{widths[0]}}",
                    *(f"{cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True)),
                ]
            )
            for row in table
        ]
        more = len(self.names) - MOST_ROWS
        return [*shown, *([f"and {more} more"] if more > 0 else [])]


def learned(model: Any) -> LearnedTable | None:
    """Weights of what is linear, means of what is Gaussian; None: neither, or none that can be shown."""
    named = [str(name) for name in getattr(model, "feature_names_in_", [])]
    names = named or [f"x{j}" for j in range(getattr(model, "n_features_in_", 0))]
    for of in (_weights, _means):
        found = of(model, names)
        if found is not None:
            return found
    return None


def _weights(model: Any, names: list[str]) -> LearnedTable | None:
    coef = getattr(model, "coef_", None)
    if coef is None or hasattr(coef, "tocsr"):
        return None
    W = np.atleast_2d(np.asarray(coef, dtype=np.float64))  # (K, p)
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), len(W))
    if W.ndim != 2 or W.shape[1] != len(names):
        return None
    classes = [str(label) for label in getattr(model, "classes_", ())]
    values = ["y"] if len(W) == 1 else [f"y{k}" for k in range(len(W))]
    heads = classes[-len(W) :] or values  # of two classes the weights of the second
    return LearnedTable("weights", heads, [*names, "(intercept)"], np.vstack([W.T, b]))


def _means(model: Any, names: list[str]) -> LearnedTable | None:
    mean = getattr(model, "theta_", getattr(model, "means_", None))
    if mean is None or np.ndim(mean) != 2 or np.shape(mean)[1] != len(names):
        return None
    variance = getattr(model, "var_", None)
    of = getattr(model, "component_classes_", None)  # of a mixture in each class
    labels = of if of is not None else getattr(model, "classes_", range(len(mean)))
    spread = None if variance is None else np.sqrt(variance).T
    return LearnedTable("means", [str(label) for label in labels], names, np.asarray(mean).T, spread)


def fitted(model: Any) -> str | None:
    """How an iterative fit went."""
    if not hasattr(model, "n_iter_") or model.n_iter_ is None:
        return None
    steps = int(np.max(model.n_iter_))
    said = f"{steps:,} iteration{'' if steps == 1 else 's'}"
    converged, why = getattr(model, "converged_", None), getattr(model, "stop_reason_", None)
    if converged is not None:
        said += ", converged" if converged else ", not converged"
    said += f": {why}" if why else ""
    chosen = [
        f"{name}={value:g}"
        for name in ("C", "l1_ratio", "alpha")
        if _is_one(value := getattr(model, f"{name}_", None))
    ]
    mistakes = getattr(model, "mistakes_", None)
    said += f"; chosen {', '.join(chosen)}" if chosen else ""
    return said + (f"; {int(np.sum(mistakes)):,} mistakes on the way" if mistakes is not None else "")


def _is_one(value: Any) -> bool:
    return isinstance(value, float | int | np.number)


def changed(model: Any) -> dict[str, Any]:
    """The hyper-parameters that are not as by default."""
    given = model.get_params(deep=False)
    usual = type(model)().get_params(deep=False)
    return {name: value for name, value in given.items() if repr(value) != repr(usual[name])}
