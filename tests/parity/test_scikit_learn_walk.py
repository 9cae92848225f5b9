"""Classes of a name that scikit-learn has: parameters, defaults, methods, attributes and precision."""

import importlib
import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.covariance import OAS
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import likelier as lk
from compat.plugin import REPLACED

PAIRS = [
    pytest.param(getattr(importlib.import_module(module), name), getattr(lk, name), id=name)
    for module, names in REPLACED.items()
    if module != "sklearn.feature_extraction.text"  # their rows are documents: test_scikit_learn_text
    for name in names
]
every_pair = pytest.mark.parametrize(("theirs", "ours"), PAIRS)
quiet = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

# What differs, and why.
DEFAULTS = {("LogisticRegression", "solver"): "auto", ("LogisticRegressionCV", "solver"): "auto"}
MISSING = {
    "LogisticRegressionCV": {"param"},  # left over by a loop in the body of scikit-learn's class
    # What a perceptron is as a case of stochastic gradients, which here it is not.
    "Perceptron": {"average", "epsilon", "learning_rate", "loss", "loss_functions", "power_t"},
}
# For two classes, and not for three, scikit-learn's stochastic gradients lose the precision of X.
WIDENED = {(name, 2): {"intercept_", "decision_function"} for name in ("SGDClassifier", "Perceptron")}
ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")
ANSWERS += ("score_samples", "predict_joint_log_proba")


def data(ours, dtype=np.float64, K=3):
    X, y = load_iris(return_X_y=True)
    X = X.astype(int) if ours is lk.CategoricalNB else X
    return X.astype(dtype), np.minimum(y, K - 1)


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_") and not name.startswith("set_")}


def kind(value):
    """What can be compared of an attribute: types of numbers, and shapes."""
    if isinstance(value, dict):
        return {key: kind(each) for key, each in value.items()}
    if isinstance(value, list):
        return [kind(each) for each in value[:1]]
    return getattr(value, "dtype", type(value)), np.shape(value)


@every_pair
def test_parameters_and_defaults(theirs, ours):
    there, here = (inspect.signature(cls.__init__).parameters for cls in (theirs, ours))
    for name, parameter in there.items():
        assert name in here
        assert here[name].kind == parameter.kind, name
        assert here[name].default == DEFAULTS.get((ours.__name__, name), parameter.default), name


@every_pair
def test_methods_and_their_arguments(theirs, ours):
    assert public(theirs) - public(ours) <= MISSING.get(ours.__name__, set())
    for name in public(theirs) & public(ours):
        if not inspect.isfunction(getattr(theirs, name)):
            continue
        there, here = (inspect.signature(getattr(cls, name)).parameters for cls in (theirs, ours))
        for argument, parameter in there.items():
            assert argument in here, (name, argument)
            required = parameter.default is inspect.Parameter.empty  # here a source may bring it along
            assert required or here[argument].default == parameter.default, (name, argument)


@quiet
@every_pair
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fitted_attributes_and_answers(theirs, ours, dtype, K):
    X, y = data(ours, dtype, K)
    a, b = theirs().fit(X, y), ours().fit(X, y)
    assert public(a) - public(b) <= MISSING.get(ours.__name__, set())
    widened = WIDENED.get((ours.__name__, K), set()) if dtype == np.float32 else set()
    if ours is lk.Ridge:  # None for some solvers there, which its own `check_estimator` refuses
        widened = {"n_iter_"}
    for name in public(a) & public(b) - widened:
        if name.endswith("_"):
            assert kind(getattr(b, name)) == kind(getattr(a, name)), name
    for name in ANSWERS:
        if hasattr(a, name) and name not in widened:
            assert kind(getattr(b, name)(X)) == kind(getattr(a, name)(X)), name
    if dtype == np.float32:  # rows of double precision: as numpy promotes
        wide = X.astype(np.float64)
        for name in ("predict_proba", "decision_function", "transform"):
            if hasattr(a, name):
                assert getattr(b, name)(wide).dtype == np.float64


@quiet
@every_pair
def test_nothing_is_there_before_a_fit(theirs, ours):
    X, y = data(ours)
    new = ours()
    for name in public(ours().fit(X, y)) | public(ours):  # set by the fit, and properties
        assert not (name.endswith("_") and hasattr(new, name)), name
    for name in ANSWERS:
        if hasattr(new, name):
            with pytest.raises(NotFittedError):
                getattr(new, name)(X)


@quiet
@pytest.mark.parametrize("model", [lk.GaussianNB(), lk.LinearDiscriminantAnalysis(), lk.LinearRegression()])
def test_single_precision_outlives_batches_and_merging(model):
    X, y = data(type(model), np.float32)
    parts = [clone(model).fit(X[i::2], y[i::2]) for i in (0, 1)]
    attribute = "theta_" if hasattr(parts[0], "theta_") else "coef_"
    assert getattr(parts[0].merge(parts[1]), attribute).dtype == np.float32
    assert getattr(parts[0].partial_fit(X[1::2], y[1::2]), attribute).dtype == np.float32
    assert getattr(parts[0].partial_fit(X.astype(float), y), attribute).dtype == np.float64
    np.testing.assert_allclose(  # it is the double precision's answer, rounded
        clone(model).fit(X, y).predict(X), clone(model).fit(X.astype(float), y).predict(X), rtol=1e-6
    )


@pytest.mark.parametrize(
    "model",
    [
        lk.LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS()),
        lk.QuadraticDiscriminantAnalysis(solver="eigen", covariance_estimator=OAS()),
    ],
    ids=["LDA", "QDA"],
)
def test_no_partial_fit_where_nothing_is_counted(model):
    for name in ("partial_fit", "merge", "cross_validate"):
        assert not hasattr(model, name)
        assert hasattr(type(model)(), name)
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as caught:
        _ = model.partial_fit
    assert "a covariance_estimator: they need statistics" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    "model",
    [lk.LogisticRegression(), lk.LinearSVC(), lk.SGDClassifier(random_state=0), lk.Perceptron()],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("K", [2, 3])
def test_weights_may_be_written(model, K):
    X, y = data(type(model), K=K)
    model = clone(model).fit(X, y)
    before = model.decision_function(X)
    model.coef_[:] *= 2
    model.intercept_ = model.intercept_ * 2
    np.testing.assert_allclose(model.decision_function(X), 2 * before, rtol=1e-9)
    model.coef_[:] = 0
    model.intercept_[:] = 0
    assert not model.decision_function(X).any()
    np.testing.assert_array_equal(model.to_linear().decision_function(X), model.decision_function(X))
