"""Models fitted apart, made one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from likelier.estimators import validation
from likelier.estimators.one_pass import Named
from likelier.estimators.online.classifier import OF_FIT, OnlineClassifier
from likelier.streams.model import averaged


def merge(models: Iterable[Any] | Mapping[str, Any], classes: Literal["union"] | None = None) -> Any:
    """One model, equal to a fit to the rows of all of them, whatever their order.

    models: fitted alike, with the same hyper-parameters, columns and classes, and with their statistics; or
    a dict of them by name, for messages. classes="union" joins classes that differ. See docs/merging.md.
    """
    if isinstance(models, Mapping):
        named = [Named(str(name), model) for name, model in models.items()]
    else:
        if hasattr(models, "fit"):
            raise TypeError("merge takes a list of models: merge([a, b]), or a.merge(b)")
        named = [Named(f"model {i}", model) for i, model in enumerate(models)]
    if not named:
        raise ValueError("merge needs at least one model")
    for one in named:
        _check_sum(one)
    return named[0].model._join(named, classes)


def _check_sum(one: Named) -> None:
    """Refuse a model that is no function of sums over rows, and say what there is instead."""
    name, model = one
    if hasattr(model, "_join"):
        return
    if not hasattr(model, "fit"):
        raise TypeError(f"{name} is a {type(model).__name__}: merge takes models; load(path) reads one")
    raise TypeError(f"{name}: a {type(model).__name__} cannot be merged: {_instead(model)}")


def _instead(model: Any) -> str:
    if hasattr(model, "learn_one"):
        return "each of its steps depends on those before it. likelier.average(models) is an approximation."
    how = (
        "its fit is no sum over rows. Fit to all rows: a source from likelier.scan may be of many files, "
        "and be read by a cluster, with .on(client)"
    )
    if hasattr(model, "partial_fit"):
        how += "; or continue training one model on the rows of each place by partial_fit"
    return f"{how}."


def average(models: Sequence[Any], weights: Sequence[float] | None = None) -> OnlineClassifier:
    """One online model from several that learned apart, with the same settings and classes.

    An approximation, not the model that all rows would have given: each weight is the mean of theirs, by
    how much each has learned of its feature. weights: of the models, by default all alike.
    """
    for i, model in enumerate(models):
        if not isinstance(model, OnlineClassifier):
            raise TypeError(
                f"average takes OnlineClassifiers, and model {i} is a {type(model).__name__}: "
                "likelier.merge joins models whose fit is a sum over rows, and exactly."
            )
        validation.fitted(model)
    average = averaged([model._model for model in models], weights)
    held = models[0].get_params(deep=False)
    found = OnlineClassifier.of(average, **{name: held[name] for name in OF_FIT})
    for name in ("n_features_in_", "feature_names_in_"):
        if name in vars(models[0]):
            setattr(found, name, getattr(models[0], name))
    return found
