"""The images of README.md, made anew by `python docs/site/images.py` (`make images`).

`benchmarks.svg` shows rows of the table in docs/benchmarks.md: no measured number stands in this file.
`report.png` is a screenshot of the report of `likelier compare` on the wine data, taken by Chromium.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
# The label of a bar, the beginning of its row in docs/benchmarks.md, and which of several times is meant.
BARS = (
    ("GaussianNB: fit, 1M × 50", "`GaussianNB` fit / `predict_proba`", 0),
    ("GaussianNB: predict_proba, 1M × 50", "`GaussianNB` fit / `predict_proba`", 1),
    ("LDA: cross-validation, 10 folds × 10 values", "ten folds × ten values", 1),
    ("Mixed table with missing values, 1M rows", "a million rows of numbers", 0),
    ("GaussianMixture: 200k × 20, 10 components", "`GaussianMixture`, 200k × 20", 0),
    ("LogisticRegression: 500k × 50", "`LogisticRegression`, 500k × 50", 0),
    ("LogisticRegression: sparse, 20 classes", "20 classes on it", 0),
    ("Elastic net: 20 values of C, 100k × 200", "elastic net, 20 values", 0),
    ("SGDClassifier: one pass, 1M × 20", "one pass over 1M × 20", 1),
    ("Kernel density: 20k × 5, 5k predictions", "kernel densities, 20k × 5", 0),
)
TIME = re.compile(r"(\d+(?:\.\d+)?) (ms|µs|s)\b")
SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}


def times(cell: str) -> list[float]:
    """The seconds in a cell of the table, without what stands in brackets."""
    return [float(number) * SECONDS[unit] for number, unit in TIME.findall(re.sub(r"\([^)]*\)", "", cell))]


def measured(page: str) -> list[tuple[str, float, float]]:
    """For each bar its label, and the seconds of scikit-learn and of likelier."""
    rows = [line.strip("| \n").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    found = []
    for label, beginning, which in BARS:
        (row,) = [row for row in rows if row[0].startswith(beginning)]
        theirs, ours = times(row[1]), times(row[2])
        found.append((label, theirs[which], ours[which]))
    return found


def benchmarks(path: Path) -> None:
    """A bar for each row: how many times as long scikit-learn takes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    bars = measured((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))[::-1]
    labels, theirs, ours = zip(*bars, strict=True)
    ratios = [a / b for a, b in zip(theirs, ours, strict=True)]
    with plt.rc_context({"svg.hashsalt": "likelier", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure, ax = plt.subplots(figsize=(8.4, 3.9), layout="constrained")
        drawn = ax.barh(labels, ratios, color="#3f51b5", height=0.62)
        said = [f"{r:.0f}× ({_time(a)} → {_time(b)})" for r, a, b in zip(ratios, theirs, ours, strict=True)]
        ax.bar_label(drawn, said, padding=4, fontsize=8)
        ax.set(
            xscale="log",
            xlim=(1, 1000),
            xlabel="times as fast as scikit-learn 1.9.1 (two cores, logarithmic)",
        )
        ax.set_xticks([1, 10, 100], ["1×", "10×", "100×"])
        ax.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, facecolor="white", metadata={"Date": None})
        plt.close(figure)


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{1e3 * seconds:.3g} ms"


def report(path: Path) -> None:
    """The top of the report on the wine data, at 1100 pixels."""
    from playwright.sync_api import sync_playwright

    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as place, sync_playwright() as play:
        command = [
            Path(sys.executable).with_name("likelier"),
            "compare",
            "--report",
            f"{place}/report.html",
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        page = play.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page(
            viewport={"width": 1100, "height": 900}, color_scheme="light"
        )
        page.goto(f"file://{place}/report.html")
        page.wait_for_timeout(500)
        page.screenshot(path=path)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    benchmarks(IMAGES / "benchmarks.svg")
    report(IMAGES / "report.png")
