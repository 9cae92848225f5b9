"""What users ask of standard errors: their kind, and joint tests of the coefficients of several columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats
from likelier.display import Displayable, Part
from likelier.inference import least_squares
from likelier.inference.least_squares import COVARIANCES, Covariance, kind_of_errors

Terms = Mapping[str, NDArray[np.intp]]  # the numbers of the columns, by the name of the term


@dataclass(frozen=True)
class TermTests(Displayable):
    """The result of `term_tests()`: for each term, whether all of its coefficients are 0.

    Wald's test takes the covariance of the coefficients; the likelihood-ratio test fits the model without
    the term. Under least squares Wald's statistic is an F, and without robust errors that of the two
    models' sums of squares.

    Attributes
    ----------
    names : tuple of str
        The names of the terms.
    df : ndarray
        The number of coefficients (that the rows determine) of each.
    wald : ndarray
        Wald's statistics: χ² on `df` degrees of freedom, or F on `df` and `residual_df`.
    wald_p : ndarray
        Their p-values.
    lr : ndarray
        The χ² statistics of the likelihood-ratio tests; NaN with robust errors or without rows.
    lr_p : ndarray
        Their p-values.
    residual_df : float
        The second degrees of freedom of F; infinite where Wald's statistic is a χ².
    cov : {"classical", "HC0", "HC1", "HC2", "HC3", "cluster"}
        The estimator of the covariance of the coefficients.
    clusters : int
        The number of clusters, with `cov="cluster"`.
    """

    names: tuple[str, ...]
    df: Floats
    wald: Floats
    wald_p: Floats
    lr: Floats
    lr_p: Floats
    residual_df: float
    cov: Covariance
    clusters: int = 0

    @property
    def _columns(self) -> least_squares.Columns:
        wald = "F" if np.isfinite(self.residual_df) else "Wald χ²"
        found = {"df": self.df, wald: self.wald, "p": self.wald_p}
        if np.isfinite(self.lr).any():
            found |= {"LR χ²": self.lr, "LR p": self.lr_p}
        return found

    def to_frame(self) -> Any:
        """The tests as a pandas data frame, one row for each term.

        Returns
        -------
        pandas.DataFrame
            Degrees of freedom, statistics and p-values.
        """
        return least_squares.frame(self.names, self._columns)

    def _parts(self) -> list[Part]:
        rest = (
            f" and {self.residual_df:.4g} residual degrees of freedom"
            if np.isfinite(self.residual_df)
            else ""
        )
        above = (
            f"tests of all coefficients of a term at once{rest}; {kind_of_errors(self.cov, self.clusters)}"
        )
        return [above, least_squares.cells(self.names, self._columns)]


def terms_of(given: Any, columns: Sequence[str], grouped: Mapping[str, Sequence[int]] | None) -> Terms:
    """The columns of each term: as given, or each column of the table, which may have become several."""
    if given is None:
        grouped = {name: [j] for j, name in enumerate(columns)} if grouped is None else grouped
        return {name: np.asarray(at, dtype=np.intp) for name, at in grouped.items() if len(at)}
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"terms must be a dict such as {{'size': ['length', 'width']}}; got {given!r}.")
    return {str(name): _places(str(name), some, columns) for name, some in given.items()}


def _places(term: str, some: Any, columns: Sequence[str]) -> NDArray[np.intp]:
    several = [some] if isinstance(some, str | int | np.integer) else list(some)
    found = [_place(term, one, columns) for one in several]
    if not found or len(set(found)) < len(found):
        raise ValueError(f"terms: {term!r} must name columns, each once; got {some!r}.")
    return np.array(sorted(found), dtype=np.intp)


def _place(term: str, one: Any, columns: Sequence[str]) -> int:
    if isinstance(one, int | np.integer) and not isinstance(one, bool) and 0 <= one < len(columns):
        return int(one)
    if isinstance(one, str) and one in columns:
        return list(columns).index(one)
    known = ", ".join(map(repr, columns[:10])) + (", …" if len(columns) > 10 else "")
    raise ValueError(
        f"terms: {term!r} names column {one!r}, which the model does not have; it has {known}."
    )


# Checks of `cov`, `groups` and `level`, which all estimators with standard errors share.


def check_errors(cov: str, groups: Any, level: float) -> None:
    """Raise if the errors that are asked for do not exist."""
    if cov not in COVARIANCES:
        raise ValueError(f"cov must be one of {', '.join(map(repr, COVARIANCES))}; got {cov!r}.")
    if (cov == "cluster") != (groups is not None):
        raise ValueError(
            "cov='cluster' requires groups=, the cluster of each row, and groups= requires cov='cluster'."
        )
    if not 0 < level < 1:
        raise ValueError(f"level must be a number between 0 and 1; got {level!r}.")


def table_terms(model: Any) -> dict[str, list[int]] | None:
    """The columns of the design matrix, if there is one, by the column or the term that they encode."""
    design = vars(model).get("_design")
    return None if design is None else design.by_name
