"""What was found about a table, in words, and what each model assumes of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.comparison.assumptions import linearity
from likelier.comparison.assumptions.columns import FEW_VALUES, MOST_COMMON, Dispersion, Pair, Pairs, Shapes
from likelier.comparison.assumptions.covariances import CovarianceSpread, JointNormality
from likelier.comparison.assumptions.linearity import SOME_BEND, Linearity, Residuals
from likelier.comparison.assumptions.sample import LEVEL
from likelier.display import some_of
from likelier.estimators.catalogue import Candidate

# All that was found out about the columns of a table.


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Figures; a string in their place says why there are none. Of a target of numbers there are residuals
    alone, of classes all the rest.
    """

    names: tuple[str, ...]  # of columns of numbers
    categories: tuple[str, ...]
    texts: tuple[str, ...]
    groups: tuple[str, ...]  # classes
    sizes: NDArray[np.int64]  # (K,) rows of each class that were looked at
    shapes: Shapes | None = field(default=None, repr=False)
    joint: tuple[JointNormality, ...] = field(default=(), repr=False)
    pairs: Pairs | None = field(default=None, repr=False)
    spread: CovarianceSpread | str = ""
    curvature: Linearity | str = ""
    poisson: Dispersion | None = field(default=None, repr=False)
    multinomial: Dispersion | None = field(default=None, repr=False)
    residuals: Residuals | str = ""
    notes: tuple[str, ...] = ()  # what was left out

    def table(self) -> list[dict[str, Any]]:
        """A record for each class and column of numbers."""
        if self.shapes is None:
            return []
        s = self.shapes
        return [
            {
                "column": name,
                "class": group,
                "n": int(s.n[k, j]),
                "mean": float(s.mean[k, j]),
                "deviation": float(s.deviation[k, j]),
                "skewness": float(s.skewness[k, j]),
                "kurtosis": float(s.kurtosis[k, j]),
                "distance": float(s.distance[k, j]),
                "p": float(s.p[k, j]),
                "gaussian": bool(s.checked[k, j] and not s.departs[k, j]),
            }
            for j, name in enumerate(self.names)
            for k, group in enumerate(self.groups)
        ]


# What was found about columns and pairs of them, in plain words.

SKEWED = 0.5
HEAVY, FLAT = 1.0, -0.8  # of the kurtosis


def column_sentences(found: Evidence) -> dict[str, str]:
    """Of each column of numbers whether it is Gaussian in the classes."""
    if found.shapes is None:
        return {}
    return {name: f"{name} {_of_column(found, j)}" for j, name in enumerate(found.names)}


def _of_column(found: Evidence, j: int) -> str:
    shapes = found.shapes
    assert shapes is not None
    checked = shapes.checked[:, j]
    departs = np.flatnonzero(shapes.departs[:, j] & checked)
    if not checked.any():
        return "has too few values to tell"
    if not len(departs):
        return f"looks Gaussian in every class{_sure(shapes, j)}"
    tied = _tied(shapes, j)
    if tied:
        return tied
    worst = _worst(shapes, j)
    others = [found.groups[k] for k in departs if k != worst]
    more = f"; not Gaussian in {_classes(others)} either" if others else ""
    return departure(found, worst, j) + more


def departure(found: Evidence, k: int, j: int) -> str:
    """How the numbers of a column are not Gaussian in a class."""
    shapes = found.shapes
    assert shapes is not None
    where = f"in class {found.groups[k]}"
    tied = _tied(shapes, j)
    if tied:
        return tied
    if shapes.deviation[k, j] == 0:
        return f"is always {shapes.mean[k, j]:.4g} {where}"
    skewness, kurtosis = shapes.skewness[k, j], shapes.kurtosis[k, j]
    if abs(skewness) >= SKEWED:
        side = "right" if skewness > 0 else "left"
        return f"is skewed to the {side} {where} (skewness {signed(skewness)})"
    if kurtosis >= HEAVY:
        return f"has heavy tails {where} (kurtosis {kurtosis:.1f} more than a Gaussian)"
    if kurtosis <= FLAT:
        return f"is flat or has several peaks {where} (kurtosis {-kurtosis:.1f} less than a Gaussian)"
    return f"misses a Gaussian {where} by {percent(shapes.distance[k, j])} of rows"


