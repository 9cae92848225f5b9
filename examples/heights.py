"""Weight from height, and from height cubed: which line fits better?

Fifteen people (Chrupała 2012, the table of his lecture on linear models). A line in height misses the
bend that the residuals show. If people were balls, weight would go with the cube of the height: then
weight is a line in height³, still linear in the coefficients, and still least squares.

    python examples/heights.py [picture.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")  # to a file: no screen is needed

import matplotlib.pyplot as plt
import numpy as np

import likelier as lk
from likelier.comparison import rows

HEIGHT, WEIGHT = np.array(rows.HEIGHT), np.array(rows.WEIGHT)
MODELS = {"height": 1, "height³": 3}


def column(height: np.ndarray, power: int) -> np.ndarray:
    """The one column of X."""
    return height[:, None] ** power


def draw(models: dict[str, lk.LinearRegression], path: str) -> None:
    """The data with both lines above, what they leave below."""
    figure, (above, below) = plt.subplots(
        2, 1, sharex=True, figsize=(7, 6.5), height_ratios=[3, 1.4], layout="constrained"
    )
    grid = np.linspace(1.44, 1.86, 200)
    above.plot(HEIGHT, WEIGHT, "o", color="0.25", label="fifteen people")
    below.axhline(0, color="0.6", linewidth=0.8)
    for (name, model), color in zip(models.items(), ("#D55E00", "#0072B2"), strict=True):
        power = MODELS[name]
        label = f"a line in {name}: R² {model.summary().r2:.5f}"
        above.plot(grid, model.predict(column(grid, power)), color=color, label=label)
        below.plot(HEIGHT, WEIGHT - model.predict(column(HEIGHT, power)), "o-", color=color, markersize=4)
    above.set_ylabel("weight, kg")
    above.legend(frameon=False)
    below.set_ylabel("residual, kg")
    below.set_xlabel("height, m")
    figure.savefig(path, dpi=120)


def main(path: str = "heights.png") -> None:
    """Print both summaries and draw both lines."""
    models = {}
    for name, power in MODELS.items():
        models[name] = lk.LinearRegression().fit(column(HEIGHT, power), WEIGHT)
        print(f"weight = b0 + b1 {name}\n{models[name].summary()}\n")
    draw(models, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
