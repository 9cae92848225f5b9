"""Sums of squares, means and deviations that NIST certifies (StRD, the sets of Simon & Lesage 1989).

Three numbers meet here: what NIST certifies for the decimals it prints; what is exact, in rational
arithmetic, for the doubles nearest to these decimals; and ours. The first two already differ: doubles
near 1e12 lie 1.2e-4 apart, so SmLs07's have lost all but 4 digits of a spread of 0.1. How many digits
the doubles still hold of the certified value, measured (minus the log10 of the relative error):

            smls01t  smls04t  smls06t  smls07t  atmwtagt
  within       15.3     10.3     10.3      4.3      10.9
  between      15.2     10.1      9.9      4.0      10.2
"""

import re
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

import likelier as lk
from likelier.families import completed
from likelier.states import ColumnMoments

EPS = np.finfo(float).eps

MODELS = {
    "NB": lk.GaussianNB(),
    "LDA": lk.LinearDiscriminantAnalysis(),
    "LDA, by class": lk.LinearDiscriminantAnalysis(solver="lsqr", priors=None, shrinkage="auto"),
    "QDA": lk.QuadraticDiscriminantAnalysis(tol=0.0),
}
SETS = ["smls01t", "smls04t", "smls06t", "smls07t", "atmwtagt"]


