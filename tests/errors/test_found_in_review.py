"""Inputs that once gave a wrong answer, or none, without a word."""

import numpy as np
import pytest
from scipy import sparse

import likelier as lk

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 20)
X = RNG.standard_normal((60, 3)) + Y[:, None]
LDA, QDA = lk.LinearDiscriminantAnalysis, lk.QuadraticDiscriminantAnalysis
every_model = pytest.mark.parametrize("model", [lk.GaussianNB(), LDA(), QDA()], ids=repr)


@every_model
@pytest.mark.parametrize("index", [3, 10**8, -1])
def test_sparse_indices_outside_the_matrix_are_refused(model, index):
    A = sparse.csr_matrix(X)
    columns = A.indices.copy()
    columns[5] = index
    A.indices = columns
    with pytest.raises(ValueError, match="indices outside 0 to 2"):
        model.fit(A, Y)


def test_a_broken_indptr_is_refused():
    A = sparse.csr_matrix(X)
    A.indptr = A.indptr.copy()
    A.indptr[30] = 10**7
    with pytest.raises(ValueError, match="indptr"):
        lk.GaussianNB().fit(A, Y)


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_lsqr_with_a_singular_covariance_agrees_with_its_own_density():
    wide = RNG.standard_normal((40, 100))
    y = np.arange(40) % 2
    model = LDA(solver="lsqr").fit(wide, y)
    Z = model.predict_joint_log_proba(wide)
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    np.testing.assert_allclose(P / P.sum(axis=1, keepdims=True), model.predict_proba(wide), atol=1e-8)
    assert np.abs(model.coef_).max() < 1e3


def test_labels_that_only_a_wider_type_tells_apart_are_not_mixed_up():
    big = np.array([2**62, 2**62 + 1, 2**62 + 2])
    with pytest.raises(ValueError, match="do not exist"):
        lk.GaussianNB().partial_fit(X, big[Y] + 3, classes=big.astype(np.uint64))
    a = lk.GaussianNB().fit(X, big[Y])
    b = lk.GaussianNB().fit(X, (big + 1)[Y].astype(np.uint64))
    both = a.merge(b, classes="union")
    assert both.classes_.tolist() == [2**62, 2**62 + 1, 2**62 + 2, 2**62 + 3]
    assert both.class_count_.tolist() == [20, 40, 40, 20]
    with pytest.raises(ValueError, match="different kinds"):
        a.merge(lk.GaussianNB().fit(X, Y.astype(str)), classes="union")


