"""What likelier is asked to reach beside its peers, and whether it does."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from benchmarks.race.online_problems import STREAMS
from benchmarks.race.runner import Row

TOLERANCE = 1e-9  # by how much (relative) the quality of the same model of two libraries may differ
NEAR = 10  # peers that end so many times further from the minimum than we are asked to still count


@dataclass(frozen=True)
class Target:
    """A ratio theirs / ours of at least so much, or a figure of ours of at most so much.

    `theirs` is a key, or a pattern: the fastest of other libraries that match. `gap`: how close to the
    minimum of the objective ours must come; only peers that come near it count. `plus`: what a second
    row takes, the fastest that matches, is added to theirs.
    """

    what: str
    ours: str
    figure: str
    theirs: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    gap: float | None = None
    plus: str | None = None

    def asked(self) -> str:
        return f"{self.at_least:g}x" if self.at_least is not None else f"{self.at_most:g}"

    def got(self, rows: Mapping[str, Row]) -> float | None:
        """The ratio or figure, None if one that it needs was not run."""
        keys = self.compared(rows)
        if keys is None:
            return None
        ours, *theirs = (rows[key].best(self.figure) for key in keys)
        if not theirs:
            return ours
        return sum(theirs) / ours if ours else float("inf")

    def compared(self, rows: Mapping[str, Row]) -> list[str] | None:
        """The rows it is about: ours, and the best of theirs if it has one; None if they were not run."""
        if self.ours not in rows or rows[self.ours].best(self.figure) is None:
            return None
        keys = [self.ours]
        for theirs in (self.theirs, self.plus):
            rivals = [key for key, row in rows.items() if theirs and self._rival(key, row, theirs)]
            if theirs and not rivals:
                return None
            keys += sorted(rivals, key=lambda key: rows[key].best(self.figure))[:1]
        return keys

    def reached(self, rows: Mapping[str, Row], got: float) -> bool:
        if self.gap is not None and not _within(rows[self.ours], self.gap):
            return False
        return got >= self.at_least if self.at_least is not None else got <= self.at_most

    def _rival(self, key: str, row: Row, theirs: str) -> bool:
        other = key == theirs or row.contender.library != "likelier"
        close = self.gap is None or _within(row, NEAR * self.gap)
        return other and close and fnmatchcase(key, theirs) and row.best(self.figure) is not None


def _within(row: Row, gap: float) -> bool:
    found = row.best("gap")
    return found is not None and found <= gap


def _pair(
    what: str, figure: str, at_least: float, ours: str, theirs: str, problem: str = "gaussian"
) -> Target:
    """likelier's model against scikit-learn's."""
    return Target(what, f"{problem}/likelier/{ours}", figure, f"{problem}/scikit-learn/{theirs}", at_least)


def _framed(model: str, kind: str) -> Target:
    """A fit to a frame takes at most 1.3 times as long as one to the array."""
    ours, theirs = (f"frames/likelier/{model}, {of}" for of in (kind, "numpy"))
    return Target(f"{model} fit, {kind} against numpy", ours, "fit", theirs, at_least=0.77)


def _minimum(problem: str, at_least: float, theirs: str, gap: float, what: str) -> Target:
    """likelier's default solver against the fastest that comes near the same minimum."""
    ours = f"{problem}/likelier/LogisticRegression"
    return Target(f"{problem} fit, against {what}", ours, "fit", theirs, at_least, gap=gap)


def _online() -> list[Target]:
    """One pass: time beside the fastest of each peer, and loss beside the best of all."""
    arrays = [
        _pair(f"{ours}, one pass", "fit", 2, ours, theirs, "dense-online")
        for ours, theirs in (("Perceptron",) * 2, ("SGD",) * 2, ("SGD, averaged", "SGD averaged"))
    ]
    sparse = [
        Target(
            f"{model}, one sparse pass, against {peer}",
            f"sparse-online/likelier/{model}",
            "fit",
            f"sparse-online/{peer}/*",
            at_least=1,
        )
        for model in ("SGD", "OnlineClassifier")
        for peer in ("scikit-learn", "vowpalwabbit")
    ]
    rows = [
        Target(
            f"learn_one, {what}, against River's SGD",
            f"{problem}/likelier/OnlineClassifier",
            "row",
            f"{problem}/river/SGD*",
            at_least,
        )
        for problem, what, at_least in (
            ("one-row", "20 numbers", 4),
            ("one-row-clicks", "hashed clicks", 6),
        )
    ]
    clicks = [
        Target(f"clicks, {what}", "clicks/likelier/stream", figure, "clicks/vowpalwabbit/-b 22", at_least)
        for what, figure, at_least in (("time", "fit", 3), ("progressive log-loss", "progressive", 1))
    ]
    streams = [
        Target(f"{name}, progressive log-loss", "streams/likelier/OnlineClassifier", name, "streams/*", 1)
        for name in STREAMS
    ]
    return [*arrays, *sparse, *rows, *clicks, *streams]


