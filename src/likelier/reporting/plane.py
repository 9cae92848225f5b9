"""Where models say what, over two columns: each is fitted to these two alone, and asked on a grid."""

import warnings
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import clone

from likelier.comparing.catalogue import Entrant
from likelier.comparing.columns import Column
from likelier.comparing.judging import Folds
from likelier.comparing.judging import judged as on_folds
from likelier.comparing.rows import Rows
from likelier.comparing.table import Comparison, Result
from likelier.data import code
from likelier.reporting.telling import champions, some, telling

Floats = NDArray[np.float64]

COLUMNS = 4  # of which all pairs are drawn
MODELS = 2  # of each kind
GRID = 64  # points along each axis
FOLDS = 3
MOST_ROWS = 1500  # that models are fitted to, for a picture
MOST_POINTS = 300
MOST_CLASSES = 20
FAR = 30.0  # log odds, beyond which more is not seen
AROUND = 0.06  # of the range, left about it


def planes(comparison: Comparison) -> dict[str, Any]:
    """Every pair of the most telling columns, the best first; or why there is none."""
    classes = comparison.classes
    assert classes is not None
    columns = telling(comparison, COLUMNS)
    if len(columns) < 2:
        return {"none": "There are no two columns of numbers, so there is no plane to draw."}
    if len(classes) > MOST_CLASSES:
        return {"none": f"{len(classes)} classes are too many to tell apart in one picture."}
    rows = some(comparison.rows, MOST_ROWS, comparison.seed)
    held = {column.name: column for column in rows.columns}
    kinds = champions(comparison, MODELS)
    models = [result for kind in kinds for result in kind]
    pairs = [
        _pair(replace(rows, columns=(held[a.name], held[b.name])), models, classes, comparison)
        for a, b in combinations(columns, 2)
    ]
    most = max(len(pair["models"]) for pair in pairs)
    found = [pair for pair in pairs if len(pair["models"]) == most]
    if not most:
        return {"none": "No model could be fitted to two columns alone."}
    fitted = [model["name"] for model in found[0]["models"]]
    panels = [[fitted.index(each.model) for each in kind if each.model in fitted] for kind in kinds]
    return {
        "grid": GRID,
        "far": FAR,
        "panels": [panel for panel in panels if panel],
        "pairs": sorted(found, key=_mean_loss),
    }


def _mean_loss(pair: dict[str, Any]) -> float:
    losses = [model["loss"] for model in pair["models"] if model["loss"] is not None]
    return float(np.mean(losses)) if losses else float(np.mean([m["error"] for m in pair["models"]]))


def _pair(
    rows: Rows, models: Sequence[Result], classes: NDArray[Any], comparison: Comparison
) -> dict[str, Any]:
    a, b = rows.columns
    ends = [_ends(column.values) for column in (a, b)]
    axes = [np.linspace(*end, GRID) for end in ends]
    grid = np.column_stack([each.ravel() for each in np.meshgrid(*axes)])  # (G², 2), rows of one height
    drawn = [each for result in models if (each := _model(result, rows, grid, classes, comparison))]
    return {
        "names": [a.name, b.name],
        "ends": [[float(f"{end:.6g}") for end in each] for each in ends],
        "points": _points(rows, ends, classes, comparison.seed),
        "models": drawn,
    }


def _ends(x: Floats) -> tuple[float, float]:
    """All but the outermost rows, and some room about them."""
    low, high = np.nanquantile(x, [0.003, 0.997])
    if low == high:
        low, high = np.nanmin(x), np.nanmax(x)
    around = AROUND * (high - low)
    return float(low - around), float(high + around)


def _points(
    rows: Rows, ends: Sequence[tuple[float, float]], classes: NDArray[Any], seed: int
) -> dict[str, Any]:
    X = rows.numbers
    inside = np.all([(x >= low) & (x <= high) for x, (low, high) in zip(X.T, ends, strict=True)], axis=0)
    at = np.random.default_rng(seed).permutation(np.flatnonzero(inside))[:MOST_POINTS]
    codes = code(rows.y[at], classes)
    x, y = ([float(f"{value:.4g}") for value in X[at, j]] for j in (0, 1))
    return {"x": x, "y": y, "k": codes.tolist()}


def _model(
    result: Result, rows: Rows, grid: Floats, classes: NDArray[Any], comparison: Comparison
) -> dict[str, Any] | None:
    """What a model says on the grid, and how well it does with these two columns; None: it cannot."""
    assert result.entrant is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class of few rows is in few folds
        folds = Folds.of(rows, classes, min(FOLDS, comparison.cv), comparison.seed)
    judged = on_folds(result.entrant, folds, classes)
    if judged.sits_out:
        return None
    found = {"name": result.model, "error": round(judged.mean("error"), 4)}
    found["loss"] = _number(judged.mean("log_loss"))
    answers, sure = _asked(result.entrant, rows, grid, classes)
    order = np.argsort(answers, axis=1)
    best, lead = order[:, -1], np.ptp(np.take_along_axis(answers, order[:, -2:], 1), axis=1)
    if not sure and lead.max() > 0:
        lead = lead * (FAR / lead.max())
    doubt = _doubt(answers, best) if sure else np.zeros(len(grid))
    layers = best.astype(np.uint8).tobytes() + _packed(doubt) + _packed(lead)
    return found | {"sure": sure, "map": b64encode(layers).decode()}


def _doubt(answers: Floats, best: NDArray[np.intp]) -> Floats:
    """-ln(1 - p) of the likeliest class, from the others: it is as smooth where p is all but 1."""
    others = answers.copy()
    others[np.arange(len(best)), best] = -np.inf
    return np.asarray(-logsumexp(others, axis=1))


def _packed(values: Floats) -> bytes:
    """The root of values up to FAR, in 16 bits."""
    return bytes(np.rint(65535 * np.sqrt(np.clip(values, 0, FAR) / FAR)).astype("<u2").tobytes())


def _asked(entrant: Entrant, rows: Rows, grid: Floats, classes: NDArray[Any]) -> tuple[Floats, bool]:
    """(G², K) log probabilities, or scores and False. The grid is rows of the table that nothing is
    learned from.
    """
    n = len(rows)
    columns = tuple(
        Column(column.name, column.kind, np.concatenate([column.values, at]))
        for column, at in zip(rows.columns, grid.T, strict=True)
    )
    both = replace(rows, columns=columns, y=np.concatenate([rows.y, np.repeat(rows.y[:1], len(grid))]))
    train = np.arange(n)
    serve = entrant.diet(both, train)
    weights = {} if rows.w is None else {"sample_weight": rows.w}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(entrant.model).fit(serve(train), rows.y, **weights)
        X = serve(n + np.arange(len(grid)))
        sure = hasattr(model, "predict_proba")
        if hasattr(model, "predict_log_proba"):
            Z = np.asarray(model.predict_log_proba(X))
        elif sure:
            with np.errstate(divide="ignore"):
                Z = np.log(np.asarray(model.predict_proba(X)))
        else:
            Z = np.asarray(model.decision_function(X))
            Z = np.column_stack([-Z, Z]) if Z.ndim == 1 else Z
    found = np.full((len(grid), len(classes)), -np.inf)
    found[:, code(np.asarray(model.classes_), classes)] = Z
    return np.maximum(found, -1e9), sure


def _number(value: float) -> float | None:
    return round(value, 4) if np.isfinite(value) else None
