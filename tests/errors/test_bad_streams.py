"""What an online model is handed that it cannot use: said by name, and nothing half learned."""

import json
import math
import warnings
import zipfile
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import likelier as lk
from likelier.saving import format
from likelier.saving.online import load_online

Online = lk.OnlineClassifier


def learned(model):
    return {key: np.asarray(value).tobytes() for key, value in model._model.state().items()}


@pytest.fixture
def model():
    return Online(bits=6).fit([{"a": 1.0, "w": "u"}, {"a": 2.0, "w": "v"}], ["no", "yes"])


# ---- settings --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"loss": "squared"}, "loss must be one of 'log_loss', .*; got 'squared'"),
        ({"optimizer": "adam"}, "optimizer must be one of .*; got 'adam'"),
        ({"bits": 0}, "bits must be an integer from 1 to 30; got 0"),
        ({"bits": 31}, "bits must be .*; got 31"),
        ({"bits": True}, "bits must be .*; got True"),
        ({"bits": 18.0}, "bits must be .*; got 18.0"),
        ({"learning_rate": 0.0}, "learning_rate must be a finite number > 0; got 0.0"),
        ({"learning_rate": math.inf}, "learning_rate must be .*; got inf"),
        ({"half_life": -1}, "half_life must be a finite number > 0; got -1"),
        ({"l1": -1}, "l1 must be a finite number >= 0; got -1"),
        ({"power": "a"}, "power must be .*; got 'a'"),
        ({"normalised": 1}, "normalised must be True or False; got 1"),
        ({"interactions": "ab"}, "interactions must be a list of tuples of names, .*; got 'ab'"),
        ({"interactions": [("a",)]}, r"at least two column names, .*; got \('a',\)"),
        ({"interactions": ["ab"]}, "at least two column names, .*; got 'ab'"),
        ({"interactions": [("a", 1.5)]}, r"at least two column names, .*; got \('a', 1\.5\)"),
        ({"class_weight": "heavy"}, "class_weight must be None, 'balanced' or a dict .*; got 'heavy'"),
        ({"class_weight": {"a": -1}}, r"class_weight\['a'\] must be .*; got -1"),
        ({"non_finite": "drop"}, "non_finite must be one of 'skip', 'raise'; got 'drop'"),
        ({"passes": 0}, "passes must be an integer >= 1; got 0"),
    ],
)
def test_settings_are_checked_before_any_row(given, said):
    model = Online(**given)
    with pytest.raises(ValueError, match=said):
        model.fit([{"a": 1.0}, {}], [0, 1])
    if "passes" not in given:
        with pytest.raises(ValueError, match=said):
            model.learn_one({"a": 1.0}, 0)
    assert not model.__sklearn_is_fitted__()


def test_settings_that_changed_are_refused(model, tmp_path):
    model.set_params(bits=8)
    with pytest.raises(ValueError, match="settings were changed since the first row"):
        model.partial_fit([{}], ["no"])
    with pytest.raises(ValueError, match="settings were changed"):
        lk.save(model, tmp_path / "m.lk")
    assert list(tmp_path.iterdir()) == []
    model.set_params(bits=6).partial_fit([{}], ["no"])


# ---- rows --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("x", "said"),
    [
        ({"when": date(2020, 1, 1)}, "feature 'when' is datetime.date"),
        ({"part": Fraction(1, 2)}, "feature 'part' is Fraction"),
        ({"a": {"b": [object()]}}, r"feature 'a\.b\.0'"),
        ({None: 1}, "a feature's name is a string or a whole number, not None"),
        ([1.0, 2.0], "a row is a dict"),
    ],
)
def test_a_row_that_is_none_changes_nothing(model, x, said):
    before = learned(model)
    for label in ("no", "new"):
        with pytest.raises(TypeError, match=said):
            model.learn_one(x, label)
    with pytest.raises(TypeError, match=said):
        model.predict_one(x)
    assert learned(model) == before
    assert model.classes_.tolist() == ["no", "yes"]
    fresh = Online()
    with pytest.raises(TypeError, match=said):
        fresh.learn_one(x, "no")
    assert not fresh.__sklearn_is_fitted__()