def _held(problem: str, model: str, where: str, figure: str) -> list[Target]:
    """Memory that stays below a gigabyte, and does not grow with the files."""
    small, large = (f"{problem}/likelier/{model}, {size} GB{where}" for size in (1, 10))
    what = f"{problem}, {model}{where}: MB, {'of a worker' if figure == 'workers_mb' else 'in all'}"
    return [
        Target(f"{what}, 10 GB", large, figure, at_most=1000),
        Target(f"{what}, 1 GB against 10 GB", large, figure, small, at_least=0.8),
    ]


def _scale() -> list[Target]:
    """Files beside reading them, workers beside threads, memory."""
    reading = [
        Target(f"{model} over {name}, against reading it", f"{name}/likelier/{model}", "fit", peer, 0.7)
        for name, peer in (("parquet", "parquet/pyarrow/*"), ("csv", "csv/pyarrow/*"))
        for model in ("GaussianNB", "LDA")
    ]
    newton = Target(
        "a Newton step over files, against one in memory and reading",
        "files-logistic/likelier/a pass over files",
        "fit",
        "files-logistic/likelier/a pass in memory",
        at_least=0.67,
        plus="files-logistic/pyarrow/*",
    )
    workers = [
        Target(f"{model}, {ours} against {theirs}", *_places(model, ours, theirs), at_least=0.77)
        for model in ("GaussianNB", "LDA", "LogisticRegression")
        for ours, theirs in (("workers", "threads"), ("Dask array", "array"))
    ]
    workers += [
        Target(
            f"{model} over parquet, workers against threads",
            f"parquet/likelier/{model}, workers",
            "fit",
            f"parquet/likelier/{model}",
            at_least=0.77,
        )
        for model in ("GaussianNB", "LDA")
    ]
    bayes, logistic = "dask-ml-bayes/likelier/GaussianNB", "dask-ml/likelier/LogisticRegression"
    peers = [
        Target("GaussianNB on a Dask array, against dask-ml", bayes, "fit", "dask-ml-bayes/dask-ml/*", 10),
        Target(
            "LogisticRegression on a Dask array, against dask-ml",
            logistic,
            "fit",
            "dask-ml/dask-ml/LogisticRegression*",
            at_least=10,
            gap=1e-6,
        ),
    ]
    memory = [
        target
        for problem in ("memory", "memory-64k")
        for model, where, figure in (
            *((model, "", "rss_mb") for model in HELD),
            *((model, ", workers", figure) for model in HELD[:2] for figure in ("rss_mb", "workers_mb")),
        )
        for target in _held(problem, model, where, figure)
    ]
    return [*reading, newton, *workers, *peers, *memory]


HELD = ("GaussianNB", "LogisticRegression", "LDA", "NaiveBayes", "GaussianMixture")


def _places(model: str, ours: str, theirs: str) -> tuple[str, str, str]:
    return f"dask/likelier/{model}, {ours}", "fit", f"dask/likelier/{model}, {theirs}"


PIPELINE = "impute, bin, encode, CategoricalNB"

