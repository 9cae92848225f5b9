"""Accuracy and log-loss on real documents, beside scikit-learn's same models and its usual pipelines."""

import argparse
import csv
import gzip
import json
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from likelier import TextClassifier

DATA = Path(os.environ.get("LIKELIER_DATA", "../shared/data"))
PAIRS = {
    "naive-bayes": lambda: make_pipeline(CountVectorizer(), MultinomialNB()),
    "bernoulli": lambda: make_pipeline(CountVectorizer(binary=True), BernoulliNB()),
    "complement": lambda: make_pipeline(CountVectorizer(), ComplementNB()),
    "logistic": lambda: make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000)),
    "svm": lambda: make_pipeline(TfidfVectorizer(), LinearSVC()),
}
MORE = {
    "perceptron": {"model": "perceptron", "random_state": 0},
    "nb-svm": {"model": "nb-svm"},
    "nb-svm, 1-2": {"model": "nb-svm", "ngram_range": (1, 2)},
    "complement, tf-idf 1-2": {
        "model": "complement",
        "weighting": "tf-idf",
        "ngram_range": (1, 2),
        "alpha": 0.1,
    },
    "svm, 1-2": {"model": "svm", "ngram_range": (1, 2)},
}


class Split(NamedTuple):
    """Documents to learn from, and others."""

    texts: list[str]
    y: list[str]
    test_texts: list[str]
    test_y: list[str]


def splits() -> Iterator[tuple[str, Split]]:
    """Of newsgroups and questions the published ones, of the others 70 % and 30 %."""
    for name in ("sms_spam", "subjectivity"):
        with gzip.open(DATA / f"{name}.tsv.gz", "rt", encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t", 1) for line in file]
        y, texts = zip(*rows, strict=True)
        X, T, a, b = train_test_split(list(texts), list(y), test_size=0.3, random_state=0, stratify=y)
        yield name, Split(X, a, T, b)
    with gzip.open(DATA / "trec_questions.tsv.gz", "rt", encoding="utf-8") as file:
        table = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    text = next(name for name in table[0] if name not in ("coarse", "fine", "split"))
    train, test = ([row for row in table if row["split"] == part] for part in ("train", "test"))
    yield (
        "trec_questions",
        Split(
            [r[text] for r in train], [r["coarse"] for r in train],
            [r[text] for r in test], [r["coarse"] for r in test],
        ),
    )  # fmt: skip
    parts = []
    for part in ("train", "test"):
        with gzip.open(DATA / f"newsgroups20_{part}.jsonl.gz", "rt", encoding="utf-8") as file:
            found = [json.loads(line) for line in file]
        parts += [[row["text"] for row in found], [row["group"] for row in found]]
    yield "newsgroups20", Split(*parts)


def measured(model: Any, split: Split) -> tuple[float, float | None, float]:
    """Accuracy, log-loss (None: no probabilities) and the seconds of the fit."""
    start = time.perf_counter()
    model.fit(split.texts, split.y)
    seconds = time.perf_counter() - start
    accuracy = accuracy_score(split.test_y, model.predict(split.test_texts))
    loss = None
    if hasattr(model, "predict_proba"):
        loss = log_loss(split.test_y, model.predict_proba(split.test_texts), labels=sorted(set(split.y)))
    return accuracy, loss, seconds


def main() -> None:
    """Print a line for each data set and model."""
    new = argparse.ArgumentParser(prog="python -m benchmarks.text.quality", description=__doc__)
    new.add_argument("--only", default="", help="data sets whose name contains this")
    given = new.parse_args()
    warnings.simplefilter("ignore")
    for name, split in splits():
        if given.only not in name:
            continue
        for model, pipeline in PAIRS.items():
            ours, theirs = measured(TextClassifier(model), split), measured(pipeline(), split)
            print(f"{name:15} {model:24} {_said(ours)}   scikit-learn {_said(theirs)}", flush=True)
        for model, settings in MORE.items():
            print(f"{name:15} {model:24} {_said(measured(TextClassifier(**settings), split))}", flush=True)


def _said(found: tuple[float, float | None, float]) -> str:
    accuracy, loss, seconds = found
    shown = "       -" if loss is None else f"{loss:8.4f}"
    return f"accuracy {accuracy:.4f} log-loss {shown} fit {seconds:6.2f} s"


if __name__ == "__main__":
    main()
