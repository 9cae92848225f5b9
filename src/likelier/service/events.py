"""Events of the log, and the JSON that requests and the log are written in."""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

MOST_ID = 256  # characters of an id
Label = str | int | float | bool
NAME = r"^[^\x00-\x1f\x7f]+$"  # no control characters
Name = Annotated[str, Meta(min_length=1, max_length=MOST_ID, pattern=NAME)]
Id = Name | Annotated[int, Meta(ge=-(2**53), le=2**53)]
Text = Annotated[str, Meta(max_length=10_000)]
Cell = Text | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float | bool | None
# Not deeper than a dict of lists in a dict: nesting is bounded by the schema.
Features = dict[Annotated[str, Meta(max_length=1000)], Cell | list[Cell] | dict[str, Cell | list[Cell]]]


class Event(NamedTuple):
    """A row of the log: a row to predict (x), a label (y) of an earlier one, or both at once; or an action.

    `x`, `y` and `action` are JSON, as bytes. `at` is the event time in seconds since 1970.
    """

    seq: int
    at: float
    id: str | None
    x: bytes | None = None
    y: bytes | None = None
    action: bytes | None = None


class Config(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How labels are awaited: part of the log, so that a replay needs nothing else."""

    horizon: float | None = None  # seconds of event time
    default: Label | None = None  # the class of rows whose label has not come by then
    priors: dict[str, float] | None = None  # by label, as text
    in_order: bool = False
    keep_unknown: bool = False  # labels of rows that have not come yet are kept
    max_waiting: int = 100_000
    max_classes: int = 100

    def __post_init__(self) -> None:
        if self.horizon is not None and not 0 < self.horizon < math.inf:
            raise ValueError(f"--label-horizon must be a number of seconds > 0; got {self.horizon!r}.")
        if self.default is not None and self.horizon is None:
            raise ValueError(
                "--default-class needs --label-horizon: without one, labels are awaited for ever"
            )
        if self.in_order and self.horizon is None:
            raise ValueError(
                "--in-order needs --label-horizon: a label that never comes would hold back all that follow"
            )
        if self.max_waiting < 1 or self.max_classes < 2:
            raise ValueError("--max-waiting must be >= 1 and --max-classes >= 2")
        if self.priors is not None:
            self._check_priors(self.priors)

    def _check_priors(self, priors: dict[str, float]) -> None:
        good = len(priors) > 1 and all(0 < p < 1 for p in priors.values())
        if not good or abs(sum(priors.values()) - 1) > 1e-6:
            raise ValueError(f"--class-priors must be numbers in (0, 1) that sum to 1; got {priors!r}.")
        if self.default is None or label_text(self.default) not in priors:
            raise ValueError(
                "--class-priors needs --label-horizon and a --default-class that is among the priors; got "
                f"{self.default!r}."
            )


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event that is no row: another model, configuration or shadow."""

    model: str | None = None  # the SHA-256 of its file, which the store has
    config: Config | None = None
    note: str | None = None
    shadow: str | None = None  # the SHA-256 of the file of a model that learns beside; "": none any more


_features = msgspec.json.Decoder(Features)
_label = msgspec.json.Decoder(Label)
_action = msgspec.json.Decoder(Action)
encode = msgspec.json.Encoder().encode


def features_of(raw: bytes) -> dict[str, Any]:
    """The features of a row, from its JSON."""
    return _features.decode(raw)


@lru_cache(maxsize=1024)
def label_of(raw: bytes) -> Any:
    """A label, from its JSON."""
    label = _label.decode(raw)
    if isinstance(label, int) and not isinstance(label, bool) and not -(2**63) <= label < 2**63:
        raise ValueError("a label that is a whole number must have at most 64 bits")
    if isinstance(label, str) and len(label) > MOST_ID:
        raise ValueError(f"a label must have at most {MOST_ID} characters; got {len(label)}")
    return label


def action_of(raw: bytes) -> Action:
    """An action, from its JSON."""
    return _action.decode(raw)


@lru_cache(maxsize=1024, typed=True)
def label_text(label: Any) -> str:
    """A label as the name of a member of a JSON object."""
    return label if isinstance(label, str) else encode(label).decode()


@lru_cache(maxsize=1024, typed=True)
def label_json(label: Any) -> bytes:
    """A label as the log has it."""
    return encode(label)


def id_text(given: str | int) -> str:
    """An id as the log has it: whole numbers as text."""
    text = given if isinstance(given, str) else str(given)
    if text.endswith("\n"):  # which a regular expression lets pass
        raise ValueError(f"an id must have no control characters; got {text!r:.80}")
    return text


def proba_text(answer: Mapping[Any, float]) -> dict[str, float]:
    """Probabilities by the text of their labels."""
    return {label_text(label): p for label, p in answer.items()}
