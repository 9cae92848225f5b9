"""Errors, effects and tests of the coefficients of a logistic regression."""

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from likelier.data import Chunk, DegenerateWarning, Dense
from likelier.engines import chunks
from likelier.estimators import validation
from likelier.estimators.base import Names, column_names
from likelier.estimators.discriminative.base import LabelledRows, labelled, with_offset
from likelier.estimators.sources import stored
from likelier.inference import Information, LikelihoodSummary, Separation
from likelier.inference.clusters import Clusters
from likelier.inference.information import POWERS, null_log_likelihood, weights_covariance
from likelier.inference.least_squares import Covariance
from likelier.inference.likelihood import Estimate, Point, estimate_of, likelihood_summary
from likelier.inference.marginal_effects import MarginalEffects, Weights, marginal_effects, total_effects
from likelier.inference.terms import TermTests, check_errors, table_terms, terms_of
from likelier.objective import Objective
from likelier.penalties import ElasticNet
from likelier.solvers import newton, run_solver
from likelier.warning_location import outside

SHARP = 1e-9  # the norm at which the fit without a term ends


class Asked(NamedTuple):
    """What a user wants of a fit: which errors, how wide intervals, and the rows of the fit, if given."""

    X: Any = None
    y: Any = None
    sample_weight: Any = None
    offset: Any = None
    cov: Covariance = "classical"
    groups: Any = None
    level: float = 0.95
    call: str = "summary"  # the method that was called


class Fit(NamedTuple):
    """A fit as its errors need it."""

    found: Information
    at: Point
    rows: Objective | None
    clusters: Clusters | None

    def estimate(self, cov: Covariance) -> Estimate:
        return estimate_of(self.found, self.at, self.rows, cov, self.clusters)


def column_labels(model: Any, p: int) -> list[str]:
    """The names of the columns that coefficients belong to."""
    names = column_names(model)
    return [f"x{j}" for j in range(p)] if names is None else list(map(str, names))


def fit_again(model: Any, asked: Asked) -> Fit:
    """The fit with its Hessian: kept, or from its rows."""
    validation.fitted(model)
    found, fitted = _information(model, asked), model._model
    theta, shift, unit = np.column_stack([fitted.W, fitted.b]), fitted.shift, None
    rows, clusters = None, None
    if asked.y is not None or (asked.X is not None and stored(asked.X)):
        rows = _rows_again(model, asked, found)
        theta, shift = fitted.theta(rows.setting).reshape(theta.shape), rows.setting.shift
        unit = rows.setting.unit
        found = found.again(rows, theta)
        clusters = _clusters(asked, rows)
    elif asked.cov != "classical" or found.H is None:
        why = f"cov={asked.cov!r}" if asked.cov != "classical" else f"after solver {model.solver_!r} it"
        raise ValueError(
            f"{asked.call}: {why} needs the rows of the fit: {asked.call}(X, y, cov={asked.cov!r})."
        )
    labels = [str(label) for label in model.classes_]
    return Fit(found, Point(theta, shift, column_labels(model, len(shift)), labels, unit), rows, clusters)


def _clusters(asked: Asked, rows: Objective) -> Clusters | None:
    if asked.cov != "cluster":
        return None
    if rows.source.rows is None or stored(asked.X):
        raise ValueError("cov='cluster' takes rows in memory, and X is a source: load its rows first.")
    return Clusters.of(asked.groups, rows.source.rows)


def _information(model: Any, asked: Asked) -> Information:
    """What was kept of the fit; raises if standard errors are not defined for it."""
    check_errors(asked.cov, asked.groups, asked.level)
    found, cov = model._statistics, asked.cov
    if not isinstance(found, Information):  # but the steps of `partial_fit`
        raise ValueError(
            f"{asked.call} needs the statistics of `fit`, and this {type(model).__name__} keeps none: it "
            "was fitted by partial_fit, or saved without its statistics."
        )
    if found.l1:
        raise ValueError(
            f"{asked.call} is not defined with an L1 penalty, which selects columns: standard errors that "
            "ignore the selection would be too small. Use l1_ratio=0."
        )
    if found.separation is not None:
        raise ValueError(
            f"{separated(found.separation, model.classes_, column_names(model))} "
            "Coefficients that diverge have no standard errors: drop columns, or penalise (a finite C) "
            "for an approximate posterior."
        )
    if cov != "classical" and found.l2.any():
        raise ValueError(f"cov={cov!r}: robust errors are for fits without a penalty: fit with C=np.inf.")
    if POWERS.get(cov) and len(model.classes_) > 2:
        raise ValueError(f"cov must be 'HC0' or 'HC1' for more than two classes; got {cov!r}.")
    return found


