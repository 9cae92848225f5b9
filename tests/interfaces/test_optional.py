"""Libraries that likelier can do without: what needs one that is missing says how to install it."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

# Libraries that are missing together, and for each what cannot be done without it.
WITHOUT = [
    {
        "pandas": [
            "lk.LinearRegression().fit(X, z).summary().to_frame()",
            "lk.evaluate(lk.GaussianNB().fit(X, y), X, y).to_frame()",
            "lk.GaussianNB().fit(X, y).contributions(X).to_frame()",
            "lk.GaussianNB().cross_validate(X, y).to_frame()",
            "lk.compare(X, y, models=['GaussianNB'], n_jobs=1).to_frame()",
            "lk.GaussianMixture(2, select='bic').fit(X).selection_.to_frame()",
            "lk.Perceptron().fit(X, y).mistake_bound(X, y).to_frame()",
            "lk.progressive(lk.OnlineClassifier(), [({'a': 1}, 0), ({'a': 2}, 1)]).to_frame()",
            "lk.spark_udf(lk.GaussianNB().fit(X, y))()",
        ],
        "matplotlib": [
            "lk.plot.decision_regions(lk.GaussianNB().fit(X, y), X, y)",
            "lk.compare(X, y, models=['GaussianNB'], n_jobs=1).to_html('report.html')",
        ],
        "formulaic": [
            "lk.LogisticRegression().from_formula('y ~ a', pa.table({'y': y, 'a': X[:, 0]}))",
            "lk.LogisticRegression().from_formula('y ~ bs(a)', pa.table({'y': y, 'a': X[:, 0]}))",
        ],
        "onnx": ["lk.to_onnx(lk.GaussianNB().fit(X, y))"],
        "duckdb": ["command('export', 'm.lk', '--to', 'sql', '--check', 't.csv')"],
        "httpx": ["lk.Client()", "lk.AsyncClient()"],
        "uvicorn": ["command('serve', '--port', '0')"],
        "fsspec": ["lk.scan('memory://t.csv', target='y')"],
    },
    {
        "onnxruntime": ["command('export', 'm.lk', '--to', 'onnx', '-o', 'm.onnx', '--check', 't.csv')"],
        "msgspec": ["command('serve', '--port', '0')"],
    },
    {"psycopg": ["command('serve', '--port', '0', '--store', 'postgresql://nowhere/x')"]},
]
PROGRAM = """
import json, pathlib, sys

cases = json.load(sys.stdin)

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in cases:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import numpy as np, pyarrow as pa
import likelier as lk
from likelier import *  # every public name is there
from likelier.cli import main

def command(*words):
    import contextlib, io
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            ended = main(words)
        except SystemExit as end:
            ended = end.code
    if ended:
        raise ImportError(said.getvalue())

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
X[:, 0] += y
z = X.sum(axis=1)
lk.save(lk.GaussianNB().fit(X, y), "m.lk")
pathlib.Path("t.csv").write_text("x0,x1\\n1.0,2.0\\n")
said = []
for library, codes in cases.items():
    for code in codes:
        try:
            eval(code)
        except ImportError as error:
            said.append([library, code, str(error)])
        else:
            said.append([library, code, ""])
print(json.dumps(said))
"""


@pytest.mark.parametrize("cases", WITHOUT, ids=" ".join)
def test_a_missing_library_is_named_with_the_command_that_brings_it(cases, tmp_path):
    program = [sys.executable, "-W", "error", "-c", PROGRAM]
    done = subprocess.run(program, input=json.dumps(cases), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for library, code, message in json.loads(done.stdout):
        wanted = re.search(r"pip install '?([a-z]+)(?:\[([a-z,]+)\])?'?", message)
        assert wanted, (code, message)
        assert library in message, (code, message)
        if wanted[1] == "likelier":  # the extra brings it
            brought = " ".join(name for extra in wanted[2].split(",") for name in EXTRAS[extra])
            assert re.search(rf"\b{library}\b", brought), (code, message)
        else:
            assert wanted[1] == library, (code, message)


def test_all_extras_but_spark_are_in_the_extra_of_all():
    (whole,) = EXTRAS["all"]
    named = re.fullmatch(r"likelier\[(.*)\]", whole)
    assert named is not None
    assert set(named[1].split(",")) == set(EXTRAS) - {"all", "spark"}


def test_every_extra_is_in_the_table_of_the_installation_page():
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    listed = re.findall(r"`([a-z]+)`", " ".join(re.findall(r"^\| (`.*?) \|", page, flags=re.M)))
    assert set(EXTRAS) - {"all"} <= set(listed)
