"""The package as a whole: lazy names, what an import loads, the README."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

import likelier
from likelier.choose_solver import SOLVER_SPECS
from likelier.data.files.scan import READERS
from likelier.engines.run import RUNNERS
from likelier.estimators.catalogue import MODELS
from likelier.families.registry import FAMILIES
from likelier.streams.formats import FORMATS

ROOT = Path(__file__).parents[2]


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_import_loads_nothing_heavy():
    heavy = ["numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "tqdm"]
    code = f"import likelier, sys; print([m for m in {heavy} if m in sys.modules])"
    assert python(code).strip() == "[]"


def test_the_core_runs_without_scikit_learn_and_arrow():
    code = (
        "import sys, numpy as np\n"
        "from likelier.data import Arrays, block\n"
        "from likelier.families import FullGaussian\n"
        "from likelier.engines import run\n"
        "X, y = np.eye(4), np.array([0, 1, 0, 1], dtype=np.int32)\n"
        "stats = run(Arrays(block(X), y), lambda: FullGaussian().stats(2, 4))\n"
        "loaded = [m for m in ('sklearn', 'pyarrow') if m in sys.modules]\n"
        "print(stats.n.tolist(), loaded)"
    )
    assert python(code).strip() == "[2.0, 2.0] []"


def without_core() -> Iterator[tuple[str, Path]]:
    """All modules of the package, and none of the compiled ones."""
    package = Path(likelier.__file__).parent
    for path in package.rglob("*.py"):
        yield str(Path("likelier") / path.relative_to(package)), path


def import_from(path: Path) -> str:
    """What Python says where likelier is imported from a path, whether or not it is installed as well."""
    code = (
        "import sys; from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder; "
        # An editable installation has a finder of its own.
        "sys.meta_path[:] = [BuiltinImporter, FrozenImporter, PathFinder]; "
        f"sys.path.insert(0, {str(path)!r}); import likelier; likelier.GaussianNB"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr


def test_a_package_in_an_archive_says_that_its_core_cannot_be_loaded(tmp_path):
    archive = tmp_path / "likelier.zip"
    with ZipFile(archive, "w") as out:
        for name, path in without_core():
            out.write(path, name)
    said = import_from(archive)
    assert re.search(r"ImportError: .* cannot load from an archive \(.*likelier\.zip.*: unpack it", said)


def test_a_core_that_was_not_built_is_said_with_how_to_get_it(tmp_path):
    for name, path in without_core():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(path.read_bytes())
    said = import_from(tmp_path)
    assert "ImportError: likelier's native core was not built for Python 3." in said
    assert "pip install likelier" in said


@pytest.mark.parametrize("name", [*likelier.__all__, "__version__"])
def test_every_public_name_is_there(name):
    assert getattr(likelier, name) is not None
    assert name in dir(likelier)


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'GausianNB'"):
        _ = likelier.GausianNB


def test_the_code_in_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, flags=re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


@pytest.fixture
def registries():
    """What the recipes of a page enter is forgotten after it."""
    held = (MODELS, FAMILIES, RUNNERS, FORMATS, READERS, SOLVER_SPECS)
    before = [dict(table) for table in held]
    yield
    for table, was in zip(held, before, strict=True):
        table.clear()
        table.update(was)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_the_code_in_the_pages_runs(page, tmp_path, monkeypatch, registries):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")  # no screen is needed
    names: dict[str, object] = {}
    for block in re.findall(r"```python[^\n]*\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S):
        exec(compile(block, page.name, "exec"), names)
    if plt := sys.modules.get("matplotlib.pyplot"):
        plt.close("all")


def test_the_code_of_a_peer_runs_where_there_is_one():
    pytest.importorskip("river")
    names: dict[str, object] = {}
    page = (ROOT / "docs" / "from-river.md").read_text(encoding="utf-8")
    for block in re.findall(r"```py\n(.*?)```", page, flags=re.S):
        exec(compile(block, "from-river.md", "exec"), names)


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *ROOT.glob("*/*.md")], ids=lambda path: path.name)
def test_links_between_pages_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_architecture_names_what_is_there():
    """Modules and folders in its tables and its tree exist."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.(?:py|hpp|cpp))`", page))
    assert len(named) > 60
    known = {str(path) for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.*")}
    missing = sorted(name for name in named if not any(path.endswith(f"/{name}") for path in known))
    assert not missing
