"""South African heart disease: two Gaussians over age alone find the table that is published for them.

The Elements of Statistical Learning, 2nd ed., section 6.8: the responsibility of the older component, at ½.
"""

import numpy as np
import pandas as pd
import pytest

import likelier as lk


@pytest.fixture
def heart(data_file):
    return pd.read_csv(data_file("saheart.csv"))


def table(model, heart):
    older = model.predict_proba(heart[["age"]])[:, model.means_[:, 0].argmax()] > 0.5
    return [int((older[heart.chd == c] == o).sum()) for c in (0, 1) for o in (False, True)]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_published_table(heart, seed):
    model = lk.GaussianMixture(2, tol=1e-8, max_iter=10_000, random_state=seed).fit(heart[["age"]])
    assert table(model, heart) == [232, 70, 76, 84]
    assert model.converged_
    assert np.diff(model.trace_["log_likelihood"]).min() > 0


def test_the_default_tolerance_stops_early(heart):
    """148/154/28/132: the likelihood is flat on the way, and its change is no measure of what is left."""
    model = lk.GaussianMixture(2, random_state=0).fit(heart[["age"]])
    assert table(model, heart) == [148, 154, 28, 132]
