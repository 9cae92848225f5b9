"""The candidate models of a comparison: what each one is given, and estimators that users add."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain, count
from typing import Any

from sklearn.base import is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor

from likelier.comparison import prepare
from likelier.comparison.prepare import Diet, plain
from likelier.estimators.catalogue import NO_COLUMNS, Candidate, Kind, ModelInfo, candidates
from likelier.estimators.deprecated import settled

# The models that a table is compared on: what each is given, and what it takes for granted.


@dataclass(frozen=True)
class Nature:
    """What is known of a model before any row is seen."""

    kind: Kind = ""
    models: str = ""  # the distribution, or what of it
    independent: str = ""  # which columns are taken to be independent
    boundary: str = ""


@dataclass(frozen=True)
class Entrant:
    """A model, not fitted; how columns are made ready for it; its nature."""

    name: str
    model: Any
    diet: Diet
    nature: Nature = Nature()
    online: bool = False  # learns row by row: mistakes over time are worth a look
    baseline: bool = False
    most_columns: int | None = None  # beyond which it would take too long
    most_gappy: int | None = None  # the same where numbers are missing
    most_cells: int | None = None  # to learn from, beyond which it gets a sample of the rows


def _entrant(candidate: Candidate, model: Any, kind: Kind = "", *, baseline: bool = False) -> Entrant:
    nature = Nature(kind, candidate.models, candidate.independent, candidate.boundary)
    return Entrant(
        candidate.name,
        model,
        vars(prepare)[candidate.prepare],
        nature,
        candidate.online,
        baseline,
        candidate.most_columns,
        candidate.most_gappy,
        candidate.most_cells,
    )


def baseline(*, numbers: bool) -> Entrant:
    """The answer that knows y alone."""
    model = DummyRegressor() if numbers else DummyClassifier(strategy="prior")
    return _entrant(NO_COLUMNS[numbers], model, baseline=True)


def _known(info: ModelInfo, candidate: Candidate) -> Entrant:
    return _entrant(candidate, settled(info.load()(**candidate.settings)), info.kind)


def classifiers() -> list[Entrant]:
    """All that suit some table of classes."""
    return [_known(info, each) for info, each in candidates(numbers=False) if not each.on_request]


def regressions() -> list[Entrant]:
    """All that suit a target of numbers."""
    return [_known(info, each) for info, each in candidates(numbers=True)]


def on_request() -> list[Entrant]:
    """Those that take part where they are named."""
    return [_known(info, each) for info, each in candidates(numbers=False) if each.on_request]


# Who takes part in a comparison: likelier's models by name, and estimators of any kind.

Models = Mapping[str, Any] | Sequence[Any]


def entered(models: Models | None, also: Models, *, numbers: bool) -> list[Entrant]:
    """All that take part beside the baseline; models: None stands for all of likelier's that suit."""
    suited = regressions() if numbers else classifiers()
    first = suited if models is None else _listed(models, suited)
    return _told_apart([*first, *_listed(also, suited)])


def _listed(models: Models, suited: Sequence[Entrant]) -> list[Entrant]:
    if isinstance(models, str):
        models = [models]
    if isinstance(models, Mapping):
        return [_other(name, model) for name, model in models.items()]
    return [_named(m, suited) if isinstance(m, str) else _other(type(m).__name__, m) for m in models]


def _named(name: str, suited: Sequence[Entrant]) -> Entrant:
    """One of likelier's, by its name in the table or that of its class."""
    known = [*suited, *on_request()]
    by = {_bare(type(entrant.model).__name__): entrant for entrant in reversed(known)}
    by |= {_bare(entrant.name): entrant for entrant in known}
    if _bare(name) not in by:
        near = get_close_matches(_bare(name), by, n=1)
        hint = f" Did you mean {by[near[0]].name}?" if near else ""
        raise ValueError(
            f"models must be among {'; '.join(one.name for one in known)}; got {name!r}.{hint}"
        )
    return by[_bare(name)]


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _other(name: str, model: Any) -> Entrant:
    """An estimator: one of likelier's gets what is listed; any other numbers, indicators and words."""
    if inspect.isclass(model):
        raise TypeError(f"{name} is a class: hand in an estimator, as in {model.__name__}()")
    if not hasattr(model, "fit") or not (is_classifier(model) or is_regressor(model)):
        raise TypeError(f"{name}: a {type(model).__name__} is not a classifier or regressor")
    for known in [*classifiers(), *regressions(), *on_request()]:
        if type(known.model) is type(model):
            return replace(known, name=name, model=model)
    return Entrant(name, model, plain, Nature())


def _told_apart(entrants: Iterable[Entrant]) -> list[Entrant]:
    """Each under a name of its own: with the package that it is from, or else numbered."""
    found: dict[str, Entrant] = {}
    for entrant in entrants:
        first = found.get(entrant.name, entrant)
        base = entrant.name
        if _package(first) != _package(entrant):
            base = f"{base} ({_package(entrant)})"
        name = next(name for name in chain([base], (f"{base} {i}" for i in count(2))) if name not in found)
        found[name] = replace(entrant, name=name)
    return list(found.values())


def _package(entrant: Entrant) -> str:
    return type(entrant.model).__module__.partition(".")[0]