def worst_columns(found: Evidence, most: int) -> list[str]:
    """The columns farthest from Gaussian, each in its worst class, in words."""
    shapes = found.shapes
    assert shapes is not None
    departs = np.where(shapes.departs, np.nan_to_num(shapes.distance, nan=1.0), -1.0)
    order = np.argsort(-departs.max(axis=0, initial=-1.0), kind="stable")
    return [
        f"{found.names[j]} {departure(found, _worst(shapes, j), j)}"
        for j in order[:most]
        if departs[:, j].max() >= 0
    ]


def _worst(shapes: Shapes, j: int) -> int:
    departs = np.where(shapes.departs[:, j], np.nan_to_num(shapes.distance[:, j], nan=1.0), -1.0)
    return int(departs.argmax())


def _tied(shapes: Shapes, j: int) -> str:
    """What is no measurement; "": it could be one."""
    if shapes.values[j] == 2:
        return "takes two values only"
    if shapes.commonest[j] >= MOST_COMMON:
        return f"is {shapes.common[j]:.4g} in {percent(shapes.commonest[j])} of rows"
    if shapes.values[j] <= FEW_VALUES:
        return f"takes {shapes.values[j]} values only"
    return ""


def _sure(shapes: Shapes, j: int) -> str:
    n = int(shapes.n[:, j][shapes.checked[:, j]].min())
    return f", as far as {n} rows can tell" if n < 30 else ""


def signed(value: float, digits: int = 1) -> str:
    """With a minus that is one."""
    return f"{value:.{digits}f}".replace("-", "−")


def percent(share: float, digits: int = 0) -> str:
    """A share of a hundred."""
    return f"{100 * share:.{digits}f} %"


def some(columns: Any, one: str = "is", more: str = "are") -> str:
    """How many of all columns, with a verb."""
    n = int(np.sum(columns))
    return f"{n} of {len(columns)} columns {one if n == 1 else more}"


def times(value: float) -> str:
    """How many times as much, in two digits or so."""
    if value < 0.1:
        return f"{value:.1g} times"
    return f"{value:.1f} times" if value < 10 else f"{float(f'{value:.2g}'):,.0f} times"


def _classes(groups: Sequence[str]) -> str:
    return f"class{'' if len(groups) == 1 else 'es'} {some_of(groups, 3)}"


def said(pair: Pair) -> str:
    """How two columns depend on each other."""
    where = f"in class {pair.group}"
    if pair.measure == "r":
        return f"{pair.one} and {pair.other} correlate with r = {signed(pair.figure, 2)} {where}"
    if pair.measure == "V":
        return f"{pair.one} and {pair.other} are associated {where} (Cramér's V = {pair.figure:.2f})"
    return f"{pair.one} differs between the categories of {pair.other} {where} (η = {pair.figure:.2f})"


# What each model assumes, and whether the data support that.

Kind = Literal["supported", "doubtful", "violated", "not checked"]
WORSE: tuple[Kind, ...] = ("not checked", "supported", "doubtful", "violated")

MANY, MOST = 0.25, 0.5  # the shares of columns from which large departures, and any, are those of the table
ALIKE = 1.3  # of deviations: a ratio below is not what tells classes apart
DIFFUSE, DENSE = 0.1, 0.3  # of the strength that pairs of columns have together
HALF = 0.5  # of the mistakes of the commonest class: a plane that leaves more does not part classes well
# The rows from which the density of p columns is known to 10 % where it is highest (Silverman 1986, p. 94).
SILVERMAN = (4, 19, 67, 223, 768, 2790, 10_700, 43_700, 187_000, 842_000)


class Verdict(NamedTuple):
    """What a model assumes, whether that is so, and why."""

    assumes: str
    verdict: Kind
    why: str


class Finding(NamedTuple):
    """One thing that was looked at."""

    verdict: Kind
    why: str


Look = Callable[[Evidence], Finding]


def verdict(candidate: Candidate, found: Evidence) -> Verdict:
    """The worst of what was found on what a model assumes; the worst is said first."""
    looks: list[Look] = [globals()[name] for name in candidate.checks]
    findings = sorted((look(found) for look in looks), key=lambda each: -WORSE.index(each.verdict))
    why = dict.fromkeys(each.why for each in findings if each.why)
    return Verdict(candidate.assumes, findings[0].verdict, "; ".join(why))


