"""What mixtures without labels share: EM from several starts, and components in place of classes."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from likelier import optional
from likelier.data import Arrays, Source
from likelier.data.chunk import single
from likelier.data.transforms import Units, log_units, source_in_units
from likelier.display import Displayable, Part, Table
from likelier.em import (
    EMProblem,
    EMResult,
    EMTrace,
    FittedMixture,
    Selection,
    Stepwise,
    StoppingRule,
    Weight,
)
from likelier.engines import SideState, run
from likelier.engines.run import numbered
from likelier.estimators import validation
from likelier.estimators.base import (
    NOT_ROUTED,
    CallbackSupportMixin,
    Names,
    Step,
    attributes_of,
    column_names,
    resumable,
    steps,
)
from likelier.estimators.generative import mixture_init
from likelier.estimators.generative.base import GenerativeModel, least, scaling_of, units_for
from likelier.estimators.generative.outliers import ExpectedModel, RowSampling, joined, scored
from likelier.families import Family
from likelier.model import Bayes
from likelier.warning_location import outside


class MixtureCandidate(NamedTuple):
    """A mixture that may be fitted."""

    M: int
    shape: str  # of its covariances; "": of another family
    family: Family


class MixtureTrials(Displayable, dict[str, Any]):
    """Mixtures that were tried, as a dict of columns; prints as a table with the chosen one marked."""

    def __init__(self, columns: dict[str, Any], criterion: str) -> None:
        super().__init__(columns)
        self.criterion = criterion  # whose least value decides: "bic" or "aic"

    def _parts(self) -> Iterator[Part]:
        best = int(np.argmin(self[self.criterion]))
        scores = [name for name in ("bic", "aic") if name in self]
        head = [
            "components",
            "covariance",
            "log-likelihood",
            *(name.upper() for name in scores),
            "converged",
        ]
        rows = [["", *head]]
        for i, M in enumerate(self["n_components"]):
            rows.append(
                [
                    "*" if i == best else "",
                    str(M),
                    self["covariance_type"][i],
                    f"{self['log_likelihood'][i]:.6g}",
                    *(f"{self[name][i]:.8g}" for name in scores),
                    "yes" if self["converged"][i] else "no",
                ]
            )
        yield Table(rows)
        yield f"* the least {self.criterion.upper()}; the log-likelihood is per row"

    def __repr__(self) -> str:
        return str(self)

    def to_frame(self) -> Any:
        """The same as a pandas DataFrame."""
        pd = optional.pandas()

        return pd.DataFrame(dict(self))


class Components(CallbackSupportMixin, DensityMixin, GenerativeModel):
    """p(x) = Σ_m w_m p_m(x), the components of any family, by EM.

    A subclass says which mixtures are tried, and what of the one that is best is shown.
    """

    n_components: int
    tol: float
    max_iter: int
    n_init: int
    init_params: str
    random_state: Any
    verbose: int
    verbose_interval: int

    __metadata_request__fit: ClassVar[dict[str, str]] = NOT_ROUTED
    _model: FittedMixture
    _starts_at_random = True
    _smoothed = False  # whether families have pseudo-counts of their own
    _scaled = False  # whether starts measure distances in standardised columns

    @abstractmethod
    def _candidates(self, names: Names) -> list[MixtureCandidate]:
        """The mixtures to choose from; hyper-parameters are checked here."""

    def _adjusted(self, start: Bayes, candidate: MixtureCandidate) -> Bayes:
        """The start, with what the user has given in its place."""
        return start

    def _given(self, candidate: MixtureCandidate, p: int) -> Bayes | None:
        """The start, where the user has given all of it."""
        return None

    def _from_before(self, candidate: MixtureCandidate) -> FittedMixture | None:
        """Where an earlier fit came to, if this one is to continue there."""
        return None

    def _floor_acts(self, params: Any) -> bool:
        return False

    # ---- fitting -----------------------------------------------------------------------------------
    @resumable
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit to rows without labels, by EM from `n_init` starts.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Training rows, in memory, as a Dask collection, or as a source of `likelier.scan`, which is read
            in chunks. NaN and None are missing values.
        y : None
            Not used; present for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the same as the row given twice. None: all weights are 1.
        checkpoint : str or path, default=None
            File in which the progress is saved until the fit is complete. If the process stops, the same
            call resumes from it.

        Returns
        -------
        self : estimator
            The fitted estimator itself.

        Warns
        -----
        ConvergenceWarning
            If EM did not converge within `max_iter` steps.
        """
        source = validation.unlabelled(self, X, sample_weight, known=False)
        candidates = self._candidates(source.names)
        with validation.naming(source):
            units, sample = self._units(source, candidates), RowSampling(source)
            rows = counted_in(numbered(source), units)
            model, statistics = self._best(rows, candidates, sample.beside)
            model = model.counted_in(units, mean_log_unit(source, units), _weight(source))
            counted = (
                None
                if statistics is None
                else ExpectedModel(self._family_of(model, source.names), statistics.stats)
            )
            model = replace(model, typical=sample.typical(model, counted), single=single(source))
        self._say(model, statistics, source.names)
        return self._publish(model, statistics, np.arange(len(model.log_prior)), source.names)

    def _units(self, source: Source, candidates: list[MixtureCandidate]) -> Units | None:
        """Of rows in memory: starts from distances between rows need one unit for all columns."""
        if self._given_starts() or not isinstance(source, Arrays):
            return None
        free = least(scaling_of(candidate.family) for candidate in candidates)
        return units_for(source, free if self._scaled else least([free, "together"]))

    def _given_starts(self) -> bool:
        """Whether users have given some of the start, in the units of the columns."""
        return False

    def _best(
        self, source: Source, candidates: list[MixtureCandidate], beside: SideState | None
    ) -> tuple[FittedMixture, Stepwise | None]:
        rows = mixture_init.rows_for(source)
        X = mixture_init.cells_of(rows)
        found = []
        for candidate in candidates:
            mixture_init.check_enough(X, candidate.M)
            found.append(self._climbed(source, rows, candidate, beside))
        table, at = None, 0
        if len(found) > 1:
            table = self._compared(source, candidates, found)
            at = self._chosen(table)
        model, stats, way = found[at]
        kept = None if stats is None else Stepwise(stats)
        shape = candidates[at].shape
        return FittedMixture(model.params, model.log_prior, shape=shape, way=way, selection=table), kept

    def _climbed(
        self, source: Source, rows: Arrays, candidate: MixtureCandidate, beside: SideState | None
    ) -> EMResult:
        """The best of several starts."""
        M, family = candidate.M, candidate.family
        problem = EMProblem(source, family, M, beside=beside)
        random_state = check_random_state(self.random_state)
        before = self._from_before(candidate)
        best: EMResult | None = None
        for number in range(1 if before is not None else self.n_init):
            self._print(f"start {number + 1} of {self.n_init}, {M} components {candidate.shape}")
            start: Bayes | None = before if before is not None else self._given(candidate, source.p)
            if start is None:
                args = (self.init_params, rows, family, M, random_state)
                start = self._adjusted(
                    problem.maximise(mixture_init.started(*args, scaled=self._scaled)), candidate
                )
            with steps(self, "em-iter") as step:
                watch = self._watch if step is None else partial(self._tell, step, candidate, source.names)
                climb = StoppingRule(self.tol, self.max_iter, self._floor_acts, self._smoothed, watch)
                end = climb(problem, start, -np.inf if before is None else before.way.last)
            if best is None or end.way.last > best.way.last:
                best = end
        assert best is not None
        check_sound(best)
        return best

    def _compared(
        self, source: Source, candidates: list[MixtureCandidate], found: list[EMResult]
    ) -> Selection:
        """BIC = -2 ln p(rows) + d ln n (Schwarz 1978), AIC with 2 d, d the number of free parameters.

        p is that of the fits as they are: EM knows it as it was before its last step, so it takes a pass.
        """
        pairs, n = list(zip(candidates, found, strict=True)), _weight(source)
        mean = np.array(
            [EMProblem(source, one.family, one.M).log_likelihood(end.model) for one, end in pairs]
        )
        d = np.array([self._free(one.shape, one.M, end.model) for one, end in pairs])
        return Selection(
            np.array([one.M for one in candidates]),
            tuple(one.shape for one in candidates),
            mean,
            -2 * n * mean + d * np.log(n),
            np.array([end.way.converged for end in found]),
            -2 * n * mean + 2 * d,
        )

    def _chosen(self, table: Selection) -> int:
        """Which of several mixtures is kept."""
        return int(table.bic.argmin())

    def _free(self, shape: str, M: int, model: Bayes) -> int:
        """How many parameters a mixture has, where there are several to choose from."""
        raise NotImplementedError

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the mixture with a batch of rows, by stepwise EM.

        The first batch is fitted as by `fit`. After t more batches, a batch has the weight (t + 2)^-0.7 and
        all earlier ones together the rest (Cappé and Moulines 2009). The result depends on the order of the
        batches and follows changes in the data; it differs from one fit to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Training rows, in memory, as a Dask collection, or as a source of `likelier.scan`, which is read
            in chunks. NaN and None are missing values.
        y : None
            Not used; present for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the same as the row given twice. None: all weights are 1.

        Returns
        -------
        self : estimator
            The fitted estimator itself.

        Raises
        ------
        ValueError
            If the model keeps no statistics: it came from `marginal` or `condition`, or was saved without
            them.
        """
        if "_model" not in vars(self):
            return self.fit(X, y, sample_weight)
        if self._statistics is None:
            raise ValueError(
                f"partial_fit continues from statistics, and this {type(self).__name__} keeps none: it "
                "came from marginal() or condition(), was saved without them, or took no step (max_iter=0)."
            )
        source = validation.unlabelled(self, X, sample_weight, known=True)
        model = self._model
        names = column_names(self)
        family, M = self._family_of(model, names), len(model.log_prior)
        inside = replace(model, units=None)  # as statistics are counted

        before = scored(model.typical)
        with validation.naming(source):
            weight, sample = _weight(source), RowSampling(source, before)
            validation.weighty(weight)
            rows = counted_in(numbered(source), model.units)
            problem = EMProblem(rows, family, M, beside=sample.beside)
            statistics, mean = self._statistics.step(problem, inside, weight)
            mean -= mean_log_unit(source, model.units)
        if not (statistics.finite() and np.isfinite(mean)):
            raise ValueError(
                "Input X or sample_weight contains values so large that their squares overflow, or rows "
                "that no component allows: rescale such columns, or leave such rows out."
            )
        way = EMTrace(
            np.append(model.way.log_likelihood, mean),
            np.append(model.way.floored, False),
            model.way.converged,
            f"{statistics.batches} batches were taken in by partial_fit",
        )
        new = EMProblem(source, family, M).maximise(statistics.stats)
        blend = FittedMixture(
            new.params, new.log_prior, shape=model.shape, way=way, selection=model.selection
        )
        blend = replace(blend, units=model.units, single=model.single and single(source))
        scale = float(statistics.n.sum() - self._statistics.n.sum()) / weight
        now = sample.typical(blend, ExpectedModel(family, statistics.stats, scale))
        blend = replace(blend, typical=joined([before, now]))
        return self._publish(blend, statistics, self._target, names)

    @abstractmethod
    def _family_of(self, model: FittedMixture, names: Names) -> Family:
        """The family that a fitted model is of."""

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, and return the most probable component of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Training rows. NaN and None are missing values.
        y : None
            Not used; present for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the same as the row given twice. None: all weights are 1.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Numbers of the components, from 0 on.
        """
        return self.fit(X, y, sample_weight).predict(X)

    def merge(self, *others: Any) -> NoReturn:
        """Not supported for mixtures: each step of EM depends on all rows.

        Use `partial_fit`, or fit to all rows; a source of `likelier.scan` can have many files.

        Parameters
        ----------
        *others : estimator
            Not used.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError(
            f"{type(self).__name__} cannot be merged: each step of EM depends on all rows. Fit to all of "
            "them (a source from scan may be of many files), or take them in by partial_fit."
        )

    # ---- answers -----------------------------------------------------------------------------------
    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows, the mean of ln p(x).

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or source of shape (n_samples, n_features)
            Rows. NaN and None are missing values. A source is the result of `likelier.scan`; a Dask
            collection gives a lazy result.
        y : None
            Not used; present for compatibility with scikit-learn.

        Returns
        -------
        score : float
            Mean of `score_samples(X)`.
        """
        return float(self.score_samples(X).mean())

    def sample(
        self, n_samples: int = 1, y: Any = None, random_state: Any = None, *, output: str | None = None
    ) -> tuple[Any, NDArray[Any]]:
        """Draw new rows from the mixture, or from given components.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        y : int or array-like of shape (n_samples,), default=None
            Component to draw from, or one for each row. None: components are drawn by their weights.
        random_state : int, RandomState or None, default=None
            Seed. None: the `random_state` of the estimator.
        output : {"pandas", "polars", "pyarrow"} or None, default=None
            Library of the table to return; None: an array.

        Returns
        -------
        X : ndarray or DataFrame of shape (n_samples, n_features)
            The new rows.
        y : ndarray of shape (n_samples,)
            The component of each row.
        """
        seed = self.random_state if random_state is None else random_state
        return super().sample(n_samples, y, seed, output=output)

    def _shown(self, model: FittedMixture, statistics: Any | None, target: Any) -> dict[str, Any]:
        way = model.way
        shown = {
            "weights_": model.prior / model.prior.sum(),
            "n_features_in_": model.params.shape[1],
            "converged_": way.converged,
            "n_iter_": len(way.log_likelihood),
            "lower_bound_": way.last,
            "lower_bounds_": way.log_likelihood.tolist(),
            "trace_": {"log_likelihood": way.log_likelihood, "floored": way.floored},
            "stop_reason_": way.reason,
        }
        if model.selection is not None:
            table = model.selection
            columns = {
                "n_components": table.n_components,
                "covariance_type": list(table.covariance_type),
                "log_likelihood": table.log_likelihood,
                "bic": table.bic,
                "converged": table.converged,
            }
            if table.aic is not None:
                columns["aic"] = table.aic
            shown["selection_"] = MixtureTrials(columns, getattr(self, "select", None) or "bic")
        return shown

    def _say(self, model: FittedMixture, statistics: Stepwise | None, names: Names) -> None:
        if not model.way.converged and self.max_iter > 0:
            warnings.warn(
                "Best performing initialization did not converge. Try different init parameters, or "
                f"increase max_iter, tol, or check for degenerate data. ({model.way.reason}.)",
                ConvergenceWarning,
                stacklevel=outside(),
            )
        self._warn(model, statistics, None, names)

    def _remarks(self, model: FittedMixture, statistics: Any, target: Any, names: Names) -> Iterator[str]:
        if statistics is None:
            return
        few = collapsed(model, statistics)
        if len(few):
            yield (
                f"component {', '.join(map(str, few[:5]))} has collapsed: it has the weight of less than "
                "a row. Use fewer components, or more starts (n_init)."
            )

    def _tell(
        self,
        told: Step,
        candidate: MixtureCandidate,
        names: Names,
        step: int,
        log_likelihood: float,
        at: Bayes,
    ) -> None:
        """The same to callbacks, which may ask for the mixture so far."""
        self._watch(step, log_likelihood, at)
        so_far = FittedMixture(at.params, at.log_prior, shape=candidate.shape)
        told(
            lambda: attributes_of(
                self,
                self._shown(so_far, None, np.arange(candidate.M)),
                so_far,
                None,
                np.arange(candidate.M),
                names,
            )
        )

    def _watch(self, step: int, log_likelihood: float, at: Bayes) -> None:
        if self.verbose and step % self.verbose_interval == 0:
            self._print(f"  step {step}: mean log-likelihood {log_likelihood:.6f}")

    def _print(self, line: str) -> None:
        if self.verbose:
            print(line)


