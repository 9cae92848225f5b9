"""Small tables that are always at hand: scikit-learn's, and the heights and weights of fifteen people."""

from typing import Any

from likelier.data.heights import HEIGHT, WEIGHT


def built_in(name: str) -> tuple[Any, str]:
    """wine, iris, breast-cancer, digits or heights, as a table of Arrow's; and its target."""
    import pyarrow as pa

    if name == "heights":
        return pa.table({"height": HEIGHT, "weight": WEIGHT}), "weight"
    from sklearn import datasets

    found = getattr(datasets, f"load_{name.replace('-', '_')}")()
    columns = dict(zip(map(str, found.feature_names), found.data.T.copy(), strict=True))
    return pa.table(columns | {"class": found.target_names[found.target]}), "class"
