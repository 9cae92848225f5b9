"""scikit-learn's callbacks, from its version 1.9 on: a task for a fit, and one for each of its steps."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn 1.8 has none

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for what is not there: an estimator then has no `set_callbacks`."""


Attributes = Callable[[], dict[str, Any]]  # that make an estimator fitted, if anyone asks
Step = Callable[[Attributes | None], None]
SHOWN = "_shown_to_callbacks"  # while a fit is under way: its rows


class Observable(CallbackSupportMixin):
    """Estimators fitted in steps: `set_callbacks`, which `fit` tells of them by `called` and `steps`."""


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
