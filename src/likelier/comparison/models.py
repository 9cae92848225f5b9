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
from likelier.comparison.prepare import Preprocessor, plain
from likelier.estimators.catalogue import (
    NO_COLUMNS,
    Candidate,
    Kind,
    ModelInfo,
    candidates,
)
from likelier.estimators.deprecated import settled

# The models that a table is compared on: what each is given, and what it assumes.


@dataclass(frozen=True)
class ModelTraits:
    """What is known of a model before any row is seen."""

    kind: Kind = ""
    models: str = ""  # the distribution, or what of it
    independent: str = ""  # which columns are taken to be independent
    boundary: str = ""


@dataclass(frozen=True)
class CandidateModel:
    """An unfitted model, its preprocessing and its traits."""

    name: str
    model: Any
    preprocessor: Preprocessor
    traits: ModelTraits = ModelTraits()
    online: bool = False  # learns row by row: mistakes over time are worth a look
    baseline: bool = False
    most_columns: int | None = None  # beyond which it would take too long
    most_gappy: int | None = None  # the same where numbers are missing
    most_cells: int | None = None  # to learn from, beyond which it gets a sample of the rows
    grid: Any = None  # of hyper-parameters, which are chosen by folds within the training rows


def _candidate_model(
    candidate: Candidate, model: Any, kind: Kind = "", *, baseline: bool = False
) -> CandidateModel:
    traits = ModelTraits(kind, candidate.models, candidate.independent, candidate.boundary)
    return CandidateModel(
        candidate.name,
        model,
        vars(prepare)[candidate.prepare],
        traits,
        candidate.online,
        baseline,
        candidate.most_columns,
        candidate.most_gappy,
        candidate.most_cells,
    )


def baseline(*, numbers: bool) -> CandidateModel:
    """The answer that knows y alone."""
    model = DummyRegressor() if numbers else DummyClassifier(strategy="prior")
    return _candidate_model(NO_COLUMNS[numbers], model, baseline=True)


def _known(info: ModelInfo, candidate: Candidate) -> CandidateModel:
    return _candidate_model(candidate, settled(info.load()(**candidate.settings)), info.kind)


def classifiers() -> list[CandidateModel]:
    """All that suit some table of classes."""
    return [_known(info, each) for info, each in candidates(numbers=False) if not each.on_request]


def regressions() -> list[CandidateModel]:
    """All that suit a target of numbers."""
    return [_known(info, each) for info, each in candidates(numbers=True)]


def on_request() -> list[CandidateModel]:
    """Those that take part where they are named."""
    return [_known(info, each) for info, each in candidates(numbers=False) if each.on_request]


# Who takes part in a comparison: likelier's models by name, and estimators of any kind.

Models = Mapping[str, Any] | Sequence[Any]


def entered(models: Models | None, also: Models, *, numbers: bool) -> list[CandidateModel]:
    """All that take part beside the baseline; models: None stands for all of likelier's that suit."""
    suited = regressions() if numbers else classifiers()
    first = suited if models is None else _listed(models, suited)
    return _with_unique_names([*first, *_listed(also, suited)])


def tuned(
    candidate_models: Sequence[CandidateModel], param_grid: Mapping[str, Any] | None
) -> list[CandidateModel]:
    """The same, of which those that are named try hyper-parameters."""
    grids = {_bare(name): (name, grid) for name, grid in (param_grid or {}).items()}
    found = []
    for each in candidate_models:
        _, grid = grids.pop(_bare(each.name), (None, None))
        if grid is not None:
            _check_grid(each, grid)
        found.append(replace(each, grid=grid))
    if grids:
        name, known = (
            next(iter(grids.values()))[0],
            "; ".join(each.name for each in candidate_models),
        )
        raise ValueError(f"param_grid: no model named {name!r} is compared; models: {known}")
    return found


def _check_grid(candidate_model: CandidateModel, grid: Any) -> None:
    known = candidate_model.model.get_params()
    for one in grid if isinstance(grid, list) else [grid]:
        if not isinstance(one, Mapping):
            raise ValueError(
                f"param_grid of {candidate_model.name} must be a dict {{parameter: values}} or a list of "
                f"them; got {one!r:.80}."
            )
        for name, values in one.items():
            if name not in known:
                near = get_close_matches(str(name), known, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"param_grid: {candidate_model.name} has no parameter {name!r}.{hint}")
            if isinstance(values, str) or not hasattr(values, "__len__") or not len(values):
                raise ValueError(
                    f"param_grid: {name!r} of {candidate_model.name} needs a list of values; got "
                    f"{values!r:.80}."
                )


def _listed(models: Models, suited: Sequence[CandidateModel]) -> list[CandidateModel]:
    if isinstance(models, str):
        models = [models]
    if isinstance(models, Mapping):
        return [_other(name, model) for name, model in models.items()]
    return [_named(m, suited) if isinstance(m, str) else _other(type(m).__name__, m) for m in models]


def _named(name: str, suited: Sequence[CandidateModel]) -> CandidateModel:
    """One of likelier's, by its name in the table or that of its class."""
    known = [*suited, *on_request()]
    by = {
        _bare(type(candidate_model.model).__name__): candidate_model for candidate_model in reversed(known)
    }
    by |= {_bare(candidate_model.name): candidate_model for candidate_model in known}
    if _bare(name) not in by:
        near = get_close_matches(_bare(name), by, n=1)
        hint = f" Did you mean {by[near[0]].name}?" if near else ""
        raise ValueError(
            f"models must be among {'; '.join(one.name for one in known)}; got {name!r}.{hint}"
        )
    return by[_bare(name)]


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _other(name: str, model: Any) -> CandidateModel:
    """An estimator: one of likelier's gets what is listed; any other numbers, indicators and words."""
    if inspect.isclass(model):
        raise TypeError(f"{name} is a class: pass an estimator, as in {model.__name__}()")
    if not hasattr(model, "fit") or not (is_classifier(model) or is_regressor(model)):
        raise TypeError(f"{name}: a {type(model).__name__} is not a classifier or regressor")
    alike = [
        one for one in [*classifiers(), *regressions(), *on_request()] if type(one.model) is type(model)
    ]
    if alike:
        known = next((one for one in alike if one.name == name), alike[0])
        return replace(known, name=name, model=model)
    return CandidateModel(name, model, plain, ModelTraits())


def _with_unique_names(
    candidate_models: Iterable[CandidateModel],
) -> list[CandidateModel]:
    """Each under a name of its own: with the package that it is from, or else numbered."""
    found: dict[str, CandidateModel] = {}
    for candidate_model in candidate_models:
        first = found.get(candidate_model.name, candidate_model)
        base = candidate_model.name
        if _package(first) != _package(candidate_model):
            base = f"{base} ({_package(candidate_model)})"
        name = next(name for name in chain([base], (f"{base} {i}" for i in count(2))) if name not in found)
        found[name] = replace(candidate_model, name=name)
    return list(found.values())


def _package(candidate_model: CandidateModel) -> str:
    return type(candidate_model.model).__module__.partition(".")[0]
