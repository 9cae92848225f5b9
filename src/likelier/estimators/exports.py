"""Fitted estimators as programs elsewhere: what each hands to the exports."""

from pathlib import Path
from typing import Any

from likelier.data.design import Design
from likelier.estimators import validation
from likelier.export import c, python, sql
from likelier.export.describe import program_of
from likelier.export.program import NotExpressible, Program
from likelier.storage import write

WHY_NOT = {
    "OnlineClassifier": "its features are hashed, and only likelier computes the same hash from a row",
    "TextClassifier": "only likelier cuts texts into the terms of its fit",
    "DesignMatrix": "it has no scores: export the model that is fitted to its columns",
}


def described(model: Any) -> Program:
    """What a fitted model computes, from which every export is written."""
    name = type(model).__name__
    if not hasattr(model, "_scored"):
        if name in WHY_NOT:
            raise NotExpressible(f"{name} cannot be exported: {WHY_NOT[name]}.")
        raise TypeError(
            f"model must be a fitted classifier or regression of likelier; got {model!r:.80}. A fitted "
            "model of scikit-learn is not one: fit the class of the same name in likelier."
        )
    if name != "LinearClassifier":  # which is made fitted
        validation.fitted(model)
    design: Design | None = vars(model).get("_design")
    return program_of(
        name,
        model._scored(),
        p=model.n_features_in_,
        classes=getattr(model, "_target", None) if _has_components(model) else _classes(model),
        names=getattr(model, "feature_names_in_", None),
        design=design,
    )


def _has_components(model: Any) -> bool:
    """Whether its answers are numbers of components."""
    return hasattr(model, "_target") and not hasattr(model, "classes_") and hasattr(model, "n_components")


def _classes(model: Any) -> Any:
    return getattr(model, "classes_", None)


def to_sql(
    self: Any, table: Any, dialect: str = "duckdb", output: str | None = None, *, keep: Any = ()
) -> str:
    """One SELECT that computes the predictions of the model from a table.

    It reads the columns by the names of the fit (of a fit without names: c0, c1, …), encodes them as the
    model does, treats NULL and NaN as missing values, and has one line for each feature.

    Parameters
    ----------
    table : str or sequence of str
        Name of the table or view; ("schema", "table") for a qualified name. Names are quoted.
    dialect : {"duckdb", "sqlite", "postgres", "bigquery"}, default="duckdb"
        The database that the statement is for.
    output : {"proba", "score", "label"} or None, default=None
        "proba": a column `proba_<class>` for each class; "score": the scores of `decision_function`, or the
        predicted numbers of a regression; "label": the predicted class. None: the first of these that the
        model has.
    keep : sequence of str, default=()
        Columns of the table to return beside the predictions, such as its key: SQL promises no order.

    Returns
    -------
    statement : str
        The SELECT, without a semicolon.

    Raises
    ------
    ValueError
        If the dialect is not known, or the model cannot be expressed in SQL; the message says why.

    Notes
    -----
    A row with a missing value in columns that have a covariance (LDA, QDA, full mixtures) or are shares of
    a whole has NULL for an answer. Cells beyond ±1e100 count as ±1e100. SQLite needs version 3.35 with its
    mathematical functions, as Python's has them.

    Examples
    --------
    >>> from likelier import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> print(model.to_sql("people", output="label").splitlines()[0])
    -- LogisticRegression: labels, duckdb
    """
    kept = [keep] if isinstance(keep, str) else list(keep)
    return sql.to_sql(described(self), table, dialect, output, kept)


def to_python(model: Any, path: Any = None, *, overwrite: bool = False) -> str:
    """A fitted model as Python source that needs nothing but Python's standard library.

    The module has `predict(row)`, `scores(row)` and, if the model has probabilities, `predict_proba(row)`
    and `CLASSES`. A row is a dict of its cells by column name; None and NaN are missing values.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regression of likelier.
    path : str or Path, default=None
        File to write the source to. None: it is only returned.
    overwrite : bool, default=False
        Whether a file that exists is written over.

    Returns
    -------
    source : str
        The source.

    Raises
    ------
    ValueError
        If the model cannot be expressed; the message says why.
    FileExistsError
        If the file exists and `overwrite` is False.

    Examples
    --------
    >>> from likelier import LogisticRegression, to_python
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> names = {}
    >>> exec(to_python(model), names)
    >>> names["predict"]({"c0": 2.5})
    'b'
    """
    return kept(python.to_python(described(model)), path, overwrite=overwrite)


def kept(text: str, path: Any, *, overwrite: bool) -> str:
    """The text, which is also written to a file if there is a path: whole, or not at all."""
    if path is not None:
        place = Path(path)
        if place.exists() and not overwrite:
            raise FileExistsError(f"{place} exists: pass overwrite=True to write over it.")
        write(place, text.encode())
    return text


def to_c(model: Any, path: Any = None, *, overwrite: bool = False) -> str:
    """A fitted model as one file of C99 that needs nothing but the mathematical library.

    It has `likelier_scores`, `likelier_predict`, `likelier_class` and, if the model has probabilities,
    `likelier_proba`; a row is an array of doubles, in the order that a comment at the top says, and NAN is
    a missing value. `likelier_level` finds the number of a category.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regression of likelier.
    path : str or Path, default=None
        File to write the source to. None: it is only returned.
    overwrite : bool, default=False
        Whether a file that exists is written over.

    Returns
    -------
    source : str
        The source.

    Raises
    ------
    ValueError
        If the model cannot be expressed; the message says why.
    FileExistsError
        If the file exists and `overwrite` is False.

    Examples
    --------
    >>> from likelier import LogisticRegression, to_c
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> "int likelier_predict(const double *cells)" in to_c(model)
    True
    """
    return kept(c.to_c(described(model)), path, overwrite=overwrite)
