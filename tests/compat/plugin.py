"""scikit-learn's own test modules, with likelier's classes in the place of the classes of the same name.

`make compat` runs them. A test that does not apply is in `exceptions.py`, with its reason. A listed test
that passes, and an entry that no test answers to, are failures too: the list stays true.
"""

import functools
from collections import Counter, defaultdict
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

import pytest

import likelier
from compat.exceptions import EXCEPTIONS

REPLACED = {
    "sklearn.naive_bayes": ["GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"],
    "sklearn.discriminant_analysis": ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"],
    "sklearn.mixture": ["GaussianMixture"],
    "sklearn.linear_model": [
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Perceptron",
        "Ridge",
        "SGDClassifier",
    ],
    "sklearn.svm": ["LinearSVC"],
    "sklearn.feature_extraction.text": [
        "CountVectorizer",
        "HashingVectorizer",
        "TfidfTransformer",
        "TfidfVectorizer",
    ],
}
COLUMNS = ("passed", "failed", "listed", "skipped", "without likelier")
made: set[str] = set()  # the classes of likelier's that the test under way has made objects of
results: dict[str, Counter[str]] = defaultdict(Counter)  # by module


def _noted(cls: Any) -> None:
    """Let each new object of a class be noted: a test that makes none says nothing of likelier."""
    init = cls.__init__

    @functools.wraps(init)
    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        made.add(cls.__name__)
        init(self, *args, **kwargs)

    cls.__init__ = noting


def pytest_configure(config: pytest.Config) -> None:
    for module, names in REPLACED.items():
        for name in names:
            ours = getattr(likelier, name)
            _noted(ours)
            setattr(import_module(module), name, ours)


# After scikit-learn's own conftest.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    whole = {}  # modules, by whether all of their tests are there
    for item in items:
        module = item.module.__name__.rpartition(".")[2]  # type: ignore[attr-defined]
        item.user_properties.append(("module", module))
        whole.setdefault(module, set()).add(item.name)
        for pattern, reason in EXCEPTIONS.get(module, {}).items():
            if fnmatchcase(item.name, _literal(pattern)):
                item.user_properties.append(("listed", reason))
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    if config.option.keyword or any("::" in arg for arg in config.args):
        return
    for module, names in whole.items():
        for pattern in EXCEPTIONS.get(module, {}):
            if not any(fnmatchcase(name, _literal(pattern)) for name in names):
                raise pytest.UsageError(f"exceptions.py lists {pattern} of {module}: there is no such test")


def _literal(pattern: str) -> str:
    """Brackets are those of parametrised tests; only the star is a pattern."""
    return pattern.replace("[", "[[]")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    made.clear()
    try:
        return (yield)
    finally:
        item.user_properties.append(("made", sorted(made)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    about = dict(report.user_properties)
    if report.when == "call" or (report.when == "setup" and not report.passed):
        results[about["module"]][_outcome(report, about)] += 1


def _outcome(report: pytest.TestReport, about: dict[str, Any]) -> str:
    if report.failed:
        return "failed"
    if "listed" in about and hasattr(report, "wasxfail"):
        return "listed"
    if report.skipped and not hasattr(report, "wasxfail"):
        return "skipped"
    return "passed" if about.get("made") else "without likelier"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not results:
        return
    say = terminalreporter.write_line
    terminalreporter.section("scikit-learn's tests, likelier's classes")
    say(f"{'module':26}" + "".join(f"{name:>18}" for name in COLUMNS))
    for module, counts in sorted(results.items()):
        say(f"{module:26}" + "".join(f"{counts[name]:18}" for name in COLUMNS))
    total: Counter[str] = sum(results.values(), Counter())
    say(f"{'all':26}" + "".join(f"{total[name]:18}" for name in COLUMNS))