def test_a_bad_row_among_many_is_named_and_none_is_learned(model):
    before = learned(model)
    with pytest.raises(TypeError, match="row 2: feature 'a'"):
        model.partial_fit([{"a": 1}, {"a": 2}, {"a": 1j}], ["no"] * 3)
    with pytest.raises(ValueError, match=r"neither numbers nor strings: 'when' \(Date\)"):
        model.partial_fit(pl.DataFrame({"when": [date(2020, 1, 1)], "a": [1]}), ["no"])
    with pytest.raises(TypeError, match="feature 'o'"):
        model.partial_fit(pd.DataFrame({"o": pd.Series([b"x"], dtype=object)}), ["no"])
    with pytest.raises(TypeError, match="X is one dict"):
        model.partial_fit({"a": 1.0}, ["no"])
    assert learned(model) == before


def test_later_batches_leave_the_model_as_it_was(model, monkeypatch):
    monkeypatch.setattr("likelier.estimators.online.classifier.MANY", 2)
    monkeypatch.setattr("likelier.estimators.online.rows.ROWS", 2)
    before = learned(model)
    with pytest.raises(TypeError, match="row 2: feature 'a'"):
        model.partial_fit([{"a": 1}, {"a": 2}, {"a": 1j}], ["no"] * 3)
    assert learned(model) == before


def test_cells_that_are_not_finite_are_skipped_and_counted_or_refused():
    X = [{"a": math.nan, "b": 1.0}, {"a": math.inf}]
    model = Online(bits=6).fit(X, [0, 1])
    assert model.skipped_ == 2
    assert model.learn_one({"a": -math.inf}, 1).skipped_ == 3
    strict = Online(bits=6, non_finite="raise")
    with pytest.raises(ValueError, match="row 0: feature 'a' is nan"):
        strict.fit(X, [0, 1])
    with pytest.raises(ValueError, match="feature 'a' is inf"):
        strict.learn_one(X[1], 0)
    with pytest.raises(ValueError, match="row 1: feature 'b' is not a finite number"):
        strict.fit(pl.DataFrame({"b": [1.0, math.nan]}), [0, 1])
    assert strict.fit(pl.DataFrame({"b": [1.0, None]}), [0, 1]).skipped_ == 0


def test_an_empty_row_is_one(model):
    assert set(model.predict_proba_one({})) == {"no", "yes"}
    assert model.learn_one({}, "no").steps_ == 3


def test_a_feature_may_change_its_type(model):
    before = model.weight_of("a")
    model.learn_one({"a": "word"}, "no")
    assert model.weight_of("a", "word") != {"yes": 0.0}
    assert model.weight_of("a") == before


def test_arrays_have_the_columns_that_they_had():
    model = Online(bits=6).fit(np.ones((4, 3)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="X has 2 features, but OnlineClassifier is expecting 3"):
        model.predict(np.ones((1, 2)))
    with pytest.warns(UserWarning, match="fitted without feature names"):
        model.predict(pl.DataFrame({"a": [1.0]}))


# ---- labels and weights ------------------------------------------------------------------------------
def test_labels_that_are_none_or_unknown(model):
    before = learned(model)
    with pytest.raises(ValueError, match="needs a label"):
        model.learn_one({"a": 1.0}, None)
    with pytest.raises(ValueError, match="needs a label"):
        model.learn_one({"a": 1.0}, math.nan)
    with pytest.raises(
        TypeError, match=r"y must be a string, a number or a boolean; got .'no'. of type list"
    ):
        model.learn_one({"a": 1.0}, ["no"])
    with pytest.raises(
        ValueError, match=r"label\(s\) \['maybe'\] in y do not exist in the initial classes"
    ):
        model.partial_fit([{"a": 1.0}] * 2, ["no", "maybe"])
    with pytest.raises(ValueError, match="is not the same as on last call"):
        model.partial_fit([{"a": 1.0}], ["no"], classes=["no", "maybe"])
    with pytest.raises(ValueError, match="X has 1 rows, y has 2"):
        model.partial_fit([{"a": 1.0}], ["no", "yes"])
    assert learned(model) == before
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        Online().partial_fit([{"a": 1.0}], ["no"])


@pytest.mark.parametrize("unit", ["D", "us", "ns"])
def test_labels_that_are_moments(unit, tmp_path):
    """NumPy's nanoseconds would be numbers in silence, all others dates that no metric takes."""
    y = np.array(["2020-01-01", "2020-01-02"] * 5, dtype=f"datetime64[{unit}]")
    said = r"strings, numbers or booleans; got values of type datetime64\[\w+\]. .*astype\(str\)"
    pl.DataFrame({"x": np.ones(10), "y": y.astype("datetime64[us]")}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(TypeError, match=said):
        Online().fit(lk.scan(tmp_path / "a.parquet", target="y"))
    for labels in (y, y - y[0]):
        with pytest.raises(TypeError, match=said if labels is y else "of type timedelta64"):
            Online().fit(np.ones((10, 1)), labels)
        with pytest.raises(TypeError, match="y must be a string, a number or a boolean; got"):
            Online().learn_one({"a": 1.0}, labels[0])
    text = y.astype(str)
    assert Online().fit(np.ones((10, 1)), text).score(np.ones((10, 1)), text) == 0.5


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf])
def test_weights_that_are_none(model, weight):
    before = learned(model)
    with pytest.raises(ValueError, match="sample_weight"):
        model.learn_one({"a": 1.0}, "no", weight)
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit([{"a": 1.0}], ["no"], sample_weight=[weight])
    assert learned(model) == before


