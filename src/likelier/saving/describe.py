"""What is in a model file, said without building the model."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.saving import format
from likelier.storing.values import Take, decode


@dataclass(frozen=True)
class Description:
    """A model file: what its header says."""

    estimator: str
    params: dict[str, Any]
    classes: NDArray[Any] | None  # None: not a classifier
    counts: list[float] | None  # the weight of each class; None: not known
    priors: Floats | None  # (K,)
    n_features: int | None  # None, for weights alone: they are among the params
    feature_names: list[str] | None
    families: list[str] | None  # of each column; None: there is one for all
    weight: float | None  # of all rows learned from; None: not known
    missing: float | None  # the weight of the cells that were not there; None: not known
    statistics: bool  # whether it can go on learning
    online: dict[str, float] | None  # what a model that learns row by row has counted; None: it is none
    about: dict[str, Any]  # what was said of it when it was saved
    likelier: str  # the version that wrote it
    size: int  # in bytes
    modified: datetime  # the file
    header: dict[str, Any]  # all of it


def describe(path: str | os.PathLike[str]) -> Description:
    """The estimator, hyper-parameters, classes, columns and rows of a file, and who wrote it."""
    path = Path(path)
    with format.opened(path) as archive:
        header, params, fitted = archive.header, archive.section("params"), archive.section("fitted")
        model, statistics = fitted.get("model") or {}, fitted.get("statistics")
        plan = model.get("fields", {}).get("plan")
        records = {} if plan is None else _records()
        held = {key: decode(value, archive.array, records) for key, value in params.items()}
        target = decode(fitted.get("target"), archive.array, {})
        names = decode(fitted.get("feature_names"), archive.array, {})
        n, about = header.get("rows"), header.get("about")
        online = decode(fitted.get("online"), archive.array, {})
        classifies = isinstance(target, np.ndarray)
        log_prior = decode(model.get("fields", {}).get("log_prior"), archive.array, {})
        return Description(
            estimator=str(header.get("estimator")),
            params=held,
            classes=target if classifies else None,
            counts=n if classifies else None,
            priors=None if log_prior is None else np.exp(log_prior),
            n_features=fitted.get("n_features"),
            feature_names=None if names is None else list(names),
            families=None if plan is None else _families(decode(plan, archive.array, records)),
            weight=None if n is None else float(np.sum(n)),
            missing=None if statistics is None else _missing(statistics, archive.array),
            statistics=statistics is not None or online is not None,
            online=None if online is None else _counted(online),
            about=dict(about) if isinstance(about, dict) else {},
            likelier=str(header.get("likelier")),
            size=path.stat().st_size,
            modified=datetime.fromtimestamp(path.stat().st_mtime, UTC),
            header=header,
        )


def _counted(online: dict[str, Any]) -> dict[str, float]:
    return {key: value for key, value in online.items() if isinstance(value, int | float)}


def _records() -> dict[str, type]:
    """Loaded for files that need them: most say all in plain data."""
    from likelier.saving.schema import CLASSES

    return CLASSES


def _families(plan: Any) -> list[str]:
    return [repr(settled) for _, settled in plan.settled()]


def _missing(statistics: dict[str, Any], take: Take) -> float | None:
    """The weight of missing cells, in whichever way these statistics keep count of them; None: not."""
    kind, held = statistics["record"], statistics["fields"]

    def read(*keys: str) -> list[Any]:
        return [decode(held[key], take, {}) for key in keys]

    if kind == "mixing.Stepwise":
        return None
    if kind in ("states.Parts", "plan.PlannedParts"):
        found = [_missing(one, take) for one in held["states"]["tuple"]]
        return sum(n for n in found if n is not None) if None not in found else None
    if kind in ("states.ShrinkageMoments", "states.BinCounts"):
        return _missing(held["gaps" if kind == "states.ShrinkageMoments" else "counts"], take)
    if "seen" in held:
        n, seen = read("n", "seen")
        return float((n[:, None] - seen).sum())
    if kind == "states.PatternMoments":
        X, w, blank = read("X", "w", "blank")
        return float(w @ np.isnan(X).sum(axis=1) + X.shape[1] * blank.sum())
    if kind == "states.Counts":
        n, counts, sizes = read("n", "counts", "sizes")
        return float(n.sum() * len(sizes) - counts.sum())
    if kind == "states.Kept":
        X, w = read("X", "w")
        return float(w @ np.isnan(X).sum(axis=1))
    (gone,) = read("gone") if "gone" in held else (None,)
    return 0.0 if gone is None else float(gone.sum())
