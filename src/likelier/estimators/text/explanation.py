"""Why a document got its class: what each of its terms added to the scores, as table, frame and HTML."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier import optional
from likelier.array_types import Floats
from likelier.display import Displayable, Part, Table

MOST = 20  # terms in a table
FOR, AGAINST = "46,125,50", "198,40,40"  # colours, readable on light and dark pages


@dataclass(frozen=True)
class Explanation(Displayable):
    """What the terms of a document added to each class's score. Prints as a table.

    Attributes
    ----------
    text : str
        The document.
    label : object
        The predicted class.
    classes : ndarray of shape (n_classes,)
        The class labels.
    terms : list of str
        The terms of the document that the model knows.
    counts : ndarray of shape (n_terms,)
        How often the document has each.
    contributions : ndarray of shape (n_terms, n_classes) or (n_terms, 1)
        What each term added to the score of each class; of binary problems, to that of the second class
        against the first.
    bias : ndarray of shape (n_classes,) or (1,)
        What the scores are without any term.
    probability : float or None
        The probability of the predicted class, if the model has any.
    """

    text: str
    label: Any
    classes: NDArray[Any]
    terms: list[str]
    counts: NDArray[np.int64]
    contributions: Floats
    bias: Floats
    probability: float | None
    words: tuple[tuple[int, int, Floats], ...]  # start, end, and what each word of the text added

    @property
    def scores(self) -> Floats:
        """The scores of the classes: bias and contributions added up."""
        return np.asarray(self.bias + self.contributions.sum(axis=0))

    @property
    def columns(self) -> list[str]:
        """What the contributions are to."""
        if len(self.bias) == 1:
            return [f"{self.classes[-1]} against {self.classes[0]}"]
        return [str(label) for label in self.classes]

    def order(self) -> NDArray[np.intp]:
        """Terms by how much they added for or against the predicted class, the largest first."""
        return np.argsort(-np.abs(self.contributions[:, self._column]), kind="stable")

    @property
    def _column(self) -> int:
        return 0 if len(self.bias) == 1 else int(np.flatnonzero(self.classes == self.label)[0])

    def to_frame(self) -> Any:
        """A pandas frame with a row for each term, and the bias.

        Returns
        -------
        frame : pandas.DataFrame
            Columns "term", "count", and one for each class.
        """
        pd = optional.pandas()

        at = self.order()
        held = {
            "term": [*(self.terms[i] for i in at), "(bias)"],
            "count": [*self.counts[at].tolist(), 1],
        }
        values = np.vstack([self.contributions[at], self.bias[None]])
        return pd.DataFrame(held | {name: values[:, k] for k, name in enumerate(self.columns)})

    def _parts(self) -> Iterable[Part]:
        yield self.heading()
        yield ""
        at = self.order()
        shown = _chosen(self.columns, self._column)
        names = [self.columns[k] for k in shown]
        rows = [["term", "count", *names]]
        for i in at[:MOST]:
            cells = [f"{self.contributions[i, k]:.3g}" for k in shown]
            rows.append([_visible(self.terms[i]), str(self.counts[i]), *cells])
        if len(at) > MOST:
            rest = self.contributions[at[MOST:]].sum(axis=0)
            rows.append([f"({len(at) - MOST} others)", "", *(f"{rest[k]:.3g}" for k in shown)])
        rows.append(["(bias)", "", *(f"{self.bias[k]:.3g}" for k in shown)])
        yield Table(rows)

    def heading(self) -> str:
        """The prediction in one line: class, probability and score.

        Returns
        -------
        line : str
            Such as "spam: probability 0.8, log odds of spam against ham 1.39".
        """
        said = [] if self.probability is None else [f"probability {self.probability:.3g}"]
        score = self.scores[self._column]
        if len(self.bias) == 1:
            kind = "score" if self.probability is None else "log odds"
            said.append(f"{kind} of {self.classes[-1]} against {self.classes[0]} {score:.3g}")
        else:
            said.append(f"score {score:.3g}")
        return f"{self.label}: {', '.join(said)}"

    def to_html(self) -> str:
        """The text with its words shaded by what they added for (green) or against (red) the class.

        Returns
        -------
        html : str
            An element without scripts or outside styles, followed by the table. Words are shaded for
            `analyzer="word"`; terms of several words share what they added among them.
        """
        return f'<div class="likelier">{self.shaded()}{super()._repr_html_()}</div>'

    def shaded(self) -> str:
        """The text alone, with its words shaded.

        Returns
        -------
        html : str
            A paragraph without scripts or outside styles.
        """
        sign = -1.0 if len(self.bias) == 1 and self.label == self.classes[0] else 1.0
        most = max((abs(added[self._column]) for _, _, added in self.words), default=0.0) or 1.0
        pieces, at = [], 0
        for start, end, added in self.words:
            value = sign * float(added[self._column])
            colour = FOR if value > 0 else AGAINST
            style = f"background:rgba({colour},{0.6 * abs(value) / most:.2f})"
            said = escape(f"{value:+.3g}", quote=True)
            pieces += [
                escape(self.text[at:start]),
                f'<span style="{style}" title="{said}">{escape(self.text[start:end])}</span>',
            ]
            at = end
        pieces.append(escape(self.text[at:]))
        return f'<p style="white-space:pre-wrap">{"".join(pieces)}</p>'

    def _repr_html_(self) -> str:
        return self.to_html()


def _chosen(columns: list[str], own: int, most: int = 6) -> list[int]:
    """Which columns a table shows: of many, the predicted class's and the first others."""
    if len(columns) <= most:
        return list(range(len(columns)))
    return sorted({own, *[k for k in range(len(columns)) if k != own][: most - 1]})


