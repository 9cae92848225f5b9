"""What all estimators share: fitted attributes, checkpoints, callbacks, notebook display, precision."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from importlib.metadata import version
from inspect import signature
from numbers import Integral
from threading import Lock
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from likelier import _core
from likelier.data import DegenerateWarning, NonFinite
from likelier.data.design import design_of
from likelier.display import Part, Table, counted, html
from likelier.engines.checkpoint import Digests, journal
from likelier.estimators.sources import rounded
from likelier.estimators.tables import can_fill, filling_gaps
from likelier.states.base import plain
from likelier.warning_location import outside

# scikit-learn's callbacks, from its version 1.9 on: a task for a fit, and one for each of its steps.

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn 1.8 has none

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for what is not there: an estimator then has no `set_callbacks`."""


Attributes = Callable[[], dict[str, Any]]  # that make an estimator fitted, if anyone asks
Step = Callable[[Attributes | None], None]
SHOWN = "_shown_to_callbacks"  # while a fit is under way: its rows


def listened_to(model: Any) -> bool:
    """Whether a fit that begins has callbacks to tell of it."""
    return "_skl_callbacks" in vars(model) and SHOWN not in vars(model)


def followed(model: Any) -> bool:
    """Whether callbacks are told of the steps of the fit that is under way."""
    return SHOWN in vars(model)


