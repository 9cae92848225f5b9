"""Models that must not be merged: which of them it is, and what differs, is said."""

import numpy as np
import pandas as pd
import pytest

import likelier as lk

RNG = np.random.default_rng(0)
Y = np.arange(90) % 3
X = RNG.normal(size=(90, 3)) + Y[:, None]
TABLE = pd.DataFrame(X, columns=["a", "b", "c"])


def gaussian(rows=TABLE, y=Y, **how):
    return lk.GaussianNB(**how).fit(rows, y)


def refused(kind, match, models, **how):
    with pytest.raises(kind, match=match):
        lk.merge(models, **how)


def test_other_kinds_are_named():
    other = lk.LinearDiscriminantAnalysis().fit(TABLE, Y)
    refused(TypeError, "model 0 is a GaussianNB, model 2 a LinearD", [gaussian(), gaussian(), other])
    with pytest.raises(TypeError, match="this model is a GaussianNB, model 1 a LinearD"):
        gaussian().merge(other)
    refused(TypeError, "north is a GaussianNB, south a Line", {"north": gaussian(), "south": other})


def test_what_was_not_fitted_or_keeps_nothing_is_named():
    refused(ValueError, "not fitted", [gaussian(), lk.GaussianNB()])
    refused(TypeError, "model 1 is a str: merge takes models", [gaussian(), "b.lk"])
    refused(
        ValueError, "model 1: merge needs the statistics", [gaussian(), gaussian().condition({"a": 1.0})]
    )


def test_hyper_parameters_that_differ_are_named():
    other = gaussian(var_smoothing=0.1)
    said = "var_smoothing is 1e-09 in model 0 and 0.1 in model 1"
    refused(ValueError, said, [gaussian(), other])
    with pytest.raises(ValueError, match=r"var_smoothing is 0.1 in this model and 1e-09 in model 1"):
        other.merge(gaussian())
    priors = gaussian(priors=[0.2, 0.3, 0.5])
    refused(ValueError, "priors is None in model 0", [gaussian(), priors])
    same = lk.merge([priors, gaussian(priors=np.array([0.2, 0.3, 0.5]))])
    assert same.class_count_.sum() == 180
    ridges = [lk.Ridge(alpha=alpha).fit(X, Y) for alpha in (1.0, 2.0)]
    refused(ValueError, "alpha is 1.0 in model 0 and 2.0 in model 1", ridges)


def test_columns_that_differ_are_named():
    turned = gaussian(TABLE[["a", "c", "b"]])
    refused(
        ValueError,
        r"columns differ: model 1 has those of model 0 in another order \(column 1 is 'c', not 'b'\)",
        [gaussian(), turned],
    )
    refused(
        ValueError,
        "columns differ: model 1 lacks 'c' and has 'z', which model 0 has not",
        [gaussian(), gaussian(TABLE.rename(columns={"c": "z"}))],
    )
    refused(ValueError, "model 1 lacks 'b', 'c'$", [gaussian(), gaussian(TABLE[["a"]])])
    refused(
        ValueError,
        "model 0 has 3 named columns, model 1 3 columns without names",
        [gaussian(), gaussian(X)],
    )
    refused(ValueError, "model 0 has 3 columns .*model 1 2 columns", [gaussian(X), gaussian(X[:, :2])])


def test_classes_that_differ_are_named():
    two = gaussian(TABLE[Y < 2], Y[Y < 2])
    refused(
        ValueError, r"classes differ: model 0 has \[0 1 2\], model 1 \[0 1\]; .*union", [gaussian(), two]
    )
    assert lk.merge([two, gaussian()], classes="union").class_count_.tolist() == [60, 60, 30]
    refused(
        ValueError,
        "classes must be None .all models have the same. or 'union'; got 'all'",
        [gaussian(), two],
        classes="all",
    )
    words = gaussian(TABLE, np.array(["a", "b", "c"])[Y])
    refused(ValueError, "different kinds .*those of model 1 are <U1", [gaussian(), words], classes="union")


def test_targets_that_differ_are_named():
    one, two = (lk.LinearRegression().fit(X, y) for y in (Y, np.column_stack([Y, Y])))
    refused(ValueError, r"targets differ: .*\(\) in model 0 and \(2,\) in model 1", [one, two])
    refused(
        ValueError,
        "classes must be None for a LinearRegression, which has none; got 'union'",
        [one, one],
        classes="union",
    )


def test_families_levels_and_bins_that_differ_are_named():
    table = TABLE.assign(word=np.array(["u", "v", "w"])[RNG.integers(0, 3, 90)])
    first = lk.NaiveBayes({"a": "gaussian", "b": "gaussian", "c": "gaussian"}).fit(table, Y)
    other = first.get_params()["families"] | {"b": "histogram"}
    bins = lk.NaiveBayes(other).fit(table, Y)
    refused(ValueError, r"model 0 and model 1 .*of column 'b', gaussian and histogram", [first, bins])
    levels = lk.NaiveBayes(first.families).fit(table.replace("w", "zebra"), Y)
    refused(ValueError, "of column 'word', the levels 'zebra', 'w' are known to one alone", [first, levels])
    edges = lk.NaiveBayes(other).fit(table.assign(b=table.b * 2), Y)
    refused(ValueError, "column 'b', histogram.* bins", [bins, edges])


def test_columns_of_very_different_magnitudes_are_refused():
    """They are counted in other units; those of one magnitude, however large, are not."""
    far = 1e160 * (1 + 1e-9 * X)
    refused(ValueError, "counted in units of their own", [gaussian(far), gaussian(X)])
    both = lk.merge([gaussian(far), gaussian(-far)])
    whole = lk.GaussianNB().fit(np.vstack([far, -far]), np.concatenate([Y, Y]))
    np.testing.assert_allclose(both.predict_proba(far), whole.predict_proba(far), rtol=1e-9)


def test_models_that_are_no_sums_say_what_to_do():
    logistic = lk.LogisticRegression().fit(X, Y)
    refused(
        TypeError,
        "model 1: a LogisticRegression cannot be merged.*scan.*partial_fit",
        [gaussian(X), logistic],
    )
    refused(TypeError, "GaussianMixture cannot be merged.*scan", [lk.GaussianMixture(2).fit(X)])
    mda = lk.MixtureDiscriminantAnalysis(n_components=1).fit(X, Y)
    refused(TypeError, "MixtureDiscriminantAnalysis cannot be merged.*scan", [mda, mda])
    refused(TypeError, "likelier.average", [lk.OnlineClassifier().fit(X, Y)])
    refused(TypeError, "model 0 is a dict: merge takes models", [{}])


def test_what_is_no_list_of_models():
    refused(ValueError, "at least one", [])
    refused(ValueError, "at least one", {})
    refused(TypeError, r"merge\(\[a, b\]\), or a.merge\(b\)", gaussian())
