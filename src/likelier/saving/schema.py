"""What a model file may hold: the closed table of records, and the checks before one is used."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.data import CSR
from likelier.data.design import AsIs, BinTerm, CategoryTerm, CodeTerm, Design, LeftOut, NumberTerm
from likelier.data.documents import WordsTerm
from likelier.data.formula import FormulaDesign, FormulaFactor, FormulaProduct, FormulaTerm
from likelier.data.table_columns import DATE_PARTS, DAYS, TableColumn
from likelier.em import EMTrace, FittedMixture, Selection, Stepwise
from likelier.estimators.discriminative.base import SolverTrace, Weights
from likelier.estimators.discriminative.logistic import LogisticSGDState
from likelier.estimators.discriminative.logistic_cv import CrossValidatedWeights
from likelier.estimators.discriminative.perceptron import PerceptronState, VotedWeights
from likelier.estimators.discriminative.sgd_base import SGDState
from likelier.estimators.generative.column_weights import WeightedBayes, WeightedParts
from likelier.estimators.generative.discriminant import LinearBayes
from likelier.estimators.generative.family_choice import Choice, Part, Plan, PlannedBayes, PlannedParts
from likelier.estimators.linear_regression import LinearParams
from likelier.families import (
    Bernoullis,
    Betas,
    Categories,
    Complements,
    Diagonal,
    Dirichlets,
    Discriminants,
    Exponentials,
    Full,
    Gammas,
    Geometrics,
    Group,
    Histograms,
    Kernels,
    LinearOnly,
    Mixed,
    Mixture,
    Multinomials,
    Poissons,
    Spanned,
    Tied,
)
from likelier.families.gamma_beta_dirichlet import Shares, SinglePart, TwoShares
from likelier.families.mixed import PooledStatistics, SharedDensity
from likelier.families.registry import ColumnFamily
from likelier.inference import Information, Separation, Solution
from likelier.model import Bayes, UnweightedBayes
from likelier.row_solvers.perceptron import Tally, Voters
from likelier.saving.checks import Kind, Sizes, check_fields
from likelier.scores import Affine, Scores
from likelier.states import (
    RULES,
    BinCounts,
    Bins,
    ColumnMoments,
    Counts,
    Deviations,
    HigherMoments,
    LabelRows,
    LabelTotals,
    Levels,
    Moments,
    Parts,
    PatternMoments,
    PositiveMoments,
    ReferenceScores,
    RowsOrTriangle,
    ShrinkageMoments,
    StoredRows,
    Sums,
    Survey,
    Triangle,
)
from likelier.states.base import Scaled
from likelier.states.rows import MOST, Reservoir

# The closed table of what a file may hold, and what must be true of it: kernels take sizes on trust.
#
# A new state or family joins `RECORDS` by one line: its name in files, its class, the sizes of its
# arrays.

_SCATTER = {"full": "K p p", "tied": "p p"}
_ORDERS = dict.fromkeys("STQ", "K p p")
_LINE = {"centre": "p", "W": "K p", "b": "K", "origin": "p", "scalings": "p r", "explained": "s"}
_PLANE = {"B": "q p", "at": "q", "shift": "p", "intercept": "q"}


def _counted(state: Any) -> Any:
    return np.all(state.n >= 0)


def _summed(state: Sums) -> Any:
    known = state.rule in RULES and (state.threshold is None or state.threshold >= 0)
    counted = all(np.all(a >= 0) for a in (state.n, state.gone) if a is not None)
    return known and counted and np.all(state.total >= RULES[state.rule].low)


def _grouped(state: PatternMoments) -> Any:
    """Classes and the places of scatters are numbers by which arrays are read."""
    K, places = len(state.blank), state.spread[state.spread >= 0]
    counted = np.all(state.w > 0) and np.all(state.blank >= 0) and state.most > 0
    classes = np.all((state.codes >= 0) & (state.codes < K)) and not np.isnan(state.X).all(axis=1).any()
    scatters = np.all(state.spread >= -1) and np.array_equal(np.sort(places), np.arange(len(state.S)))
    return counted and classes and scatters


def _tallied(state: Counts) -> Any:
    """Codes are places in the table."""
    least = 1 if state.beyond == "last" else 0
    sized = np.all(state.sizes >= least) and state.sizes.sum() == len(state.counts)
    return sized and _counted(state) and np.all(state.counts >= 0) and state.counts.flags.c_contiguous


def _sorted(bins: Bins) -> Any:
    if len(bins) == 0 or len(bins.edges) != len(bins) + 1:
        return False
    ordered = np.all(np.diff(bins.edges) >= 0) and np.all(np.diff(bins.cuts) > 0)
    return ordered and not (bins.atoms[0] or bins.atoms[-1])


def _binned(state: BinCounts) -> Any:
    return np.array_equal(state.counts.sizes, [len(one) for one in state.bins])


def _normal(params: Any) -> Any:
    """Each column's probabilities add up to 1."""
    sizes = params.sizes
    if len(sizes) == 0 or not np.all(sizes > 0) or sizes.sum() != len(params.log_p):
        return False
    totals = np.add.reduceat(np.exp(params.log_p), np.cumsum(sizes) - sizes, axis=0)
    return np.allclose(totals, 1, rtol=1e-6)