# ---- what is looked at ---------------------------------------------------------------------------
def gaussian(found: Evidence) -> Finding:
    """Columns of numbers, one by one."""
    shapes = found.shapes
    if shapes is None or not shapes.checked.any():
        few = "numbers enough to tell its shape" if found.names else "numbers"
        return Finding("not checked", f"no column holds {few}")
    columns, far = shapes.departs.any(axis=0), shapes.far[shapes.checked]
    if not columns.any():
        n = int(shapes.n[shapes.checked].min())
        sure = f", as far as {n} rows can tell" if n < 30 else ""
        return Finding("supported", f"every column looks Gaussian in every class{sure}")
    head = f"{some(columns)} not Gaussian in some class"
    why = f"{head}: {' and '.join(worst_columns(found, 2))}"
    much = far.mean() >= MANY or shapes.departs[shapes.checked].mean() >= MOST
    return Finding("violated" if much else "doubtful", why)


def jointly_gaussian(found: Evidence) -> Finding:
    """Columns one by one, and all at once."""
    alone = gaussian(found)
    if alone.verdict != "supported" or not found.joint:
        return alone
    departs = [each for each in found.joint if each.departs]
    if not departs:
        return alone
    worst = max(departs, key=lambda each: abs(np.log(each.heavy)) + each.lopsided)
    how = f"its kurtosis is {worst.heavy:.2f} times a Gaussian's"
    why = f"each column looks Gaussian, but together they are not in class {worst.group}: {how}"
    return Finding("violated" if worst.far else "doubtful", why)


TWICE = "what they share is counted twice"
LESS = "weights make what they share count for less"


def independent(found: Evidence, numbers_only: bool = False) -> Finding:
    """Pairs of columns within classes."""
    if found.pairs is None or not len((pairs := found.pairs.among(numbers_only)).one):
        if len(found.names) + (0 if numbers_only else len(found.categories)) > 1:
            return Finding("not checked", "too few rows have two columns at once")
        if found.texts and not numbers_only:
            return Finding("not checked", "whether words of a text depend on each other is not looked at")
        return Finding("supported", "there are no two columns to depend on each other")
    worst = pairs.strongest()
    diffuse = pairs.overall >= DIFFUSE and bool((pairs.sphericity < LEVEL).any())
    if not worst and not diffuse:
        return Finding("supported", "no two columns depend much on each other within a class")
    if not worst:
        why = f"columns depend a little on each other within classes (|r| ≈ {pairs.overall:.2f}): {TWICE}"
        return Finding("doubtful", why)
    many = f"{pairs.touched.sum()} of {len(pairs.names)} columns depend strongly on another"
    head = f"{many if pairs.touched.any() else 'some columns depend on others'} within classes"
    much = pairs.touched.mean() >= MANY or pairs.overall >= DENSE
    return Finding("violated" if much else "doubtful", f"{head}: {said(worst[0])}; {TWICE}")


def independent_weighted(found: Evidence) -> Finding:
    """The same, where columns have weights: what several share then counts for less."""
    one = independent(found)
    if one.verdict not in ("violated", "doubtful"):
        return one
    return Finding("doubtful", f"{one.why.removesuffix('; ' + TWICE).removesuffix(': ' + TWICE)}; {LESS}")


def independent_numbers(found: Evidence) -> Finding:
    """The same, of numbers alone."""
    return independent(found, numbers_only=True) if found.names else Finding("not checked", "")


def independent_counts(found: Evidence) -> Finding:
    """The same, where numbers are counts."""
    return Finding("not checked", "") if found.poisson is None else independent_numbers(found)


def one_covariance(found: Evidence) -> Finding:
    """Classes beside each other."""
    spread = found.spread
    if not found.names:
        return Finding("not checked", "")
    if isinstance(spread, str):
        return Finding("not checked", f"covariances of classes are not compared: {spread}")
    if not spread.differs:
        return Finding("supported", "classes spread alike")
    two = f"in class {spread.wide} as in class {spread.narrow}"
    how = f"{spread.column} spreads {times(spread.ratio)} as wide {two}"
    if spread.ratio < ALIKE:
        how = "columns correlate otherwise in one class than in another"
    cost = f"one covariance for all costs {spread.nats:.2f} nats a row"
    return Finding("violated" if spread.far else "doubtful", f"classes do not spread alike: {how}, {cost}")