def separated(found: Separation, target: NDArray[Any], names: Names) -> str:
    """Which columns separate which classes, and how."""
    many = len(found.columns) > 1
    what = (
        f"column{'s' * many} {validation.named(names, found.columns)}" if found.columns else "the intercept"
    )
    said = f"{what} separate{'s' * (not many)} the classes"
    if found.kind == "complete":
        return f"{said} completely."
    labels = ", ".join(map(repr, target[list(found.classes)].tolist()[:10]))
    which = "" if len(found.classes) == len(target) else f": {labels} from the others"
    return f"{said} in part (quasi-complete separation){which}."


def _rows_again(model: Any, asked: Asked, found: Information) -> Objective:
    """The objective of the fit, from its rows."""
    source = validation.training(model, asked.X, asked.y, asked.sample_weight, known=True)
    rows = labelled(source)
    if not np.array_equal(rows.classes, model.classes_):
        before = model.classes_.tolist()
        raise ValueError(f"y has the classes {rows.classes.tolist()}; in fit it had {before}.")
    if asked.offset is not None:
        rows = with_offset(rows, asked.offset)
    objective: Objective = model._objective(rows)
    # As it was in `fit`, whatever C and fit_intercept are by now.
    l2, setting = found.l2 / found.n.sum(), objective.setting
    if not found.intercept:
        setting = replace(setting, shift=np.zeros(setting.p))
    penalty = ElasticNet(l2, np.zeros_like(l2))
    return replace(objective, penalty=penalty, setting=setting, intercept=found.intercept)


# ---- the summary ---------------------------------------------------------------------------------
def summary_of(model: Any, asked: Asked, *, exp: bool) -> LikelihoodSummary:
    """The table of coefficients, or of odds ratios."""
    if asked.X is None and not (asked.y is None and asked.sample_weight is None and asked.offset is None):
        raise ValueError("summary(X, y): pass y, sample_weight and offset together with X.")
    if asked.X is not None and asked.y is None and not stored(asked.X):
        raise ValueError("summary(X, y): pass y with X.")
    fit = fit_again(model, asked)
    summary, left_open = likelihood_summary(
        fit.found, fit.at, fit.rows, cov=asked.cov, level=asked.level, clusters=fit.clusters
    )
    if len(left_open):
        warnings.warn(
            f"{type(model).__name__}: the rows do not determine the coefficients of {len(left_open)} of "
            f"{len(fit.at.columns)} columns ({validation.named(column_names(model), left_open)}): "
            "they are constant or depend on "
            "each other. Their errors are NaN. Drop columns, or penalise (a finite C); if they only "
            "nearly depend on each other, summary(X, y) may find errors from the rows.",
            DegenerateWarning,
            stacklevel=outside(),
        )
    return summary.as_odds_ratios() if exp else summary