def test_nothing_is_answered_before_a_row():
    with pytest.raises(NotFittedError):
        Online().predict([{"a": 1.0}])
    assert not hasattr(Online(), "classes_")
    with pytest.raises(NotFittedError):
        lk.average([Online()])


# ---- rates that diverge --------------------------------------------------------------------------------
def test_steps_that_would_diverge_are_cut_counted_and_said_once():
    rng = np.random.default_rng(0)
    rows = [{"a": v} for v in (1e300 * rng.normal(size=50)).tolist()]
    model = Online(optimizer="sgd", learning_rate=1e6, normalised=False, invariant=False, bits=4)
    with pytest.warns(
        lk.ClippedWarning,
        match="An update was clipped because the weights would have diverged: lower learning_rate",
    ):
        model.fit(rows, np.arange(50) % 2)
    assert model.clipped_ > 0
    assert np.isfinite(model.predict_proba(rows)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in rows:
            model.learn_one(x, 1)


# ---- merging -------------------------------------------------------------------------------------------
def test_online_models_are_averaged_not_merged(model):
    with pytest.raises(TypeError, match=r"likelier\.average\(models\) is an approximation"):
        lk.merge([model, model])
    with pytest.raises(TypeError, match="model 1 is a GaussianNB"):
        lk.average([model, lk.GaussianNB()])
    with pytest.raises(ValueError, match="at least one model"):
        lk.average([])
    with pytest.raises(ValueError, match="model 1 has other settings"):
        lk.average([model, Online(bits=7).fit([{}, {}], ["no", "yes"])])
    with pytest.raises(ValueError, match="same order"):
        lk.average([model, Online(bits=6).fit([{}, {}], ["yes", "zes"])])
    with pytest.raises(ValueError, match="one for each model"):
        lk.average([model, model], weights=[1])
    with pytest.raises(ValueError, match="not all 0"):
        lk.average([model, model], weights=[0, 0])


# ---- files ---------------------------------------------------------------------------------------------
def header_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(format.HEADER))


def rewritten(path, change):
    """The file with another header, or other arrays, whose checksums are right."""
    header = header_of(path)
    with format.opened(path) as archive:
        arrays = {name: archive.array(name) for name in archive.names}
    change(header, arrays)
    for name in ("format", "version", "arrays"):
        header.pop(name)
    path.write_bytes(format.packed(header, arrays))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda h, a: h["params"].update(bits=7), "a table of 65 slots is not one of its bits"),
        (lambda h, a: h["params"].update(bits="six"), r"bits must be .*; got 'six'"),
        (lambda h, a: h["params"].update(color=1), "no hyper-parameter color"),
        (lambda h, a: h["fitted"].pop("reading"), "its parts are not"),
        (
            lambda h, a: h["fitted"]["target"]["objects"].append("yes") or _longer(h),
            "a class is there twice",
        ),
        (lambda h, a: a.update({"table/2": np.full_like(a["table/2"], np.nan)}), "NaN or infinity"),
        (
            lambda h, a: a.update({"table/1": a["table/1"][::-1].copy()}),
            "the places of weights are not valid",
        ),
        (lambda h, a: a.update({"table/1": a["table/1"] + np.uint32(60)}), "beyond the table"),
        (lambda h, a: a.update(other=np.zeros(3)), "nothing refers to array other"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(model, tmp_path, change, said):
    path = tmp_path / "m.lk"
    lk.save(model, path)
    rewritten(path, change)
    for load in (lk.load, load_online):
        with pytest.raises(ValueError, match=f"m.lk is not a model that can be loaded.*({said})"):
            load(path)


def _longer(header):
    header["fitted"]["target"]["shape"] = [3]
