"""Online models to files and back, without scikit-learn: the stream on the command line starts fast."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.saving import format
from likelier.saving.format import Archive, require
from likelier.storage import decode, encode
from likelier.streams.model import Online, Settings, all_slots, few_slots, plain_label
from likelier.streams.reader import NUMBER, WORD

NAME = "OnlineClassifier"
FITTING = {"passes": 1, "shuffle": True, "random_state": None}
Arrays = dict[str, NDArray[Any]]


@dataclass
class Kept:
    """A model, and what belongs to the estimator that shows it."""

    model: Online
    fitting: dict[str, Any] = field(default_factory=lambda: dict(FITTING))  # what `fit` alone asks for
    n_features: int | None = None
    feature_names: list[str] | None = None
    about: dict[str, Any] = field(default_factory=dict)


def save_online(kept: Kept, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, whole or not at all."""
    format.write(Path(path), content_of(kept))


def load_online(path: str | os.PathLike[str]) -> Kept:
    """The model in a file, which continues training as the one that was saved would."""
    with format.opened(Path(path)) as archive:
        return kept_in(archive)


# ---- out -----------------------------------------------------------------------------------------
def content_of(kept: Kept) -> bytes:
    """The bytes of a file."""
    model, arrays = kept.model, Arrays()
    counts = model.intake.counts
    params = {one.name: getattr(model.settings, one.name) for one in fields(Settings)}
    state = model.state()
    fitted = {
        "target": _objects(model.labels),
        "n_features": kept.n_features,
        "feature_names": None if kept.feature_names is None else _objects(kept.feature_names),
        "reading": model.reading,
        "table": few_slots(state.pop("table"), state.pop("tags")),
        "online": state | {"fading": 1},
    }
    params |= kept.fitting
    header = {
        "likelier": version("likelier"),
        "estimator": NAME,
        "rows": counts + [0.0] * (model.K - len(counts)),
        **({"about": dict(kept.about)} if kept.about else {}),
        "params": {key: encode(value, f"params/{key}", arrays, {}) for key, value in params.items()},
        "fitted": {key: encode(value, key, arrays, {}) for key, value in fitted.items()},
    }
    return format.packed(header, arrays)


def _objects(values: list[Any]) -> NDArray[Any]:
    held = np.empty(len(values), dtype=object)
    held[:] = values
    return held


# ---- in ------------------------------------------------------------------------------------------
def kept_in(archive: Archive) -> Kept:
    """What an open file holds, checked."""
    require(archive.header.get("estimator") == NAME, f"it holds a {archive.header.get('estimator')!r:.80}")
    left = archive.names

    def take(array: str) -> NDArray[Any]:
        require(array in left, f"array {array!r:.80} is not there, or is used twice")
        left.remove(array)
        return archive.array(array)

    params = {key: decode(value, take, {}) for key, value in archive.section("params").items()}
    parts = {key: decode(value, take, {}) for key, value in archive.section("fitted").items()}
    require(not left, f"nothing refers to array {', '.join(sorted(left)):.80}")
    wanted = {"target", "n_features", "feature_names", "reading", "table", "online"}
    require(parts.keys() == wanted, f"its parts are not {', '.join(sorted(wanted))}")
    unknown = params.keys() - {one.name for one in fields(Settings)} - FITTING.keys()
    require(not unknown, f"{NAME} has no hyper-parameter {', '.join(sorted(unknown)):.80}")
    fitting = {name: params.pop(name, usual) for name, usual in FITTING.items()}
    _check_fitting(**fitting)
    settings, labels = Settings(**params), _labels(parts["target"])
    model = Online.of(settings, labels, _reading(parts["reading"]), _state(settings, labels, parts))
    about = archive.header.get("about")
    p, names = parts["n_features"], parts["feature_names"]
    require(p is None or (type(p) is int and p > 0), f"{p!r:.80} is not a number of columns")
    return Kept(model, fitting, p, _names(names), dict(about) if isinstance(about, dict) else {})