def _visible(term: str) -> str:
    """A term in a table: spaces and control characters can be seen."""
    return repr(term) if term != term.strip() or not term.isprintable() else term


def explained(estimator: Any, text: str) -> Explanation:
    """The explanation of one document."""
    vectorizer, model = estimator.vectorizer_, estimator.model_
    x = vectorizer.transform([text])
    W, bias = estimator.linear_weights()
    analyzed = vectorizer.build_analyzer()(text)
    column_of = _columns(estimator, sorted(set(analyzed)))
    value_of = dict(zip(x.indices.tolist(), x.data.tolist(), strict=True))
    counted: dict[str, int] = {}
    for term in analyzed:
        if column_of.get(term) in value_of:
            counted[term] = counted.get(term, 0) + 1
    terms = list(counted)
    sharing: dict[int, float] = {}  # hashed terms may share a column: by their counts
    for term in terms:
        sharing[column_of[term]] = sharing.get(column_of[term], 0.0) + counted[term]
    shares = [counted[t] / sharing[column_of[t]] * value_of[column_of[t]] for t in terms]
    at = np.array([column_of[term] for term in terms], np.intp)
    contributions = W[:, at].T * np.array(shares)[:, None] if terms else np.empty((0, len(bias)))
    label = model.predict(x)[0]
    probability = float(model.predict_proba(x).max()) if hasattr(model, "predict_proba") else None
    counts = np.array([counted[term] for term in terms], np.int64)
    each = dict(zip(terms, contributions / np.maximum(counts, 1)[:, None], strict=True))
    words = _words(vectorizer, text, each, len(bias))
    return Explanation(
        text, label, estimator.classes_, terms, counts, contributions, bias, probability, words
    )


def _columns(estimator: Any, terms: list[str]) -> dict[str, int]:
    """The column of each term that has one."""
    if estimator.n_features is None:
        known = estimator.vectorizer_.vocabulary_
        return {term: known[term] for term in terms if term in known}
    from sklearn.utils import murmurhash3_32

    hashes = [murmurhash3_32(term, seed=0) for term in terms]
    return {term: abs(int(h)) % estimator.n_features for term, h in zip(terms, hashes, strict=True)}


def _words(
    vectorizer: Any, text: str, each: dict[str, Floats], q: int
) -> tuple[tuple[int, int, Floats], ...]:
    """Where each word is in the text, and what it added: of terms of several words, its share."""
    if vectorizer.analyzer != "word":
        return ()
    prepare, ignored = vectorizer.build_preprocessor(), vectorizer.get_stop_words() or ()
    found = [
        (*match.span(), prepare(match.group())) for match in re.finditer(vectorizer.token_pattern, text)
    ]
    found = [(start, end, word) for start, end, word in found if word not in ignored]
    added = np.zeros((len(found), q))
    least, most = vectorizer.ngram_range
    for n in range(least, most + 1):
        for i in range(len(found) - n + 1):
            term = " ".join(word for _, _, word in found[i : i + n])
            if term in each:
                added[i : i + n] += each[term] / n
    return tuple((start, end, row) for (start, end, _), row in zip(found, added, strict=True))


@dataclass(frozen=True)
class TopFeatures(Displayable):
    """The terms that speak most for each class. Prints as a table.

    Attributes
    ----------
    classes : list
        The class labels.
    terms : list of list of str
        The terms of each class, the strongest first.
    weights : list of list of float
        Their weights.
    """

    classes: list[Any]
    terms: list[list[str]]
    weights: list[list[float]]

    def to_frame(self) -> Any:
        """A pandas frame with a row for each class and term.

        Returns
        -------
        frame : pandas.DataFrame
            Columns "class", "term" and "weight".
        """
        pd = optional.pandas()

        rows = [
            (label, term, weight)
            for label, terms, weights in zip(self.classes, self.terms, self.weights, strict=True)
            for term, weight in zip(terms, weights, strict=True)
        ]
        return pd.DataFrame(rows, columns=["class", "term", "weight"])

    def _parts(self) -> Iterable[Part]:
        rows = [["class", "term", "weight"]]
        for label, terms, weights in zip(self.classes, self.terms, self.weights, strict=True):
            for i, (term, weight) in enumerate(zip(terms, weights, strict=True)):
                rows.append(["" if i else str(label), _visible(term), f"{weight:.3g}"])
        yield Table(rows, left=2)


def top_terms(estimator: Any, k: int) -> TopFeatures:
    """The k terms with the largest weights for each class; of one class of two, the smallest."""
    if estimator.n_features is not None:
        raise ValueError(
            "top_features needs the terms, and hashing keeps none: fit with n_features=None. explain(text) "
            "works with hashed terms."
        )
    names = estimator.vectorizer_.get_feature_names_out()
    W, _ = estimator.linear_weights()
    W = np.vstack([-W[0], W[0]]) if len(W) == 1 else W
    best = [np.argsort(-row, kind="stable")[:k] for row in W]
    return TopFeatures(
        estimator.classes_.tolist(),
        [names[at].tolist() for at in best],
        [row[at].tolist() for row, at in zip(W, best, strict=True)],
    )
