"""Two kinds of wine by hue and alcohol: logistic regression in a plane.

178 wines of three growers (Aeberhard, Coomans & de Vel 1992), 118 to learn from and 60 to test; of both
only the first two growers, and only two of their thirteen columns. About one wine in ten of those held
out is taken for the other's. Which ones are held out is chance: the mean over many splits is 9.9 %.

    python examples/wine_hue_alcohol.py [picture.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")  # to a file: no screen is needed

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import likelier as lk

SPLITS = 1000
WINE = load_wine(as_frame=True)
WINES = WINE.data[["hue", "alcohol"]].assign(grower=WINE.target)


def halves(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """118 wines and 60, then of both the first two growers."""
    learn, test = train_test_split(WINES, test_size=60, random_state=seed)
    return learn[learn.grower < 2], test[test.grower < 2]


def fitted(learn: pd.DataFrame) -> lk.LogisticRegression:
    """By maximum likelihood, without a penalty."""
    return lk.LogisticRegression(C=np.inf).fit(learn[["hue", "alcohol"]], learn.grower)


def error(model: lk.LogisticRegression, rows: pd.DataFrame) -> float:
    """The share of wines that are taken for the other's."""
    return float(np.mean(model.predict(rows[["hue", "alcohol"]]) != rows.grower))


def main(path: str = "wine_hue_alcohol.png") -> None:
    """Print the error of one split and of many, and draw the plane."""
    learn, test = halves(0)
    model = fitted(learn)
    wrong = error(model, test)
    print(f"{len(learn)} wines to learn from, {len(test)} to test: {wrong:.1%} of these are wrong")
    errors = [error(fitted(some), rest) for some, rest in map(halves, range(SPLITS))]
    print(f"over {SPLITS} random splits: {np.mean(errors):.1%} on average")
    figure, ax = plt.subplots(figsize=(7, 5.5), layout="constrained")
    lk.plot.decision_regions(model, test[["hue", "alcohol"]], test.grower, ax=ax)
    ax.set_title(f"Wines held out: {wrong:.1%} wrong. Contours: Pr(grower 1)", fontsize=11)
    ax.get_legend().set_title("grower")
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
