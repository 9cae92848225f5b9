"""What each feature adds to the scores of a row."""

from typing import Any

import numpy as np

from likelier import _core
from likelier.array_types import Floats
from likelier.service.events import label_text, proba_text
from likelier.service.models import OnlineModel, RefusedRow, Served
from likelier.service.schemas import Contribution, Explanation
from likelier.streams.model import Online


def scores(model: Online, rows: list[dict[str, Any]]) -> Floats:
    """(n, q): one score for two classes, else one for each."""
    Z = np.empty((len(rows), model.K if model.K > 2 else 1))
    _core.online_scores(model.learner, model.intake.dicts(rows, None, None), Z)
    return Z


def explained(served: Served, x: dict[str, Any], version: int) -> Explanation:
    """The answer to a row, the score of a row without features, and what each feature adds to it.

    Interactions of features are what the parts leave of the whole.
    """
    if not isinstance(served, OnlineModel):
        raise RefusedRow(f"a {served.name} is not explained: only models that learn row by row are")
    model = served.model
    answer = served.answer(x)
    label = max(answer, key=answer.__getitem__) if answer else None
    if model.K < 2:
        return Explanation(label, proba_text(answer), {}, [], version)
    names = list(x)
    Z = scores(model, [{}, *({name: x[name]} for name in names), x])
    labels = [label_text(one) for one in (model.labels if model.K > 2 else model.labels[1:2])]

    def by_label(z: Floats) -> dict[str, float]:
        return dict(zip(labels, z.tolist(), strict=True))

    found = [
        Contribution(name, x[name], by_label(Z[i] - Z[0]))
        for i, name in enumerate(names, 1)
        if x[name] is not None
    ]
    rest = Z[-1] - Z[0] - (Z[1:-1] - Z[0]).sum(axis=0)
    if model.settings.interactions:
        found.append(Contribution("interactions", None, by_label(rest)))
    found.sort(key=lambda one: -max(map(abs, one.scores.values())))
    return Explanation(label, proba_text(answer), by_label(Z[0]), found, version)