def _kept(state: StoredRows | Reservoir) -> Any:
    return np.all(state.w > 0) and np.all((state.codes >= 0) & (state.codes < state.K))


def _sampled_rows(state: Reservoir) -> Any:
    counted = len(state.keys) <= state.most and state.before >= 0 and len(state.keys) <= state.rows
    return counted and state.enough > 0 and _kept(state)


def _pointed(params: Kernels) -> Any:
    """Every class has points, and of every column some cell: kernels read them by `start`."""
    start, m = params.start, len(params.points)
    if start[0] != 0 or start[-1] != m or np.any(np.diff(start) < 1):
        return False
    held = np.add.reduceat(~np.isnan(params.points), start[:-1], axis=0, dtype=np.int64)
    return np.all(held > 0) and np.all(params.h > 0) and params.points.flags.c_contiguous


def _foldable(state: Triangle) -> Any:
    return state.n >= 0 and state.R.flags.c_contiguous


def _gathered(state: RowsOrTriangle) -> Any:
    heights = [[len(piece) for piece in pieces] for pieces in (state.Y, state.w)]
    heights.append([X.shape[0] for X in state.X])
    empty = state.triangle is None or not state.X
    return empty and heights[0] == heights[1] == heights[2] and all(np.all(w > 0) for w in state.w)


def _partition(columns: Sequence[NDArray[Any]]) -> bool:
    """Whether each column, from 0 on, is in one group."""
    every = np.sort(np.concatenate([np.empty(0, dtype=np.intp), *columns]))
    return bool(columns) and all(map(len, columns)) and np.array_equal(every, np.arange(len(every)))


def _chances(params: Bernoullis) -> Any:
    return np.allclose(np.exp(params.log_yes) + np.exp(params.log_no), 1, rtol=0, atol=1e-6)


def _drawn(params: Multinomials) -> Any:
    sums = np.exp(params.log_theta).sum(axis=1)
    return np.allclose(sums, 1, rtol=0, atol=1e-6) and np.all(params.length >= 0)


def _sampled(state: ReferenceScores) -> Any:
    m = len(state.keys)
    return m == len(state.scores) == len(state.w) <= MOST and np.all(state.w > 0) and state.rows >= m


def _positives(state: PositiveMoments) -> str:
    return "K p+p" if isinstance(state.positives, TwoShares) else "K p"


def _positive(state: PositiveMoments) -> Any:
    counted = np.all(state.n >= 0) and np.all(state.seen >= 0) and np.all(state.gap >= 0)
    return counted and np.all(state.mean[state.seen > 0] > 0) and state.positives in _WHOLE


_WHOLE = (SinglePart(), TwoShares(), Shares())  # what statistics are of


def _apart(parts: Parts) -> bool:
    return _partition(parts.columns) and len(parts.columns) == len(parts.states)


def _each(parts: Parts) -> list[tuple[Any, Sizes]]:
    """A state counts its own columns."""
    pairs = zip(parts.states, parts.columns, strict=False)
    return [(state, {"p": len(columns)}) for state, columns in pairs]


def _near(units: Any) -> Any:
    """Powers of two that numbers have."""
    return units is None or (units.dtype.kind == "i" and np.all(np.abs(units) < 2000))


def _possible(model: Bayes) -> Any:
    known = (model.typical is None or isinstance(model.typical, ReferenceScores)) and _near(model.units)
    return known and model.log_prior.max() <= 1e-6 and abs(model.prior.sum() - 1) < 1e-6