# likelier's models are the default ones (svd); scikit-learn's the fastest of their kind. Grid searches: by
# one process, whose BLAS has all threads, and by two; the faster is the one that counts.
TARGETS = [
    _pair("GaussianNB fit", "fit", 8, "GaussianNB", "GaussianNB"),
    _pair("GaussianNB predict_proba", "predict", 15, "GaussianNB", "GaussianNB"),
    _pair("LDA fit, against lsqr", "fit", 9, "LDA svd", "LDA lsqr"),
    _pair("LDA memory, against lsqr", "fit_mb", 2, "LDA svd", "LDA lsqr"),
    _pair("QDA fit, against eigen", "fit", 4, "QDA svd", "QDA eigen"),
    _pair("QDA predict_proba, against eigen", "predict", 10, "QDA svd", "QDA eigen"),
    _pair("MultinomialNB fit", "fit", 4, "MultinomialNB", "MultinomialNB", "counts"),
    _pair("MultinomialNB predict_proba", "predict", 1.5, "MultinomialNB", "MultinomialNB", "counts"),
    _pair("GaussianMixture, 20 steps of EM", "fit", 10, "GaussianMixture", "GaussianMixture", "mixture"),
    _pair("LinearRegression fit", "fit", 4, "LinearRegression", "LinearRegression", "line"),
    *(
        _pair(f"{model}{jobs} cross-validated", "search", at_least, model, f"{model}{jobs}", "folds")
        for model, at_least in (("GaussianNB", 25), ("LDA lsqr", 40), ("QDA svd", 10), ("QDA eigen", 10))
        for jobs in ("", ", 2 jobs")
    ),
    *(
        _framed(model, kind)
        for model in ("GaussianNB", "LDA", "QDA", "LinearRegression")
        for kind in ("pandas", "pandas block", "polars")
    ),
    *(
        _pair(f"QDA with gaps, {figure}", figure, 1, "QDA", "IterativeImputer, QDA", "gaps")
        for figure in ("fit", "predict", "log_loss")
    ),
    _pair("kernels predict", "predict", 10, "KernelDensityClassifier", "KernelDensity by class", "kernels"),
    *(
        _pair(f"{model} {what} on iris", figure, 1, model, model, "iris")
        for model in ("GaussianNB", "LDA svd", "QDA svd")
        for what, figure in (("fit", "fit"), ("one-row predict", "one_row"))
    ),
    *(
        _pair(f"mixed table, {what}", figure, ratio, "NaiveBayes", PIPELINE, "table")
        for what, figure, ratio in (("fit and predict_proba", "both", 8), ("log-loss", "log_loss", 1))
    ),
    _minimum("logistic", 3, "logistic/*", 1e-8, "the fastest peer"),
    _minimum("multinomial", 20, "multinomial/*", 1e-6, "the fastest peer"),
    _minimum("text", 1, "text/*", 1e-6, "the fastest peer"),
    _minimum("text", 4, "text/scikit-learn/*", 1e-6, "scikit-learn's fastest"),
    _minimum("topics", 2, "topics/scikit-learn/saga*", 1e-5, "saga"),
    _minimum("errors", 30, "errors/statsmodels/Logit", 1e-8, "statsmodels"),
    _minimum("small-iris", 1, "small-iris/scikit-learn/lbfgs", 1e-5, "scikit-learn"),
    _minimum("small-wine", 1, "small-wine/scikit-learn/lbfgs", 1e-5, "scikit-learn"),
    Target("errors, how far off", "errors/likelier/LogisticRegression", "errors_off", at_most=1e-8),
    Target(
        "elastic net path, against scikit-learn",
        "net/likelier/warm start",
        "fit",
        "net/scikit-learn/warm start saga",
        at_least=10,
        gap=1e-7,
    ),
    *_online(),
    *_scale(),
    Target("import likelier, seconds", "import/likelier/import", "wall", at_most=0.15),
]


def verdicts(rows: Mapping[str, Row]) -> list[dict[str, Any]]:
    """Every target with what was got; `reached` is None where it was not run."""
    found = []
    for target in TARGETS:
        got, keys = target.got(rows), target.compared(rows)
        entry = asdict(target) | {"asked": target.asked(), "got": got, "reached": None}
        if got is not None and keys is not None:
            entry |= {"reached": target.reached(rows, got), "compared": keys}
            entry |= {"others": max(rows[key].others([target.figure]) for key in keys)}
            entry |= {"gaps": [rows[key].best("gap") for key in keys] if target.gap is not None else []}
        found.append(entry)
    return found


def agreements(rows: Mapping[str, Row]) -> list[dict[str, Any]]:
    """Relative differences of quality between likelier's models and scikit-learn's of the same name."""
    found = []
    for key, row in rows.items():
        twin = rows.get(key.replace("/likelier/", "/scikit-learn/"))
        if twin is None or twin is row or not (row.trials and twin.trials):
            continue
        gaps = {figure: _gap(row, twin, figure) for figure in ("log_loss", "accuracy")}
        gaps = {figure: gap for figure, gap in gaps.items() if gap is not None}
        if gaps:
            agree = max(gaps.values()) <= TOLERANCE
            found.append(
                {"problem": row.contender.problem, "name": row.contender.name, "agree": agree} | gaps
            )
    return found


def _gap(row: Row, twin: Row, figure: str) -> float | None:
    ours, theirs = row.best(figure), twin.best(figure)
    return None if ours is None or theirs is None else abs(ours - theirs) / max(abs(theirs), 1e-300)
