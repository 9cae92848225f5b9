"""What every linear classifier answers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier import links
from likelier.estimators import door
from likelier.estimators.collections import by_block
from likelier.estimators.decisions import Decisions
from likelier.estimators.shift import adapted_to, warn_of_priors
from likelier.links import Link
from likelier.model import log_of

Floats = NDArray[np.float64]


class LinearScores:
    """Labels and scores; a subclass asks its own scores (`_ask`)."""

    _takes_blocks = True  # of chunks, in place of X
    classes_: Any

    def _ask(self, X: Any, link: Link) -> NDArray[Any]:
        raise NotImplementedError

    @by_block
    def decision_function(self, X: Any) -> Floats:
        """The score of each class, (n, K); of two classes their difference, (n,)."""
        Z = self._ask(X, links.identity)
        return np.asarray(Z[:, 1] - Z[:, 0]) if len(self.classes_) == 2 else Z

    @by_block
    def predict(self, X: Any) -> NDArray[Any]:
        """The label of the largest score."""
        found = self._ask(X, links.argmax)  # refuses to answer before `fit`
        return np.asarray(self.classes_[found])


class LinearProbabilities(Decisions, LinearScores):
    """And probabilities: the softmax of the scores.

    Other class priors turn p(C_k | x) into p(C_k | x) π_k / π⁰_k, made to sum to 1, π⁰ being the shares of
    the classes among the training rows.
    """

    @by_block
    def predict(self, X: Any, priors: Any = None) -> NDArray[Any]:
        """The label of the largest score; under other class priors if they are given."""
        if priors is None:
            return super().predict(X)
        best = self._reweighed(X, priors).argmax(axis=1)  # refuses to answer before `fit`
        return np.asarray(self.classes_[best])

    @by_block
    def predict_proba(self, X: Any, priors: Any = None) -> Floats:
        """p(C_k | x), (n, K); under other class priors, K of them or {label: prior}, if they are given."""
        if priors is None:
            return self._ask(X, links.softmax)
        Z = self._reweighed(X, priors)
        links.softmax.apply(Z, Z)
        return Z

    @by_block
    def predict_log_proba(self, X: Any, priors: Any = None) -> Floats:
        """ln p(C_k | x), (n, K); under other class priors if they are given."""
        if priors is None:
            return self._ask(X, links.log_softmax)
        Z = self._reweighed(X, priors)
        links.log_softmax.apply(Z, Z)
        return Z

    def adapt_priors(
        self, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
    ) -> Floats:
        """The class priors (K,) under which rows without labels are likeliest; pass them to predict_proba.

        For rows in which the classes come as before, but not as often (label shift); it needs the
        posteriors alone (Saerens, Latinne & Decaestecker 2002), and they must be calibrated. The likelihood
        per row is within `tol` of the best. The model stays as it is.
        """
        door.number("tol", tol, 0.0)
        most = int(door.number("max_iter", max_iter, 1, whole=True))
        logs = self._ask(X, links.log_softmax)
        w = door.weights_of(sample_weight, len(logs))
        if w is not None:
            door.weighty(w)
        found = adapted_to(logs, self._training_shares(), w, tol, most)
        warn_of_priors(self, found, tol, most)
        return found.prior

    def _reweighed(self, X: Any, priors: Any) -> Floats:
        """Scores whose softmax are the posteriors under other priors."""
        Z = self._ask(X, links.log_softmax)
        new = door.priors_of(priors, len(self.classes_), classes=self.classes_)
        return np.asarray(Z + log_of(new) - log_of(self._training_shares()))

    def _training_shares(self) -> Floats:
        """(K,) of the classes, by weight, among the rows of the fit."""
        n = getattr(getattr(self, "_statistics", None), "n", None)
        if n is None:
            raise ValueError(
                f"Other priors are relative to the class frequencies of the training rows, which this "
                f"{type(self).__name__} does not keep: use a LogisticRegression that was fitted to them, "
                "or saved with its statistics."
            )
        return np.asarray(n / n.sum())
