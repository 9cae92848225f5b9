"""The bodies of requests and of answers: what they are decoded with is what the OpenAPI document says."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from likelier.service.events import MOST_ID, Features, Id, Label

LabelText = Annotated[str, Meta(max_length=MOST_ID)] | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
AnyLabel = LabelText | float | bool


class PredictRow(Struct, forbid_unknown_fields=True, gc=False):
    """A row to predict. With an id it is logged, and waits for its label."""

    x: Features
    id: Id | None = None


class PredictBody(Struct, forbid_unknown_fields=True, gc=False):
    """One row (`x` and perhaps `id`), or many (`rows`)."""

    x: Features | UnsetType = UNSET
    id: Id | None = None
    rows: Annotated[list[PredictRow], Meta(min_length=1)] | UnsetType = UNSET


class LearnRow(Struct, forbid_unknown_fields=True, gc=False):
    """A label: of the row that was predicted with this id, or of the row x that comes along."""

    y: AnyLabel
    id: Id | None = None
    x: Features | UnsetType = UNSET


class LearnBody(Struct, forbid_unknown_fields=True, gc=False):
    """One label (`y` with `id` or `x`), or many (`rows`)."""

    y: AnyLabel | UnsetType = UNSET
    id: Id | None = None
    x: Features | UnsetType = UNSET
    rows: Annotated[list[LearnRow], Meta(min_length=1)] | UnsetType = UNSET


class RollbackBody(Struct, forbid_unknown_fields=True):
    """Which snapshot to return to: the newest before the present version, unless one is named."""

    version: Annotated[int, Meta(ge=0)] | None = None


class Answer(Struct, gc=False):
    """The answer to a row."""

    id: str | int | None
    label: Label | None
    proba: dict[str, float]
    version: int


class Answers(Struct):
    """The answers to many rows, in their order."""

    rows: list[Answer]


class LearnAnswer(Struct):
    """What became of labels: learned now, known before, or kept until their row or their turn comes."""

    learned: int
    duplicates: int
    waiting: int


class Swapped(Struct):
    """The model that is served now."""

    version: int
    estimator: str


class Health(Struct):
    """Whether requests are served."""

    status: str
    version: int
    role: str


class Contribution(Struct):
    """What a feature adds to the score of each class."""

    feature: str
    value: Any
    scores: dict[str, float]


class Explanation(Struct):
    """An answer, and what each feature adds to it."""

    label: Label | None
    proba: dict[str, float]
    intercept: dict[str, float]
    contributions: list[Contribution]
    version: int


class Problem(Struct):
    """Why a request was refused."""

    error: str


class ModelInfo(Struct):
    """The model that is served, and what has become of the rows."""

    version: int
    rows_learned: int
    estimator: str
    learns: bool
    classes: list[Any]
    columns: list[str] | None
    settings: dict[str, Any]
    waiting: int
    expired: int
    late: int
    snapshots: list[int]
    figures: dict[str, float | None]
    config: dict[str, Any]
    shadow: dict[str, Any] | None = None


predict_decoder = msgspec.json.Decoder(PredictBody)
learn_decoder = msgspec.json.Decoder(LearnBody)
rollback_decoder = msgspec.json.Decoder(RollbackBody)
encode = msgspec.json.Encoder().encode
