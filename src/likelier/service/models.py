"""Models as a service asks them: rows are JSON, and every row is checked against the model's columns."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from likelier import _core
from likelier.saving.format import Archive
from likelier.saving.online import NAME, Kept, content_of, kept_in
from likelier.service.events import encode, features_of, label_text
from likelier.storage import decode
from likelier.streams.model import Online, Settings
from likelier.streams.reader import NUMBER, WORD

# Whether the body had many, ids, and rows and labels in JSON.
LabelledRows = tuple[bool, list[str | None], list[bytes | None], list[bytes]]
MOST_BITS, CELL = 30, 4  # of Settings.bits; bytes of a weight


class RefusedRow(ValueError):
    """A row that the model cannot take."""


class Served:
    """A model: its name, its columns, and the probabilities of rows."""

    learns = False
    name: str

    def __init__(self, columns: Sequence[str] | None, sha: str) -> None:
        self.sha = sha
        self.columns = None if columns is None else list(columns)
        self._known = None if columns is None else frozenset(columns)

    @property
    def labels(self) -> list[Any]:
        """The classes that are known."""
        raise NotImplementedError

    @property
    def settings(self) -> dict[str, Any]:
        """Hyper-parameters by name."""
        raise NotImplementedError

    def probabilities(self, rows: Sequence[dict[str, Any]]) -> tuple[list[Any], list[list[float]]]:
        """Labels, and for each row the probability of each of them."""
        raise NotImplementedError

    def content(self) -> bytes:
        """The file of this model as it is now."""
        raise NotImplementedError

    def answer(self, x: dict[str, Any]) -> dict[Any, float]:
        """The probabilities of one row by label; empty before anything was learned."""
        labels, (p,) = self.probabilities([x])
        return dict(zip(labels, p, strict=True))

    def row(self, raw: bytes) -> dict[str, Any]:
        """The features of a row, from its JSON, checked."""
        return self.checked(features_of(raw))

    # Plain requests are read by native code; None: the request is not plain, and is read by its schema.
    def answer_body(self, body: bytes, version: int, most: int) -> tuple[bytes, int] | None:
        """The answer to the body of a `/predict` request whose rows have no ids, and how many they are."""
        return None

    def labelled_rows(self, body: bytes) -> LabelledRows | None:
        """The rows of the body of a `/learn` request."""
        return None

    def checked(self, x: dict[str, Any]) -> dict[str, Any]:
        """A row as the model takes it; raises a `RefusedRow` for one that it cannot take."""
        if self._known is not None and not self._known.issuperset(x):
            self._refuse(next(name for name in x if name not in self._known))
        return x

    def _refuse(self, name: str) -> None:
        assert self.columns is not None
        near = get_close_matches(name, self.columns, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f": it has {', '.join(self.columns[:20])}"
        raise RefusedRow(f"the model has no column {name!r:.200}{hint}")


class OnlineModel(Served):
    """A model that learns row by row.

    Plain requests are read by native code: rows whose cells are numbers, strings, booleans and null.
    """

    learns, name = True, NAME

    def __init__(self, kept: Kept, sha: str) -> None:
        super().__init__(kept.feature_names, sha)
        self.kept, self.model = kept, kept.model
        self.model.warned = True  # clipped steps are counted: nobody would see a warning
        kinds = self.model.reading.get("columns", {})
        self._kinds = {name: kind for name, kind in kinds.items() if kind in (NUMBER, WORD)}
        self._reader = _core.RequestReader(
            [list(names) for names in self.model.settings.interactions],
            self.columns,
            [name for name, kind in self._kinds.items() if kind == NUMBER],
            [name for name, kind in self._kinds.items() if kind == WORD],
        )
        self._in_json: tuple[list[str], list[str]] = [], []  # the labels, as values and as names of members

    @property
    def labels(self) -> list[Any]:
        return list(self.model.labels)

    @property
    def settings(self) -> dict[str, Any]:
        settings = self.model.settings
        return {one.name: getattr(settings, one.name) for one in fields(Settings)} | self.kept.fitting

    def checked(self, x: dict[str, Any]) -> dict[str, Any]:
        """Check cells by the column types of the training file: number or text."""
        super().checked(x)
        for name in x.keys() & self._kinds.keys() if self._kinds else ():
            kind, value = self._kinds[name], x[name]
            if kind == WORD and isinstance(value, int | float) and not isinstance(value, bool):
                x[name] = str(value)
            elif kind == NUMBER and isinstance(value, str):
                raise RefusedRow(f"column {name!r} is a column of numbers; got the string {value!r:.80}")
        return x

    def answer(self, x: dict[str, Any]) -> dict[Any, float]:
        model = self.model
        if len(model.labels) < 2:
            return dict.fromkeys(model.labels, 1.0)
        # A label that another thread has just met may have no probability yet.
        return dict(zip(model.labels, model.intake.predict_proba_one(model.learner, x), strict=False))

    def probabilities(self, rows: Sequence[dict[str, Any]]) -> tuple[list[Any], list[list[float]]]:
        model, labels = self.model, self.labels
        if len(labels) < 2:
            return labels, [[1.0] * len(labels)] * len(rows)
        P = model.learner.predict(model.intake.dicts(list(rows), None, None))[:, : len(labels)]
        return labels[: P.shape[1]], P.tolist()

    def answer_body(self, body: bytes, version: int, most: int) -> tuple[bytes, int] | None:
        values, names = self._in_json
        if len(values) != self.model.K:
            labels = self.labels
            values = [encode(label).decode() for label in labels]
            names = [encode(label_text(label)).decode() for label in labels]
            self._in_json = values, names
        return self._reader.predict(self.model.learner, body, values, names, version, most)

    def labelled_rows(self, body: bytes) -> LabelledRows | None:
        return self._reader.labelled(body)

    def hashed(self, raws: list[bytes], labels: list[Any]) -> "_core.HashedRows | None":
        """Hash rows in JSON. None if not all of them are plain; new labels are added only if they are."""
        codes = dict(self.model.codes)
        found = self._reader.rows(
            raws, np.array([codes.setdefault(label, len(codes)) for label in labels], dtype=np.int32)
        )
        if found is not None and len(codes) > self.model.K:
            for label in codes:
                self.model.meet(label)
        return found

    def learn(self, x: dict[str, Any], y: Any, weight: float = 1.0) -> None:
        """Learn one row."""
        model = self.model
        model.intake.learn_one(model.learner, x, model.meet(y), weight)

    def copy(self) -> "OnlineModel":
        """A copy of the model, which learns independently."""
        return OnlineModel(replace(self.kept, model=self.model.copy()), self.sha)

    def content(self) -> bytes:
        return content_of(self.kept)

    def weights(self, name: str, word: str | None) -> dict[Any, float]:
        """The weights of a feature: of the second class of two, else of each."""
        W = _core.online_weights(self.model.learner, _core.key_of(name, word))
        return dict(zip(self.labels if len(W) > 1 else self.labels[1:2], W, strict=False))


# ---- models as bytes ---------------------------------------------------------------------------------
def new_content(settings: Mapping[str, Any]) -> bytes:
    """The file of an OnlineClassifier that has learned nothing."""
    return content_of(Kept(Online(Settings(**settings))))


def sha_of(content: bytes) -> str:
    """The name of a model file."""
    return hashlib.sha256(content).hexdigest()


def served_of(content: bytes, most: int | None = None) -> Served:
    """The model in a file's bytes: parsed and checked, never executed.

    most: bytes that its weights may take, of which a small file can have many.
    """
    try:
        archive = Archive(BytesIO(content))
        if archive.header.get("estimator") == NAME:
            if most is not None:
                _check_size(archive, most)
            return OnlineModel(kept_in(archive), sha_of(content))
        # Only now: scikit-learn takes a while to load.
        from likelier.service.tables import TableModel

        return TableModel.of(content, sha_of(content))
    except BadZipFile as problem:
        raise ValueError(f"the file is not a likelier model file ({problem})") from problem
    # The readers of zip, JSON and dtypes have many ways to refuse a file.
    except Exception as problem:
        kind = "" if isinstance(problem, ValueError) else f"{type(problem).__name__}: "
        raise ValueError(f"the file is not a model that can be loaded: {kind}{problem}") from problem


def _check_size(archive: Archive, most: int) -> None:
    """Refuse a table that is larger than it may be before it is made."""
    bits = archive.section("params").get("bits", Settings.bits)
    K = len(decode(archive.section("fitted")["target"], archive.array, {}))
    if type(bits) is int and 0 < bits <= MOST_BITS:
        size = (1 << bits) * CELL * (2 * (K if K > 2 else 1) + 1)
        if size > most:
            raise ValueError(f"its table of {K} x 2^{bits} weights takes {size:,} bytes: at most {most:,}")


def load_file(path: str) -> bytes:
    """The bytes of a model file."""
    return Path(path).read_bytes()


def unfit(new: Served, old: Served) -> str | None:
    """Why a model cannot replace another one; None if it can."""
    if old.columns is not None and new.columns is not None and set(old.columns) != set(new.columns):
        others = sorted(set(old.columns) ^ set(new.columns))
        return f"the model has other columns than the one that is served: {', '.join(others[:10])}"
    if old.labels and new.labels and not set(old.labels) & set(new.labels):
        return (
            f"the model has the classes {new.labels[:10]}, and the one that is served "
            f"{old.labels[:10]}: they "
            "have none in common"
        )
    return None
