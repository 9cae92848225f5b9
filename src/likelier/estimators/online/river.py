"""OnlineClassifier in River's pipelines, metrics and evaluation, whether River is there or not."""

import sys
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

# What River asks of an estimator besides learn_one and predict_one: its own base class has all of these.
ASKED = frozenset(
    {"_get_params", "clone", "_is_stochastic", "_mutable_attributes", "mutate", "_tags"}
    | {"_more_tags", "_raw_memory_usage", "_memory_usage", "_unit_test_skips"}
)


def base_class() -> Any:
    """River's class of classifiers; None, as long as nobody has imported River."""
    module = sys.modules.get("river.base")
    return getattr(module, "Classifier", None)


class StandIn:
    """What River is shown where it asks what kind of estimator a classifier of likelier's is."""


STAND_IN = StandIn()


class KnownToRiver:
    """A classifier that River takes for one of its own, though it inherits nothing from there.

    River tests kinds of estimators by `isinstance`, and there looks at the `_last_step` of an object that
    has one, as pipelines do. Here that is an object of a class that is registered as one of River's
    classifiers when River asks, so that neither library needs the other to be imported first.
    """

    _supervised = True
    _multiclass = True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """The settings that River's checks try."""
        yield {}

    @property
    def _last_step(self) -> Any:
        """What River takes this classifier for."""
        base = base_class()
        if base is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute '_last_step'")
        base.register(StandIn)
        return STAND_IN

    def __getattr__(self, name: str) -> Any:
        """What River's base class does for estimators, it does for this one."""
        base = base_class() if name in ASKED else None
        if base is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = getattr(base, name)
        if isinstance(found, property):
            assert found.fget is not None
            return found.fget(self)
        return MethodType(found, self) if isinstance(found, FunctionType) else found
