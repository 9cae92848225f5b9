"""Output of a stream while it lasts: metrics, predictions, a progress bar; and logs of events once more."""

import csv
import io
import sys
import time
from argparse import Namespace
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import IO, Any, Self

from likelier.array_types import Floats
from likelier.cli.arguments import say, size_of
from likelier.display import counted
from likelier.streams.figures import HEADING, Curve, Snapshot, line
from likelier.streams.model import Online
from likelier.streams.reader import FeedProgress, Session

WINDOW = 1 << 20  # rows: nobody looks at windows here


class StreamOutput:
    """Prints a line of figures at 1, 2, 4, ... rows; writes answers if they are wanted."""

    def __init__(self, session: Session, size: int | None, answers: str | None, *, quiet: bool) -> None:
        self.session, self.size, self.answers, self.quiet = session, size, answers, quiet
        self.printed: IO[str] = sys.stderr if answers == "-" else sys.stdout
        self.out: IO[bytes] | None = None
        self.bar: Any = None
        self._opened = ExitStack()
        self._before = _odd(session.model)

    def __enter__(self) -> Self:
        self._open()
        self.session.curve = Curve(WINDOW, watch=self._mark)
        self.session.watch = self._watch
        if not self.quiet:
            print(HEADING, file=self.printed, flush=True)
        return self

    def __exit__(self, *problem: Any) -> Any:
        return self._opened.__exit__(*problem)

    def _open(self) -> None:
        if sys.stderr.isatty():
            from tqdm import tqdm

            self.bar = self._opened.enter_context(
                tqdm(total=self.size, unit="B", unit_scale=True, leave=False, delay=1.0, dynamic_ncols=True)
            )
        if self.answers == "-":
            self.out = sys.stdout.buffer
        elif self.answers is not None:
            from likelier.saving.format import replacing

            self.out = self._opened.enter_context(replacing(Path(self.answers)))
        if self.out is not None:
            self.out.write(b"prediction,probability\n")

    def _mark(self, at: Snapshot) -> None:
        if not self.quiet:
            if self.bar is not None:
                self.bar.clear()
            print(line(at), file=self.printed, flush=True)

    def _watch(self, P: Floats, progress: FeedProgress) -> None:
        if self.out is not None and len(P):
            self.out.write(answers_of(P, self.session.model.labels).encode(errors="surrogateescape"))
            self.out.flush()  # whoever asked waits for it
        if self.bar is not None:
            self.bar.update(progress.read - self.bar.n)

    # ---- at the end ----------------------------------------------------------------------------------
    def summarise(self, seconds: float, output: str | None) -> None:
        """Where it stands, what was learned, and what was wrong."""
        session = self.session
        model = session.model
        table = session.curve.table()
        if table and (self.quiet or len(table) > len(session.curve.snapshots)):
            print(line(table[-1]), file=self.printed)
        speed = f" ({session.rows / seconds:,.0f} a second)" if seconds > 0 else ""
        kinds = counted(model.K, "class")
        print(f"\n{counted(session.rows, 'row')}, {kinds}, {seconds:.2f} s{speed}", file=self.printed)
        if output is not None and Path(output).exists():
            print(f"{output} ({size_of(Path(output).stat().st_size)})", file=self.printed)
        self._note()

    def _note(self) -> None:
        session, progress = self.session, self.session.progress
        if progress is not None and progress.bad:
            for problem in progress.first_bad[:3]:
                say(f"note: {problem}")
            _say(progress.bad, "line", "could not be read")
        if progress is not None:
            for doubt in progress.doubts:
                say(f"note: {doubt}")
            _say(progress.changed, "cell", "of number columns taken as words")
        skipped, clipped = (now - then for now, then in zip(_odd(session.model), self._before, strict=True))
        _say(skipped, "cell", "skipped: NaN or infinite")
        _say(clipped, "update", "clipped because the weights would have diverged: lower learning_rate")


def _odd(model: Online) -> tuple[int, int]:
    """Cells skipped and steps cut short since its first row."""
    return model.intake.skipped, model.learner.counters["clipped"]


def _say(n: int, noun: str, what: str) -> None:
    if n:
        say(f"note: {counted(n, noun)} {what}")


def answers_of(P: Floats, labels: list[Any]) -> str:
    """The likeliest label of each row and its probability, as lines of CSV."""
    best = P.argmax(axis=1)
    named = [*map(str, labels), *[""] * (P.shape[1] - len(labels))]  # a class that has not come yet
    out = io.StringIO()
    rows = ((named[k], f"{p:.6g}") for k, p in zip(best.tolist(), P.max(axis=1).tolist(), strict=True))
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


# A log of events, once more: all rows in their order, without a server.

PART = 1 << 14  # events between two lines of figures, at most


def replay(options: Namespace) -> None:
    """All events in their order: the model is that of the service, bit for bit."""
    _check(options)
    try:
        from likelier.service.live import Live
        from likelier.service.recovery import models_of
        from likelier.service.server import opened
    except ImportError as problem:
        raise ImportError(
            f"the log of likelier serve needs packages that are not installed ({problem.name}): pip "
            f"install "
            "'likelier[serve]'"
        ) from None
    from likelier.saving.format import place_for, write

    if options.output:
        place_for(Path(options.output))
    store = opened(options.data[0], read_only=True)
    try:
        live, events = Live(models_of(store)), store.after(0)
        start, printed = time.perf_counter(), 0
        if not options.quiet:
            print(HEADING)
        while part := list(islice(events, PART)):
            live.apply(part)
            table = live.curve.snapshots[printed:]
            printed += len(table)
            if not options.quiet:
                print("\n".join(map(line, table)), end="\n" if table else "")
        seconds = time.perf_counter() - start
        rest = live.curve.table()[printed:]
        for one in rest:
            print(line(one))
        print(
            f"\n{counted(live.version, 'event')}, {counted(live.rows_learned, 'row')} learned, "
            f"{counted(len(live.served.labels), 'class')}, {live.expired} expired, "
            f"{len(live.waiting.rows)} "
            f"waiting, {seconds:.2f} s ({live.version / max(seconds, 1e-9):,.0f} events a second)"
        )
        if options.output:
            write(Path(options.output), live.served.content())
            print(f"{options.output} ({size_of(Path(options.output).stat().st_size)})")
    finally:
        store.close()


def _check(options: Namespace) -> None:
    if len(options.data) > 1:
        raise ValueError("DATA: the log of a service is replayed by itself: name it alone")
    given = {
        "--from": options.start,
        "--target": options.target,
        "--set": options.settings,
        "--predictions": options.predictions,
        "--weight": options.weight,
        "--features": options.features,
        "--no-learn": options.no_learn,
    }
    for name, value in given.items():
        if value:
            raise ValueError(
                f"{name} cannot be given with {options.data[0]}: the log of likelier serve has its own "
                f"model, "
                "labels and settings"
            )