def no_indicators(found: Evidence) -> Finding:
    """Categories, where numbers are modelled."""
    if not found.categories:
        return Finding("not checked", "")
    return Finding("doubtful", "indicators, which stand for categories, are not Gaussian")


def rows_for_covariances(found: Evidence) -> Finding:
    """Rows of the smallest class against the numbers to estimate."""
    p, k = len(found.names), int(np.argmin(found.sizes)) if len(found.sizes) else 0
    if not p or not len(found.sizes):
        return Finding("not checked", "")
    n, needed = int(found.sizes[k]), p * (p + 1) // 2
    numbers = f"the {needed:,} numbers of its covariance" if p > 1 else "its variance"
    why = f"class {found.groups[k]} has {n:,} rows for {numbers}"
    if n <= p:
        return Finding("violated", f"{why}, no more than columns")
    return Finding("supported", why) if n >= needed else Finding("doubtful", f"{why}, which is few")


def linear(found: Evidence) -> Finding:
    """Log odds that bend, or do not."""
    curvature = found.curvature
    if isinstance(curvature, str):
        return Finding("not checked", f"whether the log odds are linear is not known: {curvature}")
    slopes = "slopes that change at the median of each column"
    if not curvature.nonlinear:
        less = "which may be chance" if curvature.gain >= SOME_BEND else "which is little"
        gain = (
            f"lower it by {percent(curvature.gain)}, {less}"
            if curvature.gain > 0.005
            else "do not lower it"
        )
        return Finding(
            "supported", f"the held-out log-loss is {curvature.log_loss:.3f}, and {slopes} {gain}"
        )
    less = f"{slopes} lower the held-out log-loss by {percent(curvature.gain)}"
    why = f"the log odds bend, most in {curvature.column}: {less}"
    return Finding("violated" if curvature.far else "doubtful", why)


def parted(found: Evidence) -> Finding:
    """A plane between classes: how many rows are on the wrong side, and whether it should bend."""
    curvature, straight = found.curvature, linear(found)
    if isinstance(curvature, str):
        return straight
    blind = 1 - found.sizes.max() / found.sizes.sum()
    wrong = f"a plane leaves {percent(curvature.error, 1)} of held-out rows on the wrong side"
    if straight.verdict == "supported" and curvature.error > HALF * blind:
        return Finding("doubtful", f"{wrong}, where the commonest class alone leaves {percent(blind, 1)}")
    return Finding(straight.verdict, f"{wrong}; {straight.why}")


def poisson(found: Evidence) -> Finding:
    """The variance of counts against their mean."""
    return _dispersed(found.poisson, found, "Poisson counts of their mean")


def multinomial(found: Evidence) -> Finding:
    """The variance of counts, given their sum."""
    return _dispersed(found.multinomial, found, "independent draws")


def _dispersed(dispersion: Dispersion | None, found: Evidence, model: str) -> Finding:
    if dispersion is None:
        if found.texts:
            return Finding("not checked", "words of a text come in bursts, unlike independent draws")
        return Finding("violated", "the columns are not counts: whole numbers from 0 on")
    index, departs = dispersion.index, dispersion.departs
    if np.isnan(index).all():
        return Finding("not checked", "counts are too small to tell how they vary")
    if not departs.any():
        return Finding("supported", f"counts vary as {model} do")
    k, j = np.unravel_index(np.argmax(np.where(departs, dispersion.off, -1.0)), index.shape)
    columns = departs.any(axis=0)
    head = f"{some(columns, 'does', 'do')} not vary as {model} do"
    much = f"varies {times(index[k, j])} as much" if index[k, j] > 0 else "does not vary"
    why = f"{head}: {found.names[j]} in class {found.groups[k]} {much}"
    return Finding("violated" if dispersion.far.any(axis=0).mean() >= MANY else "doubtful", why)


