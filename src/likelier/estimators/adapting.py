"""Class priors of rows without labels, by classifiers that know posteriors alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.estimators import door
from likelier.estimators.shift import adapted_to, warn_of_priors
from likelier.estimators.weighing import weights_by_class

Floats = NDArray[np.float64]


class Adapting:
    """`adapt_priors` of whatever has `predict_log_proba`; a subclass counts its rows (`_class_totals`)."""

    predict_log_proba: Any

    def adapt_priors(
        self, X: Any, *, sample_weight: Any = None, tol: float = 1e-10, max_iter: int = 1000
    ) -> Floats:
        """The class priors (K,) under which rows without labels are likeliest.

        For rows in which the classes come as before, but not as often (label shift); it needs the
        posteriors alone (Saerens, Latinne & Decaestecker 2002), and they must be calibrated. The likelihood
        per row is within `tol` of the best. The model stays as it is.
        """
        door.number("tol", tol, 0.0)
        most = int(door.number("max_iter", max_iter, 1, whole=True))
        logs = np.asarray(self.predict_log_proba(X))
        w = door.weights_of(sample_weight, len(logs))
        if w is not None:
            door.weighty(w)
        found = adapted_to(logs, self._training_shares(), w, tol, most)
        warn_of_priors(self, found, tol, most)
        return found.prior

    def _class_totals(self) -> Floats | None:
        """(K,), the weight of each class's rows; None: it is not known."""
        raise NotImplementedError

    def _training_shares(self) -> Floats:
        """(K,) of the classes, by weight, class_weight included, among the rows that were learned from."""
        n = self._class_totals()
        if n is None:
            raise ValueError(
                f"Other priors are relative to the class frequencies of the training rows, which this "
                f"{type(self).__name__} does not keep: fit it anew, or save it with its statistics."
            )
        factor = weights_by_class(getattr(self, "class_weight", None), self.classes_, n)  # type: ignore[attr-defined]
        shares = n if factor is None else n * factor
        return np.asarray(shares / shares.sum())
