"""The report in a real browser: it draws, its choosers work, and it asks for nothing from outside."""

import re
import shutil

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_diabetes, load_wine

import likelier as lk

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH: the page is not opened")
WIDE, PHONE = {"width": 1240, "height": 900}, {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip(
        "playwright.sync_api", reason="playwright drives the browser"
    ).sync_playwright
    with sync() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Reports of classes and of numbers, with names that a page might trip over."""
    folder = tmp_path_factory.mktemp("reports")
    wine = load_wine()
    names = [*wine.feature_names[:-1], "</script><b>'\"&proline"]
    X = pa.table(dict(zip(names, wine.data.T, strict=True)))
    y = np.array(["<i>barolo", "grignolino", "barbera & co"])[wine.target]
    models = ["lda", "gaussian-nb", "logistic-regression", "perceptron"]
    lk.compare(X, y, models=models, cv=3, name="wine").to_html(folder / "wine.html")
    diabetes = load_diabetes()
    X = pa.table(dict(zip(diabetes.feature_names, diabetes.data.T, strict=True)))
    lk.compare(X, diabetes.target, cv=3).to_html(folder / "diabetes.html")
    return folder


@pytest.fixture
def opened(browser, files):
    """A page at some size and scheme; that nothing went wrong on it is seen at the end."""
    contexts, wrong = [], []

    def open_(name="wine", size=WIDE, scheme="light", **how):
        context = browser.new_context(viewport=size, color_scheme=scheme, **how)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.append(request.url) if _outside(request.url) else None)
        page.goto((files / f"{name}.html").as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not wrong


def _outside(url: str) -> bool:
    return not url.startswith(("file:", "data:"))


def _drawing(page, selector):
    return page.eval_on_selector(selector, "node => node.innerHTML")


def _shades(page, selector):
    """How many colours a canvas has."""
    return page.eval_on_selector(
        selector,
        """canvas => { const { width, height } = canvas;
        const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
        return new Set(new Uint32Array(data.buffer)).size; }""",
    )


def test_all_is_drawn(opened):
    page = opened()
    paths = page.eval_on_selector_all("#roc path.curve", "all => all.map(path => path.getAttribute('d'))")
    assert len(paths) == 3
    assert all(re.match(r"M[\d.]+ [\d.]+L", path) for path in paths)
    assert page.locator("#calibration circle.dot").count() > 0
    assert page.locator("#confusion td.right").count() == 3
    for i in (0, 1):
        assert _shades(page, f"#plane-{i} canvas") > 20
    assert page.locator("figure.still svg").count() == 8
    assert page.locator("b").evaluate_all("all => all.every(b => !b.textContent.includes('proline'))")


def test_choosers_change_the_drawings(opened):
    page = opened()
    before = {name: _drawing(page, f"#{name}") for name in ("roc", "calibration", "confusion")}
    assert page.locator("#model option").count() == 5
    page.locator("#model").focus()
    page.keyboard.press("ArrowDown")  # by keyboard
    for name, drawn in before.items():
        assert _drawing(page, f"#{name}") != drawn
    page.select_option("#model", label="Perceptron")
    assert "no probabilities" in page.locator("#calibration").text_content()
    page.select_option("#model", index=0)
    page.locator("#roc-key button").nth(1).click()  # one class, against those of other models
    assert page.locator("#roc path.curve").count() == 1
    assert page.locator("#roc path.faint").count() >= 1
    labels = page.locator("#plane-0 .label").all_text_contents()
    shades = page.eval_on_selector("#plane-0 canvas", "canvas => canvas.toDataURL()")
    page.select_option("#plane-0-model", index=1)
    assert page.eval_on_selector("#plane-0 canvas", "canvas => canvas.toDataURL()") != shades
    assert page.locator("#plane-0 .label").all_text_contents() == labels
    page.select_option("#pair", index=3)
    assert page.locator("#plane-0 .label").all_text_contents() != labels
    assert page.eval_on_selector("#plane-0 canvas", "canvas => canvas.toDataURL()") != shades


def test_pointer_is_told_values(opened):
    page = opened()
    page.locator("#plane-0").hover(position={"x": 200, "y": 150})
    assert re.search(r"p = ", page.locator(".tip").text_content())
    page.locator("#confusion td.right").first.hover()
    assert (
        "<i>barolo" in page.locator(".tip").text_content()
        or "barbera" in page.locator(".tip").text_content()
    )
    page.keyboard.press("Escape")
    assert page.locator(".tip").is_hidden()


def test_headings_sort(opened):
    page = opened()
    names = "table.results tbody th"
    before = page.locator(names).all_text_contents()
    page.click("table.results thead button:text('error')")
    values = page.eval_on_selector_all(
        "table.results tbody tr", "all => all.map(r => +r.children[3].dataset.value)"
    )
    assert values == sorted(values)
    page.click("table.results thead button:text('error')")
    down = page.eval_on_selector_all(
        "table.results tbody tr", "all => all.map(r => +r.children[3].dataset.value)"
    )
    assert down == values[::-1]
    assert page.locator("th[aria-sort=descending]").count() == 1
    page.click("table.results thead button:text('log-loss')")
    after = page.locator(names).all_text_contents()
    assert sorted(after) == sorted(before)
    assert "Perceptron" in after[-1]  # it has none: last, both ways
    page.click("table.results thead button:text('log-loss')")
    assert "Perceptron" in page.locator(names).all_text_contents()[-1]


def test_dark_is_dark(opened):
    def seen(page):
        paper = page.eval_on_selector("body", "body => getComputedStyle(body).backgroundColor")
        return [int(part) for part in re.findall(r"\d+", paper)[:3]], page.eval_on_selector(
            "#plane-0 canvas", "canvas => canvas.toDataURL()"
        )

    (light, bright), (dark, dim) = (seen(opened(scheme=scheme)) for scheme in ("light", "dark"))
    assert min(light) > 240
    assert max(dark) < 60
    assert bright != dim


@pytest.mark.parametrize("name", ["wine", "diabetes"])
def test_fits_a_phone(opened, name):
    page = opened(name, size=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    charts = page.eval_on_selector_all(
        "figure svg", "all => all.map(svg => svg.getBoundingClientRect().width)"
    )
    assert charts
    assert max(charts) <= 360
    assert min(charts) > 200


def test_prints_whole(opened):
    page = opened()
    page.emulate_media(media="print")
    for selector in (
        "#results",
        "#roc svg",
        "#plane-1 canvas",
        "#densities svg >> nth=0",
        "#assumptions table",
    ):
        assert page.locator(selector).is_visible()
    assert page.locator("nav").is_hidden()
    assert page.eval_on_selector(".scroll", "node => getComputedStyle(node).overflowX") == "visible"


def test_without_scripts_the_rest_is_there(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("table.results").is_visible()
    assert page.locator("#densities svg").first.is_visible()
    assert page.locator("#model").is_hidden()
    assert page.locator("noscript").first.is_visible()


def test_numbers_to_be_found_are_drawn(opened):
    page = opened("diabetes")
    assert page.locator("#said circle.dot").count() == page.locator("#residuals circle.dot").count() == 442
    before = _drawing(page, "#said")
    page.select_option("#model", index=1)
    assert _drawing(page, "#said") != before
