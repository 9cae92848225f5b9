"""Pictures: matplotlib axes in, axes out. matplotlib is loaded by the first that is drawn."""

from likelier.plot.descent import loss_path
from likelier.plot.mistakes import mistakes
from likelier.plot.progress import calibration
from likelier.plot.regions import regions

__all__ = ["calibration", "loss_path", "mistakes", "regions"]
