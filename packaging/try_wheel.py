"""Whether an installed likelier works, with nothing but what `pip install likelier` brings."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

begun = time.perf_counter()
import likelier as lk  # noqa: E402

imported = time.perf_counter() - begun
import numpy as np  # noqa: E402
from sklearn.datasets import load_wine  # noqa: E402

X, y = load_wine(return_X_y=True)
begun = time.perf_counter()
model = lk.GaussianNB().fit(X, y)
first = time.perf_counter() - begun
assert model.score(X, y) > 0.95

for make in (
    lk.LogisticRegression,
    lk.LinearDiscriminantAnalysis,
    lk.NaiveBayes,
    lk.LinearSVC,
    lk.Perceptron,
):
    assert make().fit(X, y).score(X, y) > 0.6, make
online = lk.OnlineClassifier()
for i in range(50):
    online.learn_one({"a": i % 2, "b": "x" if i % 3 else "y"}, bool(i % 2))
assert online.predict_one({"a": 1, "b": "x"}) in (True, False)
assert abs(lk.LinearRegression().fit(X[:, 1:], X[:, 0]).coef_).max() < 10

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "wine.lk"
    lk.save(model, path)
    np.testing.assert_array_equal(lk.load(path).predict_proba(X), model.predict_proba(X))
    command = [sys.executable, "-c", "from likelier.cli import main; raise SystemExit(main())"]
    shown = subprocess.run([*command, "inspect", str(path)], capture_output=True, text=True, check=True)
    assert "GaussianNB" in shown.stdout
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
print(version.stdout.strip())
print(f"import {1000 * imported:.0f} ms, first fit {1000 * first:.0f} ms: works")
