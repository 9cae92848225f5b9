"""Single precision: float32 in, float32 out, where scikit-learn has it so. All arithmetic is in double."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.data import Arrays, Source


def single(source: Source) -> bool:
    """Whether the rows are of single precision."""
    return isinstance(source, Arrays) and source.X.single


def shown(model: Any, attributes: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Fitted attributes, those of these names in the precision of the rows that the model was fitted to."""
    if not getattr(model, "single", False):
        return attributes
    return {name: _rounded(value) if name in names else value for name, value in attributes.items()}


def answer(estimator: Any, method: str, X: Any, out: Any) -> Any:
    """What a method answers: in single precision if the rows of the fit and those of X are."""
    if method not in getattr(estimator, "_single_answers", ()):
        return out
    model = vars(estimator).get("_model")
    return _rounded(out) if getattr(model, "single", False) and _is_single(X) else out


def _is_single(X: Any) -> bool:
    kinds = [X.dtype] if hasattr(X, "dtype") else list(getattr(X, "dtypes", ()))
    return bool(kinds) and all(kind == np.float32 for kind in kinds)


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if isinstance(value, float | np.floating):
        return _narrowed(np.asarray(value))[()]
    isfloat = isinstance(value, np.ndarray) and value.dtype == np.float64
    return _narrowed(value) if isfloat else value


def _narrowed(values: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what is beyond its range is infinite there
        return values.astype(np.float32)
