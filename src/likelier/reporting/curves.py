"""What the held-out answers of each model show, as plain values for the page to draw."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.comparing.ranking import commonest, gathered, roc_points
from likelier.comparing.table import Comparison, Result
from likelier.data import code

Floats = NDArray[np.float64]

MOST_CURVES = 10  # classes that have ROC curves: the commonest
MOST_SQUARES = 20  # classes of a confusion matrix; the others are one
MOST_POINTS = 90  # of a curve
MOST_ROWS = 600  # drawn as points
Z = 1.959964  # 95 % of a normal lie within


class Labels(NamedTuple):
    """The classes of every row by number, and how common each is."""

    codes: NDArray[np.int32]  # (n,)
    w: Floats  # (n,)
    weight: Floats  # (K,)

    @classmethod
    def of(cls, comparison: Comparison) -> "Labels":
        assert comparison.classes is not None
        rows = comparison.rows
        codes = code(rows.y, comparison.classes)
        w = np.ones(len(rows)) if rows.w is None else rows.w
        return cls(codes, w, np.bincount(codes, w, len(comparison.classes)).astype(np.float64))

    def commonest(self, most: int) -> NDArray[np.intp]:
        """The numbers of the commonest classes, in order."""
        return commonest(self.weight, most)


def judged(comparison: Comparison) -> dict[str, Any]:
    """ROC curves, calibration and confusion of every model that took part."""
    labels = Labels.of(comparison)
    running = [result for result in comparison.results if result.folds]
    squares = labels.commonest(MOST_SQUARES)
    return {
        "curved": labels.commonest(MOST_CURVES).tolist(),
        "squares": squares.tolist(),
        "models": [
            {
                "name": result.model,
                "roc": _rocs(result, labels),
                "calibration": _calibration(result),
                "confusion": _confusion(result, squares),
            }
            for result in running
        ],
    }


# ---- ROC -----------------------------------------------------------------------------------------
def _rocs(result: Result, labels: Labels) -> list[dict[str, Any]]:
    """The curve of the second of two classes; of more, one of each class against the others."""
    K = len(labels.weight)
    if result.P is not None:
        chosen = [1] if K == 2 else labels.commonest(MOST_CURVES).tolist()
        return [
            {"k": k, **_thinned(*roc_points(result.P[:, k], labels.codes == k, labels.w))} for k in chosen
        ]
    overall = result.overall
    if K > 2 or np.isnan(overall.auc):
        return []
    curve = overall.roc()
    return [{"k": 1, **_thinned(curve.false_positive, curve.true_positive)}]


def _thinned(fall: Floats, rise: Floats) -> dict[str, Any]:
    """Points evenly along the way, and the area below all of them."""
    area = float(np.trapezoid(rise, fall))
    way = fall + rise
    at = np.unique(np.searchsorted(way, np.linspace(0, way[-1], MOST_POINTS)))
    at = np.unique(np.concatenate([[0], at, [len(way) - 1]]))
    return {"x": _short(fall[at]), "y": _short(rise[at]), "auc": round(area, 4)}


# ---- calibration and confusion -------------------------------------------------------------------
def _calibration(result: Result) -> dict[str, Any] | None:
    """Points with Wilson's intervals (1927)."""
    overall = result.overall
    if not overall.probable:
        return None
    groups = overall.calibration(10)
    low, high = wilson(groups.rate, groups.weight)
    named = {"p": groups.p, "rate": groups.rate, "low": low, "high": high}
    found: dict[str, Any] = {name: _short(each) for name, each in named.items()}
    return found | {"n": _short(groups.weight), "off": round(overall.calibration_error, 4)}


def wilson(rate: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Both ends of a 95 % interval for a share."""
    middle = (rate + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(rate * (1 - rate) / n + Z**2 / (4 * n**2))
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def _confusion(result: Result, squares: NDArray[np.intp]) -> list[list[float]]:
    """Weights by class (rows) and decision; the last row and column hold all classes that are not shown."""
    return [_short(row) for row in gathered(result.overall.confusion, squares)]


# ---- numbers to be found -------------------------------------------------------------------------
def residuals(comparison: Comparison) -> dict[str, Any]:
    """Of some rows: what was to be found, and what every model said."""
    y = np.asarray(comparison.rows.y, dtype=np.float64)
    at = np.sort(np.random.default_rng(comparison.seed).permutation(len(y))[:MOST_ROWS])
    models = [
        {"name": result.model, "said": _short(result.said[at])}
        for result in comparison.results
        if result.said is not None
    ]
    return {"y": _short(y[at]), "models": models, "drawn": len(at), "rows": len(y)}


def _short(values: Any) -> list[float]:
    """Five digits are more than a picture shows."""
    return [float(f"{value:.5g}") for value in np.asarray(values, dtype=np.float64).tolist()]
