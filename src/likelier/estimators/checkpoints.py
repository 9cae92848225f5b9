"""Fits that can be killed, and go on: `fit(..., checkpoint=path)`."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from importlib.metadata import version
from numbers import Integral
from typing import Any, ClassVar, TypeVar, cast

from sklearn.utils.metadata_routing import UNUSED

from likelier import _core
from likelier.engines.identity import Digests
from likelier.engines.journal import journal
from likelier.estimators.callbacks import called, listened_to

Fit = TypeVar("Fit", bound=Callable[..., Any])


class Resumable:
    """Estimators whose `fit` takes a checkpoint."""

    # A checkpoint is for one fit, not for those of a search.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"checkpoint": UNUSED}
    _starts_at_random: ClassVar[bool] = False  # unless random_state says where


def resumable(fit: Fit) -> Fit:
    """A `fit` whose passes are kept in a file, if one is named, until it is done.

    It has a keyword `checkpoint`, which ends here: what the passes of a fit are, its body need not know.
    """

    @wraps(fit)
    def fitted(self: Any, *args: Any, checkpoint: Any = None, **keywords: Any) -> Any:
        with kept(self, checkpoint):
            if listened_to(self):
                return called(fit, self, args, keywords)
            return fit(self, *args, **keywords)

    return cast(Fit, fitted)


def kept(estimator: Any, checkpoint: Any) -> AbstractContextManager[None]:
    """While an estimator is fitted here, what its passes find is kept in this file; None: nowhere."""
    if checkpoint is None:
        return nullcontext()
    _refuse_chance(estimator)
    return journal(checkpoint, of=_about(estimator))


def _refuse_chance(estimator: Any) -> None:
    """A fit that starts at random would start elsewhere when it is begun again."""
    if estimator._starts_at_random and not isinstance(estimator.random_state, Integral):
        raise ValueError(
            f"checkpoint goes with a random_state that is a number, and is {estimator.random_state!r}: a "
            "fit that is begun again has to start as it did."
        )


def _about(estimator: Any) -> dict[str, Any]:
    """What a fit is, but for its rows: those are known when they are read."""
    held = estimator.get_params(deep=False)
    return {
        "the model": type(estimator).__name__,
        "the version of likelier": version("likelier"),
        "the instruction level": _core.ISA,  # others round otherwise
        **{name: _text(value) for name, value in held.items()},
    }


def _text(value: Any) -> str:
    """Something to compare, and short enough for a message."""
    shown = repr(value)
    plain = (
        isinstance(value, bool | int | float | str | list | tuple | dict | None) and " at 0x" not in shown
    )
    return shown if plain and len(shown) <= 80 else f"{type(value).__name__} {Digests().of(value)}"
