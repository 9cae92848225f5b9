"""How many numbers a fit has found."""

from typing import Any

import numpy as np


def parameters(model: Any) -> int | None:
    """The numbers that a fitted model answers by, those that were free; None: it does not say.

    Of densities their parameters and the priors; of linear models the weights and intercepts other than 0;
    of trees two for each question and the shares of each leaf.
    """
    own = getattr(vars(model).get("_model"), "free", None)
    if own is not None:
        return int(own)
    if hasattr(model, "tree_"):
        return _of_tree(model.tree_)
    if hasattr(model, "coef_"):
        return sum(_nonzero(getattr(model, name, 0.0)) for name in ("coef_", "intercept_"))
    return _together(model)


def _of_tree(tree: Any) -> int:
    """A question is a column and a threshold; a leaf has all but one share of its classes, or a value."""
    leaves = int(tree.n_leaves)
    answers = int(tree.n_outputs) * max(int(tree.max_n_classes) - 1, 1)
    return 2 * (int(tree.node_count) - leaves) + leaves * answers


def _together(model: Any) -> int | None:
    """Of a model that is made of models: a forest, or the last step of a pipeline."""
    if hasattr(model, "steps"):
        return parameters(model.steps[-1][1])
    parts = np.ravel(np.array(getattr(model, "estimators_", None), dtype=object))
    counts = [None if part is None else parameters(part) for part in parts]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _nonzero(values: Any) -> int:
    return int(np.count_nonzero(values.toarray() if hasattr(values, "toarray") else np.asarray(values)))
