"""The documentation: built without a warning, whole in itself, and readable from a folder."""

import fcntl
import html
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.interfaces.site_search import Search

import likelier

ROOT = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(HTMLParser):
    """What a page loads, where it leads, and which places it has."""

    def __init__(self, path: Path):
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if place := found.get("id") or found.get("name"):
            self.places.add(place)
        if tag in LOADED and found.get(LOADED[tag]):
            self.loads.append(found[LOADED[tag]])
        if tag == "a" and found.get("href"):
            self.leads.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Built once, whichever worker comes first.

    Without the pictures of the examples: these have tests of their own, and take as long as all else.
    """
    pytest.importorskip("material")
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    place = base / "site"
    with (base / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _build(place)
    return place


def _build(place: Path) -> None:
    fresh = place.with_name("fresh-site")
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(fresh)],
        cwd=ROOT,
        env={**os.environ, "LIKELIER_EXAMPLES": "0", "NO_MKDOCS_2_WARNING": "1", "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    fresh.rename(place)


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for path, page in pages.items():
        assert not [url for url in page.loads if urlsplit(url).netloc], path
    for path in site.rglob("*.css"):
        assert not re.findall(r"url\(['\"]?(?:https?:)?//", path.read_text(encoding="utf-8")), path


def test_every_link_leads_somewhere(site, pages):
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # served from anywhere, its links begin at the root
            continue
        for link in [*page.leads, *page.loads]:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            places = pages[target].places if target in pages else set()
            if not target.is_file() or (places and url.fragment and unquote(url.fragment) not in places):
                broken.append((path.name, link))
    assert not broken


def test_every_page_of_the_folder_is_there(site):
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).exists(), page


def test_every_public_name_has_an_entry(site, pages):
    places = set().union(*(page.places for path, page in pages.items() if path.parent.name == "reference"))
    names = [f"likelier.{name}" for name in likelier.__all__ if name != "plot"]
    for name in likelier.plot.__all__:
        drawn = getattr(likelier.plot, name)
        names.append(f"{drawn.__module__}.{name}")
    assert not [name for name in names if name not in places]


def test_pages_have_their_pictures(site, pages):
    """One for light pages and one for dark below each block that draws."""
    for page in (ROOT / "docs").glob("*.md"):
        drawn = re.findall(r"^```python picture: ", page.read_text(encoding="utf-8"), flags=re.M)
        shown = [url for url in pages[site / f"{page.stem}.html"].loads if url.startswith("pictures/")]
        assert len(shown) == 2 * len(drawn), page
        for url in shown:
            assert "<svg" in (site / urlsplit(url).path).read_text(encoding="utf-8")[:1000]


def test_formulas_have_indices_and_names_have_not(site):
    text = (site / "discriminant-analysis.html").read_text(encoding="utf-8")
    assert "p(C<sub>k</sub> | x) = p(C<sub>k</sub>) p(x | C<sub>k</sub>)" in text
    assert "half<sub>" not in (site / "reference" / "online-learning.html").read_text(encoding="utf-8")


# What people type, and the pages that they should find among the first three.
SEARCHED = {
    "boolean": "booleans-and-counts",
    "binary columns": "booleans-and-counts",
    "SVM": "linear-svm",
    "support vector machine": "linear-svm",
    "one-hot": "design-matrix",
    "multi-label": "recipes",
    "feature selection": "recipes",
    "collinear": "recipes|linear-regression|design-matrix",
    "dummy variables": "design-matrix",
    "imputation": "missing-values",
    "missing values": "missing-values",
    "NaN": "missing-values",
    "regularisation": "logistic-regression|discriminant-analysis",
    "regularization": "glossary",
    "confidence interval": "standard-errors",
    "p-value": "standard-errors",
    "robust standard errors": "standard-errors",
    "odds ratio": "standard-errors",
    "learning rate": "stochastic-gradient-descent|online-learning",
    "AUC": "evaluation|calibration|plots",
    "ROC curve": "plots|evaluation|imbalanced-classes",
    "confusion matrix": "plots|evaluation|recipes",
    "class imbalance": "imbalanced-classes",
    "imbalanced": "imbalanced-classes",
    "class weight": "imbalanced-classes",
    "tf-idf": "text",
    "n-grams": "text",
    "naive bayes": "naive-bayes|booleans-and-counts",
    "EM algorithm": "mixture-models",
    "clustering": "mixture-models|recipes",
    "ridge": "linear-regression",
    "least squares": "linear-regression",
    "polynomial": "linear-regression",
    "outlier": "outliers-and-sampling",
    "anomaly detection": "outliers-and-sampling",
    "sampling": "outliers-and-sampling",
    "synthetic data": "outliers-and-sampling",
    "calibration": "calibration",
    "reliability diagram": "calibration",
    "cross-validation": "cross-validation",
    "grid search": "cross-validation|from-scikit-learn|recipes",
    "parquet": "large-files",
    "csv": "large-files|command-line",
    "larger than memory": "large-files",
    "dask": "dask",
    "federated learning": "merging-models",
    "pickle": "saving-models",
    "save model": "saving-models",
    "feature hashing": "online-learning",
    "concept drift": "online-learning",
    "delayed labels": "progressive-validation",
    "prequential": "progressive-validation",
    "label shift": "class-priors-and-costs",
    "threshold": "recipes|class-priors-and-costs|imbalanced-classes",
    "misclassification cost": "class-priors-and-costs",
    "decision boundary": "plots|choosing-a-model",
    "feature importance": "recipes",
    "kernel density": "kernel-density",
    "bandwidth": "kernel-density",
    "LDA": "discriminant-analysis",
    "shrinkage": "discriminant-analysis",
    "perceptron": "perceptron",
    "install": "installation",
    "glossary": "glossary",
    "checkpoint": "checkpoints",
    "sample weight": "imbalanced-classes|linear-regression|evaluation|perceptron",
    "semi-supervised": "mixture-models|recipes",
    "Poisson": "booleans-and-counts",
    "multinomial": "booleans-and-counts",
    "lasso": "logistic-regression",
    "learning curve": "plots",
    "benchmark": "benchmarks",
    "normality test": "model-assumptions",
}


def test_the_search_finds_the_page_by_the_words_of_the_field(site):
    pytest.importorskip("lunr")
    search = Search(site)
    missed = []
    for query, wanted in SEARCHED.items():
        found = search.pages(query)[:3]
        if not set(found) & set(wanted.split("|")):
            missed.append((query, wanted, found))
    assert not missed


def test_a_search_for_what_is_nowhere_finds_nothing(site):
    pytest.importorskip("lunr")
    assert Search(site).pages("xylophone") == []


def test_a_browser_reads_it_from_a_folder(site):
    """No errors, nothing from outside, and the search finds: file:// has no workers and no fetch."""
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        pytest.skip("no Chromium on this machine")
    said: list[str] = []
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme="dark")
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda each: said.append(each.url) if each.url.startswith("http") else None)
        page.goto((site / "index.html").as_uri())
        assert page.locator("body").get_attribute("data-md-color-scheme") == "slate"
        shown = page.locator("img.picture:visible").evaluate_all("all => all.map(each => each.src)")
        wide = page.evaluate("document.documentElement.scrollWidth")
        page.set_viewport_size({"width": 1300, "height": 900})
        page.locator("input.md-search__input").click()
        page.keyboard.type("Ledoit")
        page.wait_for_selector(".md-search-result__item", timeout=10_000)
        browser.close()
    assert not said
    assert shown
    assert all(url.endswith("#only-dark") for url in shown)
    assert wide <= 400


def test_defaults_in_the_reference_are_those_of_docstrings(site):
    """Not the first of {"a", "b"}, which is what the parser makes of it."""
    text = re.sub(r"<[^>]+>", "", (site / "reference" / "generative.html").read_text(encoding="utf-8"))
    text = html.unescape(" ".join(text.split()))
    assert re.search(r'weighting ?\( ?\{"discriminative"\} or None ?, default: None ?\)', text)
    assert re.search(r'families ?\( ?"auto", str, Family or dict ?, default: "auto" ?\)', text)
