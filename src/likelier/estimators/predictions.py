"""Predictions of any fitted model, how good they are, and what each column contributed to them."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier import optional
from likelier.array_types import Floats
from likelier.data import CSR, BadCell, Chunk, Dense, Source, code
from likelier.engines import run, watching
from likelier.estimators import validation
from likelier.estimators.base import column_names
from likelier.estimators.sources import gathered, stored
from likelier.evaluation import ClassPredictions, EvaluationState, LabelSums, ValueSums
from likelier.model import levels

Opening = Callable[[Any], Any]  # a block of a chunk as the model takes it


class ClassCodes(NamedTuple):
    """The classes of a model by code: sorted, and the place of each among its columns."""

    sorted: NDArray[Any]
    places: NDArray[np.int32]  # (K + 1,), the last: of no class

    @classmethod
    def of(cls, model: Any) -> "ClassCodes":
        classes = np.asarray(model.classes_)
        order = np.argsort(classes)  # of a model that learned row by row they are as they came
        return cls(classes[order], np.append(order, len(classes)).astype(np.int32))

    @property
    def K(self) -> int:
        return len(self.sorted)

    def codes(self, labels: NDArray[Any]) -> NDArray[np.int32]:
        """K: none of the classes."""
        return self.places[code(labels, self.sorted)]

    def unknown(self, labels: NDArray[Any]) -> tuple[Any, ...]:
        """Those that are no class; refused if they are numbers for words, or words for numbers."""
        ours, theirs = _kind(self.sorted), _kind(labels)
        if {ours, theirs} == {"strings", "numbers"}:
            one, other = labels[:1].tolist()[0], self.sorted[:1].tolist()[0]
            raise ValueError(
                f"y holds {theirs}, such as {one!r}, and the classes of the model are {ours}, such as "
                f"{other!r}: convert y to the type of the classes."
            )
        return tuple(labels[code(labels, self.sorted) < 0].tolist())


def _kind(labels: NDArray[Any]) -> str:
    if labels.dtype.kind in "UT" or (labels.dtype.kind == "O" and isinstance(labels[0], str)):
        return "strings"
    return "numbers" if labels.dtype.kind in "fiub" else "others"


def takes_blocks(model: Any) -> bool:
    """Whether it answers blocks of chunks, in place of X."""
    return bool(getattr(type(model), "_takes_blocks", False))


def probable(model: Any) -> bool:
    """Whether it gives probabilities."""
    return hasattr(model, "predict_proba")


def class_predictions(
    model: Any, naming: ClassCodes, X: Any, take: Callable[[NDArray[np.intp]], Any]
) -> ClassPredictions:
    """Decisions, and probabilities or scores; take: some of the rows."""
    best = naming.codes(np.asarray(model.predict(X)))
    if probable(model):
        P = np.asarray(model.predict_proba(X), dtype=np.float64)
        return ClassPredictions(best, P, logs=lambda rows: np.asarray(model.predict_log_proba(take(rows))))
    if hasattr(model, "decision_function"):
        margin = np.asarray(model.decision_function(X), dtype=np.float64)
        if margin.shape[1:] == (() if naming.K == 2 else (naming.K,)):  # one-vs-one scores are not by class
            return ClassPredictions(best, margin=margin)
    return ClassPredictions(best)


def decided(model: Any, naming: ClassCodes, X: Any, take: Any) -> ClassPredictions:
    """Decisions alone."""
    return ClassPredictions(naming.codes(np.asarray(model.predict(X))))


def _values(model: Any, naming: None, X: Any, take: Any) -> NDArray[Any]:
    return np.asarray(model.predict(X))


def _of_chunk(speak: Callable[..., Any], model: Any, naming: Any, opening: Opening, chunk: Chunk) -> Any:
    """Of the rows of a chunk; a cell that cannot be used is said by its place among all rows."""
    try:
        with watching(None):  # a model may answer a chunk by a pass of its own
            return speak(model, naming, opening(chunk.X), lambda rows: opening(chunk.X.take(rows)))
    except BadCell as bad:
        raise bad.below(chunk.first) from None


def evaluated_by_label(
    model: Any,
    source: Source,
    opening: Opening,
    speak: Callable[..., ClassPredictions] = class_predictions,
) -> LabelSums:
    """One pass over rows with labels. A label is missing: refused; unknown to the model: counted apart."""
    naming = ClassCodes.of(model)
    answer = partial(_of_chunk, speak, model, naming, opening)
    with validation.naming(source):
        sums_of = partial(LabelSums.start, apart=speak is class_predictions)
        start = partial(_start, sums_of, naming.K, answer, naming.places)
        sums: LabelSums = run(source.coded(naming.sorted), start).sums
    validation.weighty(sums.weight)
    return sums


def evaluated_by_value(model: Any, source: Source, opening: Opening) -> ValueSums:
    """One pass over rows with values."""
    answer = partial(_of_chunk, _values, model, None, opening)
    q = int(np.prod(source.y_shape))
    with validation.naming(source):
        sums: ValueSums = run(source, partial(_start, ValueSums.start, q, answer, None)).sums
    validation.weighty(sums.weight)
    return sums


def found_share(model: Any, source: Source, opening: Opening) -> float:
    """The share of rows whose class is found."""
    sums = evaluated_by_label(model, source, opening, decided)
    unknown(model, source, sums)  # refuses labels that are missing
    return sums.accuracy


def _start(sums: Callable[[int], Any], size: int, answer: Any, places: Any) -> EvaluationState:
    return EvaluationState(sums(size), answer, places)


def unknown(model: Any, source: Source, sums: LabelSums) -> tuple[Any, ...]:
    """The labels that the model does not know: read where there are any, and then none may be missing."""
    if not sums.confusion[-1].any():
        return ()
    return ClassCodes.of(model).unknown(levels(source))


# ---- blocks as models take them ------------------------------------------------------------------
def itself(block: Any) -> Any:
    """As likelier's own models take it."""
    return block


