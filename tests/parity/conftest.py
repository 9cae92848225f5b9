"""The tables on which likelier and scikit-learn are compared."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

BUNDLED = ("iris", "wine", "breast_cancer", "digits")
FILES = {
    "banknote": ("banknote.csv", "class"),
    "glass": ("glass.csv", "type"),
    "haberman": ("haberman.csv", "survival_status"),
    "heart_statlog": ("heart_statlog.csv", "class"),
    "ionosphere": ("ionosphere.csv", "class"),
    "pima": ("pima.csv", "diabetes"),
    "vowel": ("vowel.csv", "class"),
    "spambase": ("spambase.csv.gz", "class"),
    "waveform5000": ("waveform5000.csv.gz", "class"),
    "letter": ("letter.csv.gz", "class"),
    "higgs_train": ("higgs_train.csv.gz", "label"),
    "mnist_5k": ("mnist_5k.csv.gz", None),
}


@cache
def _bundled(name):
    return getattr(datasets, f"load_{name}")(return_X_y=True)


@cache
def _read(path, target):
    if target is None:  # mnist_5k: no header, the digit last; every fifth image, 100 of each digit
        images = pd.read_csv(path, header=None).to_numpy(np.float64)[::5]
        return images[:, :-1], images[:, -1].astype(np.int64)
    frame = pd.read_csv(path)
    y = frame.pop(target).to_numpy()
    X = frame.select_dtypes("number").to_numpy(np.float64)
    step = 4 if len(X) > 10_000 else 1
    return X[::step], y[::step]


@pytest.fixture
def table(request):
    """X and y of a set by its name; the test is skipped where the data folder is not there."""

    def read(name):
        if name in BUNDLED:
            return _bundled(name)
        file, target = FILES[name]
        return _read(request.getfixturevalue("data_file")(file), target)

    return read