@every_model
def test_values_whose_squares_overflow_are_refused_and_spoil_nothing(model):
    model = model.fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="overflow"):
        model.partial_fit(np.sign(X) * 1e200, Y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
def test_one_class_far_away_does_not_cost_lda_the_digits_of_the_others(solver):
    near = Y < 2
    far = X.copy()
    far[~near] += 1e8
    model = LDA(solver=solver).fit(far, Y)
    W = np.linalg.solve(model.covariance_, (model.means_[1] - model.means_[0]))
    middle = model.means_[:2].mean(axis=0)
    expected = 1 / (1 + np.exp(-(far[near] - middle) @ W))
    np.testing.assert_allclose(model.predict_proba(far[near])[:, 1], expected, atol=1e-6)


def test_one_class_far_away_does_not_cost_qda_its_digits():
    far = X + 1e10 * (Y == 2)[:, None]
    model = QDA().fit(far, Y)
    d = far[Y == 2] - model.means_[2]
    S = np.cov(far[Y == 2].T, bias=True)
    expected = -0.5 * np.einsum("ij,ij->i", d, np.linalg.solve(S, d.T).T)
    expected -= 0.5 * np.linalg.slogdet(2 * np.pi * S)[1] + np.log(3)
    np.testing.assert_allclose(model.predict_joint_log_proba(far[Y == 2])[:, 2], expected, atol=1e-3)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_the_linear_reading_holds_far_from_0(solver):
    model = LDA(solver=solver).fit(X + 1e8, Y)
    np.testing.assert_allclose(
        model.to_linear().predict_proba(X + 1e8), model.predict_proba(X + 1e8), atol=1e-5
    )


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_the_linear_reading_of_one_class_has_one():
    linear = LDA().fit(X, np.zeros(60)).to_linear()
    assert linear.predict_proba(X).tolist() == [[1.0]] * 60
    assert linear.predict(X).tolist() == [0.0] * 60


@pytest.mark.parametrize(
    "model", [m(priors=[0.25] * 4) for m in (lk.GaussianNB, LDA, QDA)], ids=lambda m: type(m).__name__
)
def test_a_class_never_seen_has_no_density_whatever_its_prior(model):
    model.partial_fit(X, Y, classes=[0, 1, 2, 3])
    assert (model.predict_proba(np.zeros((1, 3)))[:, 3] == 0).all()
    assert (model.predict_proba(X, priors=[0.1, 0.1, 0.1, 0.7])[:, 3] == 0).all()
    with pytest.raises(ValueError, match="cannot be sampled"):
        model.sample(2, y=3)


def test_a_first_row_of_hardly_any_weight_does_not_cost_the_mean_its_digits():
    rows, w = np.array([[1e20], [1.0], [2.0], [3.0]]), [1e-30, 1, 1, 1]
    with pytest.warns(lk.DegenerateWarning, match="class 0"):
        model = lk.GaussianNB().fit(rows, [0, 0, 0, 0], sample_weight=w)
    assert model.theta_[0, 0] == pytest.approx(2.0, rel=1e-9)


@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_no_smoothing_and_a_constant_column_still_have_an_answer():
    constant = np.c_[X, np.ones(60)]
    P = lk.GaussianNB(var_smoothing=0).fit(constant, Y).predict_proba(constant)
    np.testing.assert_allclose(P, lk.GaussianNB(var_smoothing=0).fit(X, Y).predict_proba(X), atol=1e-12)


def test_decide_is_as_sure_however_far_a_row_is():
    model = lk.GaussianNB().fit(X, Y)
    assert model.decide([[1e200] * 3], reject=0.1) == model.decide([[1e100] * 3], reject=0.1)
    with pytest.raises(ValueError, match="reject"):
        model.decide(X, reject=np.nan)


def test_strings_of_any_length_are_labels():
    labels = np.array(["a", "bb", "ccc"], dtype=np.dtypes.StringDType())[Y]
    assert lk.GaussianNB().fit(X, labels).classes_.tolist() == ["a", "bb", "ccc"]


def test_a_truth_is_no_column_number():
    with pytest.raises(ValueError, match="no column True"):
        lk.GaussianNB().fit(X, Y).marginal([True, False])


def test_what_is_shown_can_be_written_over_without_harm():
    model = lk.GaussianNB().fit(X, Y)
    model.class_count_[:] = 99
    assert model.partial_fit(X, Y).class_count_.tolist() == [40, 40, 40]


NAIVE = (lk.BernoulliNB, lk.MultinomialNB, lk.ComplementNB, lk.CategoricalNB, lk.PoissonNB, lk.NaiveBayes)


@pytest.mark.parametrize("model", NAIVE)
def test_endless_smoothing_is_refused(model):
    counts = RNG.integers(4, size=(60, 3))
    with pytest.raises(ValueError, match=r"alpha must be a finite number (>= 0|from 0 to .*); got inf"):
        model(alpha=np.inf).fit(counts, Y)


@pytest.mark.parametrize("name", ["fit_prior", "force_alpha"])
@pytest.mark.parametrize("model", NAIVE[:4])
def test_what_is_true_or_false_is_nothing_else(model, name):
    with pytest.raises(ValueError, match=f"{name} must be True or False; got 'yes'"):
        model(**{name: "yes"}).fit(RNG.integers(4, size=(60, 3)), Y)
