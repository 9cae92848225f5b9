"""The file of a model: an archive whose header says of which version it is, and what is in one."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

from likelier import storage
from likelier.array_types import Floats
from likelier.saving import format
from likelier.storage import DIGEST as DIGEST
from likelier.storage import HEADER as HEADER
from likelier.storage import Take, decode
from likelier.storage import dtype_of as dtype_of
from likelier.storage import place_for as place_for
from likelier.storage import replacing as replacing
from likelier.storage import require as require
from likelier.storage import write as write

# The file of a model: an archive, whose header says so, and of which version it is.

FORMAT, VERSION = "likelier model", 1


def packed(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """A whole file: equal contents are equal bytes."""
    return storage.packed({"format": FORMAT, "version": VERSION, **header}, arrays)


class Archive(storage.Archive):
    """A model's, of a version that can be read."""

    def _check(self) -> None:
        header = self.header
        require(header.get("format") == FORMAT, "its header is not a model's")
        version: Any = header.get("version")
        require(type(version) is int and version > 0, f"its format version is {version!r:.80}")
        if version > VERSION:
            raise ValueError(
                f"it has format version {version}, and this likelier reads up to {VERSION}: it was written "
                f"by a newer likelier ({header.get('likelier')!r:.80}). Upgrade likelier"
            )
        # A header of an earlier version is brought up to date here: all else knows one version only.


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """A file to read. Whatever is wrong with it, here or in the block, is a ValueError that names it."""
    path.stat()
    storage.ordinary(path)
    with path.open("rb") as file:
        try:
            yield Archive(file)
        # The readers of zip, JSON and dtypes have many ways to say no, and none of them is news here.
        except Exception as problem:
            if isinstance(problem, BadZipFile) and not is_zipfile(path):
                raise ValueError(
                    f"{path} is not a likelier model file, and is not a model that can be loaded: "
                    "likelier.save and likelier train write such files (in commands the model comes first)."
                ) from problem
            kind = "" if isinstance(problem, ValueError) else f"{type(problem).__name__}: "
            raise ValueError(f"{path} is not a model that can be loaded: {kind}{problem}") from problem


# What is in a model file, said without building the model.


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
    statistics: bool  # whether it can continue training
    online: (
        dict[str, float] | None
    )  # what a model that learns row by row has counted; None for other models
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
