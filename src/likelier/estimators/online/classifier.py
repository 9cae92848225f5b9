"""OnlineClassifier: rows one by one, predicted and then learned from."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from threading import RLock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from likelier import _core
from likelier.array_types import Floats
from likelier.data import Chunk, DegenerateWarning
from likelier.data.transforms import cluster_of
from likelier.engines import run
from likelier.estimators import validation
from likelier.estimators.base import Estimator, cheapest
from likelier.estimators.online.rows import Batching, Marks, Scanned, hashable, labels_in, marked, rows_of
from likelier.estimators.online.shuffle import pooled, shuffled
from likelier.estimators.posterior_priors import learned_shares, priors_for
from likelier.estimators.predictions import found_share
from likelier.estimators.sources import by_block, gathered, stored
from likelier.streams.model import Online, Settings, averaged, labels_array, plain_label, recounted
from likelier.streams.reader import WORD
from likelier.warning_location import outside

# What an online model has met so far.


class OnlineCounters:
    """Counts of rows, mistakes and cells, and the weights of single features, as fitted attributes."""

    _model: Online

    def _known(self, name: str) -> Online:
        if "_model" not in vars(self):
            raise AttributeError(f"{name} is there once a row has been learned from")
        return self._model

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns of `predict_proba`."""
        return labels_array(self._known("classes_").labels)

    @property
    def class_count_(self) -> Floats:
        """The weight of the rows of each class."""
        model = self._known("class_count_")
        counts = model.intake.counts
        return np.array(counts + [0.0] * (model.K - len(counts)))

    @property
    def mistakes_(self) -> int:
        """Rows whose label, before it was learned from, was not the answer."""
        return self._known("mistakes_").intake.mistakes

    @property
    def skipped_(self) -> int:
        """Cells of rows learned from that were NaN or infinite."""
        return self._known("skipped_").intake.skipped

    @property
    def steps_(self) -> int:
        """Rows learned from."""
        return self._known("steps_").learner.counters["steps"]

    @property
    def clipped_(self) -> int:
        """Steps cut short, lest weights run away."""
        return self._known("clipped_").learner.counters["clipped"]

    @property
    def used_(self) -> int:
        """How many of the 2^bits weights features have taken."""
        return self._known("used_").learner.counters["used"]

    @property
    def collision_rate_(self) -> float:
        """The share of cells learned from that met another feature's weight."""
        counted = self._known("collision_rate_").learner.counters
        return counted["collisions"] / max(counted["cells"], 1)

    @property
    def nonzero_(self) -> int:
        """How many weights are not 0: fewer than `used_` where l1 has taken them away."""
        return _core.online_nonzero(self._known("nonzero_").learner)

    def weight_of(self, name: str, word: Any = None) -> dict[Any, float]:
        """What a number of this name, or this word, adds to the score of each class (of two: the second).

        Features that share a slot share the weight.
        """
        model = self._known("weight_of")
        text = None if word is None else str(word)
        W = _core.online_weights(model.learner, _core.key_of(str(name), text))
        return dict(zip(model.labels if len(W) > 1 else model.labels[1:2], W, strict=False))


# Online models that learn where the rows are: one for each part, averaged.

HEAD, PAIR = 16, 8  # bytes of a slot: what it knows of its feature, and of each score


@dataclass
class Taught:
    """A model that the rows of a part have taught, each from the same start; merged: their average.

    Models count by their rows. Merging is associative up to rounding (of single precision); what comes out
    depends on how the rows are cut into parts, and is not what one model would have learned from all.
    """

    model: Online
    batching: Batching
    seed: int | None = None  # of the order in which the rows of a chunk are taken; None: as they come
    rows: int = 0
    parts: int = 0
    met: frozenset[int] = frozenset()  # classes of the rows of this part
    sorted_: int = 0  # parts merged so far that had rows of one class alone

    @classmethod
    def start(cls, batching: Batching, model: Online, seed: int | None = None) -> Self:
        return cls(model.copy(), batching, seed)

    @property
    def nbytes(self) -> int:
        K = self.model.K
        return (HEAD + PAIR * (K if K > 2 else 1)) << self.model.settings.bits

    def update(self, chunk: Chunk) -> None:
        batches = self.batching.hashed(chunk, self.model.intake)
        if self.seed is not None:
            seed = np.random.SeedSequence([self.seed, chunk.first]).generate_state(1)
            batches = pooled(batches, self.model.intake, np.random.RandomState(seed))
        for batch in batches:
            self.model.learn(batch)
        self.rows += chunk.X.shape[0]
        self.parts = 1
        assert chunk.y is not None
        self.met |= set(np.unique(chunk.y).tolist())

    @property
    def alone(self) -> int:
        """Parts that had rows of one class alone."""
        return self.sorted_ + (len(self.met) == 1)

    def merge(self, other: Self) -> None:
        if not (self.rows and other.rows):
            self.model = self.model if self.rows else other.model.copy()
        else:
            self.model = averaged([self.model, other.model], [self.rows, other.rows])
        self.rows += other.rows
        self.parts += other.parts
        self.sorted_, self.met = self.alone + other.alone, frozenset()


