"""The report of a comparison: what is in the page, and that nothing can get in by a name."""

import base64
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve
from sklearn.tree import DecisionTreeClassifier

import likelier as lk
from likelier.comparison.cross_validate import roc_points
from likelier.report import written
from likelier.report.charts import FAR, GRID, informative, wilson
from likelier.report.figures import _order, coefficients, picture
from likelier.report.page import Scale, metric_of, page

HOSTILE = ["</script><script>alert(1)</script>", "<b>&amp;\"'", "x' onload='y", "年齢 $title ${style}"]
LIKE_MARKUP = ["$\\frac{$", "#ff0000", 'id="a" href="#b" url(#c)', "a $ b $ c"]
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """The tree of a page, flat: elements with their attributes and text; whether all are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict, list[str]]] = []
        self.stack: list[tuple[str, dict, list[str]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.stack.append(self.elements[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag):
        assert self.stack.pop()[0] == tag, f"{tag} closes what is not open"

    def handle_data(self, data):
        for _, _, text in self.stack:
            text.append(data)

    def all(self, tag, kind=None):
        return [e for e in self.elements if e[0] == tag and (kind is None or kind in e[1].get("class", ""))]

    def text(self, tag, kind=None):
        return ["".join(text) for _, _, text in self.all(tag, kind)]

    @property
    def data(self):
        return json.loads(next("".join(t) for tag, a, t in self.elements if a.get("id") == "data"))


def compared(X, y, models=("lda", "logistic-regression", "perceptron", "poisson-nb"), **how):
    return lk.compare(X, y, models=list(models), cv=3, **how)


def table(X, names):
    return pa.table(dict(zip(map(str, names), np.asarray(X).T, strict=True)))


@pytest.fixture(scope="module")
def wine():
    found = load_wine()
    y = np.array(["first", "second", "third"])[found.target]
    return compared(table(found.data, found.feature_names), y, name="wine")


@pytest.fixture(scope="module")
def wine_page(wine):
    return page(wine)


# ---- the page ------------------------------------------------------------------------------------
def test_needs_nothing_else_and_is_small(wine_page):
    assert len(wine_page.encode()) < 2_000_000
    found = Page(wine_page)
    assert not found.stack
    for tag, attributes, _ in found.elements:
        assert "src" not in attributes, tag
        if tag in ("link", "a"):
            assert attributes["href"].startswith(("#", "data:,"))
    assert not re.search(r"@import|https?://(?!www\.w3\.org/)", wine_page)


def test_table_says_what_the_comparison_says(wine, wine_page):
    found = Page(wine_page)
    names = [text.split(" best")[0].split(" tied")[0].strip() for text in found.text("th", "name")[1:]]
    running = [result for result in wine.results if result.folds]
    assert names == [result.model for result in running]
    cells = [a["data-value"] for tag, a, _ in found.elements if tag == "td" and "data-value" in a]
    per_row = len(wine.metrics) + 3
    for i, result in enumerate(running):
        for j, metric in enumerate(sorted(wine.metrics, key=lambda m: m.name != wine.metric)):
            cell = cells[i * per_row + j]
            value = result.mean(metric.name)
            assert cell == "" if np.isnan(value) else float(cell) == pytest.approx(value, rel=1e-5)
    assert len(found.all("span", "best")) == 1
    assert wine.best.model in found.text("p", "lead")[0]


def test_reasons_notes_and_assumptions_are_said(wine_page):
    assert "Skipped models" in wine_page
    assert "needs counts, but" in wine_page
    said = " ".join(Page(wine_page).text("td", "said"))
    assert said.count("Assumes that") == 3
    assert re.search("supported|doubtful|violated", said)


def test_ids_are_unique_and_labels_meet_them(wine_page):
    found = Page(wine_page)
    ids = [a["id"] for _, a, _ in found.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, a, _ in found.elements:
        for name in ("for", "aria-labelledby", "aria-describedby"):
            assert a.get(name, ids[0]) in ids
        if a.get("href", "").startswith("#"):
            assert a["href"][1:] in ids


def test_pictures_follow_the_colours_of_the_page(wine_page):
    stills = re.findall(r'<figure class="still">.*?</figure>', wine_page, flags=re.DOTALL)
    assert len(stills) == 4 + 2 + 2  # densities, coefficients, rows
    for still in stills:
        assert "var(--c0)" in still
        assert not re.search(r"(fill|stroke): #", still)
        assert "<text" in still  # not paths: it can be read, and searched


# ---- names ---------------------------------------------------------------------------------------
def test_hostile_names_stay_names():
    rng = np.random.default_rng(0)
    codes = np.arange(120) % 3
    X = rng.normal(size=(120, 4)) + codes[:, None] * [1.5, 1.0, 0.5, 0.0]
    classes = np.array([HOSTILE[0], HOSTILE[1], HOSTILE[3]])
    models = {HOSTILE[0]: lk.GaussianNB(), HOSTILE[1]: lk.LogisticRegression()}
    tree = Page(page(lk.compare(table(X, HOSTILE), classes[codes], models=models, cv=2, name=HOSTILE[0])))
    assert not tree.stack
    assert len(tree.all("script")) == 2
    assert not any("onload" in a or "onclick" in a for _, a, _ in tree.elements)
    assert tree.data["classes"] == sorted(classes)
    assert {name for pair in tree.data["planes"]["pairs"] for name in pair["names"]} <= set(HOSTILE)
    assert set(HOSTILE[:2]) < {each["name"] for each in tree.data["evaluated"]["models"]}
    assert HOSTILE[0] in tree.text("h1")[0]
    assert f"{HOSTILE[0]} and" in " ".join(tree.text("option"))


# ---- what is drawn -------------------------------------------------------------------------------
def test_words_of_pictures_stay_as_they_are():
    def draw(ax):
        for i, name in enumerate(LIKE_MARKUP):
            ax.plot([0, 1], [i, i], label=name, color=f"C{i}")
        ax.set_yticks(range(4), LIKE_MARKUP)
        ax.set_xlabel(LIKE_MARKUP[0])
        ax.set_xscale("log")
        ax.legend()

    found = Page(picture(draw, name="words", say=LIKE_MARKUP[2]))
    said = found.text("text")
    for name in LIKE_MARKUP:
        assert said.count(name) >= 2, name
    assert not any("mathdefault" in text for text in said)


def test_rows_fewer_than_the_folds_of_a_plane_have_a_report():
    X = np.array([[0.0, 2.3], [4.6, 3.9], [5.2, 7.0], [8.8, 10.1]])
    found = lk.compare(X, [0, 1, 0, 1], ["lda"], cv=2)
    assert "Decision boundaries" in page(found)


def test_curves_are_scikit_learns(wine, wine_page):
    data = Page(wine_page).data["evaluated"]
    y = np.searchsorted(wine.classes, wine.rows.y)
    for model in data["models"]:
        result = wine.result(model["name"])
        np.testing.assert_array_equal(model["confusion"], confusion_matrix(y, result.predicted))
        if result.P is None:
            assert model["roc"] == []
            assert model["calibration"] is None
            continue
        for curve in model["roc"]:
            assert curve["auc"] == pytest.approx(
                roc_auc_score(y == curve["k"], result.P[:, curve["k"]]), abs=1e-4
            )
            assert curve["x"][0] == curve["y"][0] == 0
            assert curve["x"][-1] == curve["y"][-1] == 1


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(1, 3)), min_size=2, max_size=40))
def test_roc_is_scikit_learns_with_ties_and_weights(rows):
    scores, hit, w = (np.array(each) for each in zip(*rows, strict=True))
    if hit.all() or not hit.any():
        return
    fall, rise = roc_points(scores / 7, hit, w.astype(float))
    theirs = roc_curve(hit, scores / 7, sample_weight=w, drop_intermediate=False)
    np.testing.assert_allclose(fall, theirs[0], atol=1e-12)
    np.testing.assert_allclose(rise, theirs[1], atol=1e-12)


def test_wilson_is_statsmodels():
    from statsmodels.stats.proportion import proportion_confint

    hits, n = np.array([0, 1, 5, 10]), np.array([10, 10, 10, 10])
    theirs = proportion_confint(hits, n, method="wilson")
    np.testing.assert_allclose(wilson(hits / n, n.astype(float)), theirs, atol=1e-6)


def test_maps_are_what_models_say_on_two_columns(wine, wine_page):
    pair = Page(wine_page).data["planes"]["pairs"][0]
    names = [column.name for column in wine.rows.columns]
    X = wine.rows.numbers[:, [names.index(name) for name in pair["names"]]]
    axes = [np.linspace(*ends, GRID) for ends in pair["ends"]]
    grid = np.column_stack([each.ravel() for each in np.meshgrid(*axes)])
    lda = next(model for model in pair["models"] if model["name"] == "LDA")
    P = lk.LinearDiscriminantAnalysis().fit(X, wine.rows.y).predict_proba(grid)
    held = base64.b64decode(lda["map"])
    best = np.frombuffer(held[: GRID**2], dtype=np.uint8)
    assert (best == P.argmax(axis=1)).mean() > 0.999  # ends are rounded
    doubt = np.frombuffer(held[GRID**2 : 3 * GRID**2], dtype="<u2") / 65535
    near = P.max(axis=1) < 0.9999
    np.testing.assert_allclose(1 - np.exp(-FAR * doubt[near] ** 2), P.max(axis=1)[near], atol=2e-3)


def test_telling_columns_come_first():
    rng = np.random.default_rng(1)
    y = np.arange(90) % 3
    X = np.column_stack([rng.normal(size=90), y + 0.1 * rng.normal(size=90), y + rng.normal(size=90)])
    found = informative(compared(table(X, "abc"), y, models=["lda"]), 2)
    assert [column.name for column in found] == ["b", "c"]


def test_rows_sorted_by_class_are_shuffled():
    in_turn, sorted_ = np.arange(60) % 3, np.repeat([0, 1, 2], 20)
    order, said = _order(in_turn, 0)
    assert said == "in their order"
    assert (order == np.arange(60)).all()
    order, said = _order(sorted_, 0)
    assert "sorted by class" in said
    assert sorted(order) == list(range(60))
    assert (np.diff(order) < 0).any()


# ---- tables of every kind ------------------------------------------------------------------------
def test_two_classes_weights_and_estimators_of_any_kind():
    found = load_breast_cancer()
    X, y = table(found.data[:, :4], "abcd"), found.target
    models = {"tree": DecisionTreeClassifier(max_depth=2), "theirs": LogisticRegression()}
    w = np.arange(len(y)) % 3 + 1.0
    data = Page(page(lk.compare(X, y, models=models, cv=3, sample_weight=w))).data
    assert np.sum(data["evaluated"]["models"][0]["confusion"]) == w.sum()
    assert [curve["k"] for curve in data["evaluated"]["models"][0]["roc"]] == [1]
    assert len(data["planes"]["pairs"]) == 6


def test_numbers_to_be_found():
    found = load_diabetes()
    comparison = lk.compare(table(found.data, found.feature_names), found.target, cv=3)
    tree = Page(page(comparison))
    held = tree.data["residuals"]
    assert held["models"][0]["name"] == comparison.best.model
    assert len(held["y"]) == 442
    np.testing.assert_allclose(held["models"][0]["said"], comparison.best.predicted, rtol=1e-4)
    assert "Which regression suits" in tree.text("h1")[0]


def test_scores_without_probabilities_have_regions():
    X, y = load_wine(return_X_y=True)
    data = Page(page(compared(X[:, :4], y, models=["linear-svc"], metric="error"))).data
    assert not any(model["sure"] for pair in data["planes"]["pairs"] for model in pair["models"])
    assert len(data["planes"]["pairs"]) == 6


def test_many_weights_have_no_intervals(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    classes = compared(X[:, :6], y, models=["logistic-regression"])
    numbers = compared(*load_diabetes(return_X_y=True), models=["linear-regression"])
    for found in (classes, numbers):
        assert "95 % interval" in coefficients(found, found.results[:1])
        with monkeypatch.context() as patch:
            patch.setattr("likelier.report.figures.MOST_WEIGHTS", 5)
            drawn = coefficients(found, found.results[:1])
        assert "weight per standard" in drawn
        assert "interval" not in drawn


def test_categories_missing_cells_and_text_have_fallbacks():
    rng = np.random.default_rng(2)
    y = np.array(["yes", "no"])[np.arange(80) % 2]
    colour = np.where(rng.random(80) < 0.8, y, "maybe")
    text = [f"{label} or so I heard them say {i}" for i, label in enumerate(y)]
    x = np.where(rng.random(80) < 0.2, np.nan, rng.normal(size=80) + (y == "yes"))
    said = page(compared(pa.table({"colour": colour, "text": text, "x": x}), y))
    assert "no two columns of numbers" in said
    assert f"{np.isnan(x).sum()}</dd>" in said  # missing cells
    assert "text: yes" in said  # a word among the coefficients
    said = page(compared(pa.table({"colour": colour}), y, models=["naive-bayes", "categorical-nb"]))
    densities = said[said.index('id="densities"') :]
    assert 'aria-label="colour in each class"' in densities  # bars of a category
    assert "Lines and points: NaiveBayes" in densities or "Lines and points: CategoricalNB" in densities


def test_many_classes_are_limited_and_it_is_said():
    rng = np.random.default_rng(3)
    y = np.arange(240) % 24
    X = np.column_stack([y % 5, y // 5]) + 0.3 * rng.normal(size=(240, 2))
    text = page(compared(X, y, models=["lda"], task="classify"))
    held = Page(text).data["evaluated"]
    assert len(held["curved"]) == 10
    assert len(held["squares"]) == 20
    assert np.shape(held["models"][0]["confusion"]) == (21, 21)
    assert np.sum(held["models"][0]["confusion"]) == 240
    assert "24 classes are too many" in text


def test_sparse_rows_have_a_report():
    from scipy.sparse import random as sparse_random

    X = sparse_random(90, 30, 0.2, format="csr", random_state=0)
    text = page(compared(X, np.arange(90) % 2, models=["logistic-regression", "multinomial-nb"]))
    assert "a sparse matrix" in text
    assert "no two columns of numbers" in text


def test_nothing_but_the_baseline_has_a_report():
    X, y = load_wine(return_X_y=True)
    text = page(compared(X, y, models=["poisson-nb"]))
    assert "No model could be fitted to two columns" in text
    assert "needs counts, but" in text


# ---- writing -------------------------------------------------------------------------------------
def test_written_whole_or_not_at_all(wine, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    monkeypatch.setattr("likelier.report.page.page", lambda _: "π")
    assert written(wine, path) == path == wine.to_html(path)
    assert path.read_bytes() == "π".encode()
    monkeypatch.setattr("likelier.report.page.page", lambda _: "\ud800")  # that no file can hold
    with pytest.raises(UnicodeEncodeError):
        written(wine, path)
    assert path.read_bytes() == "π".encode()
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_without_matplotlib_says_how_to_get_it(wine, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'likelier\[report\]'"):
        wine.to_html(tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_a_report_changes_no_settings_of_matplotlib():
    import matplotlib

    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"axes.facecolor": "black", "text.color": "white"}):
        dark = picture(lambda ax: ax.plot([1, 2]), name="one", say="a line")
    assert dict(matplotlib.rcParams) == before
    assert dark == picture(lambda ax: ax.plot([1, 2]), name="one", say="a line")


def test_small_plots_end_at_the_baseline():
    """A bad model is an arrow at the end of the axis, and does not squeeze the others together."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 2)) + y[:, None]

    class Wrong(DummyClassifier):
        def predict_proba(self, X):
            return np.tile([1e-9, 1 - 1e-9], (len(X), 1))

    found = lk.compare(
        X, y, {"nb": lk.GaussianNB(), "lda": lk.LinearDiscriminantAnalysis(), "bad": Wrong()}
    )
    drawn = page(found)
    assert drawn.count('class="beyond"') == 1
    base = next(result for result in found.results if result.baseline)
    scale = Scale.of(found.results, metric_of(found))
    assert scale.high == pytest.approx(base.mean("log_loss") + base.error_of("log_loss"))
    assert scale.at(base.mean("log_loss")) - scale.at(found.best.mean("log_loss")) > 40  # of 120 pixels


