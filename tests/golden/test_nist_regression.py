"""Linear regressions that NIST certifies (StRD), and the numbers that statsmodels prints.

Digits are -log10 of the relative error against the certified value, the worst of all coefficients. The
measured ones are in docs/linear-regression.md.
"""

import re
from typing import NamedTuple

import numpy as np
import pytest
from sklearn import linear_model

import likelier as lk

# Correct digits asked of coefficients and of standard deviations. Wampler1 is a perfect fit: its
# deviations are certified as 0, and held to 1e-9 absolute.
ASKED = {"norris": 11, "pontius": 11, "longley": 11, "noint1": 11, "wampler1": 9, "wampler4": 7}
POLYNOMIALS = {"pontius": 2, "wampler1": 5, "wampler4": 5}
every_set = pytest.mark.parametrize("name", ASKED)


class Certified(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    estimates: np.ndarray
    deviations: np.ndarray
    sigma: float
    r2: float
    F: float
    intercept: bool


def number(text):
    return np.inf if text == "Infinity" else float(text)


@pytest.fixture
def certified(data_file):
    def read(name):
        text = data_file(f"nist/{name}.dat").read_text()
        lines = text.splitlines()
        first, last = map(int, re.search(r"Data +\(lines (\d+) to (\d+)\)", text).groups())
        cells = np.array([line.split() for line in lines[first - 1 : last]], dtype=float)
        X = cells[:, 1:]
        if name in POLYNOMIALS:
            X = X ** np.arange(1, POLYNOMIALS[name] + 1)
        found = re.findall(r"^ +B\d+ +(\S+) +(\S+) *$", text, re.MULTILINE)
        sigma = float(re.search(r"^ +Standard Deviation +(\S+) *$", text, re.MULTILINE)[1])
        r2 = float(re.search(r"R-Squared +(\S+)", text)[1])
        F = number(re.search(r"^Regression +\d+ +\S+ +\S+ +(\S+)", text, re.MULTILINE)[1])
        estimates, deviations = np.array(found, dtype=float).T
        return Certified(X, cells[:, 0], estimates, deviations, sigma, r2, F, name != "noint1")

    return read


def digits(value, certified):
    """The fewest correct digits; of what is certified as 0, decimals."""
    value, certified = np.broadcast_arrays(np.asarray(value, dtype=float), certified)
    error = np.abs(value - certified) / np.where(certified == 0, 1.0, np.abs(certified))
    return float((-np.log10(np.maximum(error, 1e-16))).min())


def coefficients(model):
    return np.append(model.intercept_, model.coef_) if model.fit_intercept else model.coef_


# ---- NIST ------------------------------------------------------------------------------------------
@every_set
def test_coefficients_and_deviations_have_the_certified_digits(certified, name):
    c = certified(name)
    model = lk.LinearRegression(fit_intercept=c.intercept).fit(c.X, c.y)
    summary = model.summary()
    assert digits(coefficients(model), c.estimates) >= ASKED[name]
    assert digits(summary.estimates, c.estimates) >= ASKED[name]
    assert digits(summary.errors, c.deviations) >= ASKED[name]
    assert digits(summary.sigma, c.sigma) >= ASKED[name]
    assert digits(summary.r2, c.r2) >= ASKED[name]
    if np.isfinite(c.F):
        assert digits(summary.F, c.F) >= ASKED[name]


@every_set
def test_rows_one_at_a_time_backwards_and_merged_keep_the_digits(certified, name):
    c = certified(name)
    batches = lk.LinearRegression(fit_intercept=c.intercept)
    for row in reversed(range(len(c.y))):
        batches.partial_fit(c.X[[row]], c.y[[row]])
    apart = [
        lk.LinearRegression(fit_intercept=c.intercept).partial_fit(c.X[i::3], c.y[i::3]) for i in range(3)
    ]
    for model in (batches, lk.merge(apart)):
        assert digits(coefficients(model), c.estimates) >= ASKED[name]
        assert digits(model.summary().errors, c.deviations) >= ASKED[name]


@every_set
def test_more_digits_than_scikit_learn(certified, name):
    """Beyond 14 both are as good as doubles allow, and the last one is luck."""
    c = certified(name)
    ours, theirs = (
        digits(coefficients(m.LinearRegression(fit_intercept=c.intercept).fit(c.X, c.y)), c.estimates)
        for m in (lk, linear_model)
    )
    assert ours >= min(theirs, 14)


# ---- a polynomial of degree 10 -----------------------------------------------------------------------
# Filip (Filippelli, A., NIST), StRD, www.itl.nist.gov/div898/strd: y and x of 82 rows, certified estimates
# and their standard deviations; works of the US government are in the public domain. Columns brought to
# length 1 have a condition number of 4e9.
FILIP_Y = np.array(
    [
        0.8116,
        0.9072,
        0.9052,
        0.9039,
        0.8053,
        0.8377,
        0.8667,
        0.8809,
        0.7975,
        0.8162,
        0.8515,
        0.8766,
        0.8885,
        0.8859,
        0.8959,
        0.8913,
        0.8959,
        0.8971,
        0.9021,
        0.909,
        0.9139,
        0.9199,
        0.8692,
        0.8872,
        0.89,
        0.891,
        0.8977,
        0.9035,
        0.9078,
        0.7675,
        0.7705,
        0.7713,
        0.7736,
        0.7775,
        0.7841,
        0.7971,
        0.8329,
        0.8641,
        0.8804,
        0.7668,
        0.7633,
        0.7678,
        0.7697,
        0.77,
        0.7749,
        0.7796,
        0.7897,
        0.8131,
        0.8498,
        0.8741,
        0.8061,
        0.846,
        0.8751,
        0.8856,
        0.8919,
        0.8934,
        0.894,
        0.8957,
        0.9047,
        0.9129,
        0.9209,
        0.9219,
        0.7739,
        0.7681,
        0.7665,
        0.7703,
        0.7702,
        0.7761,
        0.7809,
        0.7961,
        0.8253,
        0.8602,
        0.8809,
        0.8301,
        0.8664,
        0.8834,
        0.8898,
        0.8964,
        0.8963,
        0.9074,
        0.9119,
        0.9228,
    ]
)
FILIP_X = np.array(
    [
        -6.860120914,
        -4.324130045,
        -4.358625055,
        -4.358426747,
        -6.955852379,
        -6.661145254,
        -6.355462942,
        -6.118102026,
        -7.115148017,
        -6.815308569,
        -6.519993057,
        -6.204119983,
        -5.853871964,
        -6.109523091,
        -5.79832982,
        -5.482672118,
        -5.171791386,
        -4.851705903,
        -4.517126416,
        -4.143573228,
        -3.709075441,
        -3.499489089,
        -6.300769497,
        -5.953504836,
        -5.642065153,
        -5.031376979,
        -4.680685696,
        -4.329846955,
        -3.928486195,
        -8.56735134,
        -8.363211311,
        -8.107682739,
        -7.823908741,
        -7.522878745,
        -7.218819279,
        -6.920818754,
        -6.628932138,
        -6.323946875,
        -5.991399828,
        -8.781464495,
        -8.663140179,
        -8.473531488,
        -8.247337057,
        -7.971428747,
        -7.676129393,
        -7.352812702,
        -7.072065318,
        -6.774174009,
        -6.478861916,
        -6.159517513,
        -6.835647144,
        -6.53165267,
        -6.224098421,
        -5.910094889,
        -5.598599459,
        -5.290645224,
        -4.974284616,
        -4.64454848,
        -4.290560426,
        -3.885055584,
        -3.408378962,
        -3.13200249,
        -8.726767166,
        -8.66695597,
        -8.511026475,
        -8.165388579,
        -7.886056648,
        -7.588043762,
        -7.283412422,
        -6.995678626,
        -6.691862621,
        -6.392544977,
        -6.067374056,
        -6.684029655,
        -6.378719832,
        -6.065855188,
        -5.752272167,
        -5.132414673,
        -4.811352704,
        -4.098269308,
        -3.66174277,
        -3.2644011,
    ]
)
FILIP = np.array(
    [
        (-1467.48961422980, 298.084530995537),
        (-2772.17959193342, 559.779865474950),
        (-2316.37108160893, 466.477572127796),
        (-1127.97394098372, 227.204274477751),
        (-354.478233703349, 71.6478660875927),
        (-75.1242017393757, 15.2897178747400),
        (-10.8753180355343, 2.23691159816033),
        (-1.06221498588947, 0.221624321934227),
        (-0.670191154593408e-01, 0.142363763154724e-01),
        (-0.246781078275479e-02, 0.535617408889821e-03),
        (-0.402962525080404e-04, 0.896632837373868e-05),
    ]
)


@pytest.mark.parametrize("units", [None, 2.0 ** (20 * np.arange(1, 11)), 0.1 ** np.arange(1, 11)])
def test_a_polynomial_of_degree_10_keeps_its_digits(units):
    """By default, and whatever the units of the columns are."""
    X = FILIP_X[:, None] ** np.arange(1, 11)
    model = lk.LinearRegression().fit(X if units is None else X * units, FILIP_Y)
    estimates, deviations = FILIP.T
    factor = 1.0 if units is None else np.append(1.0, units)
    assert model.rank_ == 10
    assert digits(coefficients(model) * factor, estimates) >= 6.5
    assert digits(model.summary().errors * factor, deviations) >= 6.5


def test_a_polynomial_of_degree_10_in_pieces():
    X = FILIP_X[:, None] ** np.arange(1, 11)
    pieces = [lk.LinearRegression().partial_fit(X[i::4], FILIP_Y[i::4]) for i in range(4)]
    assert digits(coefficients(lk.merge(pieces)), FILIP[:, 0]) >= 6.5


# ---- statsmodels -----------------------------------------------------------------------------------
# The table of deck 002 (height in metres, weight in kilograms) through statsmodels 0.15.0: OLS(weight,
# add_constant(...)).fit(), intervals with conf_int(0.05); robust: get_robustcov_results(kind, use_t=True).
HEIGHT = np.array(
    [1.47, 1.50, 1.52, 1.55, 1.57, 1.60, 1.63, 1.65, 1.68, 1.70, 1.73, 1.75, 1.78, 1.80, 1.83]
)
WEIGHT = np.array(
    [52.2, 53.1, 54.4, 55.8, 57.2, 58.5, 59.9, 61.2, 63.0, 64.4, 66.2, 68.0, 69.9, 72.1, 74.4]
)
REFERENCES = {
    "line": (
        [1],
        True,
        {
            "estimates": [-38.883053568822106, 61.12866734783245],
            "errors": [2.9771029053251157, 1.7995584972070475],
            "t": [-13.060701898907276, 33.968702569383225],
            "p": [7.518435786663162e-09, 4.4026170381040105e-14],
            "low": [-45.3146933725508, 57.24095757499506],
            "high": [-32.45141376509341, 65.01637712066983],
            "r2": 0.9888591108561905,
            "adjusted_r2": 0.9880021193835897,
            "F": 1153.8727542472245,
            "F_p": 4.4026170381039594e-14,
            "aic": 36.548689416800194,
            "bic": 37.964789819004615,
            "sigma": 0.7691788225052294,
            "df": 13,
        },
        {
            "HC0": [3.381918581416634, 2.071994681645798],
            "HC1": [3.6327632984141855, 2.225679315685733],
            "HC2": [3.8553134028888527, 2.36082048712608],
            "HC3": [4.398458585585955, 2.692131440760882],
        },
        {
            "F": 515.5815118936488,
            "F_p": 7.615679301741557e-12,
            "p": [7.372216916109179e-07, 7.615679301741557e-12],
        },
    ),
    "height and its cube": (
        [1, 3],
        True,
        {
            "estimates": [75.3713626838321, -43.3169792154431, 12.758290533057334],
            "errors": [10.417102624427647, 9.501417962178808, 1.158588878219457],
            "t": [7.23534800426076, -4.5590015498602385, 11.011922151941018],
            "p": [1.0352279341626819e-05, 0.0006558594316778939, 1.2520422925083213e-07],
            "low": [52.674445837768985, -64.01879057146894, 10.23394222088302],
            "high": [98.06827952989522, -22.61516785941726, 15.282638845231649],
            "r2": 0.998996786489283,
            "adjusted_r2": 0.9988295842374969,
            "F": 5974.780697134113,
            "F_p": 1.0194366293662707e-18,
            "aic": 2.4374840921437375,
            "bic": 4.561634695450367,
            "sigma": 0.24023989609565047,
            "df": 12,
        },
        {
            "HC0": [6.890236685804769, 6.3118856571933, 0.7796422810985111],
            "HC1": [7.703518805261164, 7.056902697845077, 0.8716665693346352],
            "HC2": [7.958120147501394, 7.288948226856467, 0.9008601509622393],
            "HC3": [9.322200706434566, 8.542000485875473, 1.0573888273426895],
        },
        {"F": 4084.520161422133, "F_p": 9.959471127802165e-18},
    ),
    "through 0": (
        [1, 3],
        False,
        {
            "estimates": [25.396950219220756, 4.40895911301039],
            "errors": [0.6462915858521774, 0.2300898978719226],
            "t": [39.296427147095265, 19.1618978224963],
            "p": [6.738733477604329e-15, 6.51439282371847e-11],
            "low": [24.00072213421008, 3.9118801094791635],
            "high": [26.793178304231432, 4.906038116541616],
            "r2": 0.9999363907649732,
            "adjusted_r2": 0.9999266047288152,
            "F": 102179.91990045788,
            "F_p": 5.283006228527871e-28,
            "aic": 25.62899913503084,
            "bic": 27.04509953723526,
            "sigma": 0.5345011090710454,
            "df": 13,
        },
        {
            "HC0": [0.7066592478146592, 0.2595146016675319],
            "HC1": [0.7590737973563925, 0.2787633994268073],
            "HC2": [0.8052045949441441, 0.2965978588432352],
            "HC3": [0.919217343217385, 0.3396065106105387],
        },
        {"F": 83065.43211787417, "F_p": 2.0299427650715998e-27},
    ),
}


@pytest.mark.parametrize("which", REFERENCES)
def test_summary_says_what_statsmodels_says(which):
    powers, intercept, classical, robust, wald = REFERENCES[which]
    X = HEIGHT[:, None] ** powers
    model = lk.LinearRegression(fit_intercept=intercept).fit(X, WEIGHT)
    summary = model.summary()
    for name, value in classical.items():
        np.testing.assert_allclose(getattr(summary, name), value, rtol=1e-9, err_msg=name)
    for kind, errors in robust.items():
        np.testing.assert_allclose(model.summary(X, WEIGHT, cov=kind).errors, errors, rtol=1e-9)
    hc3 = model.summary(X, WEIGHT, cov="HC3")
    for name, value in wald.items():
        np.testing.assert_allclose(getattr(hc3, name), value, rtol=1e-8, err_msg=name)


def test_the_level_is_that_of_the_interval():
    """conf_int(0.01) of the same fit."""
    summary = lk.LinearRegression().fit(HEIGHT[:, None], WEIGHT).summary(level=0.99)
    np.testing.assert_allclose(summary.low, [-47.85090871990588, 55.70790076633855], rtol=1e-10)
    np.testing.assert_allclose(summary.high, [-29.91519841773833, 66.54943392932636], rtol=1e-10)


def test_the_lecture_sees_height_cubed_fit_better():
    """METHODS.md A2: R² 0.98886 for a line in height, 0.99726 in its cube."""
    r2 = [lk.LinearRegression().fit(HEIGHT[:, None] ** power, WEIGHT).summary().r2 for power in (1, 3)]
    assert [round(value, 5) for value in r2] == [0.98886, 0.99726]