def called(fit: Callable[..., Any], model: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """`fit`, with all that callbacks are told about it."""
    return with_callbacks(_told)(model, fit, args, keywords)


def _told(model: Any, fit: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    given = dict(zip(("X", "y"), args, strict=False)) | keywords
    rows = {name: given.pop(name, None) for name in ("X", "y")}
    rows["metadata"] = {"sample_weight": given.get("sample_weight")}
    if rows["metadata"]["sample_weight"] is None:
        rows["metadata"] = None
    # How many steps there will be is not known: a solver may be followed by another.
    context = model._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=model, **rows)
    setattr(model, SHOWN, rows)
    try:
        fit(model, *args, **keywords)
    finally:
        delattr(model, SHOWN)
    context.call_on_fit_task_end(estimator=model, **rows, reconstruction_attributes={})
    return model


@contextmanager
def steps(model: Any, name: str) -> Iterator[Step | None]:
    """What to call where a step has led, the start being the first; None: nobody listens.

    As in scikit-learn, the task of the step that was not taken ends empty.
    """
    if SHOWN not in vars(model):
        yield None
        return
    context, rows = model._callback_fit_ctx, vars(model)[SHOWN]
    lock, task = Lock(), None

    def step(attributes: Attributes | None) -> None:
        nonlocal task
        with lock:  # classes may be learned side by side
            told = {"estimator": model, **rows, "reconstruction_attributes": attributes}
            if task is not None:
                task.call_on_fit_task_end(**told)
            task = context.subcontext(task_name=name)
            task.call_on_fit_task_begin(**told)

    yield step
    if task is not None:
        task.call_on_fit_task_end(estimator=model)


Fit = TypeVar("Fit", bound=Callable[..., Any])

# Fits of tables in which cells turn out to be missing.


def repeated_for_gaps(fit: Fit) -> Fit:
    """A fit that starts again with a design matrix if a cell of a table turns out to be missing.

    That a table is complete is not known before it is read, and one that is needs no design.
    """

    @wraps(fit)
    def fitted(self: Any, X: Any, *args: Any, **keywords: Any) -> Any:
        try:
            return fit(self, X, *args, **keywords)
        except NonFinite as bad:
            if not (np.isnan(bad.value) and can_fill(self, X)):
                raise
        with filling_gaps():
            return fit(self, X, *args, **keywords)

    return cast(Fit, fitted)


# Fits that can be killed, and resumed: `fit(..., checkpoint=path)`.

NOT_ROUTED = {"checkpoint": UNUSED}  # a checkpoint is for one fit, not for those of a search


def takes_checkpoints(model: Any) -> bool:
    """Whether its `fit` can be cut off, and resumed from a file."""
    return "checkpoint" in signature(type(model).fit).parameters


def resumable(fit: Fit) -> Fit:
    """A `fit` whose passes are kept in a file, if one is named, until it is done.

    It has a keyword `checkpoint`, which ends here: what the passes of a fit are, its body need not know.
    """
    fit = repeated_for_gaps(fit)

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
    if getattr(estimator, "_starts_at_random", False) and not isinstance(estimator.random_state, Integral):
        raise ValueError(
            "random_state must be an integer when a checkpoint is used, so that a resumed fit starts as it "
            f"did; got {estimator.random_state!r}."
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


# Fitted models in notebooks: under scikit-learn's diagram, what they assume and what they found.

MOST_ROWS, MOST_COLUMNS = 10, 6  # of a table under a diagram


def with_caption(diagram: Any, model: Any) -> str:
    """scikit-learn's diagram of a model, with a sentence under it, and once it is fitted a small table."""
    return str(diagram) + html(caption(model))


class Estimator(BaseEstimator, ABC):
    """An estimator of scikit-learn's kind that is shown in notebooks with what it assumes and found."""

    def _html_repr(self) -> str:
        return with_caption(super()._html_repr(), self)


InNotebooks = Estimator


def caption(model: Any) -> list[Part]:
    """What a model assumes; of a fitted one its coefficients, or else its classes."""
    said: list[Part] = [model.assumes] if hasattr(model, "assumes") else []
    if isinstance(getattr(model, "coef_", None), np.ndarray):
        return said + _coefficients(model)
    return said + (_classes(model) if hasattr(model, "class_count_") else [])


def _coefficients(model: Any) -> list[Part]:
    W = np.atleast_2d(model.coef_)  # (K, p)
    b = np.broadcast_to(np.atleast_1d(model.intercept_), len(W))
    known = column_names(model)
    names = [f"x{j}" for j in range(W.shape[1])] if known is None else list(map(str, known))
    rows = [("(intercept)", b[:MOST_COLUMNS]), *zip(names, W.T[:, :MOST_COLUMNS], strict=True)]
    shown = [[name, *(f"{value:.4g}" for value in values)] for name, values in rows[: 1 + MOST_ROWS]]
    table = Table([["", *_headings(model, len(W))], *shown])
    noun = "class" if hasattr(model, "classes_") else "target"
    return [table, *_more(W.shape[1] - MOST_ROWS, "column"), *_more(len(W) - MOST_COLUMNS, noun)]


def _headings(model: Any, K: int) -> list[str]:
    """Whose coefficients they are: of two classes, those of the second."""
    labels: Sequence[Any] = getattr(model, "classes_", ())
    if not len(labels):
        return ["coefficient"] if K == 1 else [f"target {k}" for k in range(min(K, MOST_COLUMNS))]
    return [str(label) for label in (labels[-1:] if K == 1 else labels)[:MOST_COLUMNS]]


def _classes(model: Any) -> list[Part]:
    counts = np.asarray(model.class_count_)
    priors = getattr(model, "class_prior_", None)
    columns = [model.classes_, [f"{n:g}" for n in counts]]
    columns += [] if priors is None else [[f"{prior:.4g}" for prior in priors]]
    rows = [[str(cell) for cell in row] for row in zip(*columns, strict=True)]
    headings = ["class", "rows", "prior"][: len(columns)]
    return [Table([headings, *rows[:MOST_ROWS]]), *_more(len(rows) - MOST_ROWS, "class")]


def _more(n: int, noun: str) -> list[str]:
    return [f"and {counted(n, f'more {noun}')}"] if n > 0 else []


# How an estimator becomes fitted: all at once, or not at all.
#
# A fitted estimator has a model, what it counted (None: not kept), and what y was. Whatever fails, fails
# before the first attribute is set: an estimator is fitted, or as it was. An estimator says by `_shown`
# which attributes scikit-learn's users find on it, by `_remarks` what the rows left open, by `_settings`
# which hyper-parameters were not taken as they are: a warning each.

Names = NDArray[Any] | None


def column_names(estimator: Any) -> Names:
    """The names of the columns that a model has coefficients or means for, if they have any.

    Where a table became a design matrix, they are those of its columns, and `feature_names_in_` the
    table's.
    """
    design = vars(estimator).get("_design")
    return getattr(estimator, "feature_names_in_", None) if design is None else design.names


def table_attributes(names: Names) -> dict[str, Any]:
    """What an estimator keeps of the table that it was fitted to."""
    if names is None:
        return {}
    design = design_of(names)
    if design is None:
        return {"feature_names_in_": names}
    found: dict[str, Any] = {"_design": design, "n_features_in_": len(design.table)}
    if design.named:
        found["feature_names_in_"] = np.array(design.names_in, dtype=object)
    return found


def warn(estimator: Any, remarks: Iterable[str]) -> None:
    """Issue a warning for each of these remarks on a fit."""
    for remark in remarks:
        warnings.warn(f"{type(estimator).__name__}: {remark}", DegenerateWarning, stacklevel=outside())


def attributes_of(
    estimator: Any, shown: dict[str, Any], model: Any, statistics: Any | None, target: Any, names: Names
) -> dict[str, Any]:
    """All attributes of a fitted estimator: those that it shows, and what it is made of."""
    found = in_precision(model, shown, getattr(estimator, "_single_shown", frozenset()))
    return found | table_attributes(names) | {"_model": model, "_statistics": statistics, "_target": target}


def publish(
    estimator: Any, shown: dict[str, Any], model: Any, statistics: Any | None, target: Any, names: Names
) -> None:
    """Make an estimator fitted: it has these attributes, and none of an earlier fit."""
    attributes = attributes_of(estimator, shown, model, statistics, target, names)
    for name in [n for n in vars(estimator) if n.endswith("_") and not n.startswith("_")]:
        delattr(estimator, name)
    estimator.__dict__.pop("_design", None)
    estimator.__dict__.pop("_given_columns", None)  # of what condition() made, before it was fitted anew
    estimator.__dict__.update(attributes)


# Single precision: float32 in, float32 out, where scikit-learn has it so. All arithmetic is in double.


def in_precision(model: Any, attributes: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Fitted attributes, those of these names in the precision of the rows that the model was fitted to."""
    if not getattr(model, "single", False):
        return attributes
    return {name: rounded(value) if name in names else value for name, value in attributes.items()}


class FittedMixin(BaseEstimator, ABC):
    """Estimators with a model, what they counted (None: not kept), and what y was."""

    _model: Any
    _statistics: Any
    _target: Any
    # What is of single precision where the rows were: fitted attributes, and answers by their method.
    _single_shown: ClassVar[frozenset[str]] = frozenset()
    _single_answers: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def _shown(self, model: Any, statistics: Any | None, target: Any) -> dict[str, Any]:
        """The fitted attributes, scikit-learn's."""

    @abstractmethod
    def _remarks(self, model: Any, statistics: Any, target: Any, names: Names) -> Iterator[str]:
        """What the rows left open, and what was done about it: a warning each."""

    def _settings(self) -> Iterator[str]:
        """Hyper-parameters that were not taken as they are, whatever the rows: a warning each."""
        yield from ()

    def _warn(self, model: Any, statistics: Any | None, target: Any, names: Names) -> None:
        """Warn of hyper-parameters that were not taken as they are, and of what the rows left open."""
        warn(self, (*self._settings(), *self._remarks(model, plain(statistics), target, names)))

    def _publish(self, model: Any, statistics: Any | None, target: Any, names: Names) -> Self:
        """Become fitted, all at once."""
        shown = self._shown(model, plain(statistics), target)
        publish(self, shown, model, statistics, target, names)
        return self

    def _html_repr(self) -> str:
        return with_caption(super()._html_repr(), self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
