"""Three hospitals, one model: rows stay where they are, and files of sums travel.

Each hospital has patients of its own kind, few of them, and may not hand them on. It fits a
model to its own table and sends the model, which holds counts, means and scatter matrices and no patient.
Merged, they are the model that all tables together would have given. How good it is, is found in the same
way: each hospital judges it by its own new patients, and the sums of that are merged. This is one draw of
patients, the first: of tables this small, one that is lucky can do as well as all of them together.

    python examples/federated.py [picture.png]
"""

import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # to a file: no screen is needed

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import likelier as lk

COLUMNS = ["age", "pressure", "cholesterol", "pulse", "sugar", "weight"]
AGES = {"north": 48, "harbour": 57, "hill": 66}  # whom a hospital sees
PATIENTS = 60


def patients(rng: np.random.Generator, age: float, n: int) -> pd.DataFrame:
    """Age drives most of it; disease raises pressure, cholesterol and sugar, and lowers the pulse."""
    ages = rng.normal(age, 6, n)
    disease = rng.random(n) < 1 / (1 + np.exp(-(ages - 58) / 8))
    shift = disease[:, None] * [0, 7, 14, -9, 5, 2]
    spread = rng.normal(size=(n, 6)) * [0, 14, 30, 16, 12, 11]
    cells = np.column_stack(
        [ages, 100 + 0.6 * ages, 160 + 0.9 * ages, 190 - ages, 70 + 0.5 * ages, ages * 0 + 76]
    )
    return pd.DataFrame(cells + shift + spread, columns=COLUMNS).assign(
        heart=np.where(disease, "disease", "sound")
    )


def main(path: str = "federated.png") -> None:
    """Fit apart, merge, compare with the fit to all rows, and judge all models where the rows are."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, age in AGES.items():
            patients(rng, age, PATIENTS).to_csv(folder / f"{name}.csv", index=False)
            patients(rng, age, 1500).to_csv(folder / f"{name}-new.csv", index=False)
            own = lk.LinearDiscriminantAnalysis().fit(lk.scan(folder / f"{name}.csv", "heart"))
            lk.save(own, folder / f"{name}.lk")  # all that leaves the hospital

        models = {name: lk.load(folder / f"{name}.lk") for name in AGES}
        merged = lk.merge(models)
        tables = [folder / f"{name}.csv" for name in AGES]
        pooled = lk.LinearDiscriminantAnalysis().fit(lk.scan(tables, "heart"))
        new = {name: lk.scan(folder / f"{name}-new.csv", "heart") for name in AGES}
        off = max(
            np.abs(merged.predict_proba(rows) - pooled.predict_proba(rows)).max() for rows in new.values()
        )
        print(f"merged and pooled probabilities differ by at most {off:.1e}")
        figure, ax = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
        ax.set_prop_cycle(color=["#0072B2", "#E69F00", "#009E73", "#D55E00"])
        for name, model in {**models, "merged": merged}.items():
            first, *others = (lk.evaluate(model, rows) for rows in new.values())
            found = first.merge(others[0]).merge(others[1])
            said = f"{name}: {found.error:.1%} wrong, log-loss {found.log_loss:.3f}, AUC {found.auc:.3f}"
            print(said)
            curve = found.roc()
            ax.plot(
                curve.false_positive, curve.true_positive, label=said, lw=2.5 if name == "merged" else 1
            )
    ax.set_xlabel("share of the diseased that are taken for sound")
    ax.set_ylabel("share of the sound that are taken for sound")
    ax.legend(loc="lower right")
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
