"""Results and models as HTML: well formed, escaped, in the figures of the text and the page's colours."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likelier as lk
from likelier.display import Table, html, text
from likelier.estimators.base import caption

HOSTILE = "<script>alert('1')</script> & \"b\""


class Page(HTMLParser):
    """Cells, sentences and tags, with every tag closed by its own."""

    def __init__(self, source):
        super().__init__()
        self.open, self.tags, self.cells, self.sentences = [], set(), [], []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")
        if tag == "p":
            self.sentences.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data
        if self.open and self.open[-1] == "p":
            self.sentences[-1] += data


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = (X - X.mean()) / X.std()
    return X.rename(columns={"ash": HOSTILE}), y.map({0: "a", 1: HOSTILE, 2: "c"})


@pytest.fixture(scope="module")
def results(wine):
    return dict(_results(*wine))


def _results(X, y):
    one = lk.LogisticRegression().fit(X, y)
    two = y == "a"
    yield "evaluation", lk.evaluate(one, X, y)
    yield "likelihood summary", lk.LogisticRegression(C=1.0).fit(X, two).summary()
    numbers = lk.LinearRegression().fit(X, np.arange(len(X)) % 7)
    yield "regression summary", numbers.summary()
    yield "regression evaluation", lk.evaluate(numbers, X, np.arange(len(X)) % 7)
    yield (
        "cross-validation",
        lk.GaussianNB().cross_validate(X, y, 3, param_grid={"var_smoothing": [1e-9, 1.0]}),
    )
    yield "bound", lk.Perceptron().fit(X, y).mistake_bound(X, y)
    pairs = zip(X.to_dict("records"), y, strict=True)
    yield "progressive", lk.progressive(lk.OnlineClassifier(), list(pairs))
    yield "comparison", lk.compare(X, y, ["GaussianNB", "MultinomialNB"], cv=2)


def words(source):
    return {word for word in source.split() if not set(word) <= {"-"}}  # rules are of the text alone


def test_html_says_what_the_text_says(results):
    for name, result in results.items():
        page = Page(result._repr_html_())
        assert (
            {"div", "table", "tr", "td"}
            <= page.tags
            <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}
        )
        shown = " ".join([*page.cells, *page.sentences])
        assert words(str(result)) == words(shown), name


def test_names_are_escaped(results):
    for name, result in results.items():
        source = result._repr_html_()
        assert "<script" not in source, name
    page = Page(results["comparison"].checks()._repr_html_())
    assert "script" not in page.tags
    assert any(HOSTILE in each for each in page.sentences)


def test_checks_as_a_table(results):
    found = results["comparison"].checks()
    page = Page(found._repr_html_())
    for model, verdict in found.verdicts.items():
        at = page.cells.index(model)
        assert page.cells[at + 1 : at + 4] == [verdict.verdict, verdict.assumes, verdict.why]


def test_colours_are_those_of_the_page(results):
    for result in results.values():
        assert not re.search(r"(?<!-)color\s*:|background", result._repr_html_())


def test_parts_in_both_forms():
    parts = ["a <sentence>", "", Table([["", "x"], ["long name", "1"], ["b", "22"]])]
    assert text(parts) == "a <sentence>\n\n            x\nlong name   1\nb          22"
    page = Page(html(parts))
    assert page.sentences == ["a <sentence>"]
    assert page.cells == ["", "x", "long name", "1", "b", "22"]


# ---- models --------------------------------------------------------------------------------------
def test_models_keep_scikit_learns_diagram_and_say_what_they_found(wine):
    X, y = wine
    model = lk.GaussianNB()
    assert "sk-top-container" in model._repr_html_()
    assert model.assumes in model._repr_html_()
    model.fit(X, y)
    sentence, table = caption(model)
    assert sentence == model.assumes
    assert table.rows[1:3] == [[HOSTILE, "71", "0.3989"], ["a", "59", "0.3315"]]
    assert "<script>alert" not in model._repr_html_()
    assert sentence in model._repr_mimebundle_()["text/html"]


def test_coefficients_of_a_model(wine):
    X, y = wine
    model = lk.LogisticRegression().fit(X, y)
    _, table, more = caption(model)
    assert table.rows[0] == ["", *map(str, model.classes_)]
    assert table.rows[1][1] == f"{model.intercept_[0]:.4g}"
    assert table.rows[2] == ["alcohol", *(f"{w:.4g}" for w in model.coef_[:, 0])]
    assert more == "and 3 more columns"
    two = lk.LogisticRegression().fit(X.to_numpy(), y == "a")
    assert caption(two)[1].rows[0] == ["", "True"]
    assert caption(two)[1].rows[2][0] == "x0"


@pytest.mark.parametrize("targets", [1, 8])
def test_coefficients_of_a_regression(targets):
    X, y = load_diabetes(return_X_y=True)
    y = np.column_stack([y] * targets) if targets > 1 else y
    _, table, *more = caption(lk.LinearRegression().fit(X, y))
    assert table.rows[0] == (
        ["", "coefficient"] if targets == 1 else ["", *(f"target {k}" for k in range(6))]
    )
    assert more == ([] if targets == 1 else ["and 2 more targets"])


def test_many_classes_are_cut_short():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = lk.GaussianNB().fit(X, np.arange(60) % 15)
    _, table, more = caption(model)
    assert len(table.rows) == 11
    assert more == "and 5 more classes"


def test_every_kind_of_model_is_shown(wine):
    X, y = wine
    models = [
        lk.BayesClassifier(GaussianMixture(random_state=0)).fit(X, y),
        lk.GaussianMixture(2, random_state=0).fit(X),
        lk.KernelDensityClassifier().fit(X[["proline"]], y),
        lk.OnlineClassifier().fit(X, y),
        lk.LinearDiscriminantAnalysis().fit(X, y).to_linear(),
        make_pipeline(StandardScaler(), lk.LogisticRegression()).fit(X, y),
    ]
    for model in models:
        assert "sk-top-container" in model._repr_html_()


def test_pending_rows_are_shown():
    pending = lk.Pending(lk.OnlineClassifier(), horizon=10)
    pending.predict("a", {"x": 1.0}, at=0)
    pending.learn("a", 1, at=1)
    page = Page(pending._repr_html_())
    assert words(str(pending)) == words(" ".join([*page.cells, *page.sentences]))


def test_frames_have_the_same_rows(wine):
    X, _ = wine
    summary = lk.LinearRegression().fit(X, np.arange(len(X))).summary()
    page = Page(summary._repr_html_())
    assert isinstance(summary.to_frame(), pd.DataFrame)
    assert page.cells[7 : 7 + 7 * 14 : 7] == list(summary.to_frame().index)