class Anova(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    within: float  # certified
    between: float
    exact_means: list[Fraction]  # of the doubles
    exact_within: Fraction
    exact_between: Fraction


@cache
def read(path):
    lines = path.read_text().splitlines()
    first, last = map(int, re.search(r"Data +\(lines (\d+) to (\d+)\)", "\n".join(lines[:10])).groups())
    cells = np.array([line.split() for line in lines[first - 1 : last]], dtype=float)
    between, within = (
        float(re.search(rf"^{source} \D*\d+ (\S+)", "\n".join(lines), re.MULTILINE)[1])
        for source in ("Between", "Within")
    )
    columns = [[Fraction(v) for v in column] for column in cells.T.tolist()]
    n = len(cells)
    means = [sum(column) / n for column in columns]
    grand = sum(means) / len(means)
    return Anova(
        cells.T.reshape(-1, 1),
        np.repeat(np.arange(cells.shape[1]), n),
        within,
        between,
        means,
        sum((v - m) ** 2 for column, m in zip(columns, means, strict=True) for v in column),
        n * sum((m - grand) ** 2 for m in means),
    )


@pytest.fixture
def anova(data_file):
    return lambda name: read(data_file(f"nist/{name}.dat"))


def scatters(statistics):
    """Within and between the classes: (p,) of columns by themselves, (p, p) otherwise."""
    if isinstance(statistics, ColumnMoments):
        _, middle, _ = statistics.pooled()
        between = (statistics.seen * (statistics.mean - middle) ** 2).sum(axis=0)
        return statistics.S.sum(axis=0), between
    rows = completed(statistics)
    return rows.within(), rows.between()


def sums_of_squares(model):
    within, between = scatters(model._statistics)
    return within.item(), between.item()


def off(value, exact):
    """Relative error."""
    return float(abs((Fraction(value) - Fraction(exact)) / Fraction(exact)))


def attainable_between(set_):
    """The error that means wrong by 4 units in the last place may make: δB = 2 Σ n_k |m_k - m| δ_k."""
    grand = sum(set_.exact_means) / len(set_.exact_means)
    n = len(set_.y) / len(set_.exact_means)
    moved = sum(abs(m - grand) * Fraction(4 * np.spacing(float(m))) for m in set_.exact_means)
    square = sum(Fraction(4 * np.spacing(float(m))) ** 2 for m in set_.exact_means)
    return float((2 * moved + square) * Fraction(n) / set_.exact_between) + 1e-12


def digits(value, certified):
    return 16.0 if value == certified else -np.log10(abs(value - certified) / abs(certified))


# ---- one-way analysis of variance ------------------------------------------------------------------
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", SETS)
def test_within_sum_of_squares_has_the_certified_digits_that_doubles_hold(anova, name, model):
    set_ = anova(name)
    within, _ = sums_of_squares(MODELS[model].fit(set_.X, set_.y))
    held = min(digits(float(set_.exact_within), set_.within), 13)
    assert digits(within, set_.within) >= held - 0.1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", SETS)
def test_within_sum_of_squares_is_exact_for_the_doubles(anova, name, model):
    """Two passes, Σ(x-m)² - (Σ(x-m))²/n: what the centred rows still sum to takes the rounding of m out."""
    set_ = anova(name)
    within, _ = sums_of_squares(MODELS[model].fit(set_.X, set_.y))
    assert off(within, set_.exact_within) <= 1e-12


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", SETS)
def test_within_sum_of_squares_loses_no_more_than_centring_on_a_double_costs(anova, name, model):
    """Without that correction: n δ², δ half a unit of the mean. 4e-7 for SmLs07, nothing for the others."""
    set_ = anova(name)
    within, _ = sums_of_squares(MODELS[model].fit(set_.X, set_.y))
    rounding = len(set_.y) * (np.spacing(set_.X.max()) / 2) ** 2 / float(set_.exact_within)
    assert off(within, set_.exact_within) <= 1e-12 + rounding


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", SETS)
def test_between_sum_of_squares_is_as_exact_as_means_in_doubles_allow(anova, name, model):
    set_ = anova(name)
    _, between = sums_of_squares(MODELS[model].fit(set_.X, set_.y))
    allowed = attainable_between(set_)
    assert off(between, set_.exact_between) <= allowed
    assert off(between, set_.between) <= allowed + off(set_.exact_between, set_.between)


@pytest.mark.parametrize("name", SETS)
def test_rows_in_any_order_and_batch_keep_the_digits(anova, name):
    set_ = anova(name)
    order = np.random.default_rng(0).permutation(len(set_.y))
    model = lk.GaussianNB()
    for first, last in pairwise([*range(0, len(order), 50), len(order)]):
        rows = order[first:last]
        model.partial_fit(set_.X[rows], set_.y[rows], classes=np.unique(set_.y))
    within, _ = sums_of_squares(model)
    # Batches meet in their means, which are doubles: wrong by δ, they move Σ(x-m)² by 2 δ Σ|x-m|.
    means = np.array([float(m) for m in set_.exact_means])[set_.y]
    moved = 2 * np.spacing(np.abs(means).max()) * np.abs(set_.X[:, 0] - means).sum()
    assert off(within, set_.exact_within) <= 1e-12 + moved / float(set_.exact_within)


# ---- one sample ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "certified_digits"),
    [("lew", 14.5), ("mavro", 13), ("michelso", 13.5), ("numacc1", 15), ("numacc3", 9)],
)
def test_mean_and_standard_deviation(data_file, name, certified_digits):
    """NumAcc3's doubles hold 9.5 digits of the certified deviation, measured; the others 13 and more."""
    text = data_file(f"nist/{name}.dat").read_text()
    mean = float(re.search(r"^Sample Mean[^:]*: +(\S+)", text, re.MULTILINE)[1])
    deviation = float(re.search(r"denom\. = n-1\)[^:]*: +(\S+)", text)[1])
    values = [float(v) for v in text.split("Data: Y")[1].split()[1:]]
    n = len(values)
    X = np.array(values)[:, None]
    with pytest.warns(lk.DegenerateWarning, match="all rows are of class"):
        model = lk.GaussianNB(var_smoothing=0.0).fit(X, np.zeros(n, dtype=int))
    found = np.sqrt(model.var_.item() * n / (n - 1))
    assert digits(model.theta_.item(), mean) >= 15
    assert digits(found, deviation) >= certified_digits
    exact_mean = sum(map(Fraction, values)) / n
    exact = sum((Fraction(v) - exact_mean) ** 2 for v in values)
    assert off(model.var_.item() * n, exact) <= 1e-12
    assert off(model.theta_.item(), exact_mean) <= 8 * EPS


# ---- large means, made here ------------------------------------------------------------------------
@pytest.mark.parametrize("shape", ["NB", "LDA", "QDA"])
@pytest.mark.parametrize("mean", [1e8, -3e10])
def test_variance_survives_a_large_mean(mean, shape):
    """Offsets of ±1 and ±2 about any whole mean: variances and covariances are whole numbers."""
    offsets = np.array([[1, 2], [-1, -2], [2, -1], [-2, 1]] * 500, dtype=float)
    X = np.concatenate([mean + offsets, mean + 10 + offsets])
    y = np.repeat([0, 1], 2000)
    model = MODELS[shape].fit(X, y)
    within, between = scatters(model._statistics)
    np.testing.assert_allclose(within if within.ndim == 1 else np.diagonal(within), 10_000.0, rtol=1e-12)
    if within.ndim == 2:
        np.testing.assert_allclose(within[0, 1], 0.0, atol=1e-8)
    np.testing.assert_allclose(between, 100_000.0, rtol=1e-12)