def in_memory(names: list[str] | None, block: Any) -> Any:
    """As scikit-learn's models take it: an array, sparse or dense, or a frame where columns have names."""
    if names is not None:
        pd = optional.pandas("predictions of scikit-learn's models by column names need")

        return pd.DataFrame(block.to_array(), columns=names)
    if isinstance(block, CSR):
        from scipy.sparse import csr_array

        return csr_array((block.values, block.columns, block.starts), block.shape)
    return block.array if isinstance(block, Dense) else block.to_array()


def share_found(estimator: Any, of_arrays: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """The share of rows whose class is found; of_arrays: scikit-learn's `score`, for rows in memory."""
    X, y, sample_weight = gathered(X, y, sample_weight)
    if not stored(X):
        return float(of_arrays(X, y, sample_weight))
    validation.fitted(estimator)
    source = validation.training(estimator, X, y, sample_weight, known=True)
    return found_share(estimator, source, itself)


# How much each column contributed to a prediction.


class _Terms(NamedTuple):
    values: Floats  # (n, K, p)
    base: Floats  # (K,)


class Contributions(_Terms):
    """Contribution of each column to the score of each class: base + values.sum(axis=2) is the score.

    A named tuple of two arrays. `np.asarray` of it is `values`.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_classes, n_features)
        Contribution of each column.
    base : ndarray of shape (n_classes,)
        Score of a row without any value.
    classes : ndarray of shape (n_classes,)
        Class labels.
    names : list of str
        Column names.
    """

    classes: NDArray[Any]
    names: list[str]

    @classmethod
    def of(cls, model: Any, values: Floats, base: Floats) -> Self:
        """Of a fitted model."""
        new = cls(values, base)
        names = column_names(model)
        new.classes = model.classes_
        new.names = [f"x{j}" for j in range(values.shape[2])] if names is None else list(map(str, names))
        return new

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def to_frame(self) -> Any:
        """The contributions as a pandas DataFrame.

        Returns
        -------
        frame : pandas.DataFrame
            One line for each row and class; columns are "(base)" and the columns of X.
        """
        pd = optional.pandas()

        n, K, p = self.values.shape
        index = pd.MultiIndex.from_product([range(n), self.classes], names=["row", "class"])
        cells = np.column_stack([np.tile(self.base, n), self.values.reshape(n * K, p)])
        return pd.DataFrame(cells, index=index, columns=["(base)", *self.names])
