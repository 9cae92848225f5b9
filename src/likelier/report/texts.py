"""Texts in the report: what their words add to the score of the predicted class."""

import re
from collections.abc import Iterator
from functools import partial
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from likelier.array_types import Floats
from likelier.comparison.result import Comparison, Result
from likelier.comparison.rows import Rows
from likelier.data import code
from likelier.data.design import Design
from likelier.data.documents import WordsTerm
from likelier.estimators.text.explanation import Explanation
from likelier.report.charts import some
from likelier.report.figures import MOST_ROWS, MOST_TRIED, quietly

SHOWN = 4  # texts
WORD = re.compile(r"\b\w\w+\b")
LEGEND = (
    "Texts that were left out of this fit. Words are shaded by what they add for (green) or against (red) "
    "the predicted class; what other columns and the intercept add counts as the bias."
)


def explained_texts(comparison: Comparison) -> str:
    """A text of each class with its words shaded, by the best model whose scores are sums over words."""
    if not comparison.rows.of("text") or comparison.classes is None:
        return ""
    rows = some(comparison.rows, MOST_ROWS, comparison.seed)
    able = [result for result in comparison.results if result.folds and not result.baseline]
    for result in able[: 2 * MOST_TRIED]:
        found = quietly(partial(_explained, result, rows, comparison.classes))
        if found:
            texts = "".join(_text(*one) for one in found)
            return f"<p><b>{escape(result.model)}</b>. {LEGEND}</p>{texts}"
    return ""


def _text(column: str, truth: Any, explanation: Explanation) -> str:
    said = f"{escape(column)}, of class {escape(str(truth))}; predicted {escape(explanation.heading())}"
    return f'<figure><figcaption class="under">{said}</figcaption>{explanation.shaded()}</figure>'


def _explained(result: Result, rows: Rows, classes: NDArray[Any]) -> list[tuple[str, Any, Explanation]]:
    """Of rows that the model is not fitted to; none, if it is no sum over words."""
    assert result.candidate_model is not None
    shown = _one_of_each(rows, classes)
    train = np.setdiff1d(np.arange(len(rows)), shown)
    prepared = result.candidate_model.preprocessor(rows, train)
    design = prepared.design
    if design is None or not any(isinstance(term, WordsTerm) for term in design.terms):
        return []
    weights = {} if rows.w is None else {"sample_weight": rows.w[train]}
    model = clone(result.candidate_model.model).fit(prepared(train), rows.y[train], **weights)
    W, bias = _weights(model)
    given = prepared(shown)
    X = np.asarray(given.toarray() if hasattr(given, "toarray") else given, dtype=np.float64)
    labels = model.predict(given)
    probabilities = model.predict_proba(given).max(axis=1) if hasattr(model, "predict_proba") else None
    return [
        (name, rows.y[row], Explanation(
            text, labels[i], model.classes_, words, np.ones(len(words), np.int64), added,
            bias + W @ X[i] - added.sum(axis=0),
            None if probabilities is None else float(probabilities[i]),
            _places(text, dict(zip(words, added, strict=True))),
        ))
        for i, row in enumerate(shown)
        for name, text, words, added in _columns(rows, row, design, X[i], W)
    ]  # fmt: skip


def _one_of_each(rows: Rows, classes: NDArray[Any]) -> NDArray[np.intp]:
    """The row of the median length of each of the first classes: neither empty nor endless."""
    codes = code(rows.y, classes)
    texts = rows.of("text")[0].values
    sizes = np.array([*(len(str(level)) for level in texts.levels), 0, 0])[texts.codes]
    found = []
    for k in range(min(SHOWN, len(classes))):
        own = np.flatnonzero(codes == k)
        if len(own) > 1:
            found.append(own[np.argsort(sizes[own], kind="stable")[len(own) // 2]])
    return np.array(found, dtype=np.intp)


def _weights(model: Any) -> tuple[Floats, Floats]:
    """Of each class against the mean of all, or of the second class against the first."""
    linear = model.to_linear() if hasattr(model, "to_linear") else model
    W, bias = np.atleast_2d(linear.coef_), np.atleast_1d(linear.intercept_)
    return (W, bias) if len(bias) == 1 else (W - W.mean(axis=0), bias - bias.mean())


def _columns(
    rows: Rows, row: int, design: Design, x: Floats, W: Floats
) -> Iterator[tuple[str, str, list[str], Floats]]:
    """Of each column of text: its name, the text, its known words, and what each adds to the scores."""
    texts = {column.name: column.values for column in rows.of("text")}
    first = 0
    for term in design.terms:
        count = len(term.names)
        if isinstance(term, WordsTerm):
            at = first + np.flatnonzero(x[first : first + count])
            values = texts[term.name]
            text = "" if values.codes[row] < 0 else str(values.levels[values.codes[row]])
            yield term.name, text, [str(term.words[j - first]) for j in at], W[:, at].T * x[at, None]
        first += count


def _places(text: str, added: dict[str, Floats]) -> tuple[tuple[int, int, Floats], ...]:
    """Where the known words stand, and what each adds: of one that stands there often, its share."""
    found = [(*match.span(), match.group().lower()) for match in WORD.finditer(text)]
    times: dict[str, int] = {}
    for _, _, word in found:
        times[word] = times.get(word, 0) + 1
    return tuple((start, end, added[word] / times[word]) for start, end, word in found if word in added)
