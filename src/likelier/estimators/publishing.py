"""How an estimator becomes fitted: all at once, or not at all."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from likelier.callers import outside
from likelier.data import DegenerateWarning
from likelier.estimators import precision
from likelier.estimators.notebook import InNotebooks
from likelier.states.units import plain

Names = NDArray[Any] | None


class Publishing(InNotebooks):
    """Estimators with a model, what they counted (None: not kept), and what y was.

    Whatever fails, fails before the first attribute is set: an estimator is fitted, or as it was.
    """

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

    def _warn_of_settings(self) -> None:
        for remark in self._settings():
            warnings.warn(f"{type(self).__name__}: {remark}", DegenerateWarning, stacklevel=outside())

    def _warn(self, model: Any, statistics: Any | None, target: Any, names: Names) -> None:
        self._warn_of_settings()
        for remark in self._remarks(model, plain(statistics), target, names):
            warnings.warn(f"{type(self).__name__}: {remark}", DegenerateWarning, stacklevel=outside())

    def _publish(self, model: Any, statistics: Any | None, target: Any, names: Names) -> Self:
        """Become fitted, all at once."""
        attributes = self._attributes(model, statistics, target, names)
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, name)
        self.__dict__.pop("_given_columns", None)  # of what condition() made, before it was fitted anew
        self.__dict__.update(attributes)
        return self

    def _attributes(self, model: Any, statistics: Any | None, target: Any, names: Names) -> dict[str, Any]:
        """All that makes a fitted estimator."""
        named = {} if names is None else {"feature_names_in_": names}
        kept = {"_model": model, "_statistics": statistics, "_target": target}
        shown = precision.shown(model, self._shown(model, plain(statistics), target), self._single_shown)
        return shown | named | kept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
