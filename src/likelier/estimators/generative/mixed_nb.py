"""Naive Bayes in which every column has a family of its own, and may have a weight."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likelier import links
from likelier.array_types import Floats
from likelier.data import Arrays, Columns, DegenerateWarning, Dense, Factor, Source
from likelier.data.transforms import Recoded, innermost
from likelier.engines import chunks
from likelier.estimators import validation
from likelier.estimators.base import Names
from likelier.estimators.generative.base import Scaling, prior_of
from likelier.estimators.generative.column_weights import WeightedBayes, WeightedParts, rows_kept, weighted
from likelier.estimators.generative.family_choice import (
    Choice,
    Plan,
    PlannedBayes,
    PlannedParts,
    asked_for,
    plan_of,
    recoded,
)
from likelier.estimators.generative.one_pass import OnePassClassifier, Survey, in_units
from likelier.estimators.generative.outliers import CountedModel
from likelier.estimators.linear_classifier import LinearClassifier
from likelier.estimators.one_pass import Start
from likelier.estimators.predictions import Contributions
from likelier.export.describe import Scored
from likelier.families import Mixed, MixedFamily
from likelier.families.leave_one_out import NotByRow
from likelier.families.registry import Smoothing
from likelier.families.weighted import AffineView, weighted_reading
from likelier.model import Bayes, log_of
from likelier.states.base import plain
from likelier.states.rows import Reservoir
from likelier.warning_location import outside

NOT_KEPT = (
    "weighting was None when the first rows were counted, so that no rows were kept to fit weights to: "
    "call fit anew."
)
UNLIKELY = 0.01  # a chance below which a column is not taken for independent of the class


class NaiveBayes(OnePassClassifier):
    """Naive Bayes for mixed tables: a_k(x) = ln p(C_k) + Σ_j ln p_j(x_j | C_k), a family for each column.

    With `weighting="discriminative"`: a_k(x) = b_k + ln p(C_k) + Σ_j w_j ln p_j(x_j | C_k), in which the
    weights w_j >= 0 of the columns and the biases b_k of the classes are fitted to predict the classes of
    rows left out.

    Takes real, count, boolean and categorical columns together, without encoding. Columns of strings are
    categories; NaN and None are missing values. By default the family of each column is chosen from the
    data.

    Parameters
    ----------
    families : "auto", str, Family or dict, default="auto"
        Distribution of the columns. A name or a `Family` object is for all columns; a dict
        {column: family} names them by column, with "auto" for all others. Names for one column are
        "gaussian", "bernoulli", "categorical", "poisson", "geometric", "gamma", "exponential", "beta",
        "histogram" and "kernel". Several columns can share a family, as in
        {("a", "b", "c"): "dirichlet"}, "multinomial" or "gaussian-full". "auto" chooses, among the families
        that fit the values of a column, the one with the least log loss −ln p(y | x_j) on held-out rows,
        unless another does better together with all other columns.
    priors : array-like of shape (n_classes,) or dict, default=None
        Class priors, in the order of `classes_` or as {label: prior}; they must sum to 1. None: the class
        frequencies of the training rows.
    alpha : float, default=1.0
        Pseudo-counts that smooth the families of categories, bins, counts and booleans.
    var_smoothing : float, default=1e-9
        Share of a column's variance that is added to the variances of Gaussian columns.
    weighting : {"discriminative"} or None, default=None
        Weights of the columns in class probabilities. None: all are 1, which is naive Bayes. With
        "discriminative" they minimise the log loss −ln p(y | x) of the training rows, each by the densities
        of a model without it, and a penalty that draws them towards a common weight. Class probabilities
        are then better where columns are correlated; densities do not change.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in sorted order.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of the training rows of each class. Missing on models without statistics, such
        as those returned by `condition` and `marginal`.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probability of each class.
    families_ : dict
        The family of each column, by name or by number.
    selection_ : tuple of Choice
        For each column that was chosen automatically: type of the column, family, and the held-out log loss
        of each candidate, and the weight if there are any; `str` of an item is a sentence.
    column_weights_ : ndarray of shape (n_features_in_,)
        Weight of each column; 0: the column is left out of class probabilities. This and the next two exist
        only with `weighting="discriminative"`.
    class_bias_ : ndarray of shape (n_classes,)
        What is added to the logarithm of each class prior.
    weight_penalty_ : float
        Strength of the penalty, chosen by the evidence of the training rows.
    statistic_names_ : ndarray of shape (n_statistics,)
        Names of the columns of `statistics`. This and the next two exist only if all families are linear
        in their statistics (not Gaussian or kernel).
    coef_ : ndarray of shape (n_classes, n_statistics), or (1, n_statistics) for binary problems
        Weights of `statistics` in the linear scores.
    intercept_ : ndarray of shape (n_classes,), or (1,) for binary problems
        Constant terms of the linear scores.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only if X has names.

    See Also
    --------
    GaussianNB : All columns Gaussian.
    CategoricalNB : All columns categories.
    Mixture : The same families without labels.

    Notes
    -----
    The variances of classes with few rows are shrunk towards those of the other classes, with the weight of
    five rows. Families, categories and bins are chosen from the first rows and stay the same in
    `partial_fit`.

    With weights, families are chosen column by column. `predict`, `predict_proba`, `decision_function`,
    `contributions`, `adapt_priors` and `score` answer by the weighted scores; `score_samples`,
    `predict_joint_log_proba`, `sample`, `impute`, `condition` and `is_outlier` by the densities alone.
    `marginal` keeps the weights of its columns; `condition` returns a model without weights. Weights are
    fitted to at most 32,768 rows, a random sample of all, which the model keeps for `partial_fit` and
    `merge`: both fit them anew to a sample of all rows so far, by the statistics of all of them. With other
    `priors` than the frequencies, the weights are those of the frequencies.

    References
    ----------
    .. [1] Raina, R., Shen, Y., Ng, A. Y. and McCallum, A. (2003). Classification with hybrid
       generative/discriminative models. NIPS 16.
    .. [2] Zaidi, N. A., Cerquides, J., Carman, M. J. and Webb, G. I. (2013). Alleviating naive Bayes
       attribute independence assumption by attribute weighting. JMLR 14, 1947-1988.

    Examples
    --------
    >>> import pandas as pd
    >>> from likelier import NaiveBayes
    >>> sky, wind = ["clear", "clouds", None, "clouds"] * 25, [2.0, 9.5, 8.0, None] * 25
    >>> X = pd.DataFrame({"sky": sky, "wind": wind})
    >>> y = ["dry", "rain", "rain", "dry"] * 25
    >>> model = NaiveBayes().fit(X, y)
    >>> model.predict(pd.DataFrame({"sky": [None, "clear"], "wind": [9.0, None]}))
    array(['rain', 'dry'], dtype='<U4')
    """

    assumes = "generative; a family for each column, independent in each class"
    _takes_categories = True
    _settled = ("families",)

    def __init__(
        self,
        families: Any = "auto",
        *,
        priors: Any = None,
        alpha: float = 1.0,
        var_smoothing: float = 1e-9,
        weighting: str | None = None,
    ) -> None:
        self.families = families
        self.priors = priors
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.weighting = weighting

    # ---- rows --------------------------------------------------------------------------------------
    def _may_be(self, classes: NDArray[Any]) -> bool:
        """Never: the plan of families is made for all classes."""
        return False

    def _plan_for(self, source: Source, classes: NDArray[Any]) -> Plan:
        asked = asked_for(self.families, source.p, partial(validation.numbers_of, source.p, source.names))
        with np.errstate(all="ignore"):  # what overflows is refused with the statistics of all rows
            return plan_of(source, classes, asked, self._smoothing(), joint=not self._weighted)

    def _known_plan(self) -> Plan:
        return self._plan

    def _labelled(self, source: Source, survey: Survey) -> Source:
        return recoded(source, survey.plan).coded(survey.classes)

    def _scored(self) -> Scored:
        return super()._scored()._replace(levels=self._plan.levels)

    def _known_rows(self, X: Any, sample_weight: Any = None) -> Source:
        return recoded(super()._known_rows(X, sample_weight), self._plan)

    @property
    def _plan(self) -> Plan:
        assert isinstance(self._model, PlannedBayes)
        return self._model.plan

    def _categories(self) -> list[str]:
        """Columns that were text when it was fitted, whatever they look like now."""
        if "_model" not in vars(self):
            return []
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return []
        held = self._plan.levels.items()
        return [str(names[j]) for j, levels in held if all(isinstance(level, str) for level in levels)]

    # ---- fitting -----------------------------------------------------------------------------------
    def _smoothing(self) -> Smoothing:
        alpha = validation.number("alpha", self.alpha, 0.0)
        return Smoothing(alpha, validation.number("var_smoothing", self.var_smoothing, 0.0))

    def _family(self, classes: NDArray[Any]) -> MixedFamily:
        return self._plan.family(self._smoothing())

    def _counted(self, model: Bayes, statistics: Any, classes: NDArray[Any]) -> CountedModel | None:
        assert isinstance(model, PlannedBayes)
        return (
            None if statistics is None else CountedModel(model.plan.family(self._smoothing()), statistics)
        )

    @property
    def _weighted(self) -> bool:
        """Whether columns have weights; the hyper-parameter is checked."""
        if self.weighting not in (None, "discriminative"):
            raise ValueError(f"weighting must be None or 'discriminative'; got {self.weighting!r:.80}.")
        return self.weighting is not None

    def _start(self, rows: Source, survey: Survey, earlier: Any = None) -> Start:
        counted = survey.plan, self._smoothing(), len(survey.classes), rows.p
        start: Start = partial(PlannedParts.start, *counted)
        if self._weighted:
            start = partial(WeightedParts.beside, *counted, _reservoir(rows, len(survey.classes), earlier))
        return in_units(self._units_of(rows, survey, earlier), start)

    def _scaling(self) -> Scaling:
        return "column"

    def _scalable(self, survey: Survey) -> NDArray[np.bool_]:
        """Columns of Gaussians; other families take numbers as they are, of any magnitude or of none."""
        return np.array([one.family in ("gaussian", "gaussian-full") for _, one in survey.plan.settled()])

    def _warn_of_folds(self, survey: Survey) -> None:
        chosen = len(survey.plan.choices)
        if chosen:
            warnings.warn(
                f"NaiveBayes: the families of {chosen} columns were chosen by all rows, also by those that "
                "are held out: losses and errors come out too low, with many columns by far. Name the "
                "families, or fit for each fold, as scikit-learn's cross_val_score does.",
                DegenerateWarning,
                stacklevel=outside(),
            )

    def _model_of(self, statistics: PlannedParts, classes: NDArray[Any]) -> Bayes:
        prior, family = (
            prior_of(self.priors, statistics.n, classes),
            statistics.plan.family(self._smoothing()),
        )
        model = PlannedBayes(family.estimate(statistics), log_of(prior), plan=statistics.plan)
        if not self._weighted:
            return model
        if not isinstance(statistics, WeightedParts):
            raise ValueError(
                "weighting was None when the first rows were counted: fit again to have weights."
            )
        try:
            return weighted(model, family, statistics)
        except NotByRow as problem:
            raise ValueError(
                f"weighting needs the density of each training row without that row, which the family of "
                f"column {', '.join(map(str, problem.columns))} cannot give: choose another family for it, "
                "or weighting=None."
            ) from None

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        assert isinstance(model, PlannedBayes)
        shown = super()._shown(model, statistics, target)
        shown |= {"class_prior_": model.prior, "selection_": _chosen(model)}
        if isinstance(model, WeightedBayes):
            shown |= {"column_weights_": model.weights, "class_bias_": model.bias}
            shown["weight_penalty_"] = model.strength
        shown["families_"] = model.plan.families(int)
        if statistics is not None:
            shown["class_count_"] = statistics.n.copy()
        return shown

    def _publish(self, model: Any, statistics: Any, target: Any, names: Names) -> Any:
        """The families by the names of the columns, if they have any."""
        super()._publish(model, statistics, target, names)
        if names is not None:
            self.families_ = self._plan.families(lambda j: str(names[j]))
            chosen = _chosen(model)
            self.selection_ = tuple(replace(c, column=str(names[c.column])) for c in chosen)
        return self

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        assert isinstance(model, PlannedBayes)
        yield from _remarks_on(model.plan.choices, names)
        for j, known in model.plan.levels.items():
            words = [level for level in known.tolist() if isinstance(level, str)]
            others = [word for word in words if not _is_number(word)]
            if len(words) >= 10 and 0 < len(others) <= len(words) // 10:
                yield (
                    f"column {validation.named(names, [j])} holds text, and so categories, but all of its "
                    f"{len(words)} values are numbers except {', '.join(map(repr, others[:3]))}: if that "
                    "marks missing cells, leave them empty."
                )

    # ---- answers -----------------------------------------------------------------------------------
    def contributions(self, X: Any) -> Contributions:
        """How much each column adds to the score of each class: ln p(x_j | C_k), or w_j ln p(x_j | C_k).

        The base is ln p(C_k); base and contributions add up to ln p(x, C_k). With weights, the base is
        b_k + ln p(C_k), and they add up to the score a_k(x), of which `predict_proba` is the softmax. A
        missing value contributes 0. What a group of columns contributes only jointly is divided equally
        among its columns that are not missing.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows to explain.

        Returns
        -------
        contributions : Contributions
            Named tuple of `values` (n_samples, n_classes, n_features) and `base` (n_classes,);
            base + values.sum(axis=2) is the score of each class. `to_frame()` gives a pandas table.
        """
        validation.fitted(self)
        model, params = self._model, self._model.params
        assert isinstance(params, Mixed)
        parts, base = model.parts(self._cells(X), params.parts), model.log_prior
        if isinstance(model, WeightedBayes):
            parts = np.where(model.weights > 0, parts * model.weights, 0.0)
            base = base + model.bias
        return Contributions.of(self, parts, base)

    def _cells(self, X: Any) -> Floats:
        """Rows as numbers and codes; what a family cannot have is missing, as in every answer, and said."""
        source, support = self._known_rows(X), self._model.params.support
        with validation.naming(source):
            rows = Dense(validation.all_rows(source, gaps=True))
        if support is None:
            return rows.array
        cells = support.outside(rows)
        self._warn_of_skipped(Counter(cells[1].tolist()))
        return rows.without(cells).array

    # ---- weights to read ---------------------------------------------------------------------------
    def _readings(self) -> list[tuple[NDArray[np.intp], AffineView]]:
        validation.fitted(self)
        params = self._model.params
        assert isinstance(params, Mixed)
        weights = getattr(self._model, "weights", np.ones(self.n_features_in_))
        found = [(columns, weighted_reading(part, weights[columns])) for columns, part in params.groups]
        curved = [int(j) for columns, reading in found if reading is None for j in columns]
        if curved:
            names = validation.named(getattr(self, "feature_names_in_", None), curved)
            raise AttributeError(
                f"the scores are not affine in statistics of column {names}: Gaussian, kernel and other "
                "families of its kind have no weights to read"
            )
        return [(columns, reading) for columns, reading in found if reading is not None]

    def statistics(self, X: Any) -> Any:
        """Sufficient statistics T(x) of the rows, in which the scores are linear.

        Counts and booleans are themselves, categories and bins become indicators (one-hot), and gamma, beta
        and Dirichlet columns add logarithms.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows to transform.

        Returns
        -------
        T : ndarray or sparse array of shape (n_samples, n_statistics)
            The statistics, named by `statistic_names_`.

        Raises
        ------
        AttributeError
            If a column has a family without a linear score, such as Gaussian or kernel.
        """
        readings, cells = self._readings(), self._cells(X)
        blocks = [reading.statistics(cells[:, columns]) for columns, reading in readings]
        plain = not any(sparse.issparse(block) for block in blocks)
        return np.hstack(blocks) if plain else sparse.hstack(blocks, format="csr")

    @property
    def statistic_names_(self) -> NDArray[Any]:
        """Names of the columns of `statistics`."""
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        levels = self._plan.levels
        found = []
        for columns, reading in self._readings():
            for i, rest in reading.names:
                j = int(columns[i])
                if j in levels:
                    code = int(rest[1:])
                    rest = f"={levels[j][code]}" if code < len(levels[j]) else " unknown"
                found.append(f"{names[j]}{rest}")
        return np.array(found, dtype=object)

    def _lines(self) -> tuple[Floats, Floats]:
        readings = [reading for _, reading in self._readings()]
        b = self._model.log_prior + np.sum([reading.b for reading in readings], axis=0)
        b += getattr(self._model, "bias", 0.0)
        return np.hstack([reading.W for reading in readings]), b

    @property
    def coef_(self) -> Floats:
        """Weights of `statistics`, (n_classes, n_statistics), or (1, n_statistics) for binary problems."""
        W = self._lines()[0]
        return np.asarray(W[1:] - W[:1] if len(W) == 2 else W)

    @property
    def intercept_(self) -> Floats:
        """Constant terms of the scores, (n_classes,), or (1,) for binary problems."""
        b = self._lines()[1]
        return np.asarray(b[1:] - b[:1] if len(b) == 2 else b)

    def to_linear(self) -> LinearClassifier:
        """The model as a linear classifier of the rows of `statistics`, with the same predictions.

        Returns
        -------
        model : LinearClassifier
            Fitted linear classifier with `coef_` and `intercept_`, and without densities.

        Raises
        ------
        AttributeError
            If a column has a family without a linear score, such as Gaussian or kernel.
        """
        W, b = self._lines()
        return LinearClassifier(np.ascontiguousarray(W), b, self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    # ---- rows as users know them -------------------------------------------------------------------
    def _class_shares(self, X: Any) -> Floats:
        """By the densities, whatever weights there are."""
        model = self._model
        if not isinstance(model, WeightedBayes):
            return super()._class_shares(X)
        return self._answers(model.unweighted(model.log_prior), X, links.softmax)

    def _derived(self, model: Bayes, columns: NDArray[np.intp], given: Mapping[str, Any]) -> Self:
        """What `condition` returns is the model of densities: it has no weights."""
        new = super()._derived(model, columns, given)
        return new if isinstance(model, WeightedBayes) else new.set_params(weighting=None)

    def _imputed(self, X: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        filled, missing = super()._imputed(X)
        levels = self._plan.levels
        if not levels:
            return filled, missing
        out = self._shown_rows(filled)
        for j, held in self._categories_of(X).items():  # what was there stays, known or not
            there = held.codes >= 0
            out[there, j] = held.levels[held.codes[there]]
        return out, missing

    def _categories_of(self, X: Any) -> dict[int, Factor]:
        """The columns of categories as they came."""
        rows = Recoded(super()._known_rows(X), frozenset(self._plan.levels))
        blocks: list[Any] = [chunk.X for chunk in chunks(rows)]
        return Columns.stack(blocks).factors()

    def _shown_rows(self, X: Floats) -> NDArray[Any]:
        levels = self._plan.levels
        if not levels:
            return X
        numbers = all(type(level) in (int, float) for held in levels.values() for level in held.tolist())
        out = X.copy() if numbers else X.astype(object)
        for j, of_column in levels.items():
            named = [*of_column, np.nan if numbers else None]  # the last: a category that is none of these
            out[:, j] = [named[int(code)] for code in X[:, j]]
        return out

    def _number(self, column: int, value: Any) -> float:
        levels = self._plan.levels.get(column)
        if levels is None:
            return super()._number(column, value)
        found = [i for i, level in enumerate(levels.tolist()) if level == value]
        if not found:
            shown = ", ".join(repr(level) for level in levels[:10].tolist())
            more = ", ..." if len(levels) > 10 else ""
            name = validation.named(getattr(self, "feature_names_in_", None), [column])
            raise ValueError(f"column {name} has no category {value!r}; it has {shown}{more}")
        return float(found[0])


def _reservoir(rows: Source, K: int, earlier: Any) -> Callable[[], Reservoir]:
    """Makes room for the rows to which weights are fitted."""
    before = 0
    if earlier is not None:
        if not isinstance(plain(earlier._statistics), WeightedParts):
            raise ValueError(NOT_KEPT)
        before = plain(earlier._statistics).reservoir.rows
    held = innermost(rows)
    weights = held.w if isinstance(held, Arrays) else None
    expected = rows.rows if weights is None else int(np.count_nonzero(weights))
    return partial(Reservoir.start, K, rows.p, rows_kept(K, rows.p), before, expected)


def _chosen(model: PlannedBayes) -> tuple[Choice, ...]:
    """What was chosen of each column, and the weight that it has."""
    if not isinstance(model, WeightedBayes):
        return model.plan.choices
    return tuple(replace(one, weight=float(model.weights[one.column])) for one in model.plan.choices)


def _remarks_on(choices: Sequence[Choice], names: Names) -> Iterator[str]:
    """Columns that hold nothing, and those that the choice ignores although they seem to matter."""
    gone = [choice.column for choice in choices if choice.kind == "nothing"]
    if gone:
        yield f"every cell of column {validation.named(names, gone)} is missing: leave it out."
    by_chance = UNLIKELY / max(len(choices), 1)  # one column of many is unlikely by chance
    some = [c for c in choices if c.chance is not None and c.chance < by_chance]
    if some:
        least = min(choice.chance for choice in some if choice.chance is not None)
        columns = validation.named(names, [choice.column for choice in some])
        yield (
            f"column {columns} was pooled: no family predicts by it the "
            f"class of rows left out, though a χ² test calls it dependent (p = {least:.2g}). There are "
            "too few rows for its many values: merge rare categories, or name its family."
        )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
