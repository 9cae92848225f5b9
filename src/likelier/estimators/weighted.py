"""Classifiers whose model is weights: what they show and answer, however the weights were come by."""

from collections.abc import Iterator
from typing import Any, Self

from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from likelier.estimators import door
from likelier.estimators.answers import LinearScores
from likelier.estimators.generative import Contributions
from likelier.estimators.linear import LinearClassifier
from likelier.estimators.publishing import Names, Publishing
from likelier.estimators.scoring import Scoring
from likelier.estimators.weights import Weights, by_class
from likelier.links import Link
from likelier.model import ask


class Weighted(LinearScores, Scoring, Publishing):
    """z = W x + b; two classes are one row of W."""

    _model: Weights
    _single_answers = frozenset({"predict_proba", "predict_log_proba", "decision_function"})
    _target: NDArray[Any]  # the classes
    _statistics: Any  # what more than answers needs: `summary`, learning on
    n_features_in_: int
    coef_: Any
    intercept_: Any

    def _shown(self, model: Weights, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        return {"classes_": target, "n_features_in_": model.W.shape[1]} | model.shown

    def _remarks(self, model: Any, statistics: Any, target: Any, names: Names) -> Iterator[str]:
        yield from ()

    # ---- answers -----------------------------------------------------------------------------------
    def _ask(self, X: Any, link: Link) -> NDArray[Any]:
        door.fitted(self)
        rows = door.known_rows(self, X)
        with door.naming(rows):
            return ask(self._written().scores, rows, link).out

    def _written(self) -> Weights:
        """The model; as in scikit-learn, `coef_` and `intercept_` may have been written to."""
        if "coef_" not in vars(self):  # weights that vote are not shown as one
            return self._model
        return self._model.assigned(self.coef_, self.intercept_)

    def sparsify(self) -> Self:
        """Show `coef_` as a sparse matrix; answers do not change."""
        door.fitted(self)
        self.coef_: Any = csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Show `coef_` as an array again."""
        door.fitted(self)
        self.coef_ = self._model.shown["coef_"]
        return self

    def to_linear(self) -> LinearClassifier:
        """The weights alone, as a classifier that predicts the same."""
        door.fitted(self)
        model = self._written()
        return LinearClassifier(
            model.W, model.intercept, self.classes_, getattr(self, "feature_names_in_", None)
        )

    def contributions(self, X: Any) -> Contributions:
        """What each column adds to each class's score, (n, K, p), beside a base (K,): the intercepts.

        Of two classes the first scores 0 throughout.
        """
        door.fitted(self)
        rows = door.dense_rows(self, X)
        model = self._written()
        W, b = by_class(model.W, model.intercept)
        return Contributions.of(self, rows[:, None, :] * W, b)
