"""Files of every format version there has been load, and say what they said when they were written."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import likelier as lk
from golden.write_models import answers
from likelier.estimators.generative.mixture_base import Components
from likelier.saving.describe import describe
from likelier.saving.format import VERSION
from likelier.saving.models import saved_forms

FILES = sorted((Path(__file__).parent / "models").glob("v*/*.lk"))
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")


def test_files_of_every_version_are_kept():
    assert {path.parent.name for path in FILES} == {f"v{n}" for n in range(1, VERSION + 1)}


def test_a_file_of_every_estimator_is_kept():
    kept = {describe(path).estimator for path in FILES if path.parent.name == f"v{VERSION}"}
    assert kept == set(saved_forms())


@every_file
def test_a_kept_file_says_what_it_said(path):
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model = lk.load(path)
    assert type(model).__name__ == expected["estimator"]
    X = np.array(expected["rows"])
    said = answers(model, X)
    assert said.keys() == expected["answers"].keys()
    for ask, values in expected["answers"].items():
        if isinstance(np.ravel(values)[0], str):
            sure = ~_tied(expected["answers"])
            assert np.array(said[ask])[sure].tolist() == np.array(values)[sure].tolist()
        else:  # machines round differently, and ln p as large as 100 is a sum of terms that do
            np.testing.assert_allclose(said[ask], values, rtol=1e-12, atol=1e-12)


def _tied(answers):
    """Rows whose likeliest classes are equally likely but for rounding: machines choose differently."""
    if "predict_log_proba" not in answers:
        return np.zeros(len(answers["predict"]), dtype=bool)
    best = np.sort(answers["predict_log_proba"], axis=1)[:, -2:]
    return best[:, 1] - best[:, 0] < 1e-9


@every_file
def test_a_kept_file_goes_on_learning(path):
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model, found = lk.load(path), describe(path)
    assert found.statistics == expected["statistics"]
    if isinstance(model, Components):
        X = np.array(expected["rows"])
        names = getattr(model, "feature_names_in_", None)
        again = model.partial_fit(X if names is None else pd.DataFrame(X, columns=names))
        assert again._statistics.batches == 1
    elif expected["statistics"] and hasattr(model, "merge"):
        both = model.merge(model)
        assert np.sum(both._statistics.n) == 2 * found.weight


@every_file
def test_a_kept_file_can_be_saved_again(path, tmp_path):
    model = lk.load(path)
    lk.save(model, tmp_path / "again.lk")
    X = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["rows"]
    assert answers(lk.load(tmp_path / "again.lk"), X) == answers(model, X)
