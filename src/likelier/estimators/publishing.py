"""How an estimator becomes fitted: all at once, or not at all."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

from numpy.typing import NDArray

from likelier.data import DegenerateWarning
from likelier.estimators.notebook import InNotebooks

Names = NDArray[Any] | None


class Publishing(InNotebooks):
    """Estimators with a model, what they counted (None: not kept), and what y was.

    Whatever fails, fails before the first attribute is set: an estimator is fitted, or as it was.
    """

    _model: Any
    _statistics: Any
    _target: Any

    @abstractmethod
    def _shown(self, model: Any, statistics: Any | None, target: Any) -> dict[str, Any]:
        """The fitted attributes, scikit-learn's."""

    @abstractmethod
    def _remarks(self, model: Any, statistics: Any, target: Any, names: Names) -> Iterator[str]:
        """What the rows left open, and what was done about it: a warning each."""

    def _warn(self, model: Any, statistics: Any | None, target: Any, names: Names) -> None:
        for remark in self._remarks(model, statistics, target, names):
            warnings.warn(f"{type(self).__name__}: {remark}", DegenerateWarning, stacklevel=4)

    def _publish(self, model: Any, statistics: Any | None, target: Any, names: Names) -> Self:
        """Become fitted, all at once."""
        shown = self._shown(model, statistics, target)
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, name)
        self.__dict__.pop("_given_columns", None)  # of what condition() made, before it was fitted anew
        self.__dict__.update(shown)
        if names is not None:
            self.feature_names_in_ = names
        self._model, self._statistics, self._target = model, statistics, target
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