def collapsed(model: FittedMixture, statistics: Any) -> NDArray[np.intp]:
    """The components that have less than half a row of the mean weight: its scale does not matter."""
    rows = max(1, model.typical.rows)
    return np.flatnonzero(statistics.n < 0.5 * statistics.n.sum() / rows)


def check_sound(end: EMResult) -> None:
    """Refuse what is no mixture."""
    if end.stats is not None and not (end.stats.finite() and np.isfinite(end.way.last)):
        raise ValueError(
            f"EM failed ({end.way.reason}): Input X or sample_weight contains values so large that their "
            "squares overflow, or rows that no component allows. Rescale such columns, use fewer "
            "components, or more starts (n_init)."
        )


def check_climb(estimator: Any) -> None:
    """The hyper-parameters of EM itself."""
    validation.number("tol", estimator.tol, 0.0)
    validation.number("max_iter", estimator.max_iter, 0, whole=True)
    validation.number("n_init", estimator.n_init, 1, whole=True)


def check_starts(estimator: Any, allowed: tuple[str, ...]) -> None:
    """Those of the starts and of what is printed."""
    check_climb(estimator)
    validation.number("verbose_interval", estimator.verbose_interval, 1, whole=True)
    if estimator.init_params not in allowed:
        known = ", ".join(map(repr, allowed))
        raise ValueError(f"init_params must be one of {known}; got {estimator.init_params!r}.")


def counted_in(source: Source, units: Units | None) -> Source:
    """The rows in these units, if there are any."""
    return source if units is None else source_in_units(source, units)


def mean_log_unit(source: Source, units: Units | None) -> float:
    """ln of the units of a row, on average."""
    if units is None:
        return 0.0
    assert isinstance(source, Arrays)
    return float(np.average(log_units(source.X, units), weights=source.w))


def _weight(source: Source) -> float:
    """The weight of all rows."""
    if isinstance(source, Arrays):
        return float(len(source) if source.w is None else source.w.sum())
    return run(source, Weight).total
