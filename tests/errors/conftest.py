"""A small table, and a look inside a model that sees every change."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import likelier as lk

MODELS = [
    lk.GaussianNB(),
    lk.LinearDiscriminantAnalysis(encode=False),
    lk.QuadraticDiscriminantAnalysis(encode=False),
]
MODELS += [lk.KernelDensityClassifier()]
# Whole numbers from 0 to 9: every dtype holds them exactly.
X = np.random.default_rng(0).integers(0, 10, size=(60, 3)).astype(np.float64)
Y = np.arange(60) % 3
X[:, 0] = np.clip(X[:, 0] // 2 + 2 * Y, 0, 9)


@pytest.fixture(params=MODELS, ids=str)
def model(request):
    return clone(request.param)


def inside(model):
    """All that a model holds, parameters and fit, as bytes."""
    return pickle.dumps(vars(model))


@pytest.fixture(params=["fresh", "fitted"])
def watched(request, model):
    """(model, watch): `watch()` begins, and returns a check that nothing in the model has changed since."""

    def watch(table=X):
        fitted = request.param == "fitted"
        if fitted:
            model.fit(table, Y)

        def answers():
            return model.predict_log_proba(table).tobytes() if fitted else b""

        said, held = answers(), inside(model)

        def check():
            assert inside(model) == held
            assert answers() == said

        return check

    return model, watch
