"""scikit-learn's callbacks, on every model that is fitted in steps."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likelier as lk

callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
MODELS = [
    lk.LogisticRegression(),
    lk.LogisticRegression(solver="lbfgs", fit_intercept=False),
    lk.LogisticRegression(l1_ratio=0.5),
    lk.LogisticRegressionCV(
        Cs=2, cv=2, l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False
    ),
    lk.LinearSVC(),
    lk.LinearSVC(multi_class="crammer_singer"),
    lk.GaussianMixture(2, n_init=2, random_state=0),
    lk.MixtureDiscriminantAnalysis(2, n_init=2, random_state=0),
    lk.Perceptron(),
    lk.SGDClassifier(random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)


class Recording:
    """What a callback was told, in order."""

    def __init__(self):
        self.told = []

    def setup(self, estimator, context):
        self.told.append(("setup", context, None))

    def teardown(self, estimator, context):
        self.told.append(("teardown", context, None))

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.told.append(("begin", context, (X, y, metadata)))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.told.append(("end", context, fitted_estimator))


def data():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2]


def weighted(model, y):
    return {} if isinstance(model, lk.GaussianMixture) else {"sample_weight": np.ones(len(y))}


@every_model
def test_every_task_begins_and_ends_and_changes_nothing(model):
    X, y = data()
    plain = model.__class__(**model.get_params()).fit(X, y)
    recording = Recording()
    seen = model.__class__(**model.get_params()).set_callbacks(recording)
    assert seen.fit(X, y, **weighted(model, y)) is seen
    names = [name for name, _, _ in recording.told]
    assert names[0] == "setup"
    assert names[-1] == "teardown"
    begun, ended = ([one for one in recording.told if one[0] == name] for name in ("begin", "end"))
    assert {id(context) for _, context, _ in begun} == {id(context) for _, context, _ in ended}
    assert len(begun) >= 3  # the fit, and some steps
    root = begun[0]
    assert root[1].task_name == "fit"
    np.testing.assert_array_equal(root[2][0], X)
    if weighted(model, y):
        np.testing.assert_array_equal(root[2][2]["sample_weight"], np.ones(len(y)))
    np.testing.assert_allclose(seen.predict(X), plain.predict(X))
    assert not any(name.startswith("_shown_to") for name in vars(seen))


@pytest.mark.parametrize("model", [MODELS[0], MODELS[1], MODELS[2], MODELS[6], MODELS[7]], ids=repr)
def test_the_model_so_far_can_be_asked(model):
    X, y = data()
    recording = Recording()
    seen = model.__class__(**model.get_params()).set_callbacks(recording).fit(X, y)
    so_far = [m for name, _, m in recording.told if name == "end" and m is not None]
    assert len(so_far) >= 3
    for each in so_far:
        assert each.predict(X).shape == y.shape
        assert each.predict_proba(X).shape[0] == len(y)
    np.testing.assert_allclose(so_far[-1].predict_proba(X), seen.predict_proba(X))


def test_a_step_is_what_as_many_iterations_give():
    X, y = data()
    recording = Recording()
    lk.LogisticRegression(solver="lbfgs").set_callbacks(recording).fit(X, y)
    steps = [
        m for name, context, m in recording.told if name == "end" and "iter" in context.task_name and m
    ]
    for number, each in enumerate(steps[:4], 1):
        with pytest.warns(Warning, match="failed to converge"):
            short = lk.LogisticRegression(solver="lbfgs", max_iter=number).fit(X, y)
        np.testing.assert_allclose(each.coef_, short.coef_)


def test_failing_fits_are_torn_down():
    recording = Recording()
    model = lk.LogisticRegression(C=-1).set_callbacks(recording)
    with pytest.raises(ValueError, match=r"C must be .*; got -1"):
        model.fit(*data())
    assert recording.told[-1][0] == "teardown"
    assert not hasattr(model, "coef_")


def test_what_is_no_callback_is_refused_and_none_takes_them_away():
    with pytest.raises(TypeError, match="callbacks must be instances"):
        lk.LinearSVC().set_callbacks("progress")
    recording = Recording()
    lk.LogisticRegression().set_callbacks(recording).set_callbacks().fit(*data())
    assert not recording.told


def test_scikit_learns_own_callbacks_in_searches_and_pipelines():
    X, y = data()
    monitor = callback.ScoringMonitor(scoring="neg_log_loss")
    lk.LogisticRegression().set_callbacks(monitor).fit(X, y)
    log = monitor.get_logs().data_as_pandas
    assert log["neg_log_loss"].iloc[1:].is_monotonic_increasing  # the first is that of the whole fit
    recording = Recording()
    recording.max_propagation_depth = None
    search = GridSearchCV(
        make_pipeline(StandardScaler(), lk.LogisticRegression()),
        {"logisticregression__C": [0.1, 1.0]},
        cv=2,
    )
    search.set_callbacks(recording).fit(X, y)
    names = {context.estimator_name for _, context, _ in recording.told}
    assert {"GridSearchCV", "LogisticRegression"} <= names
