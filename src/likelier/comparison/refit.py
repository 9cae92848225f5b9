"""Models of a comparison fitted to all rows: estimators that take the table itself, and can be saved."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from likelier.comparison.cross_validate import few_rows, fit_candidate, mixed_order
from likelier.comparison.models import CandidateModel
from likelier.comparison.prepare import RECIPES, WORDS, Recipe, SkippedModel, with_texts
from likelier.comparison.rows import Rows, in_memory
from likelier.data import Stored, code
from likelier.data.design import AsIs, Design, Designed, LeftOut, Term
from likelier.data.files.svmlight import SparseScan
from likelier.data.table_columns import TableColumn
from likelier.estimators.base import table_attributes
from likelier.estimators.design_matrix import DesignMatrix
from likelier.estimators.online.classifier import OnlineClassifier
from likelier.estimators.sources import gathered, stored
from likelier.estimators.tables import table_in_parts
from likelier.states.design_survey import DesignSettings


def fitted(comparison: Any, candidate: CandidateModel) -> Any:
    """A model of a comparison, fitted to all rows that were passed."""
    table = comparison.table
    rows = comparison.rows if comparison.folds is None else comparison.folds.rows
    if table is None:
        return fitted_to_rows(candidate, rows)
    X, y, w = gathered(*table)
    if stored(X):
        return fitted_to_source(candidate, rows, X)
    every = in_memory(X, y, w, seed=comparison.seed, most=sys.maxsize)
    classes = comparison.classes
    if classes is not None:
        every = every.take(np.flatnonzero(code(whole_labels(every).y, classes) >= 0), "")
        every = whole_labels(every)
    return fitted_to_rows(candidate, every)


def whole_labels(rows: Rows) -> Rows:
    """Classes that are numbers as whole ones."""
    return replace(rows, y=rows.y.astype(np.int64)) if rows.y.dtype.kind == "f" else rows


def fitted_to_rows(candidate: CandidateModel, rows: Rows) -> Any:
    """A model fitted to all of these rows, which takes the table that they came from."""
    at = np.arange(len(rows))
    prepared = candidate.preprocessor(rows, at)
    train = mixed_order(candidate, few_rows(candidate, at, rows, prepared.p), 0)
    w = None if rows.w is None else rows.w[train]
    model = fit_candidate(candidate, prepared(train), rows.y[train], w)
    return model if prepared.design is None else taking_tables(model, of_table(prepared.design, rows))


def of_table(design: Design, rows: Rows) -> Design:
    """The design of a table whose columns may have no names: these are found by their places."""
    if rows.places is None:
        return replace(design, named=True)
    own = dict(zip(design.names_in, zip(design.table, design.by_column, strict=True), strict=True))
    table: list[TableColumn] = []
    terms: list[Term] = []
    for name in rows.places:
        column, made = own.get(name, (TableColumn(name, "number"), (LeftOut(name),)))
        table.append(column)
        terms.extend(made)
    return replace(design, table=tuple(table), terms=tuple(terms), named=False)


def taking_tables(model: Any, design: Design) -> Any:
    """A fitted model that takes the tables of which the design makes what it was fitted to."""
    online = isinstance(model, OnlineClassifier)
    if online and design.passes:
        return model  # which knows columns by their names
    if not online and type(model).__module__.partition(".")[0] == "likelier":
        for name in ("feature_names_in_", "n_features_in_"):
            vars(model).pop(name, None)
        vars(model).update({"n_features_in_": len(design.table)} | table_attributes(design.names))
        return model
    from sklearn.pipeline import Pipeline

    return Pipeline([("designmatrix", DesignMatrix._of(design, DesignSettings())), ("model", model)])


def savable(candidate: CandidateModel, rows: Rows) -> bool:
    """Whether the model, fitted to these rows, is one that `likelier.save` takes."""
    ours = type(candidate.model).__module__.partition(".")[0] == "likelier"
    others = bool(rows.of("text")) or any(column.date for column in rows.columns)
    return ours and not (others and isinstance(candidate.model, OnlineClassifier))


def fitted_to_table(candidate: CandidateModel, rows: Rows, table: Any) -> Any:
    """A model fitted to all rows of a table, of which `rows` are all, or a sample."""
    return fitted_to_source(candidate, rows, table) if rows.sampled else fitted_to_rows(candidate, rows)


# ---- sources ---------------------------------------------------------------------------------------
def fitted_to_source(candidate: CandidateModel, rows: Rows, source: Stored) -> Any:
    """A model fitted to all rows of a source; rows: the sample of them that was compared on."""
    model = clone(candidate.model)
    if isinstance(source, SparseScan):
        return model.fit(source)
    recipe = recipe_of(candidate, rows)
    source = source.taking([column.name for column in recipe.columns], y=True)
    as_is = candidate.preprocessor.__name__.startswith("table") and not recipe.words
    table, declared = table_in_parts(source)
    if as_is:
        design = Design(table, tuple(AsIs(column.name) for column in table), False)
        return taking_tables(model.fit(declared), design)
    cells = [column.name for column in recipe.columns[: len(table) - len(recipe.words)]]
    some = declared.taking(cells, y=True) if recipe.words else declared
    design = replace(recipe.learned(some, table), named=source.names is not None)
    return model.fit(Designed(declared, design))


def recipe_of(candidate: CandidateModel, rows: Rows) -> Recipe:
    """Which columns of a table a model takes, and how; words and quantiles are those of the sample."""
    name, at = candidate.preprocessor.__name__, np.arange(len(rows))
    if name == "table_or_words":
        name = "design" if rows.of("text") else "table"
    if name not in RECIPES:
        raise SkippedModel(f"{candidate.name} learns nothing from columns")
    recipe = RECIPES[name](rows, at)
    words = name in WORDS and rows.of("text")
    return with_texts(recipe, rows, at, weighted=WORDS[name]) if words else recipe