def smooth(found: Evidence) -> Finding:
    """Numbers that are ties have no density."""
    shapes = found.shapes
    if shapes is None or not found.names:
        return Finding("not checked", "no column holds numbers")
    spiked = (shapes.values <= 2) | (shapes.commonest >= 0.5)
    if not spiked.any():
        return Finding("supported", "")
    names = ", ".join(np.array(found.names)[spiked][:3])
    why = f"{some(spiked)} mostly one value, or one of two ({names})"
    return Finding("violated" if spiked.mean() >= MANY else "doubtful", f"{why}: no smooth density")


def mixed_gaussians(found: Evidence) -> Finding:
    """Mixtures take any smooth shape."""
    density = smooth(found)
    if density.verdict != "supported":
        return density
    alone = jointly_gaussian(found)
    if alone.verdict == "supported":
        return Finding("supported", "one Gaussian for each class would do")
    return Finding("not checked", f"classes are not single Gaussians, which mixtures are for: {alone.why}")


def rows_for_density(found: Evidence) -> Finding:
    """Rows of the smallest class against those that a density of so many columns takes."""
    p = len(found.names)
    if not p or not len(found.sizes):
        return Finding("not checked", "no column holds numbers")
    k = int(np.argmin(found.sizes))
    n = int(found.sizes[k])
    needed = f"about {SILVERMAN[p - 1]:,}" if p <= len(SILVERMAN) else f"over {SILVERMAN[-1]:,}"
    density = f"the density of {p} column{'s' * (p > 1)}"
    why = f"class {found.groups[k]} has {n:,} rows, where {density} takes {needed}"
    enough = p <= len(SILVERMAN) and n >= SILVERMAN[p - 1]
    return Finding("supported" if enough else "doubtful", why)


def assumes_nothing(found: Evidence) -> Finding:
    """Columns that are no better than none."""
    curvature = found.curvature
    if isinstance(curvature, str):
        return Finding("not checked", f"no linear model is tried: {curvature}")
    shares = found.sizes / found.sizes.sum()
    blind = float(-(shares * np.log(shares)).sum())
    if curvature.log_loss > 0.99 * blind:
        return Finding("supported", "a linear model of the columns has no smaller held-out log-loss")
    less = f"from {blind:.2f} to {curvature.log_loss:.2f}"
    return Finding("violated", f"a linear model of the columns lowers the held-out log-loss {less}")


# ---- regressions ---------------------------------------------------------------------------------
def straight(found: Evidence) -> Finding:
    """A target that bends, or does not."""
    left = found.residuals
    if isinstance(left, str):
        return Finding("not checked", f"residuals are not looked at: {left}")
    if not left.is_nonlinear:
        return Finding("supported", "the target is as good as linear in the columns")
    share = f"bends explain {percent(left.nonlinear)} of what slopes leave"
    why = f"the target bends, most with {left.column}: {share}"
    return Finding("violated" if left.nonlinear >= linearity.MUCH_STRUCTURE else "doubtful", why)


def even(found: Evidence) -> Finding:
    """Errors as wide here as there."""
    left = found.residuals
    if isinstance(left, str):
        return Finding("not checked", "")
    if not left.is_uneven:
        return Finding("supported", "errors have about one variance")
    one, other = ("large", "small") if left.larger else ("small", "large")
    why = (
        f"errors are {times(left.uneven)} as wide where {one} values are expected as where {other} ones are"
    )
    return Finding("violated" if left.uneven >= linearity.VERY_UNEVEN else "doubtful", why)


def gaussian_errors(found: Evidence) -> Finding:
    """The shape of errors."""
    left = found.residuals
    if isinstance(left, str):
        return Finding("not checked", "")
    if not left.departs:
        return Finding("supported", "errors look Gaussian")
    shape = f"skewness {signed(left.skewness)}, kurtosis {signed(left.kurtosis)} beyond a Gaussian's"
    return Finding("violated" if left.far else "doubtful", f"errors are not Gaussian ({shape})")


def uninformative(found: Evidence) -> Finding:
    """Columns that are no better than none."""
    left = found.residuals
    if isinstance(left, str):
        return Finding("not checked", f"no line is tried: {left}")
    if left.linear_p >= LEVEL:
        return Finding("supported", "a linear fit explains no more than chance would")
    return Finding("violated", f"a linear fit explains {percent(left.adjusted_r2)} of the variance")
