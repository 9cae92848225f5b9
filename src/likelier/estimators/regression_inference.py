"""Errors, intervals and tests of least-squares fits, from their statistics and, if needed, their rows."""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from likelier.data import Arrays, DegenerateWarning, Source
from likelier.estimators import validation
from likelier.estimators.base import column_names
from likelier.estimators.sources import stored
from likelier.inference import Covariance, Summary, summarise, target_fit
from likelier.inference.clusters import Clusters
from likelier.inference.least_squares import Fit
from likelier.inference.predictions import (
    PredictionInterval,
    prediction_errors,
    regression_term_tests,
    undetermined,
)
from likelier.inference.terms import TermTests, check_errors, table_terms, terms_of
from likelier.warning_location import outside


class Asked(NamedTuple):
    """What a user wants of a fit: which errors, how wide intervals, and the rows of the fit, if given."""

    X: Any = None
    y: Any = None
    sample_weight: Any = None
    cov: Covariance = "classical"
    groups: Any = None
    level: float = 0.95
    call: str = "summary"  # the method that was called


def summaries(model: Any, asked: Asked) -> Iterator[Summary]:
    """The table of each target."""
    rows, clusters = _rows_again(model, asked)
    names = (*(["intercept"] if model.fit_intercept else []), *_columns(model))
    for fit in _fits(model):
        yield summarise(fit, names, cov=asked.cov, rows=rows, level=asked.level, clusters=clusters)


def term_tests_of(model: Any, asked: Asked, terms: Any) -> Iterator[TermTests]:
    """The tests of each target."""
    rows, clusters = _rows_again(model, asked)
    if any(model._alpha(target) for target in range(len(model._model.B))):
        raise ValueError(
            "term_tests is not defined with a penalty, which shrinks the coefficients that are tested. Use "
            "LinearRegression."
        )
    places = terms_of(terms, _columns(model), table_terms(model))
    equations, tol = model._statistics.equations(centred=bool(model.fit_intercept)), model._cut()
    for fit in _fits(model):
        yield regression_term_tests(
            equations, fit, places, tol=tol, cov=asked.cov, rows=rows, clusters=clusters
        )


def intervals_of(model: Any, X: Any, level: float) -> PredictionInterval:
    """Predictions with their errors; NaN for rows that those of the fit say nothing of."""
    if stored(X):
        raise ValueError(
            "prediction_interval takes rows in memory, and X is a source: load its rows first."
        )
    _check_fit(model, Asked(level=level, call="prediction_interval"))
    mean = np.asarray(model.predict(X), dtype=np.float64)
    rows = validation.known_rows(model, X)
    assert isinstance(rows, Arrays)
    equations = model._statistics.equations(centred=bool(model.fit_intercept))
    open_ = undetermined(equations, rows.X, intercept=bool(model.fit_intercept), tol=model._cut())
    found = [prediction_errors(fit, rows.X, level) for fit in _fits(model)]
    error, half, wide = (np.column_stack(each).reshape(mean.shape) for each in zip(*found, strict=True))
    for each in (error, half, wide):
        each[open_] = np.nan
    if open_.any():
        warnings.warn(
            f"{type(model).__name__}: the rows of the fit do not determine the predictions of "
            f"{int(open_.sum())} of {len(open_)} rows, whose intervals are NaN: columns that follow from "
            "others there do not in these.",
            DegenerateWarning,
            stacklevel=outside(),
        )
    return PredictionInterval(mean, error, mean - half, mean + half, mean - wide, mean + wide, level)


def _columns(model: Any) -> list[str]:
    known = column_names(model)
    return [f"x{j}" for j in range(model._model.B.shape[1])] if known is None else list(map(str, known))


def _fits(model: Any) -> Iterator[Fit]:
    """The fit of each target, with what its errors need."""
    intercept, tol = bool(model.fit_intercept), model._cut()
    equations = model._statistics.equations(centred=intercept)
    for target in range(len(model._model.B)):
        alpha = model._alpha(target)
        fit = target_fit(equations, target, intercept=intercept, alpha=alpha, tol=tol)
        if not fit.df > 0:
            warnings.warn(
                f"{fit.n:g} rows leave {fit.df:g} degrees of freedom: there are no standard errors.",
                DegenerateWarning,
                stacklevel=outside(),
            )
        yield fit


def _check_fit(model: Any, asked: Asked) -> None:
    validation.fitted(model)
    model._needs_statistics(asked.call)
    check_errors(asked.cov, asked.groups, asked.level)
    if model.positive:
        raise ValueError("there are no standard errors for coefficients bounded by positive=True.")


def _rows_again(model: Any, asked: Asked) -> tuple[Source | None, Clusters | None]:
    _check_fit(model, asked)
    cov, call = asked.cov, asked.call
    if cov == "classical":
        return None, None
    if any(model._alpha(target) for target in range(len(model._model.B))):
        raise ValueError(
            f"cov={cov!r}: robust errors are for fits without a penalty: use LinearRegression."
        )
    if asked.X is None or (asked.y is None and not stored(asked.X)):
        raise ValueError(f"cov={cov!r} needs the rows of the fit: {call}(X, y, cov={cov!r}).")
    rows = model._source(asked.X, asked.y, asked.sample_weight, known=True)
    if cov != "cluster":
        return rows, None
    if stored(asked.X):
        raise ValueError("cov='cluster' takes rows in memory, and X is a source: load its rows first.")
    return rows, Clusters.of(asked.groups, rows.rows)
