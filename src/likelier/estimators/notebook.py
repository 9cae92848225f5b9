"""Fitted models in notebooks: under scikit-learn's diagram, what they assume and what they found."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from likelier.shown import Part, Table, counted, html

MOST_ROWS, MOST_COLUMNS = 10, 6  # of a table under a diagram


class InNotebooks(BaseEstimator):
    """Adds a sentence to the diagram of an estimator, and once it is fitted a small table."""

    def _html_repr(self) -> str:
        return str(super()._html_repr()) + html(caption(self))


def caption(model: Any) -> list[Part]:
    """What a model assumes; of a fitted one its coefficients, or else its classes."""
    said: list[Part] = [model.assumes] if hasattr(model, "assumes") else []
    if isinstance(getattr(model, "coef_", None), np.ndarray):
        return said + _coefficients(model)
    return said + (_classes(model) if hasattr(model, "class_count_") else [])


def _coefficients(model: Any) -> list[Part]:
    W = np.atleast_2d(model.coef_)  # (K, p)
    b = np.broadcast_to(np.atleast_1d(model.intercept_), len(W))
    known = getattr(model, "feature_names_in_", None)
    names = [f"x{j}" for j in range(W.shape[1])] if known is None else list(map(str, known))
    rows = [("(intercept)", b[:MOST_COLUMNS]), *zip(names, W.T[:, :MOST_COLUMNS], strict=True)]
    shown = [[name, *(f"{value:.4g}" for value in values)] for name, values in rows[: 1 + MOST_ROWS]]
    table = Table([["", *_headings(model, len(W))], *shown])
    noun = "class" if hasattr(model, "classes_") else "target"
    return [table, *_more(W.shape[1] - MOST_ROWS, "column"), *_more(len(W) - MOST_COLUMNS, noun)]


def _headings(model: Any, K: int) -> list[str]:
    """Whose coefficients they are: of two classes, those of the second."""
    labels: Sequence[Any] = getattr(model, "classes_", ())
    if not len(labels):
        return ["coefficient"] if K == 1 else [f"target {k}" for k in range(min(K, MOST_COLUMNS))]
    return [str(label) for label in (labels[-1:] if K == 1 else labels)[:MOST_COLUMNS]]


def _classes(model: Any) -> list[Part]:
    counts = np.asarray(model.class_count_)
    priors = getattr(model, "class_prior_", None)
    columns = [model.classes_, [f"{n:g}" for n in counts]]
    columns += [] if priors is None else [[f"{prior:.4g}" for prior in priors]]
    rows = [[str(cell) for cell in row] for row in zip(*columns, strict=True)]
    headings = ["class", "rows", "prior"][: len(columns)]
    return [Table([headings, *rows[:MOST_ROWS]]), *_more(len(rows) - MOST_ROWS, "class")]


def _more(n: int, noun: str) -> list[str]:
    return [f"and {counted(n, f'more {noun}')}"] if n > 0 else []
