"""The contenders in online learning; step sizes and all else are each library's defaults unless named."""

import csv
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.race import wabbit
from benchmarks.race.clicks import NUMBERS
from benchmarks.race.online_measures import Answers, Fits, OneByOne, Program, progressive
from benchmarks.race.registry import contender

MODULE = {"scikit-learn": "sklearn.linear_model", "likelier": "likelier"}
BITS = 22  # of the hashes of clicks
BLOCK = 10_000  # rows of a call of partial_fit


# ---- one pass over arrays ----------------------------------------------------------------------------
def epoch(name: str, model: str, problems: tuple[str, ...], ours: str | None = None, **params: Any) -> None:
    """Enter scikit-learn's model and likelier's: one pass, in the same order; `ours` is its name."""
    for library, where in MODULE.items():

        @contender(problem=problems, library=library, name=name if library != "likelier" else ours or name)
        def _(where: str = where) -> Any:
            new = getattr(import_module(where), model)
            return Fits(lambda: new(max_iter=1, tol=None, random_state=0, **params))


epoch("Perceptron", "Perceptron", ("dense-online",))
epoch("SGD", "SGDClassifier", ("dense-online", "sparse-online"), loss="log_loss")
# Not by one name: the first steps are so long that a change of 1e-15 in X changes the mean of all weights,
# scikit-learn's own too, by a twentieth. The last weights agree.
epoch("SGD averaged", "SGDClassifier", ("dense-online",), "SGD, averaged", loss="log_loss", average=True)


@contender(problem=("dense-online", "sparse-online"), library="likelier", name="OnlineClassifier")
def _() -> Any:
    from likelier import OnlineClassifier

    return Fits(OnlineClassifier, classes=[0, 1])


def file_pass(name: str, *options: str, problems: tuple[str, ...], rows: int | None = None) -> None:
    """Enter Vowpal Wabbit on its own text file."""
    some = () if rows is None else ("--examples", str(rows))

    @contender(problem=problems, library="vowpalwabbit", name=name)
    def _() -> Any:
        import vowpalwabbit  # noqa: F401

        return Program(lambda files: wabbit.command(files.vw, *options, *some), wabbit.LOSS)


file_pass("from its file", problems=("dense-online", "sparse-online"))
file_pass("from its file, --sgd", "--sgd", problems=("dense-online",))


# ---- clicks ------------------------------------------------------------------------------------------
file_pass(f"-b {BITS}", "-b", str(BITS), problems=("clicks",))
file_pass("-b 18", "-b", "18", problems=("clicks",))
file_pass(f"-b {BITS} --ftrl", "-b", str(BITS), "--ftrl", problems=("clicks",))
for some in (20_000, 200_000):
    name = f"-b {BITS}, first {some // 1000}k rows"
    file_pass(name, "-b", str(BITS), problems=("clicks",), rows=some)


def stream(name: str, *options: str) -> None:
    """Enter `likelier stream`."""

    @contender(problem="clicks", library="likelier", name=name)
    def _() -> Any:
        start = [str(Path(sys.executable).with_name("likelier")), "stream"]
        return Program(lambda files: [*start, str(files.tsv), "--target", "click", *options], STREAM_LOSS)


STREAM_LOSS = re.compile(r"^ *\d+ +(\d+\.\d+) ", re.MULTILINE)  # the second column of its table
stream("stream")
stream(f"stream --set bits={BITS}", "--set", f"bits={BITS}")


def _cells(path: Any, n: int) -> Iterator[tuple[dict[str, str], int]]:
    """Rows of the TSV file as a user would read them: the cells that are not empty."""
    with path.open() as file:
        for row in islice(csv.DictReader(file, delimiter="\t"), n):
            label = int(row.pop("click"))
            yield {k: v for k, v in row.items() if v}, label


def _typed(x: dict[str, str]) -> dict[str, Any]:
    return {k: float(v) if k in NUMBERS else v for k, v in x.items()}


@contender(
    problem="clicks", library="scikit-learn", name="FeatureHasher, partial_fit of 10k rows (on 200k rows)"
)
def _() -> Any:
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.linear_model import SGDClassifier

    def pass_over(files: Any, n: int) -> Iterator[float]:
        """The first 10k rows have no answer, and do not count."""
        hasher, model = FeatureHasher(2**BITS), SGDClassifier(loss="log_loss", random_state=0)
        rows = _cells(files.tsv, n)
        while block := list(islice(rows, BLOCK)):
            x, y = zip(*block, strict=True)
            X = hasher.transform(_typed(each) for each in x)
            if hasattr(model, "coef_"):
                yield from model.predict_proba(X)[range(len(y)), y]
            model.partial_fit(X, y, classes=[0, 1])

    return Answers(pass_over, 200_000)


# ---- row by row --------------------------------------------------------------------------------------
Optimizer = Callable[[Any], Any]  # from river.optim


def river(optimizer: Optimizer) -> OneByOne:
    from river import linear_model, optim

    model = linear_model.LogisticRegression(optimizer(optim))
    return OneByOne(model.learn_one, lambda x: model.predict_proba_one(x)[True])