def test_informative_columns_are_numbers_and_categories_by_one_measure():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    strong = np.where(rng.random(400) < 0.95, y, 1 - y).astype(str)
    many = np.array([f"id{i}" for i in rng.integers(0, 300, 400)])  # says nothing, in many levels
    x = rng.normal(size=400) + 0.8 * y
    frame = pa.table({"many": many, "x": x, "strong": strong})
    found = lk.compare(frame, y, ["naive-bayes"], cv=2)
    names = [column.name for column in informative(found, 3, ("number", "category"))]
    assert names == ["strong", "x", "many"]
    assert [column.name for column in informative(found, 3)] == ["x"]


def test_texts_are_shown_with_their_words_shaded():
    words = np.array(["cheap", "money", "noon", "lunch", "<b>bold</b>", "see", "you", "later", "win"])
    rng = np.random.default_rng(0)
    y = np.array(["ham", "spam"])[rng.integers(0, 2, 160)]
    odds = {"ham": [0, 0, 3, 3, 1, 2, 2, 2, 0], "spam": [4, 3, 0, 0, 1, 1, 1, 0, 3]}
    draw = [rng.choice(words, 7, p=np.array(odds[k]) / sum(odds[k])) for k in y]
    table = pa.table({"n": rng.normal(size=160), "body": [" ".join(some) for some in draw]})
    said = page(compared(table, y, models=["LogisticRegression", "GaussianNB"]))
    section = said[said.index('<section id="texts"') :]
    section = section[: section.index("</section>")]
    assert "<b>LogisticRegression</b>" in section
    assert "of class ham" in section
    assert "of class spam" in section
    shaded = re.findall(r'background:rgba\((\d+),.*?title="([+-][^"]+)">(\w+)</span>', section)
    assert {"cheap", "money", "win"} & {word for _, _, word in shaded}
    assert all((float(value) > 0) == (red == "46") for red, value, _ in shaded if float(value))
    assert "<b>bold" not in section
