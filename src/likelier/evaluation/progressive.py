"""Progressive validation: every row is predicted before its label is learned."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from heapq import heappop, heappush
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np

from likelier import optional
from likelier.array_types import row_weights
from likelier.data.frames import frame
from likelier.display import Table, html
from likelier.streams.delayed import OnlineAdapter, StreamEvaluator, WaitingRows, check_label, check_weight
from likelier.streams.figures import HEADING, HEADINGS, Curve, Figures, Snapshot, Windows, cells, line

# Streams of whatever make as rows, or as batches of rows.


class SingleRow(NamedTuple):
    """A row: features by name. y None: its label never comes."""

    x: Any
    y: Any
    weight: float = 1.0

    def rows(self) -> Iterator[Self]:
        yield self


class RowBatch(NamedTuple):
    """Some rows: an array, a CSR matrix or a frame."""

    X: Any
    y: Any
    weights: Any = None

    def rows(self) -> Iterator[SingleRow]:
        """One after another; columns without names are called by their numbers."""
        weights = row_weights(self.weights, len(self.y))
        yield from map(SingleRow, _dicts(self.X), self.labels(), weights.tolist())

    def checked(self) -> Self:
        """Itself, if there is a label, and a weight, for every row."""
        n = self.X.shape[0]
        if len(self.y) != n:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n} rows, "
                f"y has {len(self.y)}."
            )
        if self.weights is not None and len(self.weights) != n:
            raise ValueError(
                f"weights must have one number for each of the {n} rows of X; got {len(self.weights)}."
            )
        return self

    def labels(self) -> list[Any]:
        return list(np.asarray(self.y).tolist())


def arriving(stream: Any, target: Any, weight: Any, batch: int) -> Iterator[SingleRow | RowBatch]:
    """The rows of a stream in its order: tables as batches, all else as it comes.

    stream: a frame, or an iterable of dicts, of which `target` (and `weight`) is a column; a pair of
    arrays (X, y), or an iterable of (x, y) or (x, y, weight), in which x is a dict, a row or a batch.
    """
    table = frame(stream)
    if table is not None or _is_pair(stream):
        yield from _cut(_whole(stream, table, target, weight), batch)
        return
    if not isinstance(stream, Iterable):
        raise TypeError(
            f"stream must be a data frame, (X, y) or an iterable of rows; got {type(stream).__name__}"
        )
    for t, item in enumerate(stream):
        yield _item(t, item, target, weight)


def labels_of(stream: Any, target: Any, weight: Any) -> Any:
    """All labels, sorted, where the whole stream is there; otherwise None."""
    table = frame(stream)
    if table is None and not _is_pair(stream):
        return None
    y = np.asarray(_whole(stream, table, target, weight).y)
    return np.unique(y)


def _is_pair(stream: Any) -> bool:
    """(X, y) or (X, y, w): three tables, not three rows."""
    return (
        isinstance(stream, tuple)
        and len(stream) in (2, 3)
        and (getattr(stream[0], "ndim", 0) == 2 or frame(stream[0]) is not None)
    )


def _whole(stream: Any, table: Any, target: Any, weight: Any) -> RowBatch:
    if table is None:
        X, *others = stream
        return RowBatch(X, *map(np.asarray, others)).checked()
    names = [name for name in (target, weight) if name is not None]
    missing = [name for name in names if name not in table.columns]
    if target is None or missing:
        what = f"no column {missing[0]!r}" if missing else "a target that is not named"
        raise ValueError(f"the frame has {what}: target= and weight= name columns of {table.columns}")
    w = None if weight is None else table[weight].to_numpy()
    return RowBatch(table.drop(names).to_native(), table[target].to_numpy(), w)


def _cut(whole: RowBatch, batch: int) -> Iterator[RowBatch]:
    if batch < 1:
        raise ValueError(f"batch must be an integer >= 1 (a number of rows); got {batch!r}.")
    table = frame(whole.X)
    for first in range(0, len(whole.y), batch):
        some = slice(first, first + batch)
        X = whole.X[some] if table is None else table[some].to_native()
        yield RowBatch(X, whole.y[some], None if whole.weights is None else whole.weights[some])


def _item(t: int, item: Any, target: Any, weight: Any) -> SingleRow | RowBatch:
    if isinstance(item, Mapping):
        if target is None:
            raise ValueError(f"row {t} is a dict: target= names the feature that is the label")
        x = dict(item)
        missing = [name for name in (target, weight) if name is not None and name not in x]
        if missing:
            raise ValueError(f"row {t} has no {missing[0]!r}, as target= or weight= has it: {list(x)[:10]}")
        return SingleRow(x, x.pop(target), 1.0 if weight is None else float(x.pop(weight)))
    if not isinstance(item, tuple | list) or len(item) not in (2, 3):
        raise ValueError(f"row {t} is {item!r:.80}: give (x, y), (x, y, weight), or a dict and target=")
    x = item[0]
    if isinstance(x, Mapping):
        return SingleRow(*item)
    if getattr(x, "ndim", 1) == 2 or frame(x) is not None:
        return RowBatch(*item).checked()
    return SingleRow({str(j): value for j, value in enumerate(np.asarray(x).tolist())}, *item[1:])


def _dicts(X: Any) -> Iterator[dict[Any, Any]]:
    table = frame(X)
    if table is not None:
        # By way of Arrow, where what is missing is None, whoever made the frame.
        yield from table.to_arrow().select(table.columns).to_pylist()
    elif hasattr(X, "tocsr"):
        rows = X.tocsr()
        for i in range(rows.shape[0]):
            some = slice(rows.indptr[i], rows.indptr[i + 1])
            yield dict(zip(map(str, rows.indices[some].tolist()), rows.data[some].tolist(), strict=True))
    else:
        names = [str(j) for j in range(X.shape[1])]
        for row in np.asarray(X).tolist():
            yield dict(zip(names, row, strict=True))


# Rows and labels, each at its moment: what would have happened.

Moment = str | Callable[[Any], Any] | None
Delay = Any  # a number, a feature's name, or a function of (x, y, moment)


@dataclass
class Counts:
    """What became of the rows."""

    rows: int = 0
    learned: int = 0
    expired: int = 0
    late: int = 0
    unanswered: int = 0
    backwards: int = 0


class RowReplay:
    """Rows and labels, each at its moment."""

    def __init__(
        self, waiting: WaitingRows, evaluator: StreamEvaluator, moment: Moment, delay: Delay
    ) -> None:
        self.waiting, self.evaluator, self.counts = waiting, evaluator, Counts()
        self.moment, self.delay = moment, delay
        self.coming: list[tuple[Any, int, Any]] = []  # labels: when, of which row, what

    def run(self, items: Iterator[SingleRow | RowBatch]) -> Counts:
        for row in chain.from_iterable(each.rows() for each in items):
            with _naming(self.counts.rows):
                self._row(self.counts.rows, row)
            self.counts.rows += 1
        self._labels(lambda when: True)
        if self.waiting.horizon is not None:
            self._expire(self.waiting.rest())
        self.counts.backwards = self.waiting.backwards
        return self.counts

    def _row(self, t: int, row: SingleRow) -> None:
        """Labels of earlier moments are learned first; those of this one wait until it has passed."""
        x, y = row.x, None if row.y is None or row.y != row.y else row.y
        if y is not None:
            check_label(y)
        check_weight(row.weight)
        at, x = self._moment(t, x)
        delay, x = self._delay(x, y, at)
        waiting = self.waiting
        self._labels(lambda when: when < at)
        at = self._go(at)
        asked = waiting.answer(t, x, row.weight)
        self._expire(waiting.crowded())
        comes = y is not None and delay is not None
        label = y if comes else waiting.default if waiting.horizon is not None else None
        if label is not None:
            self.evaluator.add(asked.answer, label, row.weight, new=waiting.new(asked, label))
        if comes:
            heappush(self.coming, (at if delay == 0 else at + delay, t, y))
        elif waiting.horizon is None:
            waiting.rows.pop(t, None)  # nothing will ever be learned from it
        if self.moment is None:
            self._labels(lambda when: when <= at)  # there is but one row to a moment

    def _labels(self, due: Callable[[Any], bool]) -> None:
        """Learns the labels whose time has come."""
        while self.coming and due(self.coming[0][0]):
            when, t, y = heappop(self.coming)
            self._go(when)
            if self.waiting.waits(t):
                with _naming(t):
                    self.waiting.join(t, y)
                self.counts.learned += 1
            else:
                self.counts.late += 1

    def _go(self, at: Any) -> Any:
        at = self.waiting.go(at)
        self._expire(self.waiting.expired())
        return at

    def _expire(self, rows: Iterator[Any]) -> None:
        self.counts.expired += sum(1 for _ in rows)

    def _moment(self, t: int, x: Any) -> tuple[Any, Any]:
        if self.moment is None:
            return t, x
        return (self.moment(x), x) if callable(self.moment) else _taken(x, self.moment)

    def _delay(self, x: Any, y: Any, at: Any) -> tuple[Any, Any]:
        if self.delay is None:
            return 0, x
        delay = self.delay
        if callable(delay):
            delay = delay(x, y, at)
        elif isinstance(delay, str):
            delay, x = _taken(x, delay)
        if delay is None or delay != delay or delay == math.inf:
            return None, x
        if delay < type(delay)(0):
            raise ValueError(f"delay must be >= 0, as labels cannot come before their rows; got {delay}.")
        return delay, x


@contextmanager
def _naming(t: int) -> Iterator[None]:
    """What goes wrong here is about this row, unless that is known already."""
    try:
        yield
    except Exception as error:
        if not getattr(error, "__notes__", ()):
            error.add_note(f"at row {t} of the stream")
        raise


def _taken(x: dict[Any, Any], name: str) -> tuple[Any, dict[Any, Any]]:
    """A feature, and the others."""
    if name not in x:
        raise ValueError(f"the row has no feature {name!r}, which moment= or delay= names")
    return x[name], {each: value for each, value in x.items() if each != name}


class BatchReplay:
    """Rows that a model answers together, and learns together once all their labels have come."""

    def __init__(self, model: Any, evaluator: StreamEvaluator, delay: float, classes: Any) -> None:
        if not hasattr(model, "partial_fit"):
            raise TypeError(
                f"{type(model).__name__} has neither learn_one nor partial_fit and cannot continue training"
            )
        self.model, self.evaluator, self.counts = model, evaluator, Counts()
        self.delay, self.classes = delay, classes
        self.coming: deque[tuple[float, RowBatch]] = deque()  # when the last label comes
        # In the order in which they were first learned; what a model knew before may be any of its classes.
        self.learned = dict.fromkeys(np.asarray(getattr(model, "classes_", ())).tolist())

    def run(self, items: Iterator[SingleRow | RowBatch]) -> Counts:
        for some in items:
            if isinstance(some, SingleRow):
                raise TypeError(
                    f"{type(self.model).__name__} learns arrays and frames, and a row came: cut the stream "
                    f"into batches (X, y), or give a model with learn_one"
                )
            if hasattr(self.model, "classes_"):
                P, labels = _answers(self.model, some.X)
                self.evaluator.add_many(P, labels, some.labels(), some.weights, learned=self.learned)
            else:
                self.counts.unanswered += len(some.y)
            self.counts.rows += len(some.y)
            self.coming.append((self.counts.rows - 1 + self.delay, some))
            self._labels(self.counts.rows)
        self._labels(math.inf)
        return self.counts

    def _labels(self, before: float) -> None:
        """Learns the batches whose labels have come before that moment."""
        while self.coming and self.coming[0][0] < before:
            _, some = self.coming.popleft()
            settings = {} if some.weights is None else {"sample_weight": some.weights}
            if self.classes is not None and not hasattr(self.model, "classes_"):
                settings["classes"] = self.classes
            self.model.partial_fit(some.X, some.y, **settings)
            if not hasattr(self.model, "classes_"):
                raise TypeError(f"{type(self.model).__name__} is not a classifier: it has no classes_")
            self.counts.learned += len(some.y)
            y, w = some.labels(), some.weights
            self.learned |= dict.fromkeys(
                y if w is None else (one for one, a in zip(y, w, strict=True) if a)
            )


def _answers(model: Any, X: Any) -> tuple[Any, list[Any]]:
    """P, and the labels of its columns; a model that predicts labels only has probabilities 0 and 1."""
    labels = np.asarray(model.classes_).tolist()
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=np.float64), labels
    found = np.asarray(model.predict(X))
    return (found[:, None] == np.asarray(model.classes_)).astype(np.float64), labels


def is_number(delay: Any) -> bool:
    """Or none."""
    return delay is None or (isinstance(delay, int | float | np.number) and not math.isnan(delay))


# Progressive validation: every row is predicted before its label is learned, and so evaluated.
#
# Blum, Kalai & Langford 1999; with labels that come late, Grzenda, Gomes & Bifet 2020.


@dataclass(frozen=True, eq=False)
class Progressive:
    """The result of `progressive`; prints as a table of metrics at doubling numbers of rows.

    Attributes
    ----------
    model : object
        The model, trained on the whole stream.
    figures : Figures
        The metrics over all evaluated rows.
    table : tuple of Snapshot
        The metrics after 1, 2, 4, ... rows, and at the end.
    curve : Windows
        The metrics of each window of rows.
    classes : tuple
        The labels, in the order of the classes of `figures`.
    rows : int
        The number of rows in the stream.
    learned : int
        Rows that were learned with their own label.
    expired : int
        Rows whose label did not arrive in time.
    late : int
        Labels that arrived after their row had expired.
    unanswered : int
        Rows of batches that arrived before the model had learned anything.
    backwards : int
        Times that were earlier than the time before.

    See Also
    --------
    likelier.plot.mistakes : Draws the number of mistakes over time.
    likelier.plot.calibration : Draws the calibration curve.
    """

    model: Any = field(repr=False)
    figures: Figures = field(repr=False)  # of all rows that were evaluated
    table: tuple[Snapshot, ...] = field(repr=False)  # at 1, 2, 4, ... rows, and at the end
    curve: Windows = field(repr=False)  # figures of each window
    classes: tuple[Any, ...]  # in the order of the classes of `figures`
    rows: int  # that came
    learned: int  # with their own label
    expired: int  # whose label had not come in time
    late: int  # labels that came after their row expired
    unanswered: int  # batches' rows that came before the model had learned anything
    backwards: int  # moments earlier than the one before

    @property
    def log_loss(self) -> float:
        """The mean of -ln p_y."""
        return self.figures.log_loss

    @property
    def error(self) -> float:
        """The share of rows whose class was predicted wrongly."""
        return self.figures.error

    @property
    def mistakes(self) -> float:
        """The weight of the rows whose class was predicted wrongly."""
        return self.figures.mistakes

    @property
    def brier(self) -> float:
        """The Brier score."""
        return self.figures.brier

    @property
    def auc(self) -> float:
        """The area under the ROC curve of binary problems; NaN for more classes."""
        return self.figures.auc

    @property
    def calibration_error(self) -> float:
        """The expected calibration error."""
        return self.figures.calibration_error

    def to_frame(self) -> Any:
        """The table as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            A row for each line of the table.
        """
        pd = optional.pandas()

        return pd.DataFrame(self.table, columns=list(Snapshot._fields))

    def _head(self) -> str:
        counts = {
            "learned": self.learned,
            "not evaluated": self.rows - self.figures.rows,
            "expired": self.expired,
            "late": self.late,
            "unanswered": self.unanswered,
            "moments that ran backwards": self.backwards,
            "labels of probability 0, counted as 1e-15": self.figures.clipped,
        }
        said = [f"{n:.10g} {what}" for what, n in counts.items() if n]
        return f"{self.rows} rows, {len(self.classes)} classes: {', '.join(said) or 'nothing learned'}"

    def __str__(self) -> str:
        return "\n".join([self._head(), "", HEADING, *map(line, self.table)])

    def _repr_html_(self) -> str:
        return html([self._head(), Table([HEADINGS, *map(cells, self.table)], left=0)])


def progressive(
    model: Any,
    stream: Any,
    *,
    target: Any = None,
    weight: Any = None,
    delay: Delay = None,
    moment: Moment = None,
    label_horizon: Any = None,
    default: Any = None,
    max_pending: int | None = None,
    window: int = 1000,
    batch: int = 1000,
    classes: Any = None,
    verbose: bool = False,
    in_order: bool = False,
) -> Progressive:
    """Progressive validation: predict each row of a stream, evaluate the prediction, then learn the label.

    Every row is a test row before it is a training row, so that a stream needs no held-out data. Labels may
    arrive with a delay. All rows of a time are predicted before any label that arrives at it is learned:
    with `delay=d` rows, the model that predicts row t has learned the rows before t - d. All labels are
    learned in the end.

    Parameters
    ----------
    model : estimator
        A model with `learn_one` and `predict_proba_one` or `predict_one`; or one with `partial_fit` and
        `predict_proba` or `predict`, which predicts and learns `batch` rows at once.
    stream : data frame, tuple of arrays, or iterable
        A data frame or an iterable of dicts, in which `target` (and `weight`) names the label; a pair of
        arrays (X, y); or an iterable of (x, y) or (x, y, weight).
    target : str, default=None
        The column or key of the label, for data frames and dicts.
    weight : str, default=None
        The column or key of the sample weight, for data frames and dicts.
    delay : number, str or callable, default=None
        How long after its row a label arrives: a number, the name of a feature, or a function of
        (x, y, time). None is 0. Where a feature or function gives None, NaN or infinity, the label never
        arrives.
    moment : str or callable, default=None
        The time of a row: the name of a feature, or a function of x. None is the row number. Features named
        by `delay` and `moment` are removed from x.
    label_horizon : number or timedelta, default=None
        How long to wait for a label, as `horizon` in `Pending`. A row is evaluated with its true label even
        if that arrives too late to be learned; if it never arrives, with the default class, or not at all
        without a horizon.
    default : label, default=None
        The class of rows whose label does not arrive in time, as in `Pending`.
    max_pending : int, default=None
        The maximum number of rows that wait for their label. None is no limit.
    window : int, default=1000
        The number of rows in each window of `.curve`. Long streams get wider windows.
    batch : int, default=1000
        The number of rows per batch, for models with `partial_fit`, and for tables.
    classes : list of labels, default=None
        All classes, for the first `partial_fit` of a model that needs them. None takes them from the
        stream, where it is a table.
    verbose : bool, default=False
        Whether to print the lines of the table while the stream runs.
    in_order : bool, default=False
        Whether labels are learned in the order of their rows, as in `Pending`.

    Returns
    -------
    Progressive
        The metrics; prints as a table.

    Raises
    ------
    TypeError
        If the model can be trained neither row by row nor in batches.

    See Also
    --------
    Pending : The same for a model in live use.
    OnlineClassifier : A model that learns row by row.

    References
    ----------
    Blum, Kalai & Langford (1999), Beating the hold-out. Grzenda, Gomes & Bifet (2020), Delayed labelling
    evaluation for data streams.

    Examples
    --------
    >>> import likelier as lk
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = lk.progressive(lk.OnlineClassifier(), (X, y), delay=10)
    >>> found.rows, found.learned
    (569, 569)
    >>> found.error < 0.15
    True
    """
    evaluator = StreamEvaluator(Curve(window, _say if verbose else None))
    if verbose:
        print(HEADING)
    items = arriving(stream, target, weight, batch)
    if hasattr(model, "learn_one"):
        waiting = WaitingRows(OnlineAdapter(model), label_horizon, default, max_pending, in_order)
        counts = RowReplay(waiting, evaluator, moment, delay).run(items)
    else:
        if label_horizon is not None or moment is not None or not is_number(delay):
            raise ValueError(
                f"{type(model).__name__} learns batches: delay= is a number of rows, and there is no "
                f"label_horizon= or moment=. A model with learn_one has them"
            )
        if classes is None and not hasattr(model, "classes_"):
            classes = labels_of(stream, target, weight)
        counts = BatchReplay(model, evaluator, delay or 0, classes).run(items)
    curve = evaluator.settle()
    return Progressive(
        model, curve.figures, tuple(curve.table()), curve.windows, tuple(evaluator.labels), **asdict(counts)
    )


def _say(at: Snapshot) -> None:
    print(line(at), flush=True)
