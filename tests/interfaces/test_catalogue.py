"""The catalogue of estimators: one record for each, and whatever lists models agrees with it."""

import ast
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import likelier
from likelier.cli import main
from likelier.comparison import prepare
from likelier.comparison.assumptions import verdicts
from likelier.comparison.models import classifiers, on_request, regressions
from likelier.estimators.catalogue import MODELS, NO_COLUMNS, Candidate, ModelInfo
from likelier.saving.schema import CLASSES

every_model = pytest.mark.parametrize("info", MODELS.values(), ids=lambda info: info.name)


@every_model
def test_a_record_names_what_is_there(info):
    cls = info.load()
    assert (cls.__name__, cls.__module__) == (info.name, info.module)
    assert (getattr(likelier, info.name, None) is cls) == info.public
    for each in info.candidates:
        assert each.settings.keys() <= cls().get_params().keys()
    if info.saved is not None:
        assert {*info.saved.model, *info.saved.densities} <= CLASSES.keys()


@pytest.mark.parametrize(
    "candidate",
    [*(each for info in MODELS.values() for each in info.candidates), *NO_COLUMNS.values()],
    ids=lambda candidate: candidate.name,
)
def test_a_candidate_names_what_it_is_given_and_how_it_is_checked(candidate):
    assert callable(getattr(prepare, candidate.prepare))
    assert candidate.checks
    for check in candidate.checks:
        assert callable(getattr(verdicts, check))


def test_names_are_given_once():
    for names in (
        [info.name for info in MODELS.values()],
        [info.command for info in MODELS.values() if info.command],
        [each.name for info in MODELS.values() for each in info.candidates],
    ):
        assert len(set(names)) == len(names)


def test_every_estimator_of_the_source_is_in_the_catalogue():
    """Whatever has `fit`, a public name and no underscore is listed, and nothing else is."""
    folder = Path(likelier.__file__).parent / "estimators"
    classes = {
        node.name
        for path in folder.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    assert {info.name for info in MODELS.values()} <= classes
    public = {name for name in likelier.__all__ if hasattr(getattr(likelier, name), "fit")}
    assert public == {info.name for info in MODELS.values() if info.public}


def test_type_checkers_see_the_same_names_as_python():
    tree = ast.parse(Path(likelier.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in block.body for alias in node.names}
    assert seen == set(likelier.__all__)


def test_comparisons_try_all_candidates():
    tried = [candidate_model.name for candidate_model in (*classifiers(), *regressions(), *on_request())]
    assert sorted(tried) == sorted(each.name for info in MODELS.values() for each in info.candidates)


class Commonest(ClassifierMixin, BaseEstimator):
    """A classifier of a user's, which answers the commonest class."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.share_ = counts / counts.sum()
        return self

    def predict_proba(self, X):
        return np.tile(self.share_, (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_one_record_enters_an_estimator_everywhere(monkeypatch, capsys):
    """The public names, `compare`, its table of assumptions and the command line come from the record."""
    candidate = Candidate("Commonest", "numbers", "nothing", "that rows are alike", ("assumes_nothing",))
    info = ModelInfo("Commonest", __name__, "discriminative", "commonest", candidates=(candidate,))
    monkeypatch.setitem(MODELS, "Commonest", info)
    X = np.random.default_rng(0).normal(size=(60, 2))
    found = likelier.compare(X, X[:, 0] > 0, models=["Commonest", "GaussianNB"])
    assert {result.model for result in found.results} == {"(majority class)", "Commonest", "GaussianNB"}
    assert "Commonest assumes that rows are alike. Violated" in str(found.checks())
    assert main(["train", "--help"]) == 0
    assert "commonest" in capsys.readouterr().out