def river_hashed(optimizer: Optimizer) -> OneByOne:
    """Behind River's own hasher, which is native."""
    from river import linear_model, optim, preprocessing

    model = preprocessing.FeatureHasher(2**BITS, seed=0) | linear_model.LogisticRegression(optimizer(optim))
    return OneByOne(model.learn_one, lambda x: model.predict_proba_one(x)[True])


def river_by_hand(optimizer: Optimizer) -> OneByOne:
    """Hashed by Python's hash, in one dict comprehension."""
    from river import linear_model, optim

    model = linear_model.LogisticRegression(optimizer(optim))
    mask = 2**BITS - 1

    def hashed(x: dict[str, Any]) -> dict[int, float]:
        return {
            hash((k, v)) & mask if isinstance(v, str) else k: 1 if isinstance(v, str) else v
            for k, v in x.items()
        }

    return OneByOne(
        lambda x, y: model.learn_one(hashed(x), y), lambda x: model.predict_proba_one(hashed(x))[True]
    )


OPTIMIZERS: dict[str, Optimizer] = {
    "SGD": lambda optim: optim.SGD(),
    "FTRL": lambda optim: optim.FTRLProximal(),
}
HASHED = {"FeatureHasher": river_hashed, "hash()": river_by_hand}


@contender(problem="one-row", library="river", name="SGD")
def _() -> Any:
    return river(OPTIMIZERS["SGD"])


for name, optimizer in OPTIMIZERS.items():
    for how, hashed in HASHED.items():

        @contender(problem="one-row-clicks", library="river", name=f"{name}, {how}")
        def _(optimizer: Optimizer = optimizer, hashed: Any = hashed) -> Any:
            return hashed(optimizer)

    @contender(problem="clicks", library="river", name=f"{name}, hash() (on 20k rows)")
    def _(optimizer: Optimizer = optimizer) -> Any:
        import river  # noqa: F401

        def pass_over(files: Any, n: int) -> Iterator[float]:
            learn, chance = river_by_hand(optimizer)
            for cells, y in _cells(files.tsv, n):
                x = _typed(cells)
                p = chance(x)
                yield p if y else 1 - p
                learn(x, y)

        return Answers(pass_over, 20_000)


@contender(problem="one-row", library="vowpalwabbit", name="Python API")
def _() -> Any:
    from vowpalwabbit import Workspace

    model = Workspace("--loss_function logistic --link logistic --quiet")
    return OneByOne(
        lambda x, y: model.learn(f"{1 if y else -1} | " + " ".join([f"{k}:{v}" for k, v in x.items()])),
        lambda x: model.predict("| " + " ".join([f"{k}:{v}" for k, v in x.items()])),
    )


def both_known() -> OneByOne:
    """likelier's, told of both classes before the first row, as the others are that know of two only."""
    from likelier import OnlineClassifier

    model = OnlineClassifier().partial_fit([[0.0]], [0], classes=[0, 1], sample_weight=[0.0])
    return OneByOne(model.learn_one, lambda x: model.predict_proba_one(x)[1])


@contender(problem=("one-row", "one-row-clicks"), library="likelier", name="OnlineClassifier")
def _() -> Any:
    return both_known()


# ---- streams -----------------------------------------------------------------------------------------
@contender(problem="streams", library="vowpalwabbit", name="default")
def _() -> Any:
    import vowpalwabbit  # noqa: F401

    def run(stream: Any) -> float:
        program = Program(lambda files: wabbit.command(files.vw), wabbit.LOSS)
        program.run(stream)
        return program.figures(stream)["progressive"]

    return run


def _parted(x: dict[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """Numbers as they are, and strings as name=value of value 1."""
    numbers = {k: v for k, v in x.items() if not isinstance(v, str)}
    return numbers, {f"{k}={v}": 1.0 for k, v in x.items() if isinstance(v, str)}


@contender(problem="streams", library="river", name="LogisticRegression")
def _() -> Any:
    from river import linear_model

    def run(stream: Any) -> float:
        model = linear_model.LogisticRegression()
        rows = ((numbers | words, y) for x, y in stream.rows for numbers, words in [_parted(x)])
        return progressive(OneByOne(model.learn_one, lambda x: model.predict_proba_one(x)[True]), rows)

    return run


@contender(problem="streams", library="river", name="StandardScaler, LogisticRegression")
def _() -> Any:
    from river import linear_model, preprocessing

    def run(stream: Any) -> float:
        model, scaler = linear_model.LogisticRegression(), preprocessing.StandardScaler()

        def scaled(x: dict[str, Any]) -> dict[str, float]:
            numbers, words = _parted(x)
            return scaler.transform_one(numbers) | words  # an indicator is 1 wherever it is: scaled, 0

        def learn(x: dict[str, Any], y: int) -> None:
            scaler.learn_one(_parted(x)[0])
            model.learn_one(scaled(x), y)

        return progressive(OneByOne(learn, lambda x: model.predict_proba_one(scaled(x))[True]), stream.rows)

    return run


@contender(problem="streams", library="likelier", name="OnlineClassifier")
def _() -> Any:
    import likelier  # noqa: F401

    return lambda stream: progressive(both_known(), stream.rows)
