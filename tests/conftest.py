"""What all tests share: how hard hypothesis tries, whose threads there are, where the data sets are."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A test to a core. The libraries of NumPy and scikit-learn, which look for these names when loaded,
# would start threads that wait for the cores of other tests, and burn their own while they do.
for _library in ("OPENBLAS", "OMP"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# Derandomised: a run repeats exactly, here and in CI. `HYPOTHESIS_PROFILE=thorough` searches further,
# and differently each time.
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=40, suppress_health_check=_SLOW
)
settings.register_profile("thorough", deadline=None, max_examples=500, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of data sets: $LIKELIER_DATA, or shared/data beside the repository."""
    folder = Path(os.environ.get("LIKELIER_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data folder {folder}: set LIKELIER_DATA")
    return folder


@pytest.fixture(scope="session")
def data_file(data_folder: Path):
    """The path of a data set by its name; the test is skipped where the file is not there."""

    def find(name: str) -> Path:
        path = data_folder / name
        if not path.exists():
            pytest.skip(f"no {name} in {data_folder}")
        return path

    return find