def taught(scanned: Scanned, model: Online, passes: int, rng: np.random.RandomState | None) -> Online:
    """The average of what all parts have taught; of further passes, each from that of the one before."""
    for _ in range(passes):
        seed = None if rng is None else int(rng.randint(np.iinfo(np.int32).max))
        found = run(scanned.coded, partial(Taught.start, scanned.batching, model, seed))
        model = recounted(found.model, model, found.parts)
    if model.K > 1 and 2 * found.alone > found.parts:
        warnings.warn(
            f"{found.alone} of {found.parts} parts have rows of one class alone, and each part teaches a "
            "model of its own: their average is worse than that of shuffled rows. Shuffle the rows before "
            "they are cut into partitions, or call partial_fit, which fetches them in their order.",
            DegenerateWarning,
            stacklevel=outside(),
        )
    return model


# Rows one by one: answered, then learned from.

MANY = 1 << 16  # rows: more are not held hashed all at once
_MEETING = RLock()  # labels that are new come one after another, from whichever threads


class OnlineClassifier(OnlineCounters, ClassifierMixin, Estimator):
    """Linear scores of hashed features, moved a step by every row that has a label.

    A row is a dict of features, or a row of a table or an array. Numbers count as they are (0: absent),
    strings and truths as indicators name=value; all of them are hashed into 2^bits weights (Weinberger et
    al. 2009). Two classes: one score; more: softmax, or for margin losses one against the rest. optimizer:
    "adagrad" (Duchi et al. 2011; normalised, Ross et al. 2013; invariant to how weights are split,
    Karampatziakis & Langford 2011), "ftrl" (McMahan et al. 2013; l1 leaves few weights) or "sgd".
    interactions: features taken together, as in [("user", "ad")]; half_life: in rows, what was learned
    fades; class_weight="balanced": by how often classes came so far. non_finite: NaN and infinite cells
    are skipped and counted, or refused ("raise"). passes: over the rows in `fit`, which takes them in a
    random order (shuffle, by random_state); `learn_one` and `partial_fit` keep the order.

    Settings hold from the first row on: changed ones need a `fit`. Calls from several threads take turns.
    See docs/online.md.
    """

    assumes = "discriminative; additive in features of any type; linear; learned row by row"
    _takes_categories = True
    _columns_have_types = False  # a feature may be a number in one row and a string in another, or absent
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _model: Online
    _labels: list[Any]
    _codes: dict[Any, int]
    _intake: "_core.Intake"
    _learner: "_core.Learner"

    def __init__(
        self,
        loss: str = "log_loss",
        optimizer: str = "adagrad",
        *,
        bits: int = 18,
        learning_rate: float | None = None,
        power: float = 0.5,
        l1: float = 0.0,
        l2: float = 0.0,
        beta: float = 1.0,
        normalised: bool = True,
        invariant: bool = True,
        interactions: Any = None,
        half_life: float | None = None,
        class_weight: Any = None,
        non_finite: str = "skip",
        passes: int = 1,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.optimizer = optimizer
        self.bits = bits
        self.learning_rate = learning_rate
        self.power = power
        self.l1 = l1
        self.l2 = l2
        self.beta = beta
        self.normalised = normalised
        self.invariant = invariant
        self.interactions = interactions
        self.half_life = half_life
        self.class_weight = class_weight
        self.non_finite = non_finite
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def __setattr__(self, name: str, value: Any) -> None:
        """A setting that is changed is looked at before the next row is learned, at no cost to others."""
        super().__setattr__(name, value)
        if not name.startswith("_"):
            self.__dict__.pop("_codes", None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.non_finite == "skip"
        tags.input_tags.sparse = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    def _settings(self) -> Settings:
        held = self.get_params(deep=False)
        return Settings(**{name: value for name, value in held.items() if name not in OF_FIT})

    # ---- one row -------------------------------------------------------------------------------------
    def learn_one(self, x: Mapping[str, Any], y: Any, sample_weight: float = 1.0) -> Self:
        """A step at one row, a dict of features; a label not met before is a class more."""
        try:
            code = self._codes[y]
        except (AttributeError, KeyError, TypeError):
            return self._learn_new(x, y, sample_weight)
        if self._intake.learn_one(self._learner, x, code, sample_weight):
            self._model.warn_of_clipping()
        return self

    def _learn_new(self, x: Any, y: Any, sample_weight: float) -> Self:
        """Of a label not met before, which is met if nothing is wrong with its row."""
        label = plain_label(y)
        if "_model" in vars(self):
            self._check_settings()
            self._publish(self._model)  # settings that were changed and set back may hold again
        if sample_weight == 0:
            return self  # a row that is not there has no label
        with _MEETING:
            model = self._model if "_model" in vars(self) else Online(self._settings())
            if label in model.codes:  # NumPy's, or met by another thread meanwhile
                model.intake.learn_one(model.learner, x, model.codes[label], sample_weight)
                return self
            before = model.intake.factors
            model.intake.factors = [*before, model.settings.factor(label)]
            try:
                model.intake.learn_one(model.learner, x, model.K, sample_weight)
            finally:
                model.intake.factors = before
            model.meet(label)
            return self._publish(model)

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """The label of the largest score; None before any row was learned from."""
        if "_model" not in vars(self):
            return None
        labels = self._labels
        return labels[self._intake.predict_one(self._learner, x) if len(labels) > 1 else 0]

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """p(C_k | x) by label, in the order of `classes_`; empty before any row was learned from."""
        if "_model" not in vars(self):
            return {}
        P = self._intake.predict_proba_one(self._learner, x)
        return dict(zip(self._labels, P, strict=True)) if len(self._labels) > 1 else {self._labels[0]: 1.0}

    def _publish(self, model: Online) -> Self:
        self._model, self._labels, self._codes = model, model.labels, model.codes
        self._intake, self._learner = model.intake, model.learner
        return self

    # ---- many rows -----------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Start afresh, and learn from all rows in a random order (`shuffle`); classes are sorted.

        Files larger than memory are read at sixteen places at once and mixed in a pool of some million
        cells. On a Dask cluster each part teaches a model of its own, its rows shuffled, and they are
        averaged (`lk.average`): an approximation, which depends on the parts. `partial_fit` fetches the
        rows, and keeps their order.
        """
        validation.number("passes", self.passes, 1, whole=True)
        rng = check_random_state(self.random_state) if validation.truth("shuffle", self.shuffle) else None
        settings = self._settings()
        X, y, sample_weight = gathered(X, y, sample_weight)
        rows = rows_of(self, X, known=False)
        found, y, w = labels_in(self, rows, y, sample_weight, all_rows=True)
        validation.weighty(len(found))
        model = Online(settings, found.tolist())
        shown = rows.shown
        rows, marks = marked(rows, found, y, w, model.codes)
        if isinstance(rows, Scanned) and cluster_of(rows.source) is not None:
            model = taught(rows, model, self.passes, rng)
        else:
            for _ in range(self.passes):
                batches = rows.hashed(model.intake, marks)
                if rng is not None:
                    batches = shuffled(rows, model.intake, marks, rng)
                for batch in batches:
                    model.learn(batch)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(shown)
        return self._publish(model)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows in their order; `classes`, all labels that can come, are needed at first."""
        first = "_model" not in vars(self)
        model = self._begun(classes) if first else self._model
        if not first:
            self._check_settings()
            self._check_classes(model, classes)
        X, y, sample_weight = gathered(X, y, sample_weight)
        rows = rows_of(self, X, known=not first)
        found, y, w = labels_in(self, rows, y, sample_weight)
        new = [label for label in found.tolist() if label not in model.codes]
        if new:
            raise ValueError(
                f"The target label(s) {new} in y do not exist in the initial classes {model.labels}: name "
                "all at the first call, or let learn_one meet them"
            )
        # What goes wrong in a later batch leaves the model as it was.
        few = rows.n is not None and rows.n <= MANY
        if not first and not few:
            model = model.copy()
        rows, marks = marked(rows, found, y, w, model.codes)
        batches = rows.hashed(model.intake, marks)
        for batch in list(batches) if few else batches:
            model.learn(batch)
        for name, value in rows.shown.items():
            self.__dict__.setdefault(name, value)
        return self._publish(model)

    def _begun(self, classes: Any) -> Online:
        if classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return Online(self._settings(), validation.classes_of(self, classes).tolist())

    def _check_settings(self) -> None:
        """Refuse settings that are not those of the first row."""
        if self._model.settings != self._settings():
            raise ValueError(
                "settings were changed since the first row was learned from: set them back, or start "
                "afresh with fit"
            )

    def _check_classes(self, model: Online, classes: Any) -> None:
        if classes is not None and set(validation.classes_of(self, classes).tolist()) != set(model.labels):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: "
                f"{model.labels!r}"
            )

    @by_block
    def predict_proba(self, X: Any) -> Floats:
        """p(C_k | x), (n, K), columns as in `classes_`."""
        validation.fitted(self)
        rows = rows_of(self, X, known=True)
        batches = [self._learner.predict(batch) for batch in rows.hashed(self._intake, Marks())]
        P = np.concatenate(batches) if len(batches) != 1 else batches[0]
        return P if self._model.K > 1 else np.ones((len(P), 1))

    @by_block
    def decide(self, X: Any, costs: Any = None, reject: float | None = None) -> NDArray[Any]:
        """The label of least expected cost for each row.

        costs: (K, K), what it costs to decide column k when the truth is row j; by default 1 for every
        mistake. reject: the cost of not deciding; a row for which every label is expected to cost more
        gets None.
        """
        return cheapest(self.predict_proba(X), self.classes_, costs, reject)

    def adapt_priors(
        self, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
    ) -> Floats:
        """The class priors (K,) under which rows without labels are likeliest.

        For rows in which the classes come as before, but not as often (label shift); it needs the
        posteriors alone (Saerens, Latinne & Decaestecker 2002), and they must be calibrated. The likelihood
        per row is within `tol` of the best. The model stays as it is.
        """
        logs, shares = partial(self.predict_log_proba, X), lambda: learned_shares(self, self._totals())
        return priors_for(self, logs, shares, sample_weight, tol, max_iter)

    def _totals(self) -> Floats | None:
        """(K,), the weight of each class's rows; None: it is not known."""
        codes, counts = self._model.codes, dict(enumerate(self._model.intake.counts))
        n = np.array([counts.get(codes[label], 0.0) for label in self.classes_.tolist()])
        return n if n.any() else None

    @by_block
    def predict_log_proba(self, X: Any) -> Floats:
        """ln p(C_k | x), (n, K)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @by_block
    def decision_function(self, X: Any) -> Floats:
        """The score of each class, (n, K); of two the score of the second against the first, (n,)."""
        validation.fitted(self)
        K, found = self._model.K, []
        for batch in rows_of(self, X, known=True).hashed(self._intake, Marks()):
            found.append(np.empty((len(batch), K if K > 2 else 1)))
            _core.online_scores(self._learner, batch, found[-1])
        Z = np.concatenate(found)
        return Z if K > 2 else np.asarray(Z[:, 0])

    @by_block
    def predict(self, X: Any) -> NDArray[Any]:
        """The label of the largest score."""
        P = self.predict_proba(X)
        return np.asarray(self.classes_[P.argmax(axis=1)])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose class is found; a source brings y and weights along."""
        X, y, sample_weight = gathered(X, y, sample_weight)
        if stored(X):
            validation.fitted(self)
            return found_share(self, *hashable(self, X, y, sample_weight))
        return float(super().score(X, y, sample_weight))

    # ---- made of others, and copied ------------------------------------------------------------------
    @classmethod
    def of(cls, model: Online, **fitting: Any) -> Self:
        """An estimator that shows this model."""
        held = {one.name: getattr(model.settings, one.name) for one in fields(Settings)}
        held["interactions"] = list(model.settings.interactions) or None
        return cls(**held, **fitting)._publish(model)

    def _categories(self) -> list[str]:
        """Columns whose text is words, whatever it looks like: those that were when a stream was read."""
        columns = self._model.reading.get("columns", {}) if "_model" in vars(self) else {}
        return [name for name, kind in columns.items() if kind == WORD]

    def __getstate__(self) -> dict[str, Any]:
        held: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in held.items() if key not in _SHORT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_model" in vars(self):
            self._publish(self._model)


OF_FIT = ("passes", "shuffle", "random_state")  # what `fit` alone asks for
_SHORT = ("_labels", "_codes", "_intake", "_learner")  # of the model, for learn_one to find at once
