"""Progressive validation: every row is answered before its label is learned, and judged by that answer.

Blum, Kalai & Langford 1999; with labels that come late, Grzenda, Gomes & Bifet 2020.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

from likelier.evaluation.arriving import arriving, labels_of
from likelier.evaluation.simulating import Batches, Delay, Moment, Rows, is_number
from likelier.shown import Table, html
from likelier.streams.asking import Asked
from likelier.streams.curve import HEADING, HEADINGS, Curve, Snapshot, Windows, cells, line
from likelier.streams.figures import Figures
from likelier.streams.judging import Judge
from likelier.streams.waiting import Waiting


@dataclass(frozen=True, eq=False)
class Progressive:
    """What a progressive validation found; prints as a table of figures at doubling numbers of rows."""

    model: Any = field(repr=False)
    figures: Figures = field(repr=False)  # of all rows that were judged
    table: tuple[Snapshot, ...] = field(repr=False)  # at 1, 2, 4, ... rows, and at the end
    curve: Windows = field(repr=False)  # figures of each window
    classes: tuple[Any, ...]  # in the order of the classes of `figures`
    rows: int  # that came
    learned: int  # with their own label
    expired: int  # whose label had not come in time
    late: int  # labels that came after their row expired
    unanswered: int  # batches' rows that came before the model had learned anything
    backwards: int  # moments earlier than the one before

    @property
    def log_loss(self) -> float:
        return self.figures.log_loss

    @property
    def error(self) -> float:
        return self.figures.error

    @property
    def mistakes(self) -> float:
        return self.figures.mistakes

    @property
    def brier(self) -> float:
        return self.figures.brier

    @property
    def auc(self) -> float:
        return self.figures.auc

    @property
    def calibration_error(self) -> float:
        return self.figures.calibration_error

    def to_frame(self) -> Any:
        """The table as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.table, columns=list(Snapshot._fields))

    def _head(self) -> str:
        counts = {
            "learned": self.learned,
            "not judged": self.rows - self.figures.rows,
            "expired": self.expired,
            "late": self.late,
            "unanswered": self.unanswered,
            "moments that ran backwards": self.backwards,
            "labels of probability 0, counted as 1e-15": self.figures.clipped,
        }
        said = [f"{n:.10g} {what}" for what, n in counts.items() if n]
        return f"{self.rows} rows, {len(self.classes)} classes: {', '.join(said) or 'nothing learned'}"

    def __str__(self) -> str:
        return "\n".join([self._head(), "", HEADING, *map(line, self.table)])

    def _repr_html_(self) -> str:
        return html([self._head(), Table([HEADINGS, *map(cells, self.table)], left=0)])


def progressive(
    model: Any,
    stream: Any,
    *,
    target: Any = None,
    weight: Any = None,
    delay: Delay = None,
    moment: Moment = None,
    label_horizon: Any = None,
    default: Any = None,
    most: int | None = None,
    window: int = 1000,
    batch: int = 1000,
    classes: Any = None,
    verbose: bool = False,
    in_order: bool = False,
) -> Progressive:
    """Answers each row of a stream, judges the answer by its label, and learns the label when it comes.

    model: has `learn_one` and `predict_proba_one` or `predict_one`; or `partial_fit` and `predict_proba`
    or `predict`: that one answers and learns `batch` rows at once, the later of which it answers without
    the earlier. `classes` are for its first `partial_fit`.
    stream: a frame, or an iterable of dicts, in which `target` (and `weight`) names the label; a pair of
    arrays (X, y); an iterable of (x, y) or (x, y, weight).
    delay: how long after its row a label comes, by default 0: a number, the name of a feature, or a
    function of (x, y, moment). None, NaN or infinite, as the latter two may say: never. All rows of a
    moment are answered before any label that comes at it is learned, those of earlier rows first: with
    `delay=d` rows, the model that answers row t has learned the rows before t - d. All labels are learned
    in the end.
    moment: when a row comes: the name of a feature, or a function of x; by default its number. Features
    that `delay` and `moment` name are taken out of x.
    label_horizon, default, most, in_order: as in `Pending`. A row is judged by its true label, even if that
    comes too late to be learned; if it never comes, by the default class once there is a horizon, or not at
    all.
    window: rows in each window of `.curve`; made wider where there are many. verbose: lines of the table
    are printed as they are made.
    """
    judge = Judge(Curve(window, _say if verbose else None))
    if verbose:
        print(HEADING)
    items = arriving(stream, target, weight, batch)
    if hasattr(model, "learn_one"):
        waiting = Waiting(Asked(model), label_horizon, default, most, in_order)
        counts = Rows(waiting, judge, moment, delay).run(items)
    else:
        if label_horizon is not None or moment is not None or not is_number(delay):
            raise ValueError(
                f"{type(model).__name__} learns batches: delay= is a number of rows, and there is no "
                f"label_horizon= or moment=. A model with learn_one has them"
            )
        if classes is None and not hasattr(model, "classes_"):
            classes = labels_of(stream, target, weight)
        counts = Batches(model, judge, delay or 0, classes).run(items)
    curve = judge.settle()
    return Progressive(
        model, curve.figures, tuple(curve.table()), curve.windows, tuple(judge.labels), **asdict(counts)
    )


def _say(at: Snapshot) -> None:
    print(line(at), flush=True)
