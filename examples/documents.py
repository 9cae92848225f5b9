"""Documents as counts of words: naive Bayes, whose counts are exponents and whose ratios are weights.

Small: four words, seven documents, and the one to be classified says Obama once and voters twice. Its odds
are g(x) = P(+)/P(-) · Π (P(V_i | +) / P(V_i | -))^x_i, and their logarithm is a line: the log prior ratio
is the bias, the log likelihood ratios are the weights (Chrupała 2012). Larger: every docstring of some of
Python's own modules, as documents about numbers, files or networks, told apart by three kinds of naive
Bayes that count words, look whether they are there, or count them in all other classes.

    python examples/documents.py [picture.png]
"""

import importlib
import inspect
import sys

import matplotlib

matplotlib.use("Agg")  # to a file: no screen is needed

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer

import likelier as lk

WORDS = ["Obama", "Ferrari", "voters", "movies"]
DOCUMENTS = pd.DataFrame(
    [[2, 0, 1, 0], [1, 0, 3, 0], [1, 0, 1, 1], [0, 1, 2, 0], [0, 2, 0, 1], [0, 1, 0, 2], [1, 1, 0, 3]],
    columns=WORDS,
)
ABOUT = ["politics"] * 4 + ["other"] * 3
NEW = pd.DataFrame([[1, 0, 2, 0]], columns=WORDS)

MODULES = {
    "files": ["os", "shutil", "pathlib", "tempfile", "zipfile", "tarfile", "glob", "gzip", "fileinput"],
    "networks": [
        "socket",
        "ftplib",
        "smtplib",
        "poplib",
        "http.client",
        "urllib.request",
        "ssl",
        "imaplib",
    ],
    "numbers": ["math", "cmath", "statistics", "fractions", "decimal", "random", "numbers"],
}
MODELS = [lk.MultinomialNB(), lk.BernoulliNB(), lk.ComplementNB()]


def small(ax: plt.Axes) -> None:
    """Print the odds of the new document as a product of powers, and draw the weights."""
    model = lk.MultinomialNB().fit(DOCUMENTS, ABOUT)
    ratio, bias = np.exp(model.coef_[0]), np.exp(model.intercept_[0])
    powers = [f"{r:.3f}^{x}" for r, x in zip(ratio, NEW.iloc[0], strict=True)]
    odds = bias * np.prod(ratio ** NEW.iloc[0].to_numpy())
    print(f"g(x) = {bias:.3f} · {' · '.join(powers)} = {odds:.3f}")
    print(f"Pr(politics) = {odds / (1 + odds):.4f}; the model: {model.predict_proba(NEW)[0, 1]:.4f}\n")
    lk.plot.coefficients(model, ax=ax)
    ax.set_title("seven documents, four words", fontsize="medium")


def docstrings() -> tuple[list[str], list[str]]:
    """Those of everything public in the modules, each once, and what they are about."""
    found = {}
    for about, names in MODULES.items():
        for module in map(importlib.import_module, names):
            public = [thing for name, thing in vars(module).items() if not name.startswith("_")]
            public += [m for c in public if inspect.isclass(c) for m in vars(c).values() if callable(m)]
            for thing in public:
                text = inspect.getdoc(thing) if callable(thing) else None
                if text and len(text.split()) > 5:
                    found.setdefault(text, about)
    return list(found), list(found.values())


def main(path: str = "documents.png") -> None:
    """Both collections: what they print, the weights of words, and how many documents are needed."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 5), layout="constrained")
    small(left)
    texts, about = docstrings()
    vectorizer = CountVectorizer(token_pattern=r"[A-Za-z]{3,}", min_df=3, stop_words="english")
    X = vectorizer.fit_transform(texts)
    print(f"{len(texts)} docstrings, {X.shape[1]} words")
    found = lk.compare(X, np.array(about), models=MODELS, metric="error")
    for result in found.results:
        print(f"{result.model}: {result.mean('error'):.1%} wrong")
    counts = pd.DataFrame(X.toarray(), columns=vectorizer.get_feature_names_out())
    lk.plot.coefficients(lk.MultinomialNB().fit(counts, about), top=15, ax=middle)
    lk.plot.learning_curve(found, ax=right)
    right.set_title(f"{len(texts)} docstrings, {X.shape[1]} words", fontsize="medium")
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
