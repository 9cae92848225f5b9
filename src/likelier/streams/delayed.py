"""Predictions that wait for their labels: in live use, and as simulated by progressive validation."""

import inspect
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from copy import deepcopy
from threading import RLock
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats, row_weights
from likelier.display import Table, html
from likelier.streams.figures import HEADING, HEADINGS, Curve, Figures, Snapshot, Windows, cells, line

# Models that are asked and taught row by row.

Answer = dict[Any, float]  # p by label; empty: the model has nothing to say

OFF = 1e-4  # probabilities sum to 1 up to this
WEIGHTS = ("sample_weight", "w", "weight")  # names that a weight has in `learn_one`


class OnlineAdapter:
    """A model with `learn_one(x, y)` and `predict_proba_one(x)` or `predict_one(x)`, of whatever make.

    A model that predicts labels only is taken to be sure of them.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.taught: dict[Any, int] = {}  # labels in the order in which they were first learned
        self._takes = _weight_name(model)
        self._sure = not hasattr(model, "predict_proba_one")
        if not hasattr(model, "learn_one") or (self._sure and not hasattr(model, "predict_one")):
            raise TypeError(
                f"{type(model).__name__} has no learn_one and predict_proba_one or predict_one: such a "
                "model cannot predict and learn row by row"
            )

    def ask(self, x: Any) -> Answer:
        """The probability of each label."""
        if not self._sure:
            try:
                return _checked(self.model.predict_proba_one(x))
            except NotImplementedError:  # as River's models say that they have labels only
                self._sure = True
        label = self.model.predict_one(x)
        return {} if label is None else {label: 1.0}

    def teach(self, x: Any, y: Any, weight: float = 1.0) -> None:
        """One row; a weight of 0 teaches nothing."""
        check_label(y)
        check_weight(weight)
        if weight == 0:
            return
        if weight == 1:
            self.model.learn_one(x, y)
        elif self._takes is None:
            raise TypeError(f"{type(self.model).__name__}.learn_one takes no weight: leave weights out")
        else:
            self.model.learn_one(x, y, **{self._takes: weight})
        self.taught.setdefault(y, len(self.taught))


def _weight_name(model: Any) -> str | None:
    try:
        parameters = inspect.signature(model.learn_one).parameters
    except (AttributeError, TypeError, ValueError):  # none, or native without a signature
        return None
    return next((name for name in WEIGHTS if name in parameters), None)


def _checked(answer: Mapping[Any, float]) -> Answer:
    total = sum(answer.values())
    if total == 0:
        return {}
    if not abs(total - 1) <= OFF or min(answer.values()) < 0:
        raise ValueError(f"probabilities of a model must be >= 0 and sum to 1; got {dict(answer)}.")
    return dict(answer)


def check_label(y: Any) -> None:
    """Whether it can be one."""
    if y is None or not isinstance(y, Hashable) or y != y:
        raise TypeError(f"Labels must be strings, numbers or booleans; got {y!r:.80}.")


def check_weight(weight: float) -> None:
    """Whether it can be one."""
    if not 0 <= weight < math.inf:
        raise ValueError(f"Weights must be finite numbers >= 0; got {weight!r}.")


# What the answers of a model were worth, once the labels are known.


AT_ONCE = 256  # rows that are evaluated together
UNDER = 1 - 2.0**-40  # a label that could not be named is not the likeliest, not even among equals


def with_room(P: Floats, codes: NDArray[np.int32], learned: list[int]) -> Floats:
    """P (n, K'), in which a label that was not learned has 1/(K+1): see `StreamEvaluator`."""
    new = np.flatnonzero((codes >= 0) & ~np.isin(codes, learned))
    if not (len(new) and learned):
        return P
    K, wide = len(learned), np.zeros((len(P), max(P.shape[1], int(codes.max()) + 1, 2)))
    wide[:, : P.shape[1]] = P
    named = np.zeros((len(new), wide.shape[1]))
    named[:, learned] = wide[new][:, learned]
    total = named.sum(axis=1, keepdims=True)
    # A model that was told all classes beforehand may name one that it has not learned, and no other.
    named[np.ix_(total[:, 0] == 0, learned)] = 1.0
    wide[new] = named / named.sum(axis=1, keepdims=True) * (K / (K + 1))
    wide[new, codes[new]] = UNDER / (K + 1)
    return wide


class StreamEvaluator:
    """Holds answers against labels, in the order in which it is told of them.

    An answer that says nothing is taken for equal probabilities of all labels met so far, at least two. A
    label that the answer does not name had the probability 0; but if the model had never learned it, then
    1/(K+1) beside K labels named, whose probabilities are scaled down: it could not be known.
    """

    def __init__(self, curve: Curve) -> None:
        self.labels: dict[Any, int] = {}  # codes, in the order of appearance
        self._curve = curve
        self._rows: list[list[float]] = []
        self._codes: list[int] = []
        self._weights: list[float] = []

    def add(self, answer: Answer, y: Any, weight: float, *, new: bool) -> None:
        """One row. new: the model had never learned this label when it answered."""
        if weight == 0:
            return  # it is not there, nor is its label
        known = self.labels
        for label in answer:
            known.setdefault(label, len(known))
        code = known.setdefault(y, len(known))
        K, width = len(answer), max(len(known), 2)
        if K:
            row = [0.0] * width
            unknown = new and y not in answer
            for label, p in answer.items():
                row[known[label]] = p * (K / (K + 1)) if unknown else p
            if unknown:
                row[code] = UNDER / (K + 1)
        else:
            row = [1 / width] * width
        self._rows.append(row)
        self._codes.append(code)
        self._weights.append(weight)
        if len(self._rows) == AT_ONCE:
            self.settle()

    def add_many(
        self, P: Floats, labels: list[Any], y: list[Any], weights: Any, *, learned: Iterable[Any]
    ) -> None:
        """Rows answered together with P, a column for each of `labels`, by who has learned some of them."""
        known = self.labels
        columns = [known.setdefault(label, len(known)) for label in labels]
        there = row_weights(weights, len(y))
        codes = np.array(
            [known.setdefault(label, len(known)) if w else -1 for label, w in zip(y, there, strict=True)],
            dtype=np.int32,
        )
        wide = np.zeros((len(P), max(len(known), 2)))
        wide[:, columns] = P
        self.settle().update(with_room(wide, codes, [known[label] for label in learned]), codes, weights)

    def settle(self) -> Curve:
        """The curve, with all that was added."""
        if self._rows:
            P = np.zeros((len(self._rows), max(map(len, self._rows))))
            for i, row in enumerate(self._rows):
                P[i, : len(row)] = row
            codes, weights = np.array(self._codes, dtype=np.int32), np.array(self._weights)
            self._rows, self._codes, self._weights = [], [], []
            self._curve.update(P, codes, weights)
        return self._curve


# Rows that were answered and wait for their labels.

PLAIN = frozenset([str, int, float, bool, bytes, type(None)])  # cannot change, and need no copy


class Row(NamedTuple):
    """A row as it was when it was answered."""

    x: Any
    answer: Answer
    made: Any  # the moment
    weight: float
    known: int  # labels that the model had learned by then


class WaitingRows:
    """Rows in the order in which they came. Each leaves with its label, or expires.

    A row expires when its moment is more than `horizon` ago, or when more than `most` wait and it is the
    oldest; it is then learned as the class `default`, or, if there is none, not at all. Time does not run
    backwards: an earlier moment than the latest is taken for the latest.

    in_order: labels are learned in the order of their rows. One that comes early is held until no row
    before its own waits any more.
    """

    def __init__(
        self,
        model: OnlineAdapter,
        horizon: Any = None,
        default: Any = None,
        most: int | None = None,
        in_order: bool = False,
    ) -> None:
        if most is not None and most < 1:
            raise ValueError(f"max_pending must be an integer >= 1 (a number of rows); got {most!r}.")
        if horizon is not None and not horizon >= type(horizon)(0):
            raise ValueError(
                f"horizon must be >= 0, as labels cannot come before their rows; got {horizon!r}."
            )
        if default is not None:
            check_label(default)
        if in_order and horizon is None:
            raise ValueError(
                "in_order=True needs a horizon: a label that never comes would hold back all that follow"
            )
        self.in_order = in_order
        self.held: dict[Hashable, tuple[Any, float]] = {}  # labels that have come before their turn
        self.model, self.horizon, self.default, self.most = model, horizon, default, most
        self.rows: OrderedDict[Hashable, Row] = OrderedDict()
        self.now: Any = None
        self.backwards = 0  # moments that were taken for later ones

    def go(self, at: Any) -> Any:
        """To this moment; what is the moment then."""
        if at != at or at is None:
            raise ValueError(f"a moment must be a number or a date and time; got {at!r}.")
        if self.now is None and self.horizon is not None:
            _check_units(at, self.horizon)
        if self.now is None or at >= self.now:
            self.now = at
        else:
            self.backwards += 1
        return self.now

    def answer(self, id: Hashable, x: Any, weight: float = 1.0) -> Row:
        """Asks the model, and keeps the row as it is at this moment."""
        x = _copied(x)
        row = Row(x, self.model.ask(x), self.now, weight, len(self.model.taught))
        self.rows[id] = row
        return row

    def waits(self, id: Hashable) -> bool:
        """Whether there is a row of this name whose label has not come."""
        return id in self.rows and id not in self.held

    def join(self, id: Hashable, y: Any, weight: float | None = None) -> Row:
        """Learns the label of a row that waits, or holds it until its turn."""
        row = self.rows[id]
        weight = row.weight if weight is None else weight
        if self.in_order:
            check_label(y)
            check_weight(weight)
            self.held[id] = y, weight
            self._release()
        else:
            self.model.teach(row.x, y, weight)
            del self.rows[id]
        return row

    def _release(self) -> None:
        """Learns labels whose turn it is: those before the first row that waits."""
        while self.rows and (id := next(iter(self.rows))) in self.held:
            self.model.teach(self.rows[id].x, *self.held.pop(id))  # a label that is refused may come again
            del self.rows[id]

    def new(self, row: Row, y: Any) -> bool:
        """Whether the model had never learned this label when it answered."""
        return self.model.taught.get(y, row.known) >= row.known

    def expired(self) -> Iterator[tuple[Hashable, Row]]:
        """Lets rows expire whose time has run out, oldest first; each when it is asked for."""
        if self.horizon is not None:
            while self.rows and next(iter(self.rows.values())).made + self.horizon < self.now:
                yield self._expire()

    def crowded(self) -> Iterator[tuple[Hashable, Row]]:
        """Lets rows expire for which there is no room, oldest first."""
        while self.most is not None and len(self.rows) > self.most:
            yield self._expire()

    def rest(self) -> Iterator[tuple[Hashable, Row]]:
        """Lets all rows expire, oldest first."""
        while self.rows:
            yield self._expire()

    def _expire(self) -> tuple[Hashable, Row]:
        id, row = next(iter(self.rows.items()))
        if self.default is not None:
            self.model.teach(row.x, self.default, row.weight)
        del self.rows[id]  # not before: a model that refuses the class loses no row
        self._release()
        return id, row


def _check_units(at: Any, horizon: Any) -> None:
    """Refuse a horizon that cannot be added to moments, before any row waits for it."""
    try:
        at + horizon
    except TypeError:
        raise TypeError(
            f"horizon={horizon!r} cannot be added to a moment such as {at!r}: give it in the units of the "
            "moments, as a number of seconds for time.time(), or a timedelta for datetimes"
        ) from None


def _copied(x: Any) -> Any:
    """As it is now, whatever becomes of it."""
    if not isinstance(x, dict):
        return deepcopy(x)
    return {name: value if type(value) in PLAIN else deepcopy(value) for name, value in x.items()}


# Predictions that wait for their labels, in live use.


class UnknownRow(KeyError):
    """The error raised for a label whose row is not waiting."""

    def __str__(self) -> str:
        return str(self.args[0])


class Pending:
    """Predict rows at once, and learn each of them when its label arrives later.

    Call `predict(id, x)` for a row, and `learn(id, y)` when its label is known. The model learns the row as
    it was when it was predicted. All methods may be called from any thread: one runs at a time.

    Parameters
    ----------
    model : estimator
        A model with `learn_one` and `predict_proba_one` or `predict_one`, such as `OnlineClassifier`.
    horizon : number or timedelta, default=None
        How long to wait for a label, in the units of `clock`. A row whose label has not arrived by then
        expires, at the next call of any method: it is learned and evaluated as the class `default`, or
        forgotten without one. Labels that arrive exactly at the horizon are in time. None waits forever.
    default : label, default=None
        The class of rows that expire, such as "no click".
    max_pending : int, default=100_000
        The maximum number of rows that wait. If there are more, the oldest expire early.
    clock : callable, default=time.time
        Gives the time of a call without `at`. Times earlier than the latest one count as the latest.
    unknown : {"raise", "count"}, default="count"
        What to do with a label whose row is not waiting: count and ignore it, or raise an `UnknownRow`
        error. The ids of the last `max_pending` rows that left are remembered, so that a late label, whose
        row has expired, is distinguished from one with an unknown id.
    window : int, default=1000
        The number of rows in each window of `.curve`.
    in_order : bool, default=False
        Whether labels are learned in the order of their rows, each once no earlier row waits. If the class
        `default` means that nothing happened, the labels of the other classes arrive first, and a new model
        would see no other class until the first rows expire; with in_order=True it learns all rows of a
        time together, a horizon later.

    Attributes
    ----------
    model : estimator
        The model.
    joined : int
        Rows that were labelled.
    expired : int
        Rows that left without a label.
    crowded : int
        Those of them that expired early, because too many rows were waiting.
    late : int
        Labels that arrived after their row had expired.
    unknown : int
        Other labels whose row was not waiting.
    waiting : int
        Rows that wait for their label.
    figures : Figures
        The metrics over the rows that have left.
    table : tuple of Snapshot
        The metrics after 1, 2, 4, ... rows, and now.
    curve : Windows
        The metrics of each window of rows.
    classes : tuple
        The labels, in the order of the classes of `figures`.

    See Also
    --------
    progressive : Simulates delayed labels on recorded data.

    Examples
    --------
    >>> import likelier as lk
    >>> pending = lk.Pending(lk.OnlineClassifier(), horizon=60, default="no click")
    >>> answer = pending.predict("row 1", {"ad": "a", "hour": 12}, at=0)
    >>> pending.learn("row 1", "click", at=30)
    True
    >>> pending.joined, pending.waiting
    (1, 0)
    """

    def __init__(
        self,
        model: Any,
        *,
        horizon: Any = None,
        default: Any = None,
        max_pending: int = 100_000,
        clock: Callable[[], Any] = time.time,
        unknown: Literal["raise", "count"] = "count",
        window: int = 1000,
        in_order: bool = False,
    ) -> None:
        if unknown not in ("raise", "count"):
            raise ValueError(f"unknown must be 'raise' or 'count'; got {unknown!r}.")
        self._waiting = WaitingRows(OnlineAdapter(model), horizon, default, max_pending, in_order)
        self._clock, self._unknown, self._most = clock, unknown, max_pending
        self._judge = StreamEvaluator(Curve(window))
        self._left: OrderedDict[Hashable, str] = OrderedDict()  # how the last rows left
        self.joined = 0  # rows that left with their label
        self.expired = 0  # rows that left without
        self.crowded = 0  # those of them that left early
        self.late = 0  # labels that came after their row expired
        self.unknown = 0  # other labels of rows that did not wait
        self._lock = RLock()

    @property
    def model(self) -> Any:
        """The model."""
        return self._waiting.model.model

    def predict(self, id: Hashable, x: Any, at: Any = None) -> Answer:
        """Predict a row, which then waits for its label.

        Parameters
        ----------
        id : hashable
            An identifier that no other waiting row has.
        x : dict
            The features, by name.
        at : number or datetime, default=None
            The time of the row. None asks `clock`.

        Returns
        -------
        dict
            The probability of each label that the model knows.

        Raises
        ------
        ValueError
            If a row with this id is waiting already.
        """
        with self._lock:
            self._go(at)
            if id in self._waiting.rows:
                raise ValueError(f"id {id!r} waits for its label already: give each row an id of its own")
            row = self._waiting.answer(id, x)
            self._left.pop(id, None)
            for each in self._waiting.crowded():
                self.crowded += 1
                self._expire(*each)
            return dict(row.answer)

    def learn(self, id: Hashable, y: Any, at: Any = None, sample_weight: float = 1.0) -> bool:
        """Learn the label of a row that was predicted.

        Parameters
        ----------
        id : hashable
            The identifier given to `predict`.
        y : label
            The label of the row.
        at : number or datetime, default=None
            The time at which the label arrives. None asks `clock`.
        sample_weight : float, default=1.0
            The weight of the row.

        Returns
        -------
        bool
            Whether the label was learned, or will be in its turn; False if the row is not waiting.

        Raises
        ------
        UnknownRow
            If the row is not waiting, and `unknown="raise"`.
        """
        with self._lock:
            self._go(at)
            if not self._waiting.waits(id):
                return self._refuse(id)
            row = self._waiting.join(id, y, sample_weight)
            self.joined += 1
            self._leave(id, "was labelled")
            self._judge.add(row.answer, y, sample_weight, new=self._waiting.new(row, y))
            return True

    def expire(self, at: Any = None) -> int:
        """Let the rows expire whose horizon has passed.

        Parameters
        ----------
        at : number or datetime, default=None
            The present time. None asks `clock`.

        Returns
        -------
        int
            How many rows expired.
        """
        with self._lock:
            before = self.expired
            self._go(at)
            return self.expired - before

    def __len__(self) -> int:
        return len(self._waiting.rows) - len(self._waiting.held)

    def __contains__(self, id: Hashable) -> bool:
        return self._waiting.waits(id)

    @property
    def waiting(self) -> int:
        """The number of rows that wait for their label."""
        return len(self)

    @property
    def figures(self) -> Figures:
        """The metrics over the rows that have left: with their label, or as the default class."""
        with self._lock:
            return deepcopy(self._judge.settle().figures)

    @property
    def table(self) -> tuple[Snapshot, ...]:
        """The metrics after 1, 2, 4, ... rows and now, in the order in which rows left."""
        with self._lock:
            return tuple(self._judge.settle().table())

    @property
    def curve(self) -> Windows:
        """The metrics of each window of rows."""
        with self._lock:
            return self._judge.settle().windows

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels, in the order of the classes of `figures`."""
        return tuple(self._judge.labels)

    def _head(self) -> str:
        counts = {
            "waiting": self.waiting,
            "joined": self.joined,
            "expired": self.expired,
            "late": self.late,
            "unknown": self.unknown,
        }
        return ", ".join(f"{n} {what}" for what, n in counts.items())

    def __str__(self) -> str:
        return "\n".join([self._head(), "", HEADING, *map(line, self.table)])

    def _repr_html_(self) -> str:
        return html([self._head(), Table([HEADINGS, *map(cells, self.table)], left=0)])

    # ---- keeping it --------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """Everything but the model and the settings: waiting rows, counters, metrics.

        Returns
        -------
        dict
            A copy, for `restore`.
        """
        with self._lock:
            waiting = self._waiting
            return deepcopy(
                {name: getattr(self, name) for name in _KEPT}
                | {"rows": waiting.rows, "now": waiting.now, "taught": waiting.model.taught}
                | {"backwards": waiting.backwards, "held": waiting.held}
            )

    def restore(self, state: dict[str, Any]) -> None:
        """Return to the state that `state` gave.

        Parameters
        ----------
        state : dict
            What `state` returned.
        """
        state = deepcopy(state)
        with self._lock:
            for name in _KEPT:
                setattr(self, name, state[name])
            for name in ("rows", "now", "backwards"):
                setattr(self._waiting, name, state[name])
            self._waiting.held = state.get("held", {})
            self._waiting.model.taught = state["taught"]

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = RLock()

    # ---- rows that leave ---------------------------------------------------------------------------
    def _go(self, at: Any) -> None:
        self._waiting.go(self._clock() if at is None else at)
        for each in self._waiting.expired():
            self._expire(*each)

    def _expire(self, id: Hashable, row: Row) -> None:
        self.expired += 1
        self._leave(id, "expired")
        default = self._waiting.default
        if default is not None:
            self._judge.add(row.answer, default, 1.0, new=self._waiting.new(row, default))

    def _leave(self, id: Hashable, how: str) -> None:
        self._left[id] = how
        if len(self._left) > self._most:
            self._left.popitem(last=False)

    def _refuse(self, id: Hashable) -> bool:
        how = self._left.get(id)
        if how == "expired":
            self.late += 1
        else:
            self.unknown += 1
        if self._unknown == "raise":
            why = f"it {how}" if how else "no prediction was made for it, or it left long ago"
            raise UnknownRow(f"id {id!r} waits for no label: {why}. unknown='count' lets such labels pass")
        return False


_KEPT = ("_judge", "_left", "joined", "expired", "crowded", "late", "unknown")
