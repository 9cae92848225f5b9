"""Models by formulas, such as "survived ~ sex * pclass + log(fare + 1)", in R's and formulaic's notation.

The library formulaic reads a formula and says which categories need all of their levels; factors are
evaluated by `likelier.data.expressions`, which knows columns and some functions and nothing else.
"""

import ast
import difflib
import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from likelier import optional
from likelier.data import Arrays, BadCell, Columns, Factor, SkippedWarning, frames
from likelier.data.dask import is_collection
from likelier.data.expressions import Basis, parsed, settings_of, value_of
from likelier.data.formula import FormulaDesign, FormulaFactor, FormulaProduct, FormulaTerm
from likelier.data.table_columns import TableColumn, table_of
from likelier.estimators import validation
from likelier.estimators.sources import stored
from likelier.estimators.tables import opened
from likelier.warning_location import outside


def from_formula(cls: Any, /, formula: str, data: Any, sample_weight: Any = None, **params: Any) -> Any:
    """A model fitted to the terms of a formula, which keep their names.

    Parameters
    ----------
    formula : str
        Response and terms, such as "survived ~ sex * pclass + log(fare + 1)", in the notation of R and of
        the library formulaic, which must be installed: `pip install "likelier[formula]"`.
    data : DataFrame
        The table that holds the columns of the formula, in memory: of pandas, polars or pyarrow.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    **params : dict
        Hyper-parameters of the model, such as `C`. There is an intercept unless the formula says "- 1".

    Returns
    -------
    model : estimator
        The fitted model. `predict` takes tables with the columns of the formula; `formula_` is the formula.

    Raises
    ------
    ValueError
        If the formula names a column that `data` lacks, or does more than arithmetic, comparisons and known
        functions on columns.

    Warns
    -----
    SkippedWarning
        If rows lack a value in a column of the formula: they are left out of the fit.

    Examples
    --------
    >>> import pandas as pd
    >>> import likelier as lk
    >>> data = pd.DataFrame({"weight": [52.2, 58.5, 66.2, 74.4, 61.0], "height": [1.5, 1.6, 1.7, 1.8, 1.6],
    ...                      "sex": ["f", "f", "m", "m", "m"]})
    >>> model = lk.LinearRegression.from_formula("log(weight) ~ height + sex", data)
    >>> model.summary().names
    ('intercept', 'height', 'sex[T.m]')
    """
    if "fit_intercept" in params:
        raise ValueError('the formula says whether there is an intercept: write "- 1" for none.')
    table = _table(data)
    read = _read(formula, table.columns)
    model: Any = cls(fit_intercept=read.intercept, **params)
    w = validation.weights_of(sample_weight, table.shape[0])
    held = _complete(cls.__name__, table, read, w)
    design = _learned(formula, read, held)
    try:
        rows = Arrays(design.rows(held.columns), names=design.names)
    except BadCell as bad:
        raise bad.named(bad.name, f"row {held.places[bad.row]}") from None
    return model.fit(rows, _response(read.response, held), sample_weight=held.w)


def formula_of(estimator: Any) -> str:
    """The formula that the model was fitted by; only if there is one."""
    design = vars(estimator).get("_design")
    if not isinstance(design, FormulaDesign):
        raise AttributeError(f"{type(estimator).__name__!r} object has no attribute 'formula_'")
    return design.formula


def _table(data: Any) -> frames.Frame:
    if stored(data) or is_collection(data):
        raise TypeError(
            "from_formula takes a table in memory; of a source or Dask collection, load a sample of the "
            "rows, or fit to its columns without a formula."
        )
    table = opened(data)
    if not isinstance(table, nw.DataFrame):
        raise TypeError(
            f"from_formula takes a data frame of pandas, polars or pyarrow, whose columns have names; got "
            f"{type(data).__name__}."
        )
    names = list(map(str, table.columns))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the table has two columns named {twice!r}: rename one of them.")
    return table


# Reading a formula.


class ReadFactor(NamedTuple):
    """A factor as it is written; coding: what C() says of it beside its column."""

    text: str
    expression: str
    plain: bool
    coding: ast.Call | None = None

    @property
    def columns(self) -> list[str]:
        return [self.expression] if self.plain else list(parsed(self.expression).columns.values())


class ReadFormula(NamedTuple):
    """A formula: terms by their names, each a scale and factors."""

    response: ReadFactor
    terms: list[tuple[str, float, list[ReadFactor]]]
    intercept: bool

    @property
    def columns(self) -> list[str]:
        """The columns of the table that the terms need, each once."""
        return list(dict.fromkeys(c for _, _, some in self.terms for each in some for c in each.columns))