# ---- marginal effects ----------------------------------------------------------------------------
def effects_of(model: Any, asked: Asked, at: str, *, discrete: bool) -> MarginalEffects:
    """By how much probabilities change with each column, in the rows that were asked for."""
    if at not in ("overall", "mean"):
        raise ValueError(f"at must be 'overall' or 'mean'; got {at!r}.")
    if stored(asked.X):
        raise ValueError("marginal_effects takes rows in memory, and X is a source: load its rows first.")
    fit = fit_again(model, asked)
    source = validation.weighted_rows(model, asked.X, asked.sample_weight)
    if asked.offset is not None:
        nothing = np.zeros(len(model.classes_))
        source = with_offset(LabelledRows(source, model.classes_, nothing, nothing), asked.offset).source
    rows, p = list(chunks(source)), len(fit.at.shift)
    steps = _indicators(rows, p) if discrete else np.zeros(p, dtype=bool)
    n = float(sum(chunk.X.shape[0] if chunk.w is None else chunk.w.sum() for chunk in rows))
    weights = Weights(fit.at.theta, fit.at.shift, fit.found.intercept, fit.at.unit)
    return marginal_effects(
        weights,
        total_effects(weights, iter(rows if at == "overall" else [_mean_row(rows)]), steps),
        weights_covariance(fit.found, fit.at.theta, fit.rows, asked.cov, fit.clusters),
        steps,
        names=tuple(fit.at.columns),
        classes=tuple(model.classes_[weights.first :].tolist()),
        cov=asked.cov,
        level=asked.level,
        at=at,
        penalised=bool(fit.found.l2.any()),
        n=n,
    )


def _indicators(rows: list[Chunk], p: int) -> NDArray[np.bool_]:
    """Which columns hold nothing but zeros and ones, and some of both."""
    zero, one, other = np.zeros((3, p), dtype=bool)
    for chunk in rows:
        X = chunk.X.to_array()
        zero |= (X == 0).any(axis=0)
        one |= (X == 1).any(axis=0)
        other |= ((X != 0) & (X != 1)).any(axis=0)
    return np.asarray(zero & one & ~other)


def _mean_row(rows: list[Chunk]) -> Chunk:
    """The mean of the rows, as a row."""
    w = np.concatenate([np.ones(c.X.shape[0]) if c.w is None else c.w for c in rows])
    X = np.concatenate([chunk.X.to_array() for chunk in rows])
    offset = None if rows[0].offset is None else np.concatenate([np.asarray(c.offset) for c in rows])
    mean = np.average(X, axis=0, weights=w)[None]
    return Chunk(
        Dense(mean), offset=None if offset is None else np.average(offset, axis=0, weights=w)[None]
    )


# ---- tests of several coefficients at once -------------------------------------------------------
def term_tests_of(model: Any, asked: Asked, terms: Any) -> TermTests:
    """Wald's test and, where the rows are given and errors are classical, that of the likelihood ratio."""
    fit = fit_again(model, asked)
    if fit.found.l2.any():
        raise ValueError(
            "term_tests is not defined with a penalty, which shrinks the coefficients that are tested. Fit "
            "with C=np.inf."
        )
    places = terms_of(terms, fit.at.columns, table_terms(model))
    e, blocks, first = fit.estimate(asked.cov), len(fit.found.n) - 1, int(fit.found.intercept)
    width = len(fit.at.columns) + first
    wald, df, lr = np.empty((3, len(places)))
    for i, at in enumerate(places.values()):
        some = np.zeros((blocks, width), dtype=bool)
        some[:, at + first] = True
        wald[i], df[i] = e.wald(some.ravel())
        lr[i] = np.nan
        if fit.rows is not None and asked.cov == "classical":
            lr[i] = 2 * (fit.found.log_likelihood - _log_likelihood_without(fit, at))
    lr = np.where(df > 0, np.maximum(lr, 0.0), np.nan)
    return TermTests(
        names=tuple(places),
        df=df,
        wald=np.where(df > 0, wald, np.nan),
        wald_p=chdtrc(df, np.where(df > 0, wald, np.nan)),
        lr=lr,
        lr_p=chdtrc(df, lr),
        residual_df=np.inf,
        cov=asked.cov,
        clusters=e.groups,
    )


def _log_likelihood_without(fit: Fit, columns: NDArray[np.intp]) -> float:
    """Of the model without these columns, fitted from where this one is."""
    assert fit.rows is not None
    rest = np.setdiff1d(np.arange(fit.rows.setting.p), columns)
    if len(rest) == 0:
        return null_log_likelihood(fit.rows)
    without, at = fit.rows.restricted(rest)
    end = run_solver(newton, without, fit.at.theta.ravel()[at], tol=SHARP, max_iter=200).last
    return float(-fit.rows.n * end.value)
