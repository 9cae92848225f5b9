"""What is in a model file, said without building the model."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.saving import disk
from likelier.saving.values import decode


@dataclass(frozen=True)
class Description:
    """A model file: what its header says."""

    estimator: str
    params: dict[str, Any]
    classes: NDArray[Any] | None  # None: not a classifier
    n_features: int | None  # None, for weights alone: they are among the params
    feature_names: list[str] | None
    weight: float | None  # of all rows learned from; None: not known
    statistics: bool  # whether it can go on learning
    likelier: str  # the version that wrote it
    modified: datetime  # the file
    header: dict[str, Any]  # all of it


def describe(path: str | os.PathLike[str]) -> Description:
    """The estimator, hyper-parameters, classes, columns and rows of a file, and who wrote it."""
    path = Path(path)
    with disk.opened(path) as archive:
        header, params, fitted = archive.header, archive.section("params"), archive.section("fitted")
        held = {key: decode(value, archive.array, {}) for key, value in params.items()}
        target = decode(fitted.get("target"), archive.array, {})
        names = decode(fitted.get("feature_names"), archive.array, {})
        n = header.get("rows")
        return Description(
            estimator=str(header.get("estimator")),
            params=held,
            classes=target if isinstance(target, np.ndarray) else None,
            n_features=fitted.get("n_features"),
            feature_names=None if names is None else list(names),
            weight=None if n is None else float(np.sum(n)),
            statistics=fitted.get("statistics") is not None,
            likelier=str(header.get("likelier")),
            modified=datetime.fromtimestamp(path.stat().st_mtime, UTC),
            header=header,
        )
