"""EM as a film: three Gaussians begin on top of each other, and find the three kinds of wine.

178 wines by two columns, whose growers are not told. Each step asks how much each wine belongs to each
component (its colour), then makes each component the Gaussian of what belongs to it. No step lowers the
likelihood: most is gained at once, and the last wines find their place long after.

    python examples/em_movie.py [film.gif or film.html]
"""

import sys

import matplotlib

matplotlib.use("Agg")  # to a file: no screen is needed

import numpy as np
from sklearn.datasets import load_wine

import likelier as lk

COLUMNS = ["flavanoids", "alcohol"]
STEPS = 50


def main(path: str = "em_movie.gif") -> None:
    """Print what became of the components, and write the film."""
    wine = load_wine(as_frame=True)
    X, grower = wine.data[COLUMNS], wine.target.to_numpy()
    film = lk.plot.em_steps(X, 3, steps=STEPS, random_state=1, path=path, fps=6)
    way = np.array([step.log_likelihood for step in film.steps])
    print(f"{len(way) - 1} steps: the log-likelihood of a wine from {way[0]:.3f} to {way[-1]:.3f}")
    print(f"no step lowers it: {bool((np.diff(way) > -1e-9).all())}")
    claimed = film.steps[-1].R.argmax(axis=1)
    for m in range(3):
        counts = np.bincount(grower[claimed == m], minlength=3)
        print(f"component {m}: {counts.sum()} wines, of growers 0, 1, 2: {', '.join(map(str, counts))}")
    print(f"film: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
