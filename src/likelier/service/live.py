"""The state of a service as a function of its log: the same live and offline, bit for bit."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from likelier import _core
from likelier.service.events import Action, Config, Event, action_of, label_of, label_text
from likelier.service.models import OnlineModel, Served
from likelier.service.shadow import LossCurve, Shadow, record
from likelier.streams.delayed import OnlineAdapter, Row, StreamEvaluator, WaitingRows
from likelier.streams.figures import Curve

PRIOR_ROUNDS = 256  # rows without features that teach the class priors, before the first row
WINDOW = 100  # rows of a window of the figures, at first
BATCH = 256  # complete rows that are learned together, at most
LEARNED, HELD, LATE = "learned", "waiting", "late"


class Outcome(NamedTuple):
    """The result of an event: the prediction for its row, and what happened to its label."""

    answer: dict[Any, float] | None = None
    label: str | None = None


class Live:
    """Applies the events of the log to the model, each once and in order.

    models: gives a model by the SHA-256 of its file. beside: this is a shadow, which has a model of its own
    and takes none from the log, and which is evaluated whether it learns or not.
    """

    def __init__(self, models: Callable[[str], Served], *, beside: bool = False) -> None:
        self._models, self._beside = models, beside
        self.config = Config()
        self.version = 0  # the number of the last event applied
        self.began: float | None = None  # event time of the first row that waited
        self.rows_learned = 0  # with their label, or as the default class
        self.expired = self.crowded = self.late = self.failed = 0
        self.early: OrderedDict[str, tuple[Any, float]] = OrderedDict()  # labels of rows still to come
        self.curve_ = LossCurve(WINDOW)
        self.judge = StreamEvaluator(self.curve_)
        self.shadow: Shadow | None = None
        self.scored: list[str] | None = None  # ids of rows whose losses `curve_` keeps, for a shadow
        self.model: Served | None = None
        self.waiting = WaitingRows(OnlineAdapter(_Untaught()))

    @property
    def served(self) -> Served:
        """The model that answers."""
        if self.model is None:
            raise ValueError("the log does not begin with a model: it is not a log of likelier serve")
        return self.model

    @property
    def now(self) -> float:
        """The event time."""
        return self.waiting.now or 0.0

    @property
    def curve(self) -> Curve:
        """The progressive metrics after the last batch, which other threads may read."""
        return self.curve_

    @property
    def learner(self) -> OnlineModel:
        """The model, which learns."""
        if not isinstance(self.model, OnlineModel):
            raise TypeError(f"a {self.served.name} does not learn row by row")
        return self.model

    # ---- what `WaitingRows` asks for ----------------------------------------------------------------
    def predict_proba_one(self, raw: bytes) -> dict[Any, float]:
        """The probabilities of a row; an empty dict if the model cannot take the row."""
        try:
            return self.served.answer(self.served.row(raw))
        except (ValueError, TypeError):
            self.failed += 1
            return {}

    def learn_one(self, raw: bytes, y: Any, sample_weight: float = 1.0) -> None:
        """Learn a row with its label. A row that the model cannot take is counted and skipped."""
        if not self.served.learns:
            return
        try:
            self.learner.learn(self.served.row(raw), y, sample_weight)
            self.rows_learned += 1
        except (ValueError, TypeError):
            self.failed += 1

    # ---- events --------------------------------------------------------------------------------------
    def apply(self, events: Iterable[Event]) -> list[Outcome]:
        """Apply events and return their results. Consecutive complete rows are learned as one batch."""
        found: list[Outcome] = []
        run: list[Event] = []
        last = self.version
        for event in events:
            if event.seq <= last:
                raise ValueError(f"event {event.seq} was applied already: the state is at {last}")
            last = event.seq
            if len(run) == BATCH or (run and not self._joins(event)):
                found += self._learn_run(run)
                run = []
            shadow = self.shadow
            if run or self._joins(event):
                run.append(event)
            else:
                found.append(self._apply(event))
            if shadow is not None:
                shadow.events.append(event)
                if shadow.full:
                    found += self._learn_run(run)
                    run = []
                    shadow.follow(self)
        found += self._learn_run(run)
        self.judge.settle()
        if self.shadow is not None:
            self.shadow.follow(self)
        return found

    def _joins(self, event: Event) -> bool:
        """Whether the event is a complete row that changes nothing but the model."""
        whole = event.x is not None and event.y is not None
        return whole and self._alone and not self._due(event.at)

    @property
    def _alone(self) -> bool:
        return isinstance(self.model, OnlineModel) and not self.config.in_order

    def _due(self, at: float) -> bool:
        """Whether any waiting row expires by this time."""
        rows, horizon = self.waiting.rows, self.config.horizon
        return horizon is not None and bool(rows) and next(iter(rows.values())).made + horizon < at

    def _apply(self, event: Event) -> Outcome:
        self.version = event.seq
        if event.action is not None:
            self._act(action_of(event.action))
            return Outcome()
        self._go(event.at)
        if event.x is None:
            return Outcome(None, self._label(str(event.id), label_of(event.y or b"")))
        return self._row(event)

    def _go(self, at: float) -> None:
        self.waiting.go(at)
        for id, row in self.waiting.expired():
            self._expire(id, row)
        horizon = self.config.horizon
        while horizon is not None and self.early:
            if next(iter(self.early.values()))[1] + horizon >= self.waiting.now:
                break
            self.early.popitem(last=False)
            self.late += 1

    def _row(self, event: Event) -> Outcome:
        """Predict a row. It waits for its label unless the label came with it or before it."""
        assert event.x is not None
        id = _name(event)
        if not self.served.learns and not self._beside:
            return Outcome(self.predict_proba_one(event.x))
        row = self.waiting.answer(id, event.x)
        if event.y is None:
            self._teach_prior(event.x)
        label = None
        if event.y is not None:
            label = self._label(id, label_of(event.y))
        elif id in self.early:
            label = self._label(id, self.early.pop(id)[0])
        for old_id, old in self.waiting.crowded():
            self.crowded += 1
            self._expire(old_id, old)
        return Outcome(dict(row.answer), label)

    def _label(self, id: str, y: Any) -> str:
        if self.waiting.waits(id):
            self._evaluate_one(id, self.waiting.rows[id], y)
            self.waiting.join(id, y)
            return HELD if id in self.waiting.rows else LEARNED
        if not self.config.keep_unknown or id in self.early:
            self.late += 1
            return LATE
        self.early[id] = y, self.waiting.now
        if len(self.early) > self.config.max_waiting:
            self.early.popitem(last=False)
            self.late += 1
        return HELD

    def _expire(self, id: Any, row: Row) -> None:
        self.expired += 1
        default = self.config.default
        if default is not None:
            self._evaluate_one(id, row, default)

    def _evaluate_one(self, id: Any, row: Row, y: Any) -> None:
        self.judge.add(row.answer, y, 1.0, new=self.waiting.new(row, y))
        if self.scored is not None:
            self.scored.append(id)

    # ---- complete rows -------------------------------------------------------------------------------
    def _learn_run(self, run: list[Event]) -> list[Outcome]:
        """Learn complete rows in order: bit for bit the same as learning them one by one."""
        if run:
            self._learn_events(run)
            self.version = run[-1].seq
        return [Outcome(None, LEARNED)] * len(run)

    def _learn_events(self, run: list[Event]) -> None:
        for event in run:
            self.waiting.go(event.at)
        labels = [label_of(event.y or b"") for event in run]
        rows = self.learner.hashed([event.x or b"" for event in run], labels)
        if rows is None:
            run, labels, rows = self._hashed_one_by_one(run, labels)
        if self.scored is not None:
            self.scored += map(_name, run)
        self._learn_rows(rows, labels)

    def _hashed_one_by_one(
        self, run: list[Event], labels: list[Any]
    ) -> tuple[list[Event], list[Any], "_core.HashedRows"]:
        """Hash rows that are not all plain, and leave out those that the model cannot take."""
        good, rows = [], []
        for i, event in enumerate(run):
            try:
                rows.append(self.served.row(event.x or b""))
                good.append(i)
            except (ValueError, TypeError):
                self.failed += 1
        labels, model = [labels[i] for i in good], self.learner.model
        codes = np.array([model.meet(label) for label in labels], dtype=np.int32)
        return [run[i] for i in good], labels, model.intake.dicts(rows, codes, None)

    def _learn_rows(self, rows: "_core.HashedRows", labels: list[Any]) -> None:
        if not labels:
            return
        model = self.learner.model
        P = model.learn(rows)
        for label in dict.fromkeys(labels):
            self.waiting.model.taught.setdefault(label, len(self.waiting.model.taught))
        self.rows_learned += len(labels)
        self._evaluate(P, model.labels, labels)

    def _evaluate(self, P: Any, known: list[Any], labels: list[Any]) -> None:
        """Update the progressive metrics with P, the probabilities from before each row was learned."""
        codes = self.judge.labels
        columns = [codes.setdefault(label, len(codes)) for label in known]
        columns += [i for i in range(P.shape[1]) if i not in columns][: P.shape[1] - len(columns)]
        wide = np.zeros((len(P), max(len(codes), P.shape[1])))
        wide[:, columns] = P
        y = np.array([codes[label] for label in labels], dtype=np.int32)
        self.judge.settle().update(wide, y)

    # ---- models and configurations -------------------------------------------------------------------
    def _act(self, action: Action) -> None:
        if action.model is not None and not self._beside:
            self.use(self._models(action.model))
        if action.config is not None:
            self._configure(action.config)
        if action.shadow is not None and not self._beside:
            self._shadow_by(action.shadow)
        elif self.shadow is not None and action.model is not None:
            self._shadow_by(self.shadow.live.served.sha, keep=True)

    def _shadow_by(self, sha: str, *, keep: bool = False) -> None:
        """Start another shadow or end it. keep: keep the shadow, and compare it with the new model."""
        if self.shadow is not None:
            self.shadow.follow(self)
        if not sha:
            self.shadow, self.scored, self.curve_.losses = None, None, None
            return
        live = self.shadow.live if keep and self.shadow is not None else self._beginner(sha)
        self.shadow = Shadow(live)
        record(self)
        record(live)

    def _beginner(self, sha: str) -> "Live":
        """A shadow learner that starts at the present event."""
        live = Live(self._models, beside=True)
        live.version = self.version
        live.use(self._models(sha))
        live._configure(self.config)
        return live

    def use(self, model: Served) -> None:
        """Replace the model; waiting rows keep waiting."""
        self.model = model
        self._await()

    def _configure(self, config: Config) -> None:
        self.config = config
        self._await()
        if config.priors and self.began is None and self.served.learns and not self.served.labels:
            priors = {_label_like(config.default, name): p for name, p in config.priors.items()}
            for _ in range(PRIOR_ROUNDS):
                for label, p in priors.items():
                    self.waiting.model.teach(b"{}", label, p)
            self.rows_learned = 0  # these were none

    def _await(self) -> None:
        """Set up the waiting rows again for the present model and configuration."""
        before, config = self.waiting, self.config
        waiting = WaitingRows(
            OnlineAdapter(self), config.horizon, config.default, config.max_waiting, config.in_order
        )
        waiting.rows, waiting.held, waiting.now = before.rows, before.held, before.now
        waiting.backwards = before.backwards
        if self.model is not None:
            waiting.model.taught = {label: i for i, label in enumerate(self.model.labels)}
        self.waiting = waiting

    def _teach_prior(self, raw: bytes) -> None:
        """During the first horizon, learn what a row from one horizon ago would have taught.

        Labels other than the default come early, and rows without a label are learned a horizon late: with
        nothing against them, the first clicks would make the model believe in clicks alone. So the stream
        is taken to have gone on for ever: for each row that comes, one like it expires, which is of the
        default class with the prior probability of that class, and is weighted by it.
        """
        config, now = self.config, self.waiting.now
        self.began = now if self.began is None else self.began
        if config.priors is None or config.horizon is None or now > self.began + config.horizon:
            return
        learned = self.rows_learned
        self.waiting.model.teach(raw, config.default, config.priors[label_text(config.default)])
        self.rows_learned = learned


def _name(event: Event) -> str:
    """The id of a row, or an internal one that no client can send."""
    return event.id if event.id is not None else f"\0{event.seq}"


class _Untaught:
    """Stands for the model until the log has named one."""

    def learn_one(self, raw: bytes, y: Any) -> None:
        raise ValueError("there is no model yet")

    def predict_proba_one(self, raw: bytes) -> dict[Any, float]:
        return {}


def _label_like(default: Any, name: str) -> Any:
    """The label of a name in JSON: a string if the default class is one."""
    return name if isinstance(default, str) else label_of(name.encode())
