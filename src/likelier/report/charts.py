"""Data that the script of the report draws: curves, informative columns, decision regions."""

import warnings
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import rankdata
from sklearn.base import clone

from likelier.array_types import Floats, row_weights
from likelier.comparison.cross_validate import Folds, commonest, gathered, roc_points
from likelier.comparison.cross_validate import evaluated as on_folds
from likelier.comparison.models import CandidateModel
from likelier.comparison.result import Comparison, Result
from likelier.comparison.rows import Column, Kind, Rows
from likelier.data import Factor, code

# What the held-out answers of each model show, as plain values for the page to draw.


MOST_CURVES = 10  # classes that have ROC curves: the commonest
MOST_SQUARES = 20  # classes of a confusion matrix; the others are one
MOST_CURVE_POINTS = 90  # of a curve
MOST_DRAWN_ROWS = 600  # drawn as points
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
        w = row_weights(rows.w, len(rows))
        return cls(codes, w, np.bincount(codes, w, len(comparison.classes)).astype(np.float64))

    def commonest(self, most: int) -> NDArray[np.intp]:
        """The numbers of the commonest classes, in order."""
        return commonest(self.weight, most)


def evaluated_charts(comparison: Comparison) -> dict[str, Any]:
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
    at = np.unique(np.searchsorted(way, np.linspace(0, way[-1], MOST_CURVE_POINTS)))
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
    at = np.sort(np.random.default_rng(comparison.seed).permutation(len(y))[:MOST_DRAWN_ROWS])
    models = [
        {"name": result.model, "said": _short(result.predicted[at])}
        for result in comparison.results
        if result.predicted is not None
    ]
    return {"y": _short(y[at]), "models": models, "drawn": len(at), "rows": len(y)}


def _short(values: Any) -> list[float]:
    """Five digits are more than a picture shows."""
    return [float(f"{value:.5g}") for value in np.asarray(values, dtype=np.float64).tolist()]


# Which columns tell most of the target, each by itself; and the models that are looked at closely.

MOST_RANKED_ROWS = 4000  # that columns are told by


def informative(comparison: Comparison, most: int, kinds: Sequence[Kind] = ("number",)) -> list[Column]:
    """The columns that say most about the target, each by itself.

    Numbers by η² of their ranks, the share of variance between classes (Kruskal & Wallis 1952), or by
    Spearman's ρ² where the target is numeric; categories by Cramér's V², corrected for its bias, so that
    a column of many levels does not come first because it has many (Bergsma 2013).
    """
    rows = some(comparison.rows, MOST_RANKED_ROWS, comparison.seed)
    columns = [column for column in rows.columns if column.kind in kinds]
    scores = [_explained(column.values, rows.y, comparison.classes) for column in columns]
    order = np.argsort(-np.array(scores), kind="stable")[:most]
    held = {column.name: column for column in comparison.rows.columns}
    return [held[columns[j].name] for j in order]


def _cramer(factor: Factor, codes: NDArray[Any], K: int) -> float:
    """V² of two columns of categories without its bias: φ² less what independent columns would have."""
    there = (factor.codes >= 0) & (factor.codes < len(factor.levels))
    n = int(there.sum())
    table = np.zeros((len(factor.levels), K))
    np.add.at(table, (factor.codes[there], codes[there]), 1.0)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    rows, columns = table.shape
    if min(rows, columns) < 2:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    phi = float(((table - expected) ** 2 / expected).sum()) / n
    phi = max(0.0, phi - (rows - 1) * (columns - 1) / (n - 1))
    least = min(size - (size - 1) ** 2 / (n - 1) for size in (rows, columns)) - 1
    return min(1.0, phi / least) * float(there.mean()) if least > 0 else 0.0


def _explained(x: Any, y: NDArray[Any], classes: NDArray[Any] | None) -> float:
    if isinstance(x, Factor):
        return 0.0 if classes is None else _cramer(x, code(y, classes), len(classes))
    there = ~np.isnan(x)
    if there.sum() < 2:
        return 0.0
    rank = rankdata(x[there])
    rank -= rank.mean()
    total = float(rank @ rank)
    if not total:
        return 0.0
    if classes is None:
        other = rankdata(y[there])
        other -= other.mean()
        size = float(other @ other)
        return float(rank @ other) ** 2 / (total * size) if size else 0.0
    codes = code(y[there], classes)
    sums, n = np.bincount(codes, rank), np.bincount(codes)
    return float((sums[n > 0] ** 2 / n[n > 0]).sum()) / total * float(there.mean())


def some(rows: Rows, most: int, seed: int) -> Rows:
    """At most so many rows, drawn, in their order."""
    if len(rows) <= most:
        return rows
    at = np.sort(np.random.default_rng(seed).choice(len(rows), most, replace=False))
    return rows.take(at, "some rows are drawn")


def champions(comparison: Comparison, each: int = 1) -> list[list[Result]]:
    """The best generative and the best discriminative models, so many of each; of other kinds, the best."""
    able = [result for result in comparison.results if result.folds and not result.baseline]
    kinds = [
        [result for result in able if result.traits.kind == kind][:each]
        for kind in ("generative", "discriminative")
    ]
    return [kind for kind in kinds if kind] or ([able[:each]] if able else [])


# Where models say what, over two columns: each is fitted to these two alone, and asked on a grid.


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
    columns = informative(comparison, COLUMNS)
    if len(columns) < 2:
        return {"none": "There are no two columns of numbers, so there is no plane to draw."}
    if len(classes) > MOST_CLASSES:
        return {"none": f"{len(classes)} classes are too many for one plot."}
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
    assert result.candidate_model is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class of few rows is in few folds
        folds = Folds.of(rows, classes, min(FOLDS, comparison.cv), comparison.seed)
    fold_result = on_folds(result.candidate_model, folds, classes)
    if fold_result.skipped:
        return None
    found = {"name": result.model, "error": round(fold_result.mean("error"), 4)}
    found["loss"] = _number(fold_result.mean("log_loss"))
    answers, sure = _asked(result.candidate_model, rows, grid, classes)
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


def _asked(
    candidate_model: CandidateModel, rows: Rows, grid: Floats, classes: NDArray[Any]
) -> tuple[Floats, bool]:
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
    serve = candidate_model.preprocessor(both, train)
    weights = {} if rows.w is None else {"sample_weight": rows.w}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(candidate_model.model).fit(serve(train), rows.y, **weights)
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
