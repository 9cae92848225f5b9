"""Which weights of a perceptron to report: the last, a random one, their mean, or the votes of all?

A perceptron's weights change at every mistake, for ever if no line parts the classes. On noisy rows the
last weights are those of the last accident: their error goes up and down by whole tenths, and another
order of the rows gives another line. The mean of all weights and the vote of all weights hardly move.

    python examples/which_weights.py [picture.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")  # to a file: no screen is needed

import matplotlib.pyplot as plt
import numpy as np

import likelier as lk

KINDS = {"last": "#E69F00", "random": "#D55E00", "average": "#0072B2", "voted": "#009E73"}
STREAMS = 20  # orders of rows, each of rows of its own
TURNS = 2 ** np.arange(3, 12)  # after which to look
TEST = 4000  # rows


def rows(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds in a plane that overlap: the best line is wrong in 12 of 100 rows."""
    t = rng.choice([-1, 1], n)
    return rng.normal(size=(n, 2)) + t[:, None] * [1.0, 0.6], t


def errors(stream: int, X_test: np.ndarray, t_test: np.ndarray) -> dict[str, list[float]]:
    """Of each kind of weights, after each number of turns."""
    X, t = rows(TURNS[-1], np.random.default_rng(stream))
    found: dict[str, list[float]] = {}
    for kind in KINDS:
        model = lk.Perceptron(weights=kind, shuffle=False, random_state=stream)
        at = 0
        found[kind] = []
        for turn in TURNS:
            model.partial_fit(X[at:turn], t[at:turn], classes=[-1, 1])
            found[kind].append(1 - model.score(X_test, t_test))
            at = turn
    return found


def draw_errors(ax: plt.Axes, E: dict[str, np.ndarray]) -> None:
    """The middle of all streams, and the four fifths about it."""
    for kind, color in KINDS.items():
        low, middle, high = np.quantile(E[kind], [0.1, 0.5, 0.9], axis=0)
        ax.fill_between(TURNS, low, high, color=color, alpha=0.15, linewidth=0)
        ax.plot(TURNS, middle, "o-", color=color, markersize=4, label=kind)
    ax.set(xscale="log", xlabel="rows seen", ylabel="share of other rows told wrong", ylim=(0.1, 0.5))
    ax.set_title(f"{STREAMS} streams: middle, and four fifths of them")
    ax.legend(frameon=False)


def draw_lines(ax: plt.Axes) -> None:
    """The last weights after each of twelve orders of the same rows, and their means."""
    X, t = rows(300, np.random.default_rng(0))
    for label, marker, color in ((-1, "o", "0.55"), (1, "^", "0.25")):
        ax.scatter(*X[t == label].T, marker=marker, color=color, s=12)
    for kind in ("last", "average"):
        for order in range(12):
            one = lk.Perceptron(weights=kind, max_iter=5, tol=None, random_state=order).fit(X, t)
            w, b = one.coef_[0], one.intercept_[0]
            foot = -b * w / (w @ w)  # the point of the line nearest to 0
            along = foot + np.array([-w[1], w[0]])
            ax.axline(foot, along, color=KINDS[kind], linewidth=0.9, label=None if order else kind)
    ax.set(xlim=(-4, 4), ylim=(-4, 4), xlabel="x₁", ylabel="x₂")
    ax.set_title("the same 300 rows in twelve orders")
    ax.legend(loc="upper left", frameon=True)


def main(path: str = "which_weights.png") -> None:
    """Print the errors after the last row, and draw how they came about."""
    X_test, t_test = rows(TEST, np.random.default_rng(10**6))
    every = [errors(stream, X_test, t_test) for stream in range(STREAMS)]
    E = {kind: np.array([one[kind] for one in every]) for kind in KINDS}  # (streams, looks)
    for kind in KINDS:
        last = E[kind][:, -1]
        print(
            f"{kind}: {100 * last.mean():.1f}% wrong after {TURNS[-1]} rows, worst {100 * last.max():.1f}%"
        )
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    draw_errors(left, E)
    draw_lines(right)
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
