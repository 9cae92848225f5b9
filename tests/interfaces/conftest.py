"""What tests of pictures share."""

import os

import pytest

os.environ["MPLBACKEND"] = "Agg"  # before anything loads matplotlib: there may be no screen


@pytest.fixture
def closed_figures():
    """Figures of a test are closed at its end."""
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
