"""Logistic regressions that are published, computed to 20 digits, or that statsmodels prints."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import likelier as lk

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its imports
    sm = pytest.importorskip("statsmodels.api")

SHARP = {"C": np.inf, "tol": 1e-8}
AGREED = 1e-8


def admissions(path):
    d = pd.read_csv(path)
    ranks = {f"rank{r}": (d["rank"] == r).astype(float) for r in (2, 3, 4)}
    return d[["gre", "gpa"]].astype(float).assign(**ranks), d["admit"]


def heart(path):
    d = pd.read_csv(path)
    X = d[["sbp", "tobacco", "ldl", "famhist", "obesity", "alcohol", "age"]]
    return X.assign(famhist=(d["famhist"] == "Present").astype(float)), d["chd"]


def titanic(path):
    d = pd.read_csv(path)[["survived", "pclass", "age", "sibsp", "parch", "fare"]].dropna()
    return d.drop(columns="survived").astype(float), d["survived"]


SETS = {"ucla_admissions.csv": admissions, "saheart.csv": heart, "titanic.csv": titanic}
every_set = pytest.mark.parametrize("name", SETS)


def close(ours, theirs, rtol=AGREED):
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-300)


def fitted_there(model, X, y, **how):
    how |= {"method": "newton", "maxiter": 100, "tol": 1e-10, "disp": 0}
    return model(np.asarray(y), sm.add_constant(X)).fit(**how)


# ---- statsmodels ---------------------------------------------------------------------------------
@every_set
@pytest.mark.parametrize("cov", ["classical", "HC0"])
def test_two_classes_agree_with_statsmodels(data_file, name, cov):
    X, y = SETS[name](data_file(name))
    theirs = fitted_there(sm.Logit, X, y, cov_type="nonrobust" if cov == "classical" else cov)
    ours = lk.LogisticRegression(**SHARP).fit(X, y).summary(X, y, cov=cov)
    _check_coefficients(ours, theirs.params, theirs.bse, theirs.tvalues, theirs.pvalues, theirs.conf_int())
    _check_whole(ours, theirs)
    wald = theirs.wald_test(np.eye(len(theirs.params))[1:], use_f=False, scalar=True)
    close([ours.wald, ours.wald_p], [wald.statistic, wald.pvalue], rtol=1e-7)
    assert ours.names == ("intercept", *X.columns)


@pytest.mark.parametrize("cov", ["classical", "HC0"])
def test_three_classes_agree_with_statsmodels(cov):
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X[["malic_acid", "ash", "magnesium"]]
    theirs = fitted_there(sm.MNLogit, X, y, cov_type="nonrobust" if cov == "classical" else cov)
    ours = lk.LogisticRegression(**SHARP).fit(X, y).summary(X, y, cov=cov)
    flat = [np.asarray(v).T.ravel() for v in (theirs.params, theirs.bse, theirs.tvalues, theirs.pvalues)]
    _check_coefficients(ours, *flat, np.asarray(theirs.conf_int()).reshape(-1, 2))
    _check_whole(ours, theirs)
    assert ours.names[:2] == ("0→1: intercept", "0→1: malic_acid")


def _check_coefficients(ours, estimates, errors, z, p, intervals):
    close(ours.estimates, estimates)
    close(ours.errors, errors)
    close(ours.z, z)
    close(ours.p, p, rtol=1e-7)  # far out it is more sensitive than z
    close(np.column_stack([ours.low, ours.high]), intervals, rtol=1e-7)


def _check_whole(ours, theirs):
    close(ours.log_likelihood, theirs.llf)
    close(ours.null_log_likelihood, theirs.llnull)
    close([ours.lr, ours.df], [theirs.llr, theirs.df_model])
    close(ours.lr_p, theirs.llr_pvalue, rtol=1e-7)
    close([ours.mcfadden, ours.aic, ours.bic], [theirs.prsquared, theirs.aic, theirs.bic])


# ---- references ----------------------------------------------------------------------------------
def few_of_heart(path):
    X, y = heart(path)
    return X[["tobacco", "ldl", "famhist", "age"]], y


def pima(path):
    d = pd.read_csv(path)
    return d.drop(columns="diabetes").astype(float), d["diabetes"]


# By their place in the file.
REFERENCES = {0: heart, 1: few_of_heart, 3: admissions, 4: pima}


@pytest.mark.parametrize("place", REFERENCES)
@pytest.mark.parametrize(("how", "rtol"), [(SHARP, 1e-9), ({"C": np.inf}, 1e-6)], ids=["sharp", "default"])
def test_references_to_twenty_digits(data_file, place, how, rtol):
    said = json.loads(data_file("reference_logistic.json").read_text())["models"][place]
    X, y = REFERENCES[place](data_file(said["data"]))
    ours = lk.LogisticRegression(**how).fit(X, y).summary()
    computed = said["computed"]
    assert list(ours.names) == list(computed["coef"])
    close(ours.estimates, [float(v) for v in computed["coef"].values()], rtol)
    close(ours.errors, [float(v) for v in computed["std_error"].values()], rtol)
    close(ours.log_likelihood, float(computed["log_likelihood"]), rtol)
    close(ours.null_log_likelihood, float(computed["null_log_likelihood"]), rtol)
    printed = said["published"]
    half = 0.5 * 10.0 ** -printed["decimals"]
    np.testing.assert_allclose(ours.estimates, list(printed["coef"].values()), atol=half, rtol=1e-12)
    # R takes errors from its last step but one.
    np.testing.assert_allclose(ours.errors, list(printed["std_error"].values()), atol=half, rtol=5e-7)


def test_the_ridge_reference(data_file):
    said = json.loads(data_file("reference_logistic.json").read_text())["models"][2]
    X, y = heart(data_file(said["data"]))
    ours = lk.LogisticRegression(tol=1e-8).fit(X, y).summary()
    close(ours.estimates, [float(v) for v in said["computed"]["coef"].values()], 1e-9)
    close(ours.log_likelihood, float(said["computed"]["log_likelihood"]), 1e-11)
