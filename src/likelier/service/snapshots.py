"""States of a learner as files: checksummed, and read back to the same bits."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any
from zipfile import BadZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray

from likelier import storage
from likelier.service.events import Config, encode
from likelier.service.live import Live
from likelier.service.models import OnlineModel, Served, served_of
from likelier.service.shadow import PairedLosses, Shadow, record
from likelier.storage import decode, require
from likelier.streams.delayed import Row
from likelier.streams.figures import Curve, Figures, Snapshot

FORMAT, VERSION = "likelier snapshot", 1
COUNTERS = ("version", "began", "rows_learned", "expired", "crowded", "late", "failed")
Raws = Callable[[Sequence[str]], Mapping[str, bytes]]  # rows of the log, by id


# ---- out -----------------------------------------------------------------------------------------
def captured(live: Live) -> Callable[[], bytes]:
    """Copy the state; the returned function makes the file, in any thread."""
    models = {"model": _copied(live.served)}
    state = _state(live)
    if live.shadow is not None:
        models["shadow"] = _copied(live.shadow.live.served)
        state["shadow"] = _state(live.shadow.live)
        state["losses"] = live.shadow.losses.state()

    def content() -> bytes:
        arrays: dict[str, NDArray[Any]] = {}
        held = storage.encode(state, "state", arrays, {})
        for name, model in models.items():
            arrays[name] = np.frombuffer(model.content(), dtype=np.uint8)
        return storage.packed({"format": FORMAT, "version": VERSION, "state": held}, arrays)

    return content


def _copied(served: Served) -> Served:
    return served.copy() if isinstance(served, OnlineModel) else served


def _state(live: Live) -> dict[str, Any]:
    waiting, judge = live.waiting, live.judge
    rows = list(waiting.rows.values())
    labels = list({label: None for row in rows for label in row.answer})
    P = np.full((len(rows), len(labels)), np.nan)
    place = {label: j for j, label in enumerate(labels)}
    for i, row in enumerate(rows):
        for label, p in row.answer.items():
            P[i, place[label]] = p
    return {
        **{name: getattr(live, name) for name in COUNTERS},
        "config": encode(live.config).decode(),
        "sha": live.served.sha,
        "early": [[id, y, at] for id, (y, at) in live.early.items()],
        "now": waiting.now,
        "backwards": waiting.backwards,
        "taught": list(waiting.model.taught),
        "held": [[id, y] for id, (y, _) in waiting.held.items()],
        "ids": list(waiting.rows),
        "made": np.array([row.made for row in rows], dtype=np.float64),
        "known": np.array([row.known for row in rows], dtype=np.int64),
        "labels": labels,
        "answers": P,
        "judged": list(judge.labels),
        "curve": _curve(judge.settle()),
    }


def _curve(curve: Curve) -> dict[str, Any]:
    figures = curve.figures
    return {
        "window": curve.window,
        "totals": figures.totals.copy(),
        "classes": figures.classes.copy(),
        "bins": figures.bins.copy(),
        "snapshots": [list(snapshot) for snapshot in curve.snapshots],
        "last": curve._last.copy(),
        "began": curve._began.copy(),
        "sums": np.array(curve._sums).reshape(-1, 6),
    }


# ---- in ------------------------------------------------------------------------------------------
def restored(content: bytes, models: Callable[[str], Served], raws: Raws | None) -> Live:
    """The learner of a snapshot; raises ValueError if it is damaged. raws=None: without waiting rows."""
    try:
        archive = storage.Archive(BytesIO(content))
        require(archive.header.get("format") == FORMAT, "it is not a snapshot")
        require(archive.header.get("version") == VERSION, "it is of another version")
        state = decode(archive.section("state"), archive.array, {})
        live = _live(Live(models), state, _model(archive, "model", state), raws)
        if "shadow" in state:
            beside = Live(models, beside=True)
            _live(beside, state["shadow"], _model(archive, "shadow", state["shadow"]), raws)
            live.shadow = Shadow(beside, PairedLosses.of(state["losses"]))
            record(live)
            record(beside)
        return live
    except (BadZipFile, KeyError, TypeError, OSError, NotImplementedError) as problem:
        raise ValueError(f"the snapshot is damaged: {type(problem).__name__}: {problem}") from problem


def _model(archive: storage.Archive, name: str, state: dict[str, Any]) -> Served:
    model = served_of(archive.array(name).tobytes())
    model.sha = state["sha"]
    return model


def _live(live: Live, state: dict[str, Any], model: Served, raws: Raws | None) -> Live:
    for name in COUNTERS:
        setattr(live, name, state[name])
    live.config = msgspec.json.decode(state["config"].encode(), type=Config)
    live.early = OrderedDict((id, (y, at)) for id, y, at in state["early"])
    live.use(model)
    waiting = live.waiting
    waiting.now, waiting.backwards = state["now"], state["backwards"]
    waiting.model.taught = {label: i for i, label in enumerate(state["taught"])}
    if raws is not None:
        waiting.held = {id: (y, 1.0) for id, y in state["held"]}
        waiting.rows.update(_rows(state, raws(state["ids"])))
    live.judge.labels = {label: i for i, label in enumerate(state["judged"])}
    _restore_curve(live.judge.settle(), state["curve"])
    return live


def _rows(state: dict[str, Any], found: Mapping[str, bytes]) -> Iterator[tuple[str, Row]]:
    """The rows that waited, in their order."""
    labels, known, made = state["labels"], state["known"].tolist(), state["made"].tolist()
    for id, at, n, p in zip(state["ids"], made, known, state["answers"].tolist(), strict=True):
        require(id in found, f"row {id!r:.80} waits for its label, and is not in the log")
        answer = {label: q for label, q in zip(labels, p, strict=True) if q == q}
        yield id, Row(found[id], answer, at, 1.0, n)


def _restore_curve(curve: Curve, kept: dict[str, Any]) -> None:
    curve.window = kept["window"]
    curve.figures = Figures(kept["totals"], kept["classes"], kept["bins"])
    curve.snapshots = [Snapshot(*values) for values in kept["snapshots"]]
    curve._last, curve._began = kept["last"], kept["began"]
    curve._sums = list(kept["sums"])


def model_in(content: bytes) -> bytes:
    """The model file within a snapshot."""
    return storage.Archive(BytesIO(content)).array("model").tobytes()
