"""What cannot be exported says so, and files are not written over."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KernelDensity

import likelier as lk
from export.models import passengers, quietly
from likelier.export.describe import described_density
from likelier.export.program import Linear, NotExpressible, Sum
from likelier.families.base import Independent
from likelier.states import ColumnMoments

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 80)
X = rng.normal(y[:, None], 1, (80, 2))

WRITERS = {
    "sql": lambda model: model.to_sql("t"),
    "python": lk.to_python,
    "c": lk.to_c,
}
every_writer = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


@dataclass(frozen=True)
class Slopes(Independent):
    """A density of a user's own, scored cell by cell: -|x - m|, but for its constant."""

    mean: np.ndarray

    @property
    def expected(self):
        return self.mean

    def each(self, x):
        return 2 * self.mean * x - self.mean**2

    def sample(self, codes, rng):
        return self.mean[codes]


@dataclass(frozen=True)
class Own:
    """Its family."""

    def stats(self, K, p):
        return ColumnMoments.start(K, p)

    def estimate(self, stats, among=None):
        return Slopes(stats.mean)


@every_writer
def test_a_model_that_is_not_fitted_is_refused(write):
    with pytest.raises(NotFittedError, match="This GaussianNB instance is not fitted yet"):
        write(lk.GaussianNB())


@every_writer
def test_a_density_of_ones_own_is_refused_by_its_name_until_it_is_described(write):
    model = lk.NaiveBayes({0: Own(), 1: "gaussian"}).fit(X, y)
    with pytest.raises(
        NotExpressible, match=r"its density is export.test_refused.Slopes.*described_density"
    ):
        write(model)

    @described_density.register
    def _(params: Slopes, columns) -> Sum:
        term = Linear(columns, 2 * params.mean, np.zeros(len(columns)), -(params.mean**2), skip=True)
        return Sum(np.zeros(len(params.mean)), (term,))

    try:
        names = {}
        exec(lk.to_python(model), names)
        ours = [names["predict_proba"]({"c0": a, "c1": b}) for a, b in X]
        np.testing.assert_allclose(ours, model.predict_proba(X), atol=1e-12)
        write(model)
    finally:  # as it was, for the other writers
        described_density.register(Slopes, described_density.dispatch(object))


def test_densities_of_other_libraries_are_refused():
    model = lk.BayesClassifier(KernelDensity()).fit(X, y)
    with pytest.raises(NotExpressible, match="its densities are objects of another library"):
        lk.to_python(model)


def test_models_of_hashes_and_texts_are_refused():
    with pytest.raises(
        NotExpressible, match="OnlineClassifier cannot be exported: its features are hashed"
    ):
        lk.to_python(lk.OnlineClassifier().fit(X, y))
    texts = lk.TextClassifier().fit(["a good film", "a bad film"], [1, 0])
    with pytest.raises(NotExpressible, match="TextClassifier cannot be exported"):
        lk.to_c(texts)
    voted = lk.Perceptron(weights="voted", random_state=0).fit(X, y)
    with pytest.raises(NotExpressible, match="weights='average'"):
        voted.to_sql("t")


@pytest.mark.parametrize(
    ("term", "why"),
    [
        (
            "bs(age, df=4)",
            r"'bs\(age, df=4\)' is computed by likelier alone, in the term 'bs\(age, df=4\)'",
        ),
        ("I(age > 30)", "in the term 'I\\(age > 30\\)' of its formula. Exports know columns, C\\(\\)"),
        ("I(age % 3)", "'age % 3' is computed by likelier alone"),
        ("I(sex == 'f')", "'sex' is a category in one term and computed with in another"),
        ("C(pclass) + pclass", "'pclass' is a category in one term and computed with in another"),
        ("poly(age, 9)", "its degree is above 8"),
    ],
)
@every_writer
def test_terms_of_formulas_that_exports_do_not_know_are_refused_by_their_names(write, term, why):
    model = quietly(lambda: lk.LogisticRegression.from_formula(f"y ~ {term}", passengers()))
    with pytest.raises(NotExpressible, match=why):
        write(model)


def test_gaps_in_a_kernel_density_are_refused():
    held = X.copy()
    held[3, 0] = np.nan
    with pytest.raises(NotExpressible, match="Fit it to complete rows"):
        lk.to_python(lk.KernelDensityClassifier().fit(held, y))


def test_other_objects_are_refused():
    with pytest.raises(
        TypeError, match="model must be a fitted classifier or regression of likelier; got 3"
    ):
        lk.to_python(3)
    with pytest.raises(TypeError, match="fit the class of the same name in likelier"):
        lk.to_c(LogisticRegression().fit(X, y))


@pytest.mark.parametrize("write", [lk.to_python, lk.to_c])
def test_a_file_that_exists_is_kept(write, tmp_path):
    model, path = lk.GaussianNB().fit(X, y), tmp_path / "model.txt"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write(model, path)
    assert path.read_text() == "mine"
    assert write(model, path, overwrite=True) == path.read_text(encoding="utf-8")
