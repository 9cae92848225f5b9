"""Whether models that were fitted apart can be merged; and if not, which of them, and why."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likelier.estimators import door


class Named(NamedTuple):
    """A fitted model, and what messages call it."""

    name: str
    model: Any


def numbered(first: Any, others: Sequence[Any]) -> list[Named]:
    """Models by their places in a call of `merge`."""
    return [Named("this model", first), *(Named(f"model {i}", one) for i, one in enumerate(others, 1))]


def check(models: Sequence[Named]) -> None:
    """Refuse what was not fitted alike: another kind, other hyper-parameters or columns, no statistics."""
    first = models[0]
    for one in models:
        _check_kind(first, one)
        door.fitted(one.model)
    for one in models:
        _check_kept(one)
        _check_hyper_parameters(first, one)
        _check_columns(first, one)


def check_statistics(models: Sequence[Named]) -> None:
    """Refuse statistics that count other things."""
    first = models[0]
    for one in models[1:]:
        ours, theirs = first.model._statistics, one.model._statistics
        if not ours.mergeable(theirs):
            names = getattr(first.model, "feature_names_in_", None)
            why = ours.unlike(theirs, names) if hasattr(ours, "unlike") else _UNLIKE
            raise ValueError(f"{first.name} and {one.name} keep other statistics: {why}")


_UNLIKE = (
    "hyper-parameters that need others were changed since their first rows, or one of them was fitted by "
    "an earlier version: fit it anew"
)


def _check_kind(first: Named, one: Named) -> None:
    ours, theirs = (type(each.model).__name__ for each in (first, one))
    if type(one.model) is not type(first.model):
        raise TypeError(
            f"cannot merge {ours} with {theirs}: {first.name} is a {ours}, {one.name} a {theirs}"
        )


def _check_kept(one: Named) -> None:
    try:
        one.model._needs_statistics("merge")
    except ValueError as problem:
        raise ValueError(f"{one.name}: {problem}") from None


def _check_hyper_parameters(first: Named, one: Named) -> None:
    mine, settled = first.model.get_params(deep=False), first.model._settled
    for name, value in one.model.get_params(deep=False).items():
        if name not in settled and not _same(mine[name], value):
            raise ValueError(
                f"hyper-parameters differ: {name} is {mine[name]!r} in {first.name} and {value!r} in "
                f"{one.name}. Fit them alike."
            )


def _same(a: Any, b: Any) -> bool:
    return a is b or np.array_equal(np.asarray(a), np.asarray(b))


def _check_columns(first: Named, one: Named) -> None:
    ours, theirs = (_columns(each.model) for each in (first, one))
    if ours == theirs:
        return
    both = isinstance(ours, list) and isinstance(theirs, list)
    if not both:
        said = f"{first.name} has {_counted(ours)}, {one.name} {_counted(theirs)}"
    elif sorted(ours) == sorted(theirs):
        j = next(j for j, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
        said = (
            f"{one.name} has those of {first.name} in another order (column {j} is {theirs[j]!r}, not "
            f"{ours[j]!r}): fit it with them in that order"
        )
    else:
        gone, new = (set(a) - set(b) for a, b in ((ours, theirs), (theirs, ours)))
        what = [f"lacks {_some(gone)}"] if gone else []
        what += [f"has {_some(new)}, which {first.name} has not"] if new else []
        said = f"{one.name} {' and '.join(what)}"
    raise ValueError(f"columns differ: {said}")


def _columns(model: Any) -> Any:
    """Their names, or how many they are."""
    return list(getattr(model, "feature_names_in_", ())) or model.n_features_in_


def _some(names: set[str]) -> str:
    shown = [repr(name) for name in sorted(names)]
    return ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")


def _counted(columns: Any) -> str:
    if isinstance(columns, list):
        return f"{len(columns)} named columns"
    return f"{columns} columns without names"
