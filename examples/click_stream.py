"""A stream of clicks, answered row by row: what a model learns while it works.

Each row is a dict: who sees which advertisement, on which page, at what hour, and how many were seen
before. The model says how likely a click is, then sees whether there was one, and learns. What a page does
for an advertisement is no sum of the two: a model that is told to take them together goes on learning where
the other has long stopped.

    python examples/click_stream.py [picture.png]
"""

import sys
from collections.abc import Iterator
from typing import Any

import matplotlib

matplotlib.use("Agg")  # to a file: no screen is needed

import matplotlib.pyplot as plt
import numpy as np

import likelier as lk

ROWS = 50_000
USERS, ADS, PAGES = 5000, 60, 25
MODELS = {"each by itself": None, "page and ad together": [("page", "ad")]}


def clicks(n: int) -> Iterator[tuple[dict[str, Any], bool]]:
    """Users and pages as common as Zipf has it; three rows in ten are clicks."""
    rng = np.random.default_rng(3)
    of_user, of_ad, of_pair = (
        s * rng.standard_normal(shape) for s, shape in ((0.5, USERS), (0.7, ADS), (1.2, (PAGES, ADS)))
    )
    user = np.minimum(rng.zipf(1.3, n), USERS) - 1
    page, ad = np.minimum(rng.zipf(1.8, n), PAGES) - 1, rng.integers(ADS, size=n)
    hour, seen = rng.integers(24, size=n), rng.geometric(0.3, n) - 1
    z = of_user[user] + of_ad[ad] + of_pair[page, ad] - 0.15 * seen - 1.2
    clicked = rng.random(n) < 1 / (1 + np.exp(-z))
    for u, p, a, h, s, y in zip(user, page, ad, hour, seen, clicked, strict=True):
        yield {"user": f"u{u}", "page": f"p{p}", "ad": f"a{a}", "hour": f"{h}", "seen": int(s)}, bool(y)


def main(path: str = "click_stream.png") -> None:
    """Two models on the same rows: what they print, and their loss over time."""
    stream = list(clicks(ROWS))
    rate = np.mean([y for _, y in stream])
    figure, ax = plt.subplots(figsize=(8, 4.8), layout="constrained")
    ax.set_prop_cycle(color=["#0072B2", "#D55E00"])
    for name, interactions in MODELS.items():
        found = lk.progressive(lk.OnlineClassifier(interactions=interactions), stream)
        print(f"{name}: log-loss {found.log_loss:.4f}, AUC {found.auc:.4f}\n{found}\n")
        ax.plot(found.curve.rows, found.curve.log_loss, label=f"{name}: {found.log_loss:.4f} in all")
    alone = -rate * np.log(rate) - (1 - rate) * np.log(1 - rate)
    print(f"whoever knew the rate of clicks alone, {rate:.3f}, would have a log-loss of {alone:.4f}")
    ax.axhline(alone, color="0.6", linestyle="--", label=f"the rate of clicks alone: {alone:.4f}")
    ax.set_xlabel("rows")
    ax.set_ylabel("log-loss of each thousand rows")
    ax.legend()
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