def _owned(mixture: Mixture) -> Any:
    """Components are read by the runs of their owners: each class has one, none is left out."""
    owner, weight = mixture.owner, mixture.log_weight
    runs = len(owner) > 0 and owner[0] == 0 and np.isin(np.diff(owner), (0, 1)).all()
    sums = np.bincount(owner, np.exp(weight)) if runs and owner.shape == weight.shape else np.zeros(1)
    return np.all(np.abs(sums - 1) < 1e-6)


def _blended(model: FittedMixture) -> Any:
    return _possible(model) and model.params.shape[0] == len(model.log_prior)


def _informed(found: Information) -> Any:
    same = found.H is None or len(found.H) == len(found.l2)
    return same and np.all(found.n >= 0) and np.all(found.l2 >= 0) and found.iterations >= 0


def _walked(found: LogisticSGDState) -> Any:
    sums = (found.n, found.squares, found.cells)
    return found.steps >= 0 and len(found.losses) > 0 and all(np.all(each >= 0) for each in sums)


def _strode(found: SGDState) -> Any:
    squares = found.squares is None or np.all(found.squares >= 0)
    return found.t >= 1 and found.mistakes >= 0 and np.all(found.n >= 0) and squares


def _stored(rows: CSR) -> Any:
    """Kernels follow columns and starts."""
    starts, columns = rows.starts, rows.columns
    typed = rows.values.dtype == np.float64 and columns.dtype == starts.dtype == np.int32
    ordered = typed and len(starts) and starts[0] == 0 and np.all(np.diff(starts) >= 0)
    return ordered and starts[-1] == len(columns) and np.all((columns >= 0) & (columns < rows.p))


def _lasting(voters: Voters) -> Any:
    return np.all(voters.lasting >= 0) and voters.lasting.sum() > 0


def _voting(model: VotedWeights) -> Any:
    r = model.kept.shape[0]
    known = all(np.all((one.rows >= 0) & (one.rows < r)) for one in model.voters)
    return known and len(model.voters) == len(model.W)


def _counted_up(tally: Tally) -> Any:
    doublings = tally.doublings
    grown = np.all(np.diff(doublings) >= 0) and len(doublings) == tally.turns.bit_length()
    return grown and 0 <= tally.latest <= tally.mistakes <= tally.turns and tally.passed >= 0


def _went(found: PerceptronState) -> Any:
    return _strode(found) and len(found.tallies) == len(found.theta) and found.forgotten >= 0


def _tabled(table: Selection) -> Any:
    each = (table.n_components, table.covariance_type, table.log_likelihood, table.bic, table.converged)
    return len({len(one) for one in (*each, table.bic if table.aic is None else table.aic)}) == 1


def _indicating(term: CategoryTerm) -> Any:
    """The kernel writes to the columns that places name."""
    count = len(term.labels)
    known = all(-1 <= place < count for place in (term.rare, term.missing))
    placed = len(term.places) == 0 or (term.places.min() >= -1 and term.places.max() < count)
    return known and placed and len(term.places) == len(term.levels)


def _worded(term: WordsTerm) -> Any:
    """The core looks words up: each is there once."""
    words = term.words.tolist()
    return all(type(word) is str for word in words) and len(set(words)) == len(words) > 0


def _planned(design: Design) -> Any:
    derived = [name for column in design.table for name in column.derived_names]
    parts = {part for column in design.table for part in column.parts}
    words = [isinstance(term, WordsTerm) for term in design.terms]
    known = len(derived) == len(design.terms) and words == sorted(words)
    return known and design.p > 0 and parts <= {*DATE_PARTS, DAYS}


def _factored(factor: FormulaFactor) -> Any:
    """Columns by numbers, a basis, indicators or contrasts: one of them, each with a name."""
    if factor.levels is None:
        return (
            factor.places is None
            and factor.coding is None
            and len(factor.labels) == max(1, len(factor.kept))
        )
    if len(factor.levels) == 0 or (factor.places is None) == (factor.coding is None):
        return False
    if factor.coding is not None:
        return len(factor.coding) == len(factor.levels) and factor.coding.shape[1] == len(factor.labels)
    places: Any = factor.places
    inside = len(places) == 0 or (places.min() >= -1 and places.max() < len(factor.labels))
    return len(places) == len(factor.levels) and inside


