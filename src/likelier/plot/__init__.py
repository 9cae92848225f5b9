"""Pictures: matplotlib axes in, axes out. matplotlib is loaded by the first that is drawn."""

from likelier.plot.calibration import calibration
from likelier.plot.coefficients import coefficients
from likelier.plot.components import responsibilities
from likelier.plot.densities import class_densities
from likelier.plot.descent import loss_path
from likelier.plot.discrimination import confusion_matrix, roc
from likelier.plot.learning import learning_curve
from likelier.plot.mistakes import mistakes
from likelier.plot.regions import decision_regions, probability_contours
from likelier.plot.steps import em_steps

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
