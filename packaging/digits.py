"""Numbers that fits end with, as JSON: on every processor the same to about twelve digits."""

import json
import warnings

import numpy as np
from sklearn.datasets import load_wine

import likelier as lk

warnings.simplefilter("ignore")  # what fits say about these rows is not asked here
X, y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
rng = np.random.default_rng(0)
counts = rng.poisson(3.0 + X[:, :5] - X[:, :5].min(axis=0)).astype(float)


def proba(model: object, rows: np.ndarray) -> np.ndarray:
    """What the model says about its rows."""
    return model.fit(rows, y).predict_proba(rows)  # type: ignore[attr-defined]


found = {
    "GaussianNB": proba(lk.GaussianNB(), X),
    "LinearDiscriminantAnalysis": proba(lk.LinearDiscriminantAnalysis(), X),
    "QuadraticDiscriminantAnalysis": proba(lk.QuadraticDiscriminantAnalysis(reg_param=0.1), X),
    "MultinomialNB": proba(lk.MultinomialNB(), counts),
    "PoissonNB": proba(lk.PoissonNB(), counts),
    "KernelDensityClassifier": proba(lk.KernelDensityClassifier(bandwidth=0.5), X),
    "LogisticRegression": lk.LogisticRegression(solver="newton", tol=1e-12).fit(X, y).coef_,
    "LinearRegression": lk.LinearRegression().fit(X[:, 1:], X[:, 0]).coef_,
    "Ridge": lk.Ridge(0.5).fit(X[:, 1:], X[:, 0]).coef_,
    "Perceptron": lk.Perceptron(random_state=0).fit(X, y).coef_,
    "SGDClassifier": lk.SGDClassifier(loss="log_loss", random_state=0, max_iter=5, tol=None)
    .fit(X, y)
    .coef_,
}
online = lk.OnlineClassifier(shuffle=False)
for row, label in zip(X, y, strict=True):
    online.learn_one({str(j): float(value) for j, value in enumerate(row)}, int(label))
rows = [{str(j): float(value) for j, value in enumerate(row)} for row in X]
found["OnlineClassifier"] = np.array([list(online.predict_proba_one(row).values()) for row in rows])
print(json.dumps({name: np.asarray(values).ravel().tolist() for name, values in found.items()}))