def _read(formula: str, columns: Sequence[str]) -> ReadFormula:
    if not isinstance(formula, str):
        raise TypeError(f"formula must be a string such as 'y ~ a + b'; got {type(formula).__name__}.")
    found = _parsed(formula, columns)
    left, right = getattr(found, "lhs", None), getattr(found, "rhs", None)
    if left is None or right is None or "~" not in formula:
        raise ValueError(f"formula must be a response and terms, such as 'y ~ a + b'; got {formula!r}.")
    if not _is_flat(left) or not _is_flat(right) or len(list(left)) != 1:
        raise ValueError(f"formula must have one response and one list of terms; got {formula!r}.")
    read = [(str(term), *_of_term(term)) for term in right]
    terms = [one for one in read if one[2]]
    (response,) = (_of_term(term)[1] for term in left)
    if len(response) != 1 or response[0].coding is not None:
        raise ValueError(f"formula must have one column, or an expression, before '~'; got {formula!r}.")
    if not terms:
        raise ValueError(f"formula has no terms: {formula!r}. Name a column after '~'.")
    for each in (response[0], *(factor for _, _, some in terms for factor in some)):
        _check_there(formula, each, columns)
    return ReadFormula(response[0], terms, len(terms) < len(read))


def _parsed(formula: str, columns: Sequence[str]) -> Any:
    formulaic = optional.load("formulaic", "formulas need", "likelier[formula]")
    errors = optional.load("formulaic.errors", "formulas need", "likelier[formula]")
    try:
        return formulaic.Formula(formula, _context={"__formulaic_variables_available__": list(columns)})
    except (errors.FormulaicError, SyntaxError) as error:
        said = re.sub(r"\x1b\[[\d;]*m|[\u29d8-\u29db]", "", str(error)).split("\n")[0]
        raise ValueError(f"formula {formula!r} is not valid: {said}") from None


def _is_flat(side: Any) -> bool:
    from formulaic.formula import SimpleFormula

    return isinstance(side, SimpleFormula)


def _of_term(term: Any) -> tuple[float, list[ReadFactor]]:
    scale, factors = 1.0, []
    for factor in term.factors:
        how = factor.eval_method.name
        if how == "LITERAL":
            scale *= float(factor.expr)
        else:
            factors.append(_read_factor(str(factor.expr), plain=how == "LOOKUP"))
    return scale, factors


def _read_factor(text: str, *, plain: bool) -> ReadFactor:
    if plain or not re.match(r"C\s*\(", text):
        return ReadFactor(text, text, plain)
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"formula: {text!r} is not an expression: {error.msg}.") from None
    if not (isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Name)):
        return ReadFactor(text, text, plain)  # which is refused with its reason
    inner = ast.unparse(node.args[0])
    return ReadFactor(text, inner, inner.isidentifier(), node)


def _check_there(formula: str, factor: ReadFactor, columns: Sequence[str]) -> None:
    if not factor.columns:
        raise ValueError(f"formula {formula!r}: {factor.text!r} names no column.")
    lost = [name for name in factor.columns if name not in columns]
    if lost:
        near = difflib.get_close_matches(lost[0], columns, 1)
        maybe = f"Did you mean {near[0]!r}? " if near else ""
        shown = ", ".join(map(repr, columns[:10])) + (", …" if len(columns) > 10 else "")
        raise ValueError(
            f"formula {formula!r} names column {lost[0]!r}, which the table does not have. {maybe}It has "
            f"{shown}."
        )


# The rows that have all that the formula asks for.


class CompleteRows(NamedTuple):
    """The columns of a formula in the rows that lack none of them, and their response."""

    table: tuple[TableColumn, ...]
    columns: Columns
    response: dict[str, Any]  # its columns, as they are
    w: NDArray[np.float64] | None
    orders: dict[str, list[Any]]  # of declared categories
    places: NDArray[np.intp]  # of the rows in the whole table

    @property
    def values(self) -> dict[str, Any]:
        return dict(zip((column.name for column in self.table), self.columns.arrays, strict=True))


def _complete(model: str, table: frames.Frame, read: ReadFormula, w: Any) -> CompleteRows:
    own = read.columns
    every = list(dict.fromkeys([*own, *read.response.columns]))
    _, columns = table_of(table.select(every), every)
    lacks = np.zeros(table.shape[0], dtype=np.bool_)
    blamed = []
    for name, cells in zip(every, columns.arrays, strict=True):
        gone = cells.codes < 0 if isinstance(cells, Factor) else np.isnan(np.asarray(cells, dtype=float))
        blamed += [repr(name)] if gone.any() else []
        lacks |= gone
    if lacks.all():
        raise ValueError(f"formula: no row has a value in each of the columns {', '.join(every)}.")
    if lacks.any():
        warnings.warn(
            f"{model}: {lacks.sum():,} of {len(lacks):,} rows have no value in column {', '.join(blamed)}, "
            "and are left out of the fit.",
            SkippedWarning,
            stacklevel=outside(),
        )
        table, w = table.filter((~lacks).tolist()), None if w is None else w[~lacks]
    kinds, columns = table_of(table.select(own), own)
    response = {name: table.get_column(name) for name in read.response.columns}
    return CompleteRows(kinds, columns, response, w, _orders(kinds, table), np.flatnonzero(~lacks))


