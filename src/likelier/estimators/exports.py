"""Fitted estimators as programs elsewhere: what each hands to the exports."""

from typing import Any

from likelier.data.design import Design
from likelier.estimators import validation
from likelier.export.describe import NotExpressible, program_of
from likelier.export.program import Program

WHY_NOT = {
    "OnlineClassifier": "its features are hashed, and only likelier computes the same hash from a row",
    "TextClassifier": "only likelier cuts texts into the terms of its fit",
    "DesignMatrix": "it has no scores: export the model that is fitted to its columns",
}


def described(model: Any) -> Program:
    """What a fitted model computes, from which every export is written."""
    name = type(model).__name__
    if not hasattr(model, "_scored"):
        if name in WHY_NOT:
            raise NotExpressible(f"{name} cannot be exported: {WHY_NOT[name]}.")
        raise TypeError(
            f"model must be a fitted classifier or regression of likelier; got {model!r:.80}. A fitted "
            "model of scikit-learn is not one: fit the class of the same name in likelier."
        )
    if name != "LinearClassifier":  # which is made fitted
        validation.fitted(model)
    design: Design | None = vars(model).get("_design")
    return program_of(
        name,
        model._scored(),
        p=model.n_features_in_,
        classes=getattr(model, "_target", None) if _has_components(model) else _classes(model),
        names=getattr(model, "feature_names_in_", None),
        design=design,
    )


def _has_components(model: Any) -> bool:
    """Whether its answers are numbers of components."""
    return hasattr(model, "_target") and not hasattr(model, "classes_") and hasattr(model, "n_components")


def _classes(model: Any) -> Any:
    return getattr(model, "classes_", None)
