"""Output of a stream while it lasts: metrics, predictions, a progress bar."""

import csv
import io
import sys
from contextlib import ExitStack
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