def _orders(kinds: Iterable[TableColumn], table: frames.Frame) -> dict[str, list[Any]]:
    """Of declared categories, their order: the first one is what the others are compared with."""
    found = {column.name: list(column.order) for column in kinds if column.order}
    for name in (column.name for column in kinds if column.kind == "category"):
        series = table.get_column(name)
        if series.dtype in (nw.Categorical, nw.Enum) and series.implementation.is_pandas():
            native: Any = series.to_native()
            found[name] = native.cat.categories.tolist()
    return found


def _response(response: ReadFactor, held: CompleteRows) -> Any:
    if response.plain:
        return frames.values_of(held.response[response.expression].to_native())
    frame = [series.to_frame() for series in held.response.values()]
    columns = {
        name: table_of(one, [name])[1].arrays[0] for name, one in zip(held.response, frame, strict=True)
    }
    found = value_of(response.expression, columns, {})
    if isinstance(found, Basis | Factor) or np.ndim(found) != 1:
        raise ValueError(f"formula: {response.text!r} is not one number for each row.")
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        row = int(np.argmin(np.isfinite(found)))
        raise ValueError(f"formula: {response.text!r} is {found[row]} in row {held.places[row]}.")
    return found


# Learning the design.


class Learned(NamedTuple):
    """A factor on the rows of the fit."""

    read: ReadFactor
    states: dict[str, Any]
    value: Any  # numbers, a basis, or categories
    levels: list[Any]  # of categories, in their order

    @property
    def spans(self) -> bool:
        """Whether its columns add up to a constant."""
        return isinstance(self.value, Factor) or (isinstance(self.value, Basis) and self.value.spans)


def _learned(formula: str, read: ReadFormula, held: CompleteRows) -> FormulaDesign:
    every = {factor.text: factor for _, _, some in read.terms for factor in some}
    found = [_evaluated(factor, held) for factor in every.values()]
    place = {text: i for i, text in enumerate(every)}
    coded: dict[tuple[int, bool], int] = {}
    factors: list[FormulaFactor] = []

    def number(i: int, reduced: bool) -> int:
        if (i, reduced) not in coded:
            coded[i, reduced] = len(factors)
            factors.append(_factor(found[i], reduced=reduced))
        return coded[i, reduced]

    terms = []
    written = [[place[factor.text] for factor in some] for _, _, some in read.terms]
    structure = _structure(written, [one.spans for one in found], intercept=read.intercept)
    for (name, scale, _), products in zip(read.terms, structure, strict=True):
        made = tuple(FormulaProduct(scale, tuple(number(*pair) for pair in one)) for one in products)
        terms.append(FormulaTerm(name, made))
    design = FormulaDesign(
        held.table, (), sparse=False, formula=formula, factors=tuple(factors), products=tuple(terms)
    )
    stored_cells = sum(np.prod([_cells(factors[i]) for i in p.factors]) for t in terms for p in t.products)
    if 12 * stored_cells + 4 < 8 * design.p:
        return FormulaDesign(
            held.table, (), sparse=True, formula=formula, factors=tuple(factors), products=tuple(terms)
        )
    return design


def _cells(factor: FormulaFactor) -> int:
    """How many of its columns are not 0 in a row."""
    return 1 if factor.places is not None else len(factor.labels)


def _evaluated(factor: ReadFactor, held: CompleteRows) -> Learned:
    states: dict[str, Any] = {}
    values = held.values
    value = values[factor.expression] if factor.plain else value_of(factor.expression, values, states)
    if not isinstance(value, Factor | Basis):
        value = np.asarray(value)
        if factor.coding is not None:
            levels = np.unique(value)
            objects = np.empty(len(levels), dtype=object)
            objects[:] = levels.tolist()
            value = Factor(np.searchsorted(levels, value).astype(np.int32), objects)
    if isinstance(value, Basis) and factor.coding is not None:
        raise ValueError(f"formula: {factor.text!r}: C() takes categories or numbers.")
    if not isinstance(value, Factor):
        return Learned(factor, states, value, [])
    used = set(value.used().tolist())
    order = held.orders.get(factor.expression) if factor.plain else None
    return Learned(factor, states, value, [x for x in (order or value.levels.tolist()) if x in used])


