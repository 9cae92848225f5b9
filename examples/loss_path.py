"""The ways of gradient descent and of Newton's method to the weights of a logistic regression.

A loss of two weights is a surface, and its contours can be drawn. Newton's method fits a paraboloid to it
and jumps to its lowest point: few steps. Steepest descent only knows which way is down: across a valley it
goes to and fro, and along a narrow one, as on the right, a thousand steps do not get it far. Measured in
the metric of the problem the same gradient (likelier's solver "gradient") points along the valley.

    python examples/loss_path.py [picture.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")  # to a file: no screen is needed

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import likelier as lk


def main(path: str = "loss_path.png") -> None:
    """Draw two surfaces: of the weights of two columns, and of a weight and the intercept."""
    wine = load_wine(as_frame=True)
    two = wine.target < 2
    table, grower = wine.data.loc[two, ["flavanoids", "alcohol"]], wine.target[two]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    ways = ("steepest", "gradient", "newton")
    lk.plot.loss_path((table - table.mean()) / table.std(), grower, solvers=ways, ax=left)
    left.set_title("two columns, standardised")
    lk.plot.loss_path(table[["alcohol"]], grower, solvers=ways, ax=right)
    right.set_title("one column as it is, and the intercept")
    for name, ax in (("standardised", left), ("as it is", right)):
        for line in ax.get_lines():
            a, b = line.get_xydata()[-1]
            print(f"{name}: {line.get_label()}, to ({a:.3f}, {b:.3f})")
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
