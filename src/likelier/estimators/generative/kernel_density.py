"""Kernel density classification: a kernel about every row of a class."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier import links
from likelier.array_types import Floats
from likelier.data import Source
from likelier.data.row_numbers import keys_of
from likelier.estimators import validation
from likelier.estimators.base import Names
from likelier.estimators.generative.base import prior_of
from likelier.estimators.generative.one_pass import OnePassClassifier
from likelier.estimators.generative.outliers import LazyReferenceScores
from likelier.estimators.one_pass import needs_statistics
from likelier.families import LOG_2PI, Kernels, ProductKernel
from likelier.families.kernel import NAMES, Spread, left_out_scores
from likelier.model import Bayes, log_of
from likelier.states import ReferenceScores, StoredRows
from likelier.states.rows import MOST

TRIED = 500  # rows on which a fit is compared with Gaussians
WORSE = 0.5  # nats a row by which Gaussians may be better without a warning


class LeaveOneOut(NamedTuple):
    """Leave-one-out evaluation: each row predicted from all others, at the bandwidths of all rows."""

    log_likelihood: float  # the mean of ln p(x | C_y)
    log_loss: float  # the mean of -ln p(C_y | x)
    error: float  # the share of rows whose class is not the likeliest
    rows: int  # on how many different rows that was tried


class KernelDensityClassifier(OnePassClassifier):
    """Kernel density estimate for each class: p(x | C_k) = 1/n_k Σ_i Π_j N(x_j; x_ij, h_kj²).

    All training rows are kept, and predictions are the exact sums over them, up to rounding. (For a single
    column with more than 1024 values, up to 1e-6 of the largest density.)

    Parameters
    ----------
    bandwidth : float or {"scott", "silverman", "cv"}, default="scott"
        Standard deviation h of the kernels. A number is for all columns, as in scikit-learn's
        KernelDensity. "scott", n_k^(-1/(p+4)), and "silverman", (n_k (p+2)/4)^(-1/(p+4)), are multiplied by
        the standard deviation of each class in each column; "cv" finds the factor with the largest
        leave-one-out likelihood.
    kernel : {"gaussian"}, default="gaussian"
        Form of the kernels.
    priors : array-like of shape (n_classes,) or dict, default=None
        Class priors, in the order of `classes_` or as {label: prior}; they must sum to 1. None: the class
        frequencies of the training rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in sorted order.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of the training rows of each class. Missing on models without statistics, such
        as those returned by `condition` and `marginal`.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probability of each class.
    bandwidth_ : ndarray of shape (n_classes, n_features_in_)
        Bandwidth of each column in each class.
    means_ : ndarray of shape (n_classes, n_features_in_)
        Mean of each class.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Column names seen in `fit`; only if X has names.

    See Also
    --------
    QuadraticDiscriminantAnalysis : Gaussian classes; needs fewer rows.
    MixtureDiscriminantAnalysis : A mixture for each class.
    BayesClassifier : Class densities of any other kind.

    References
    ----------
    .. [1] Scott, D. W. (1992). Multivariate Density Estimation. Wiley.
    .. [2] Silverman, B. W. (1986). Density Estimation for Statistics and Data Analysis. Chapman and Hall.

    Examples
    --------
    >>> from likelier import KernelDensityClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelDensityClassifier().fit(X, y)
    >>> model.predict(X[[0, 70]])
    array([0, 1])
    >>> round(model.leave_one_out().error, 3)
    0.033
    """

    assumes = "generative; smooth classes of any shape; needs many rows where columns are many"

    def __init__(self, bandwidth: Any = "scott", *, kernel: str = "gaussian", priors: Any = None) -> None:
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.priors = priors

    def _family(self, classes: NDArray[Any]) -> ProductKernel:
        if self.kernel != "gaussian":
            raise ValueError(f"kernel must be 'gaussian'; got {self.kernel!r}.")
        if isinstance(self.bandwidth, str):
            if self.bandwidth not in NAMES:
                known = ", ".join(map(repr, NAMES))
                raise ValueError(
                    f"bandwidth must be a number > 0 or one of {known}; got {self.bandwidth!r}."
                )
            return ProductKernel(self.bandwidth)  # type: ignore[arg-type]
        least = float(np.finfo(np.float64).tiny)
        return ProductKernel(
            validation.number("bandwidth", self.bandwidth, least, float(np.finfo(float).max))
        )

    # ---- how likely the training rows are: each under all others ------------------------------------
    def _sampling(self, source: Source, survey: Any, earlier: Any) -> None:
        """No sample is needed: all rows are kept."""

    def _typical(self, model: Bayes, statistics: StoredRows, *others: Any) -> LazyReferenceScores:
        """The scores of all rows, put off until they are asked for.

        Under its own kernel a row is likelier than any other row can be, the more the more columns.
        """
        return LazyReferenceScores(len(statistics.w), partial(self._left_out_scores, model, statistics))

    def _left_out_scores(self, model: Bayes, statistics: StoredRows) -> ReferenceScores:
        assert isinstance(model.params, Kernels)
        codes, w, Z = left_out_scores(statistics, model.params.h, MOST)
        scores = np.empty(len(codes))
        links.log_sum_exp.apply(Z + self._log_prior_without(model, statistics, codes, w), scores)
        return ReferenceScores(keys_of(np.arange(len(codes)), 0), scores, w, len(statistics.w))

    def _model_of(self, statistics: Any, classes: NDArray[Any]) -> Bayes:
        prior = prior_of(self.priors, statistics.n, classes)
        return Bayes(self._family(classes).estimate(statistics), log_of(prior))

    def _shown(self, model: Bayes, statistics: Any | None, target: NDArray[Any]) -> dict[str, Any]:
        params = model.params
        assert isinstance(params, Kernels)
        shown = super()._shown(model, statistics, target)
        shown |= {"bandwidth_": params.h, "means_": params.expected, "class_prior_": model.prior}
        if statistics is not None:
            shown["class_count_"] = statistics.n
        return shown

    def leave_one_out(self, max_rows: int = 5000) -> LeaveOneOut:
        """Evaluate each training row by the density of all others, without refitting.

        Parameters
        ----------
        max_rows : int, default=5000
            If there are more distinct rows, only this many are evaluated.

        Returns
        -------
        result : LeaveOneOut
            Named tuple of `log_likelihood` (mean of ln p(x | C_y)), `log_loss`, `error` (misclassified
            share) and `rows` (number of rows evaluated).

        Raises
        ------
        ValueError
            If the model keeps no rows: it came from `marginal` or `condition`, or was saved without them.

        Examples
        --------
        >>> from likelier import KernelDensityClassifier
        >>> from sklearn.datasets import load_iris
        >>> model = KernelDensityClassifier().fit(*load_iris(return_X_y=True))
        >>> model.leave_one_out().rows
        149
        """
        validation.fitted(self)
        needs_statistics(self, "leave_one_out")
        most = int(validation.number("max_rows", max_rows, 1, whole=True))
        assert isinstance(self._model.params, Kernels)
        codes, w, Z = left_out_scores(self._statistics, self._model.params.h, most)
        own = np.arange(len(codes)), codes
        inside = Z[own]
        Z = Z + self._log_prior_without(self._model, self._statistics, codes, w)
        best = Z.argmax(axis=1)
        links.log_softmax.apply(Z, Z)
        wrong = np.where(np.isneginf(inside), True, best != codes)
        loss = np.where(np.isneginf(inside), np.inf, -Z[own])
        likelihood, log_loss, error = (float(np.average(v, weights=w)) for v in (inside, loss, wrong))
        return LeaveOneOut(likelihood, log_loss, error, len(codes))

    def _log_prior_without(
        self, model: Bayes, statistics: StoredRows, codes: NDArray[np.int32], w: Floats
    ) -> Floats:
        """ln p(C_k) without each row, (n, K), or as it is given, (K,)."""
        if self.priors is not None:
            return model.log_prior
        n = np.repeat(statistics.n[None, :], len(codes), axis=0)
        n[np.arange(len(codes)), codes] -= np.minimum(w, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(np.maximum(n, 0.0)) - np.log(n.sum(axis=1, keepdims=True)))

    def _remarks(self, model: Bayes, statistics: Any, target: NDArray[Any], names: Names) -> Iterator[str]:
        yield from super()._remarks(model, statistics, target, names)
        spread = Spread.of(*statistics.moments())
        if isinstance(self.bandwidth, str):
            yield from _still(spread, statistics.n > 0, target, names)
        params = model.params
        assert isinstance(params, Kernels)
        behind = _behind_gaussians(statistics, params, spread)
        if behind > WORSE:
            few = f"{statistics.n.sum():g} rows are few for kernels in {params.shape[1]} columns"
            yield (
                f"Gaussian classes describe these rows better, by {behind:.2g} nats a row (ln p of rows "
                f"left out): {few}, or the bandwidth does not suit them. Take fewer columns, more rows, "
                "bandwidth='cv', or a model of covariances (QuadraticDiscriminantAnalysis)."
            )


def _still(spread: Spread, seen: NDArray[np.bool_], target: NDArray[Any], names: Names) -> Iterator[str]:
    """Columns that do not vary, in a class or at all."""
    still = spread.borrowed & ~spread.constant & seen[:, None]
    if still.any():
        k = int(still.any(axis=1).argmax())
        columns = np.flatnonzero(still[k])
        yield (
            f"in class {target[k]}, {len(columns)} of {still.shape[1]} columns do not vary "
            f"({validation.named(names, columns)}): their bandwidth there is that of the deviation of all "
            "rows. Drop columns that are constant, or give the bandwidth as a number."
        )
    if spread.constant.any():
        yield (
            f"column {validation.named(names, np.flatnonzero(spread.constant))} does not vary at all: its "
            "bandwidth is 1 in every class, so that it says nothing. Drop it."
        )


def _behind_gaussians(statistics: StoredRows, params: Kernels, spread: Spread) -> float:
    """By how much a Gaussian per class is better: nats a row, each row evaluated by the others.

    That of the Gaussians by Akaike's correction: their mean ln p less the number of their parameters a row.
    A single column is never warned of, nor classes with fewer rows than a Gaussian needs.
    """
    p = params.shape[1]
    judgeable = (statistics.n > p + 1) & ~spread.borrowed.any(axis=1)
    if p < 2 or not judgeable.any():
        return 0.0
    codes, w, Z = left_out_scores(statistics, params.h, TRIED)
    kernels = Z[np.arange(len(codes)), codes]
    behind = []
    for k in np.flatnonzero(judgeable & np.isin(np.arange(len(Z[0])), codes)):
        gaussian = _gaussian(statistics, int(k), spread)
        behind.append((statistics.n[k], gaussian - np.average(kernels[codes == k], weights=w[codes == k])))
    if not behind:
        return 0.0
    n, gap = np.array(behind).T
    return float(np.average(gap, weights=n))


def _gaussian(statistics: StoredRows, k: int, spread: Spread) -> float:
    """The mean of ln N(x; m, Σ) over a class, corrected: the better of a full and a diagonal Σ."""
    sd, n = spread.sd[k], statistics.n[k]
    p = len(sd)
    found = -0.5 * (p * (LOG_2PI + 1) + 2 * np.log(sd).sum()) - 2 * p / n
    own = statistics.codes == k
    X, w = statistics.X[own], statistics.w[own]
    if n > 2 * p and not np.isnan(X).any():
        with np.errstate(over="ignore", invalid="ignore"):  # beyond all numbers there is no full Σ
            z = (X - np.average(X, axis=0, weights=w)) / sd
            sign, logdet = np.linalg.slogdet((w[:, None] * z).T @ z / n)
        if sign > 0:
            full = -0.5 * (p * (LOG_2PI + 1) + 2 * np.log(sd).sum() + logdet) - p * (p + 3) / 2 / n
            found = max(found, full)
    return float(found)