def _structure(
    terms: list[list[int]], spans: list[bool], *, intercept: bool
) -> list[list[list[tuple[int, bool]]]]:
    """Of each term its products: of each the factors, and whether they leave a level out.

    formulaic decides it, of a formula of the same terms and kinds of factors.
    """
    import pandas as pd
    from formulaic import model_matrix

    rows = {f"f{i}": ["a", "b"] if many else [0.0, 1.0] for i, many in enumerate(spans)}
    text = " + ".join(["1" if intercept else "0", *(":".join(f"f{i}" for i in some) for some in terms)])
    found = model_matrix(text, pd.DataFrame(rows), context={}).model_spec.structure
    by_factors = {frozenset(str(f.expr) for f in one.term.factors): one for one in found}
    made = []
    for some in terms:
        one = by_factors[frozenset(f"f{i}" for i in some)]
        made.append(
            [
                [(int(str(f.factor.expr)[1:]), bool(f.reduced)) for f in product.factors]
                for product in one.scoped_terms
            ]
        )
    return made


def _factor(found: Learned, *, reduced: bool) -> FormulaFactor:
    read, name = found.read, found.read.text
    how: dict[str, Any] = {"expression": read.expression, "plain": read.plain, "states": found.states}
    if isinstance(found.value, Basis):
        dropped = {found.value.dropped} if reduced and found.value.spans else set()
        kept = [j for j in range(len(found.value.labels)) if j not in dropped]
        return FormulaFactor(
            **how, labels=tuple(f"{name}[{found.value.labels[j]}]" for j in kept), kept=tuple(kept)
        )
    if not isinstance(found.value, Factor):
        return FormulaFactor(**how, labels=(name,))
    return _categories(how, found, reduced=reduced)


def _categories(how: dict[str, Any], found: Learned, *, reduced: bool) -> FormulaFactor:
    contrasts, order = _contrasts(found.read), found.levels
    fields = list(contrasts.get_coding_column_names(order, reduced_rank=reduced))
    form = contrasts.get_factor_format(order, reduced_rank=reduced)
    labels = tuple(form.format(name=found.read.text, field=one) for one in fields)
    used = set(order)
    levels = found.value.levels[[level in used for level in found.value.levels.tolist()]]
    if not reduced or isinstance(contrasts, _treatment()):  # each level has a column, or none
        place = {level: i for i, level in enumerate(fields)}
        places = np.array([place.get(level, -1) for level in levels.tolist()], dtype=np.int32)
        return FormulaFactor(**how, labels=labels, levels=levels, places=places)
    if len(order) > MOST_CONTRASTED:
        raise ValueError(
            f"formula: {found.read.text!r} has {len(order):,} levels, and contrasts are for at most "
            f"{MOST_CONTRASTED:,}: without them each level has an indicator."
        )
    at = [order.index(level) for level in levels.tolist()]
    matrix = np.asarray(contrasts.get_coding_matrix(order, reduced_rank=reduced), dtype=np.float64)
    return FormulaFactor(**how, labels=labels, levels=levels, coding=np.ascontiguousarray(matrix[at]))


MOST_CONTRASTED = 1000  # levels, of which each has a number in each column
CONTRASTS = {"treatment": "treatment", "sum": "sum", "helmert": "helmert", "diff": "diff", "poly": "poly"}
CONTRASTS |= {"SAS": "SAS", "Treatment": "treatment", "Sum": "sum", "Helmert": "helmert", "Diff": "diff"}
CONTRASTS |= {"Poly": "poly"}


def _treatment() -> Any:
    from formulaic.transforms.contrasts import TreatmentContrasts

    return TreatmentContrasts


def _contrasts(read: ReadFactor) -> Any:
    """How categories are coded: by indicators, or as C() says."""
    from formulaic.transforms.contrasts import ContrastsRegistry

    call = read.coding
    if call is None or len(call.args) + len(call.keywords) == 1:
        return ContrastsRegistry.treatment()
    said = call.args[1] if len(call.args) == 2 and not call.keywords else None
    made = said.func if isinstance(said, ast.Call) else said
    name = made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", None)
    of_registry = not isinstance(made, ast.Attribute) or getattr(made.value, "id", None) == "contr"
    if name not in CONTRASTS or not of_registry:
        raise ValueError(
            f"formula: {read.text!r}: after the column, C() takes one of contr.treatment, contr.sum, "
            "contr.helmert, contr.diff, contr.poly and contr.SAS, as in C(x, contr.treatment('base'))."
        )
    args: list[Any] = []
    keywords: dict[str, Any] = {}
    if isinstance(said, ast.Call):
        args, keywords = settings_of(ast.Call(said.func, [ast.Constant(0), *said.args], said.keywords))
    if "reference" in keywords:
        keywords["base"] = keywords.pop("reference")
    try:
        return getattr(ContrastsRegistry, CONTRASTS[name])(*args, **keywords)
    except TypeError as error:
        raise ValueError(f"formula: {read.text!r}: {error}") from None
