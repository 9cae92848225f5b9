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
from likelier.estimators import posteriors, validation
from likelier.estimators.base import Estimator
from likelier.estimators.online.river import KnownToRiver
from likelier.estimators.online.rows import (
    BatchReader,
    RowLabels,
    ScannedRows,
    hashable,
    labels_in,
    marked,
    rows_of,
)
from likelier.estimators.online.shuffle import pooled, shuffled
from likelier.estimators.posteriors import learned_shares, priors_for
from likelier.estimators.predictions import found_share
from likelier.estimators.sources import by_block, gathered, stored
from likelier.estimators.to_sklearn import to_sklearn
from likelier.streams.model import Online, Settings, averaged, labels_array, plain_label, recounted
from likelier.streams.reader import WORD
from likelier.warning_location import outside

# What an online model has met so far.


class OnlineCounters:
    """Counts of rows, mistakes and values, and the weights of single features, as fitted attributes."""

    _model: Online

    def _known(self, name: str) -> Online:
        if "_model" not in vars(self):
            raise AttributeError(f"{name} is available once a row has been learned from")
        return self._model

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, in the order of the columns of `predict_proba`."""
        return labels_array(self._known("classes_").labels)

    @property
    def class_count_(self) -> Floats:
        """The total weight of the rows of each class, of shape (K,)."""
        model = self._known("class_count_")
        counts = model.intake.counts
        return np.array(counts + [0.0] * (model.K - len(counts)))

    @property
    def mistakes_(self) -> int:
        """Number of rows that were misclassified before they were learned from."""
        return self._known("mistakes_").intake.mistakes

    @property
    def skipped_(self) -> int:
        """Number of NaN and infinite values in the rows learned from, which were skipped."""
        return self._known("skipped_").intake.skipped

    @property
    def steps_(self) -> int:
        """Number of rows learned from."""
        return self._known("steps_").learner.counters["steps"]

    @property
    def clipped_(self) -> int:
        """Number of updates that were clipped because they would have diverged."""
        return self._known("clipped_").learner.counters["clipped"]

    @property
    def used_(self) -> int:
        """Number of the 2^bits slots that are taken by features."""
        return self._known("used_").learner.counters["used"]

    @property
    def collision_rate_(self) -> float:
        """Share of the feature values learned from whose slot was already taken by another feature."""
        counted = self._known("collision_rate_").learner.counters
        return counted["collisions"] / max(counted["cells"], 1)

    @property
    def nonzero_(self) -> int:
        """Number of non-zero weights: fewer than `used_` where the l1 penalty has set weights to 0."""
        return _core.online_nonzero(self._known("nonzero_").learner)

    def weight_of(self, name: str, word: Any = None) -> dict[Any, float]:
        """The weight of a single feature, by class.

        Parameters
        ----------
        name : str
            Name of the feature, or of a column.
        word : str or bool, default=None
            The value, for a string or boolean feature; None for a numeric one.

        Returns
        -------
        dict
            {label: weight}: what the feature adds to the score of each class; for binary problems of the
            second class alone. Features that share a slot (hash collisions) share the weight.
        """
        model = self._known("weight_of")
        text = None if word is None else str(word)
        W = _core.online_weights(model.learner, _core.key_of(str(name), text))
        return dict(zip(model.labels if len(W) > 1 else model.labels[1:2], W, strict=False))


# Online models that learn where the rows are: one for each part, averaged.

HEAD, PAIR = 16, 8  # bytes of a slot: what it knows of its feature, and of each score


@dataclass
class TrainedParts:
    """A model trained on the rows of one part, all parts from the same start; merged: their average.

    Models are weighted by their numbers of rows. Merging is associative up to rounding (in single
    precision); the result depends on how the rows are cut into parts, and is not what one model would learn
    from all rows.
    """

    model: Online
    batching: BatchReader
    seed: int | None = None  # of the order in which the rows of a chunk are taken; None: as they come
    rows: int = 0
    parts: int = 0
    met: frozenset[int] = frozenset()  # classes of the rows of this part
    sorted_: int = 0  # parts merged so far that had rows of one class alone

    @classmethod
    def start(cls, batching: BatchReader, model: Online, seed: int | None = None) -> Self:
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


def train_parts(
    scanned: ScannedRows, model: Online, passes: int, rng: np.random.RandomState | None
) -> Online:
    """The average of the models of all parts; further passes start from the average of the one before."""
    for _ in range(passes):
        seed = None if rng is None else int(rng.randint(np.iinfo(np.int32).max))
        found = run(scanned.coded, partial(TrainedParts.start, scanned.batching, model, seed))
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


class OnlineClassifier(OnlineCounters, KnownToRiver, ClassifierMixin, Estimator):
    """Linear classifier of hashed features that is updated with every labelled row.

    A row is a dict of features, or a row of a table or an array. Numbers count as they are (0: absent),
    strings and booleans as indicators name=value; all are hashed into 2^bits weights. Binary problems have
    one score; more classes a softmax, or for margin losses one score for each class against the rest. Calls
    from several threads are serialised.

    Parameters
    ----------
    loss : {"log_loss", "hinge", "squared_hinge", "perceptron", "modified_huber"}, default="log_loss"
        The loss that is descended.
    optimizer : {"adagrad", "ftrl", "sgd"}, default="adagrad"
        How weights are updated: "adagrad" has a step length for each weight, "ftrl" (follow the regularised
        leader) admits an l1 penalty that leaves few weights, "sgd" has one decreasing step length.
    bits : int, default=18
        The table has 2^bits weights, from 1 to 30 bits. Use more if `collision_rate_` exceeds a few
        percent.
    learning_rate : float or None, default=None
        Step length. None: 0.8 for "adagrad", 0.3 for "ftrl", 3 for "sgd".
    power : float, default=0.5
        Exponent, from 0 to 1, by which steps decrease: with the sum of squared gradients for "adagrad",
        with the number of rows for "sgd". "ftrl" does not use it.
    l1 : float, default=0.0
        Strength of the l1 penalty; for "ftrl" only.
    l2 : float, default=0.0
        Strength of the l2 penalty.
    beta : float, default=1.0
        Added to the sum of squared gradients ("ftrl": to its root), so that first steps are not too long.
        "sgd" does not use it.
    normalised : bool, default=True
        Whether each feature is scaled by the size of its values so far, so that columns need no scaling.
    invariant : bool, default=True
        Whether the step of a row with a large weight follows the gradient along the way, so that it does
        not overshoot. "ftrl" does not use it.
    interactions : list of tuples of str, default=None
        Features to be combined, as in [("user", "ad")]: one more feature for each combination of values.
    half_life : float or None, default=None
        Number of rows after which what was learned counts half, for streams that drift. None: nothing is
        forgotten.
    class_weight : dict or "balanced", default=None
        Weights of the classes, {label: weight}; "balanced" weights each class inversely to its frequency so
        far.
    non_finite : {"skip", "raise"}, default="skip"
        NaN and infinite values are skipped and counted in `skipped_`, or raise an error.
    passes : int, default=1
        Number of passes of `fit` over the rows.
    shuffle : bool, default=True
        Whether `fit` takes the rows in random order. `learn_one` and `partial_fit` keep their order.
    random_state : int, RandomState instance or None, default=None
        Seed of that order.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class labels, in the order of the columns of `predict_proba`: sorted after `fit`, as they
        occurred with `learn_one`.
    class_count_ : ndarray of shape (K,)
        The total weight of the rows of each class.
    steps_ : int
        Number of rows learned from.
    mistakes_ : int
        Number of rows that were misclassified before they were learned from.
    skipped_ : int
        Number of NaN and infinite values that were skipped.
    clipped_ : int
        Number of updates that were clipped because they would have diverged.
    used_ : int
        Number of slots of the weight table that are taken by features.
    collision_rate_ : float
        Share of the feature values learned from whose slot was already taken by another feature.
    nonzero_ : int
        Number of non-zero weights.
    n_features_in_ : int
        Number of columns, if rows came as a table or an array.
    feature_names_in_ : ndarray of shape (p,)
        Names of the columns, if they had names.

    See Also
    --------
    SGDClassifier : Stochastic gradient descent in epochs, without hashing.
    likelier.average : Averages models that were trained on different rows.
    likelier.progressive : Evaluates a model on each row before training on it.

    Notes
    -----
    Parameters are fixed by the first row: after a change, `learn_one` and `partial_fit` raise an error, and
    `fit` starts again.

    References
    ----------
    - Weinberger, K. et al. (2009). Feature hashing for large scale multitask learning. ICML.
    - Duchi, J., Hazan, E. and Singer, Y. (2011). Adaptive subgradient methods for online learning and
      stochastic optimization. Journal of Machine Learning Research 12, 2121-2159.
    - McMahan, H. B. et al. (2013). Ad click prediction: a view from the trenches. KDD.
    - Ross, S., Mineiro, P. and Langford, J. (2013). Normalized online learning. UAI.
    - Karampatziakis, N. and Langford, J. (2011). Online importance weight aware updates. UAI.

    Examples
    --------
    >>> from likelier import OnlineClassifier
    >>> model = OnlineClassifier()
    >>> for hour in range(24):
    ...     _ = model.learn_one({"hour": hour, "day": "sun"}, "open" if hour > 8 else "closed")
    >>> model.predict_one({"hour": 20, "day": "sun"})
    'open'
    >>> model.steps_
    24
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

    to_sklearn = to_sklearn

    # ---- one row -------------------------------------------------------------------------------------
    def learn_one(self, x: Mapping[str, Any], y: Any, sample_weight: float = 1.0) -> Self:
        """Update the model with one row.

        Parameters
        ----------
        x : dict
            Features by name: numbers, strings and booleans; None and 0 are absent.
        y : str, int, float or bool
            The label. A label that is new becomes a further class.
        sample_weight : float, default=1.0
            Weight of the row, which scales its step.

        Returns
        -------
        self : OnlineClassifier
            The estimator itself.
        """
        try:
            code = self._codes[y]
        except (AttributeError, KeyError, TypeError):
            return self._learn_new(x, y, sample_weight)
        if self._intake.learn_one(self._learner, x, code, sample_weight):
            self._model.warn_of_clipping()
        return self

    def _learn_new(self, x: Any, y: Any, sample_weight: float) -> Self:
        """Learn from a row with a new label, which becomes a class if nothing is wrong with the row."""
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
        """The class of one row with the largest score.

        Parameters
        ----------
        x : dict
            Features by name.

        Returns
        -------
        label
            The predicted label; None before the first row was learned from.
        """
        if "_model" not in vars(self):
            return None
        labels = self._labels
        return labels[self._intake.predict_one(self._learner, x) if len(labels) > 1 else 0]

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """The posterior probabilities of one row, p(C_k | x).

        Parameters
        ----------
        x : dict
            Features by name.

        Returns
        -------
        dict
            {label: probability}, in the order of `classes_`; empty before the first row was learned from.
        """
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
        """Train a new model on all rows, in random order unless `shuffle=False`.

        Parameters
        ----------
        X : list of dict, array-like, sparse matrix, data frame or source
            Training rows. Files larger than memory are read at sixteen places at once, and their rows mixed
            in a pool of some million values.
        y : array-like of shape (n,), default=None
            Class labels. A source has its own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. A source has its own.

        Returns
        -------
        self : OnlineClassifier
            The fitted estimator.

        Notes
        -----
        On a Dask cluster each part trains a model of its own on its shuffled rows, and they are averaged
        (`likelier.average`): an approximation that depends on the parts. `partial_fit` fetches the rows
        instead and keeps their order.
        """
        validation.number("passes", self.passes, 1, whole=True)
        rng = check_random_state(self.random_state) if validation.boolean("shuffle", self.shuffle) else None
        settings = self._settings()
        X, y, sample_weight = gathered(X, y, sample_weight)
        rows = rows_of(self, X, known=False)
        found, y, w = labels_in(self, rows, y, sample_weight, all_rows=True)
        validation.weighty(len(found))
        model = Online(settings, found.tolist())
        shown = rows.shown
        rows, marks = marked(rows, found, y, w, model.codes)
        if isinstance(rows, ScannedRows) and cluster_of(rows.source) is not None:
            model = train_parts(rows, model, self.passes, rng)
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
        """Update the model with more rows, in their order.

        Parameters
        ----------
        X : list of dict, array-like, sparse matrix, data frame or source
            Training rows.
        y : array-like of shape (n,), default=None
            Class labels. A source has its own.
        classes : array-like of shape (K,), default=None
            All labels that can occur; required at the first call.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. A source has its own.

        Returns
        -------
        self : OnlineClassifier
            The estimator itself.
        """
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
                "again with fit"
            )

    def _check_classes(self, model: Online, classes: Any) -> None:
        if classes is not None and set(validation.classes_of(self, classes).tolist()) != set(model.labels):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: "
                f"{model.labels!r}"
            )

    @by_block
    def predict_proba(self, X: Any) -> Floats:
        """The posterior probabilities p(C_k | x).

        "log_loss": 1 / (1 + e^-z), for more than two classes the softmax of the scores. Margin losses: 1 /
        (1 + e^-z), and "modified_huber" (z + 1) / 2 clipped to [0, 1], divided by their sum; these are not
        calibrated.

        Parameters
        ----------
        X : list of dict, array-like, sparse matrix, data frame or source
            Rows.

        Returns
        -------
        ndarray of shape (n, K)
            Probabilities, with columns in the order of `classes_`.
        """
        validation.fitted(self)
        rows = rows_of(self, X, known=True)
        batches = [self._learner.predict(batch) for batch in rows.hashed(self._intake, RowLabels())]
        P = np.concatenate(batches) if len(batches) != 1 else batches[0]
        return P if self._model.K > 1 else np.ones((len(P), 1))

    decide = posteriors.decide

    def adapt_priors(
        self, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
    ) -> Floats:
        """Estimate the class priors of unlabelled rows by maximum likelihood (label shift).

        For rows in which each class looks as it did in training, but is more or less frequent. It uses the
        posterior probabilities alone, which must be calibrated. The model is not changed.

        Parameters
        ----------
        X : list of dict, array-like, sparse matrix, data frame or source
            Unlabelled rows.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        tol : float, default=1e-10
            Stop once the mean log-likelihood of the rows is within `tol` of its maximum.
        max_iter : int, default=1000
            Maximum number of iterations.

        Returns
        -------
        ndarray of shape (K,)
            The priors, in the order of `classes_`.

        References
        ----------
        - Saerens, M., Latinne, P. and Decaestecker, C. (2002). Adjusting the outputs of a classifier to new
          a priori probabilities: a simple procedure. Neural Computation 14, 21-41.
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
        """The logarithms of the posterior probabilities, ln p(C_k | x).

        Parameters
        ----------
        X : list of dict, array-like, sparse matrix, data frame or source
            Rows.

        Returns
        -------
        ndarray of shape (n, K)
            Log-probabilities, with columns in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @by_block
    def decision_function(self, X: Any) -> Floats:
        """The scores of the classes.

        Parameters
        ----------
        X : list of dict, array-like, sparse matrix, data frame or source
            Rows.

        Returns
        -------
        ndarray of shape (n,) or (n, K)
            For binary problems the score of `classes_[1]` against `classes_[0]`; for K classes one for
            each.
        """
        validation.fitted(self)
        K, found = self._model.K, []
        for batch in rows_of(self, X, known=True).hashed(self._intake, RowLabels()):
            found.append(np.empty((len(batch), K if K > 2 else 1)))
            _core.online_scores(self._learner, batch, found[-1])
        Z = np.concatenate(found)
        return Z if K > 2 else np.asarray(Z[:, 0])

    @by_block
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row.

        Parameters
        ----------
        X : list of dict, array-like, sparse matrix, data frame or source
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            The predicted labels.
        """
        P = self.predict_proba(X)
        return np.asarray(self.classes_[P.argmax(axis=1)])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy: the share of rows whose label is predicted correctly.

        Parameters
        ----------
        X : list of dict, array-like, sparse matrix, data frame or source
            Rows.
        y : array-like of shape (n,), default=None
            Their true labels. A source has its own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. A source has its own.

        Returns
        -------
        float
            The (weighted) accuracy, between 0 and 1.
        """
        X, y, sample_weight = gathered(X, y, sample_weight)
        if stored(X):
            validation.fitted(self)
            return found_share(self, *hashable(self, X, y, sample_weight))
        return float(super().score(X, y, sample_weight))

    # ---- made of others, and copied ------------------------------------------------------------------
    @classmethod
    def of(cls, model: Online, **fitting: Any) -> Self:
        """An estimator that wraps an existing model.

        Parameters
        ----------
        model : Online
            The model: settings, labels, weights and counters.
        **fitting : dict
            The parameters of `fit`: `passes`, `shuffle` and `random_state`.

        Returns
        -------
        OnlineClassifier
            The fitted estimator.
        """
        held = {one.name: getattr(model.settings, one.name) for one in fields(Settings)}
        held["interactions"] = list(model.settings.interactions) or None
        return cls(**held, **fitting)._publish(model)

    def _categories(self) -> list[str]:
        """Columns that hold strings whatever they look like: those that did when the stream was read."""
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
