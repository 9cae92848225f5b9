"""`python -m benchmarks.text`: ratios beside scikit-learn, memory, W8 and a stream."""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sklearn.feature_extraction.text as peer
import sklearn.naive_bayes as peer_bayes

import likelier as lk
from benchmarks.race import wabbit
from benchmarks.text import documents as made
from benchmarks.text.cases import CASES, Case


def main(arguments: list[str] | None = None) -> int:
    """Measure what is asked for; print a table."""
    new = argparse.ArgumentParser(prog="python -m benchmarks.text", description=__doc__)
    new.add_argument("what", nargs="*", default=["speed", "memory", "bayes"])
    new.add_argument("--only", default="", help="cases whose name contains this")
    new.add_argument("--repeats", type=int, default=3)
    new.add_argument("--scale", type=float, default=1.0, help="of the number of documents")
    new.add_argument("--gigabytes", type=float, default=1.0, help="of JSON lines that are streamed")
    given = new.parse_args(arguments)
    cases = [case for case in CASES if given.only in case.name]
    for what in given.what:
        if what == "speed":
            for case in cases:
                speed(case, max(1, round(case.n * given.scale)), given.repeats)
        elif what == "memory":
            for case in cases:
                memory(case, max(1, round(case.n * given.scale)))
        elif what == "bayes":
            bayes(max(1, round(100_000 * given.scale)), given.repeats)
        elif what == "stream":
            stream(given.gigabytes)
        elif what.startswith("_"):  # in a process of its own
            alone(json.loads(what[1:]))
        else:
            new.error(f"nothing is called {what!r}: speed, memory, bayes, stream")
    return 0


def timed(action: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock, and of all CPUs, those of programs that are called included."""
    wall, cpu = time.perf_counter(), _cpu()
    action()
    return time.perf_counter() - wall, _cpu() - cpu


def _cpu() -> float:
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def best(actions: list[Callable[[], Any]], repeats: int) -> list[tuple[float, float]]:
    """The best of several runs of each, in turn."""
    found = [[timed(action) for action in actions] for _ in range(repeats)]
    return [(min(w for w, _ in runs), min(c for _, c in runs)) for runs in zip(*found, strict=True)]


def speed(case: Case, n: int, repeats: int) -> None:
    texts = case.texts(n)
    ours, theirs = (getattr(of, case.kind)(**case.settings) for of in (lk, peer))
    ours.fit(texts[:2]), theirs.fit(texts)  # tables of characters are made once a process
    if case.method == "transform":
        ours.fit(texts)
    results = best([lambda one=one: getattr(one, case.method)(texts) for one in (ours, theirs)], repeats)
    (wall, cpu), (peer_wall, peer_cpu) = results
    size = sum(len(text.encode()) for text in texts)
    print(
        f"{case.name:18} {case.method:14} {peer_wall / wall:6.1f}x (target {case.target:g}x; CPU "
        f"{peer_cpu / cpu:5.1f}x)  {wall:.3f} s, scikit-learn {peer_wall:.2f} s, "
        f"{size / wall / 1e6:.0f} MB/s",
        flush=True,
    )


def memory(case: Case, n: int) -> None:
    if case.method != "fit_transform":
        return
    peaks = []
    for of in ("likelier", "sklearn"):
        asked = json.dumps({"case": CASES.index(case), "n": n, "of": of})
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.text", f"_{asked}"],
            capture_output=True,
            check=True,
            text=True,
        )
        peaks.append(float(done.stdout))
    print(f"{case.name:18} memory: {peaks[0]:.0f} MB, scikit-learn {peaks[1]:.0f} MB", flush=True)


def alone(asked: dict[str, Any]) -> None:
    """By how much a fit raises the peak of memory."""
    case = CASES[asked["case"]]
    texts = case.texts(asked["n"])
    one = getattr(lk if asked["of"] == "likelier" else peer, case.kind)(**case.settings)
    type(one)(**case.settings).fit(texts[:2])
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    held = one.fit_transform(texts)
    assert held.shape[0] == len(texts)
    print((_status("VmHWM") - before) / 1024)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def bayes(n: int, repeats: int) -> None:
    """W8: documents to counts to naive Bayes; Vowpal Wabbit learns a linear model from its own file."""
    texts, y = made.documents(n)
    lk.MultinomialNB().fit(lk.CountVectorizer().fit_transform(texts[:100]), y[:100])

    def whole(of: Any, model: Any) -> None:
        model.fit(of.CountVectorizer().fit_transform(texts), y)

    with tempfile.TemporaryDirectory(dir=os.environ.get("LIKELIER_SCRATCH")) as folder:
        path = Path(folder, "documents.vw")
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{k + 1} | {text.lower()}\n" for text, k in zip(texts, y, strict=True))
        runs: list[Callable[[], Any]] = [
            lambda: whole(lk, lk.MultinomialNB()),
            lambda: whole(peer, peer_bayes.MultinomialNB()),
        ]
        command = wabbit_command(path)
        if command is not None:
            runs.append(lambda: subprocess.run(command, check=True, capture_output=True))
        found = best(runs, repeats)
    names = ["likelier", "scikit-learn", "Vowpal Wabbit"]
    (wall, cpu) = found[0]
    for name, (theirs, their_cpu) in zip(names, found, strict=False):
        print(
            f"W8: {name:14} {theirs:.3f} s ({their_cpu:.2f} s of CPU): {theirs / wall:.1f}x likelier's "
            f"(CPU {their_cpu / cpu:.1f}x; targets 14x and 4x)",
            flush=True,
        )


def wabbit_command(path: Path) -> list[str] | None:
    """One pass of its one-against-all over a file; None: it is not installed."""
    if importlib.util.find_spec("vowpalwabbit") is None:
        return None
    return wabbit.command(path, "--oaa", str(made.CLASSES), "--quiet")


def stream(gigabytes: float) -> None:
    """JSON lines, hashed, into models of one pass, each in a process of its own."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("LIKELIER_SCRATCH")) as folder:
        path = Path(folder, "documents.jsonl")
        rows = made.write_json_lines(path, int(gigabytes * 1e9))
        size = path.stat().st_size
        for model in ("MultinomialNB", "OnlineClassifier"):
            code = _STREAM.format(path=str(path), model=model)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            wall, cpu, peak = map(float, done.stdout.split())
            print(
                f"stream of {size / 1e9:.1f} GB ({rows:,} rows) into {model}: {size / wall / 1e6:.0f} MB/s "
                f"({cpu:.1f} s of CPU in {wall:.1f} s: {2 * size / cpu / 1e6:.0f} MB/s of two cores), "
                f"peak {peak:.0f} MB",
                flush=True,
            )


_STREAM = """
import resource, time
import likelier as lk
from sklearn.pipeline import make_pipeline
wall, cpu = time.perf_counter(), time.process_time()
rows = lk.scan({path!r}, text="text", target="label")
# A narrower table for naive Bayes, whose weights are dense.
bits = 18 if {model!r} == "MultinomialNB" else 20
hashing = lk.HashingVectorizer(n_features=2**bits, alternate_sign=False)
make_pipeline(hashing, getattr(lk, {model!r})()).fit(rows)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(time.perf_counter() - wall, time.process_time() - cpu, peak)
"""


if __name__ == "__main__":
    sys.exit(main())
