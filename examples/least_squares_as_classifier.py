"""Least squares as a classifier, and why not: one point on the right side, and too far.

Two classes in a plane, labels -1 and 1. Least squares asks every row to score its label, so a row that
scores 10 where 1 is wanted costs 81: the line turns to make it less right, and others become wrong.
Logistic regression asks that rows be on their side, and a row far on it says nothing new.

    python examples/least_squares_as_classifier.py [picture.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")  # to a file: no screen is needed

import matplotlib.pyplot as plt
import numpy as np

import likelier as lk

N = 40  # rows of each class
FAR = np.array([[20.0, 10.0]])  # a row of class 1, on its side


def rows(*, far: bool) -> tuple[np.ndarray, np.ndarray]:
    """Two clouds, and perhaps one row more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * N, 2)) * [0.45, 2.0] + np.repeat([[-1.2, 0.0], [1.2, 0.0]], N, axis=0)
    t = np.repeat([-1, 1], N)
    return (np.vstack([X, FAR]), np.append(t, 1)) if far else (X, t)


def lines(X: np.ndarray, t: np.ndarray) -> dict[str, tuple[np.ndarray, float]]:
    """Weights and intercept of both: the boundary is where w·x + b = 0."""
    squares = lk.LinearRegression().fit(X, t)
    logistic = lk.LogisticRegression().fit(X, t)
    return {
        "least squares": (squares.coef_, float(squares.intercept_)),
        "logistic regression": (logistic.coef_[0], float(logistic.intercept_[0])),
    }


def main(path: str = "least_squares_as_classifier.png") -> None:
    """Print who is wrong how often, without and with the row, and draw both boundaries."""
    figure, both = plt.subplots(1, 2, figsize=(10, 4.8), sharey=True, layout="constrained")
    for ax, far in zip(both, (False, True), strict=True):
        X, t = rows(far=far)
        print("and one row far on its side:" if far else f"{len(t)} rows:")
        for label, marker, color in ((-1, "o", "#0072B2"), (1, "^", "#D55E00")):
            ax.scatter(*X[t == label].T, marker=marker, color=color, s=24, label=f"class {label}")
        for (name, (w, b)), style in zip(lines(X, t).items(), ("--", "-"), strict=True):
            wrong = int(np.sum(t * (X @ w + b) <= 0))
            print(f"  {name}: {wrong} wrong")
            foot = -b * w / (w @ w)  # the point of the boundary nearest to 0
            along = foot + np.array([-w[1], w[0]])
            ax.axline(foot, along, color="0.2", linestyle=style, label=f"{name}: {wrong} wrong")
        ax.set(xlim=(-4, 21.5), ylim=(-6.5, 12), xlabel="x₁")
        ax.legend(loc="lower right", fontsize=9)
    both[0].set(ylabel="x₂", title="Two clouds")
    both[1].set_title("and one row more, far on its own side")
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