def _formulated(design: FormulaDesign) -> Any:
    """Expressions of columns of the table, and nothing else: to read them checks it."""
    columns = {column for factor in design.factors for column in factor.columns}
    products = [one for term in design.products for one in term.products]
    known = all(0 <= i < len(design.factors) for one in products for i in one.factors)
    some = all(one.factors for one in products)
    return not design.terms and columns == set(design.names_in) and known and some and design.p > 0


RECORDS = {
    "states.Moments": Kind(
        Moments, {"n": "K", "mean": "K p", "S": lambda state: _SCATTER[state.shape]}, _counted
    ),
    "states.Deviations": Kind(
        Deviations, {"n": "K", "mean": "K p", "D": "m p", "scatter": "p p"}, _counted
    ),
    "states.ColumnMoments": Kind(
        ColumnMoments, {"n": "K", **dict.fromkeys(("seen", "mean", "S"), "K p")}, _counted
    ),
    "states.Scaled": Kind(Scaled, {"units": "p"}, lambda state: _near(state.units)),
    "states.PatternMoments": Kind(
        PatternMoments,
        {"X": "r p", "codes": "r", "w": "r", "spread": "r", "S": "c p p", "blank": "K"},
        _grouped,
        gaps=("X",),
    ),
    "states.ShrinkageMoments": Kind(ShrinkageMoments, {}),
    "states.Counts": Kind(Counts, {"n": "K", "counts": "l K", "sizes": "p"}, _tallied),
    "states.Bins": Kind(Bins, {"edges": "1+b", "atoms": "b"}, _sorted),
    "states.BinCounts": Kind(BinCounts, {}, _binned),
    "states.HigherMoments": Kind(HigherMoments, {"n": "K", "mean": "K p", **_ORDERS}, _counted),
    "states.Triangle": Kind(
        Triangle, {"p": "p", "shift": "p+q", "R": "1+p+q 1+p+q", "power": "1+p+q"}, _foldable
    ),
    "states.Gathered": Kind(
        RowsOrTriangle, {"p": "p", "q": "q", "X": "m p", "Y": "m q", "w": "m"}, _gathered
    ),
    "states.Sums": Kind(Sums, {"n": "K", "total": "K p", "gone": "K p"}, _summed),
    "states.Kept": Kind(StoredRows, {"K": "K", "X": "m p", "codes": "m", "w": "m"}, _kept, gaps=("X",)),
    "states.Reservoir": Kind(
        Reservoir, {"K": "K", "keys": "m", "X": "m p", "codes": "m", "w": "m"}, _sampled_rows, gaps=("X",)
    ),
    "states.Survey": Kind(Survey, {"levels": "K"}),
    "states.LabelTotals": Kind(LabelTotals, {"levels": "K", "n": "K"}),
    "states.LabelRows": Kind(LabelRows, {"labels": "l", "rows": "l"}),
    "states.Levels": Kind(Levels, {"levels": "l"}),
    "families.Diagonal": Kind(Diagonal, {"mean": "K p", "var": "K p"}, lambda d: (d.var > 0).all()),
    "families.Categories": Kind(Categories, {"log_p": "l K", "levels": "p"}, _normal),
    "families.Histograms": Kind(Histograms, {"log_p": "l K"}, _normal),
    "states.PositiveMoments": Kind(
        PositiveMoments, {"n": "K", **dict.fromkeys(("seen", "mean", "gap"), _positives)}, _positive
    ),
    "states.Itself": Kind(SinglePart, {}),
    "states.TwoShares": Kind(TwoShares, {}),
    "states.Shares": Kind(Shares, {}, lambda shares: shares.whole > 0),
    "states.Typical": Kind(
        ReferenceScores, {"keys": "m", "scores": "m", "w": "m"}, _sampled, logs=("scores",)
    ),
    "families.Gammas": Kind(
        Gammas, {"a": "K p", "mean": "K p"}, lambda d: (d.a > 0).all() and (d.mean > 0).all()
    ),
    "families.Betas": Kind(Betas, {"a": "K p", "b": "K p"}, lambda d: (d.a > 0).all() and (d.b > 0).all()),
    "families.Dirichlets": Kind(
        Dirichlets,
        {"alpha": "K p", "rest": "K"},
        lambda d: (d.alpha > 0).all() and (d.rest >= 0).all() and d.whole > 0,
    ),
    "families.Tied": Kind(Tied, {"mean": "K p", "cov": "p p"}, lambda d: d.tol >= 0),
    "families.LinearOnly": Kind(LinearOnly, {"mean": "K p"}),
    "families.Spanned": Kind(Spanned, {"mean": "K p", "D": "m p"}, lambda d: d.tol >= 0),
    "families.Full": Kind(Full, {"mean": "K p", "cov": "K p p"}),
    "families.Bernoulli": Kind(
        Bernoullis, {"log_yes": "K p", "log_no": "K p"}, _chances, logs=("log_yes", "log_no")
    ),
    "families.Multinomial": Kind(
        Multinomials, {"log_theta": "K p", "length": "K"}, _drawn, logs=("log_theta",)
    ),
    "families.Complement": Kind(Complements, {"W": "K p"}),
    "families.Poisson": Kind(Poissons, {"rate": "K p"}, lambda d: (d.rate > 0).all()),
    "families.Geometric": Kind(Geometrics, {"odds": "K p"}, lambda d: (d.odds > 0).all()),
    "families.Exponential": Kind(Exponentials, {"mean": "K p"}, lambda d: (d.mean > 0).all()),
    "families.Kernels": Kind(
        Kernels,
        {"points": "m p", "log_w": "m", "log_v": "m", "start": "1+K", "h": "K p"},
        _pointed,
        gaps=("points",),
    ),
    "families.Discriminants": Kind(Discriminants, dict(_LINE)),
    "families.Group": Kind(
        Group, {"columns": "c"}, within=lambda group: [(group.params, {"p": len(group.columns)})]
    ),
    "families.Mixed": Kind(Mixed, {}, lambda mixed: _partition([group.columns for group in mixed.groups])),
    "families.Shared": Kind(SharedDensity, {"K": "K"}, within=lambda shared: [(shared.params, {"K": 1})]),
    "families.OfAll": Kind(
        PooledStatistics, {"n": "K"}, _counted, within=lambda each: [(each.state, {"K": 1})]
    ),
    "families.Settled": Kind(ColumnFamily, {"levels": "l"}),
    "plan.Choice": Kind(Choice, {}),
    "plan.Part": Kind(
        Part, {"columns": "c"}, lambda part: part.own is None and len(part.settled) == len(part.columns)
    ),
    "plan.Plan": Kind(Plan, {}, lambda plan: _partition([part.columns for part in plan.parts])),
    "states.Parts": Kind(Parts, {"columns": "c"}, _apart, within=_each),
    "plan.PlannedParts": Kind(
        PlannedParts, {"columns": "c"}, _apart, within=lambda parts: [(parts.plan, {}), *_each(parts)]
    ),
    "plan.PlannedBayes": Kind(
        PlannedBayes, {"log_prior": "K", "units": "p"}, _possible, logs=("log_prior",)
    ),
    "plan.WeightedParts": Kind(
        WeightedParts,
        {"columns": "c"},
        _apart,
        within=lambda parts: [(parts.plan, {}), (parts.reservoir, {}), *_each(parts)],
    ),
    "plan.WeightedBayes": Kind(
        WeightedBayes,
        {"log_prior": "K", "units": "p", "weights": "p", "bias": "K"},
        lambda model: _possible(model) and (model.weights >= 0).all() and model.strength > 0,
        logs=("log_prior",),
    ),
    "scores.Scores": Kind(Scores, {}, lambda scores: scores.terms),
    "scores.Affine": Kind(Affine, {"b": "K", "W": "K p", "shift": "p"}),
    "model.Bayes": Kind(Bayes, {"log_prior": "K", "units": "p"}, _possible, logs=("log_prior",)),
    "model.Unweighed": Kind(
        UnweightedBayes, {"log_prior": "K", "units": "p"}, _possible, logs=("log_prior",)
    ),
    "model.LinearBayes": Kind(
        LinearBayes, {"log_prior": "K", "units": "p"}, _possible, logs=("log_prior",)
    ),
    "families.Mixture": Kind(
        Mixture,
        {"log_weight": "m", "owner": "m"},
        _owned,
        logs=("log_weight",),
        within=lambda mixture: [(mixture.components, {"K": len(mixture.owner)})],
    ),
    "mixing.Way": Kind(
        EMTrace,
        {"log_likelihood": "s", "floored": "s"},
        lambda way: way.log_likelihood.shape == way.floored.shape,
    ),
    "mixing.Selection": Kind(
        Selection,
        dict.fromkeys(("n_components", "log_likelihood", "bic", "converged", "aic"), "t"),
        _tabled,
    ),
    "mixing.Stepwise": Kind(Stepwise, {}, lambda state: state.batches >= 0),
    "model.Blend": Kind(FittedMixture, {"log_prior": "K", "units": "p"}, _blended, logs=("log_prior",)),
    "model.Lines": Kind(LinearParams, dict(_PLANE)),
    "model.Weights": Kind(Weights, {"W": "q p", "b": "q", "shift": "p"}),
    "model.Tried": Kind(
        CrossValidatedWeights,
        {
            **{"W": "q p", "b": "q", "shift": "p", "Cs": "c", "ratios": "r"},
            **{"paths": "f r c q d", "trials": "f r c", "steps": "f r c", "totals": "K"},
        },
    ),
    "model.Course": Kind(SolverTrace, {"trace": "s 3"}, gaps=("trace",)),
    "inference.Information": Kind(Information, {"n": "K", "l2": "m", "H": "m m"}, _informed),
    "model.Strides": Kind(
        SGDState, {"n": "K", **dict.fromkeys(("theta", "mean", "squares"), "q 1+p")}, _strode
    ),
    "model.Steps": Kind(
        LogisticSGDState,
        {
            "n": "K",
            "losses": "b",
            **dict.fromkeys(("theta", "mean"), "q 1+p"),
            "squares": "p",
            "cells": "p",
        },
        _walked,
        gaps=("losses",),
    ),
    "data.Design": Kind(Design, {}, _planned),
    "data.FormulaDesign": Kind(FormulaDesign, {}, _formulated),
    "data.FormulaFactor": Kind(FormulaFactor, {"levels": "l", "places": "l", "coding": "l c"}, _factored),
    "data.FormulaTerm": Kind(FormulaTerm, {}),
    "data.FormulaProduct": Kind(FormulaProduct, {}),
    "data.TableColumn": Kind(TableColumn, {}),
    "data.NumberTerm": Kind(NumberTerm, {}, lambda term: term.scale != 0, gaps=("fill",)),
    "data.CategoryTerm": Kind(CategoryTerm, {"levels": "l", "places": "l"}, _indicating),
    "data.BinTerm": Kind(BinTerm, {"cuts": "c"}, lambda term: np.all(np.diff(term.cuts) > 0)),
    "data.CodeTerm": Kind(CodeTerm, {"levels": "l"}),
    "data.AsIs": Kind(AsIs, {}),
    "data.WordsTerm": Kind(WordsTerm, {"words": "m", "idf": "m"}, _worded),
    "data.LeftOut": Kind(LeftOut, {}),
    "data.CSR": Kind(CSR, {"values": "c", "columns": "c", "starts": "1+r", "p": "p"}, _stored),
    "online.Voters": Kind(Voters, {"start": "p", "rows": "m", "steps": "m", "lasting": "1+m"}, _lasting),
    "online.Tally": Kind(Tally, {"doublings": "d"}, _counted_up),
    "model.Voted": Kind(VotedWeights, {"W": "q p", "b": "q", "shift": "p"}, _voting),
    "model.Progress": Kind(
        PerceptronState,
        {"n": "K", **dict.fromkeys(("theta", "mean", "squares", "start", "drawn"), "q 1+p")},
        _went,
    ),
    "inference.Separation": Kind(Separation, {}, lambda found: found.classes),
    "model.Solution": Kind(Solution, {"b": "p q", "free": "f p"}),
}
CLASSES: dict[str, type] = {name: kind.cls for name, kind in RECORDS.items()}
# What hyper-parameters may be, beside plain values.
PARAMETERS = {name: CLASSES[name] for name in ("families.Settled", "states.Bins")}
_KINDS = {kind.cls: kind for kind in RECORDS.values()}


def check(record: Any, sizes: Sizes) -> None:
    """Refuse a record whose fields are not of their types, or do not fit each other and `sizes`."""
    check_fields(record, sizes, _KINDS)
