"""The live page in a real browser: it fills, it follows, it predicts, and it asks for nothing elsewhere."""

import shutil

import httpx
import pytest

pytest.importorskip("uvicorn", reason="likelier[serve] is not installed")

from tests.service.kills import Server

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH: the page is not opened")
WIDE, PHONE = {"width": 1240, "height": 900}, {"width": 360, "height": 740}
ROWS = [
    {
        "x": {"user": f"<b>u{i % 7}", "hour": i % 24, "ok": i % 2 == 0},
        "y": "click" if i % 7 < 2 else "no",
        "id": i,
    }
    for i in range(1200)
]


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
def server(tmp_path_factory):
    found = Server(tmp_path_factory.mktemp("page"), "--set", "bits=12").start().wait()
    httpx.post(f"{found.url}/learn", json={"rows": ROWS}, timeout=30).raise_for_status()
    yield found
    found.end()


@pytest.fixture
def opened(browser, server):
    contexts, wrong = [], []

    def open_(size=WIDE, scheme="light"):
        context = browser.new_context(viewport=size, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "request",
            lambda request: None if request.url.startswith(server.url) else wrong.append(request.url),
        )
        page.goto(server.url, wait_until="domcontentloaded")
        page.wait_for_selector("#loss svg", timeout=20_000)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert [text for text in wrong if "favicon" not in text and "404" not in text] == []


def test_all_is_shown_and_follows(opened, server):
    page = opened()
    assert page.locator("#state").inner_text() == "live"
    for chart in ("loss", "error", "mistakes", "calibration", "rows", "latency"):
        assert page.locator(f"#{chart} svg path.line").count() >= 1
    assert page.locator("#weights tr").count() > 3
    assert "<b>u" in page.locator("#weights").inner_text()  # as text, and not as HTML
    assert page.locator("#weights td b").count() == 0
    assert page.locator("#newest tr").count() > 10
    assert page.locator("#rates").inner_text().count("%") == 4
    assert page.locator("#drift tr").count() == 4
    before = page.locator("#numbers .number b").first.inner_text()
    assert before == "1200"
    rows = [row | {"id": f"more {row['id']}"} for row in ROWS[:5]]
    httpx.post(f"{server.url}/learn", json={"rows": rows}, timeout=30).raise_for_status()
    page.wait_for_function(
        "() => document.querySelector('#numbers .number b').textContent === '1205'", timeout=20_000
    )


def test_a_prediction_is_tried_and_explained(opened):
    page = opened()
    page.fill("#row", '{"user": "<b>u1", "hour": 5}')
    page.click("#try button")
    page.wait_for_selector("#answer table")
    text = page.locator("#answer").inner_text()
    assert "click" in text
    assert 'user = "<b>u1"' in text
    page.fill("#row", '{"user": ')
    page.click("#try button")
    page.wait_for_selector("#answer .error")


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_every_screen_and_can_be_read(opened, size, scheme, request):
    page = opened(size, scheme)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= size["width"]
    ratio = page.evaluate(
        """() => { const light = colour => { const [r, g, b] = colour.match(/[\\d.]+/g).map(Number)
            .map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const worst = [...document.querySelectorAll("h2, td, th, .number span, .legend")].map(node => {
            const a = light(getComputedStyle(node).color);
            const b = light(getComputedStyle(node.closest("section")).backgroundColor);
            return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); });
        return Math.min(...worst); }"""
    )
    assert ratio >= 4.5
    folder = request.config.getoption("basetemp", None)
    if folder:
        page.screenshot(path=f"{folder}/page-{size['width']}-{scheme}.png", full_page=True)