def _check_fitting(passes: Any, shuffle: Any, random_state: Any) -> None:
    require(type(passes) is int and passes > 0, f"passes is {passes!r:.80}")
    require(type(shuffle) is bool, f"shuffle is {shuffle!r:.80}")
    seeded = random_state is None or (type(random_state) is int and 0 <= random_state < 2**32)
    require(seeded, f"random_state is {random_state!r:.80}")


def _labels(target: Any) -> list[Any]:
    require(type(target) is np.ndarray and target.ndim == 1, "the classes are not a list of labels")
    labels: list[Any] = target.tolist()
    for label in labels:
        require(plain_label(label) is label, "the classes are not plain labels")
    require(len(set(labels)) == len(labels), "a class is there twice")
    return labels


def _reading(given: Any) -> dict[str, Any]:
    require(isinstance(given, dict), "its reading options are not a dict")
    columns = given.get("columns", {})
    good = isinstance(columns, dict) and all(kind in (NUMBER, WORD) for kind in columns.values())
    for name in ("target", "weight"):
        good = good and isinstance(given.get(name), str | None)
    for names in (
        list(columns) if good else [],
        given.get("features"),
        given.get("ignore"),
        given.get("missing"),
    ):
        good = good and (names is None or _are_names(names))
    require(good, "how its rows are read is not said in names of columns")
    return dict(given)


def _are_names(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(name, str) for name in given)


def _names(given: Any) -> list[str] | None:
    if given is None:
        return None
    good = type(given) is np.ndarray and given.ndim == 1 and all(type(name) is str for name in given)
    require(good, "the feature names are not strings")
    return [str(name) for name in given]


def _state(settings: Settings, labels: list[Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    state, K = parts["online"], len(labels)
    require(isinstance(state, dict), "its learned state is not a dict")
    state = dict(state)
    fading = state.pop("fading", 0)  # whether weights are kept inflated, as sums are
    counts: Any = state.get("counts")
    good = type(counts) is np.ndarray and counts.dtype == np.float64 and counts.ndim == 1
    require(good and len(counts) <= K and (counts >= 0).all(), "the counts of classes are not valid")
    for name, value in state.items():
        if name != "counts":
            good = type(value) in (int, float) and 0 <= value < math.inf
            require(good, f"{name} is {value!r:.80}, which is not a count")
    require(state.get("inflation", 1) > 0, "inflation is 0")
    require(state.get("K", K + 1) <= K, f"it has weights of {state.get('K')!r:.80} classes, and {K} labels")
    held = _table(settings, parts["table"])
    if not fading and settings.half_life and settings.optimizer != "ftrl":
        held["table"] = np.copy(held["table"])
        held["table"][:, 4::2] *= state.get("inflation", 1.0)
    return state | held


def _table(settings: Settings, given: Any) -> dict[str, NDArray[Any]]:
    wanted = {"slots", "at", "cells", "tags"}
    require(isinstance(given, dict) and given.keys() == wanted, "it has no table of weights")
    slots = 2**settings.bits + 1
    require(given["slots"] == slots, f"a table of {given['slots']!r:.80} slots is not one of its bits")
    at, cells, tags = given["at"], given["cells"], given["tags"]
    good = all(type(array) is np.ndarray and array.ndim == 2 for array in (cells, tags))
    good = good and cells.dtype == np.float32 and tags.dtype == np.uint32 and tags.shape == (len(cells), 1)
    require(good and np.isfinite(cells).all(), "the weights are not valid, or contain NaN or infinity")
    if at is None:
        return all_slots(**given)
    good = type(at) is np.ndarray and at.dtype == np.uint32 and at.shape == (len(cells),)
    places = at.astype(np.int64) if good else np.zeros(0)
    require(good and (np.diff(places) > 0).all(), "the places of weights are not valid")
    require(len(at) == 0 or places[-1] < slots, "a weight is beyond the table")
    return all_slots(**given)
