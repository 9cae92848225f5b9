"""Naive Bayes in which every column has a family of its own."""

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likelier.array_types import Floats
from likelier.data import Columns, DegenerateWarning, Dense, Factor, Source
from likelier.data.transforms import Recoded
from likelier.engines import chunks
from likelier.estimators import validation
from likelier.estimators.base import Names
from likelier.estimators.common import Contributions, LinearClassifier
from likelier.estimators.generative.base import prior_of
from likelier.estimators.generative.family_choice import (
    Choice,
    Plan,
    PlannedBayes,
    PlannedParts,
    asked_for,
    plan_of,
    recoded,
)
from likelier.estimators.generative.one_pass import OnePassClassifier, Survey
from likelier.estimators.generative.outliers import Counted
from likelier.estimators.generative.units import Scaling
from likelier.estimators.one_pass import Start
from likelier.families import Mixed, MixedFamily
from likelier.families.affine_view import Reading, reading_of
from likelier.families.registry import Smoothing
from likelier.model import Bayes, log_of
from likelier.warning_location import outside

UNLIKELY = 0.01  # a chance below which a column is not taken for independent of the class


class NaiveBayes(OnePassClassifier):
    """Naive Bayes for tables as they are: a_k(x) = ln p(C_k) + Σ_j ln p_j(x_j | C_k), a family for each j.

    families: "auto", the name of a family for all columns, or {column: family}, with "auto" for columns
    that are not named. A family is a name ("gaussian", "bernoulli", "categorical", "poisson", "gamma",
    "exponential", "beta", "geometric", "histogram", "kernel"), or a `Family` object; several columns can
    share one: {("a", "b", "c"): "dirichlet"}, "multinomial" or "gaussian-full". "auto" reads what a column
    holds and takes, of the families that could fit it, the one with the least loss −ln p(y | x_j) on rows
    left out, unless another does better together with all other columns; `families_` and `selection_` say
    what was picked, and by how much. Columns of strings are categories;
    NaN and None are missing cells.

    alpha: pseudo-counts (categories, bins, counts); var_smoothing: the share of a column's variance that is
    added to Gaussian variances. Spreads of classes of few rows lean on those of the others, as if each had
    five rows more. The choice, levels and bins are those of the first rows, and stay.

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
    ) -> None:
        self.families = families
        self.priors = priors
        self.alpha = alpha
        self.var_smoothing = var_smoothing

    # ---- rows --------------------------------------------------------------------------------------
    def _may_be(self, classes: NDArray[Any]) -> bool:
        """Never: the plan of families is made for all classes."""
        return False

    def _plan_for(self, source: Source, classes: NDArray[Any]) -> Plan:
        asked = asked_for(self.families, source.p, partial(validation.numbers_of, source.p, source.names))
        with np.errstate(all="ignore"):  # what overflows is refused with the statistics of all rows
            return plan_of(source, classes, asked, self._smoothing())

    def _known_plan(self) -> Plan:
        return self._plan

    def _labelled(self, source: Source, survey: Survey) -> Source:
        return recoded(source, survey.plan).coded(survey.classes)

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

    def _counted(self, model: Bayes, statistics: Any, classes: NDArray[Any]) -> Counted | None:
        assert isinstance(model, PlannedBayes)
        return None if statistics is None else Counted(model.plan.family(self._smoothing()), statistics)

    def _start(self, rows: Source, survey: Survey, earlier: Any = None) -> Start:
        start = partial(PlannedParts.start, survey.plan, self._smoothing(), len(survey.classes), rows.p)
        return self._in_units(rows, survey, earlier, start)

    def _scaling(self) -> Scaling:
        return "column"

    def _scalable(self, survey: Survey, p: int) -> NDArray[np.bool_]:
        """Columns of Gaussians; other families take numbers as they are, of any magnitude or of none."""
        settled = dict(survey.plan.settled())
        return np.array([settled[j].family in ("gaussian", "gaussian-full") for j in range(p)])

    def _warn_of_folds(self, survey: Survey) -> None:
        chosen = len(survey.plan.choices)
        if chosen:
            warnings.warn(
                f"NaiveBayes: the families of {chosen} columns were chosen by all rows, also by those that "
                "are held out: losses and errors come out too low, with many columns by far. Name the "
                "families, or fit anew for each fold, as scikit-learn's cross_val_score does.",
                DegenerateWarning,
                stacklevel=outside(),
            )

    def _model_of(self, statistics: PlannedParts, classes: NDArray[Any]) -> Bayes:
        prior = prior_of(self.priors, statistics.n, classes)
        params = statistics.plan.family(self._smoothing()).estimate(statistics)
        return PlannedBayes(params, log_of(prior), plan=statistics.plan)

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        assert isinstance(model, PlannedBayes)
        shown = super()._shown(model, statistics, target)
        shown |= {"class_prior_": model.prior, "selection_": model.plan.choices}
        shown["families_"] = model.plan.families(int)
        if statistics is not None:
            shown["class_count_"] = statistics.n.copy()
        return shown

    def _publish(self, model: Any, statistics: Any, target: Any, names: Names) -> Any:
        """The families by the names of the columns, if they have any."""
        super()._publish(model, statistics, target, names)
        if names is not None:
            self.families_ = self._plan.families(lambda j: str(names[j]))
            self.selection_ = tuple(replace(c, column=str(names[c.column])) for c in self._plan.choices)
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
        """ln p(x_j | C_k), (n, K, p), beside ln p(C_k): together they are ln p(x, C_k).

        A missing cell contributes 0. What a group of columns adds only together is shared equally by those
        of its columns that are there.
        """
        validation.fitted(self)
        params = self._model.params
        assert isinstance(params, Mixed)
        return Contributions.of(
            self, self._model.parts(self._cells(X), params.parts), self._model.log_prior
        )

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
    def _readings(self) -> list[tuple[NDArray[np.intp], Reading]]:
        validation.fitted(self)
        params = self._model.params
        assert isinstance(params, Mixed)
        found = [(columns, reading_of(part)) for columns, part in params.groups]
        curved = [int(j) for columns, reading in found if reading is None for j in columns]
        if curved:
            names = validation.named(getattr(self, "feature_names_in_", None), curved)
            raise AttributeError(
                f"the scores are not affine in statistics of column {names}: Gaussian, kernel and other "
                "families of its kind have no weights to read"
            )
        return [(columns, reading) for columns, reading in found if reading is not None]

    def statistics(self, X: Any) -> Any:
        """T(x) (n, q), in which the scores are affine: counts and truths themselves, the indicators of
        categories and bins, logarithms for gamma, beta and Dirichlet."""
        readings, cells = self._readings(), self._cells(X)
        blocks = [reading.statistics(cells[:, columns]) for columns, reading in readings]
        plain = not any(sparse.issparse(block) for block in blocks)
        return np.hstack(blocks) if plain else sparse.hstack(blocks, format="csr")

    @property
    def statistic_names_(self) -> NDArray[Any]:
        """Of each column of `statistics`."""
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
        return np.hstack([reading.W for reading in readings]), b

    @property
    def coef_(self) -> Floats:
        """The weights of `statistics`: (K, q), of two classes (1, q)."""
        W = self._lines()[0]
        return np.asarray(W[1:] - W[:1] if len(W) == 2 else W)

    @property
    def intercept_(self) -> Floats:
        """(K,), of two classes (1,)."""
        b = self._lines()[1]
        return np.asarray(b[1:] - b[:1] if len(b) == 2 else b)

    def to_linear(self) -> LinearClassifier:
        """The weights alone, as a classifier of the rows of `statistics` that predicts the same."""
        W, b = self._lines()
        return LinearClassifier(np.ascontiguousarray(W), b, self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    # ---- rows as users know them -------------------------------------------------------------------
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
