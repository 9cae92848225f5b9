"""Plots: matplotlib axes in, axes out. matplotlib is loaded when the first is drawn."""

from likelier.plot.coefficients import coefficients
from likelier.plot.densities import class_densities
from likelier.plot.evaluation import calibration, confusion_matrix, learning_curve, mistakes, roc
from likelier.plot.loss_path import loss_path
from likelier.plot.mixture import em_steps, responsibilities
from likelier.plot.regions import decision_regions, probability_contours

__all__ = [
    "calibration",
    "class_densities",
    "coefficients",
    "confusion_matrix",
    "decision_regions",
    "em_steps",
    "learning_curve",
    "loss_path",
    "mistakes",
    "probability_contours",
    "responsibilities",
    "roc",
]
