"""Parts of dates as ONNX operators: from days since 1970 to years, months and hours."""

from likelier.export.onnx_graph import Graph
from likelier.export.program import Input, NotExpressible

HOUR, MINUTE, DAY = 3600e6, 60e6, 86_400e6  # microseconds
EPOCH, FIRST = 719_468.0, 719_162.0  # days from 0000-03-01, and from 0001-01-01, to 1970-01-01


def part_of(graph: Graph, each: Input, x: str, part: str) -> str:
    """A part of a date, as pyarrow has it."""
    if each.zone is not None:
        raise NotExpressible(
            f"this model cannot be written as ONNX: it reads the {part} of column {each.name!r} by the "
            f"clock of {each.zone}, and ONNX knows no time zones. Fit it to times without a zone."
        )
    dates = _Dates(graph)
    ticks = graph.op("Floor", dates.plus(graph.op("Mul", x, graph.number(DAY)), 0.5))
    day = dates.over(ticks, DAY)
    if part in ("hour", "minute"):
        within = dates.less(ticks, day, DAY)
        hour = dates.over(within, HOUR)
        return hour if part == "hour" else dates.over(dates.less(within, hour, HOUR), MINUTE)
    monday = dates.plus(day, 3.0)  # 1970 began on a Thursday
    weekday = dates.less(monday, dates.over(monday, 7.0), 7.0)
    if part == "weekday":
        return weekday
    if part == "week":  # the weeks of a year are those of its Thursdays
        thursday = dates.plus(graph.op("Sub", day, weekday), 3.0)
        return dates.plus(dates.over(dates.civil(thursday)["yearday"], 7.0, before=-1.0), 1.0)
    return dates.civil(day)[part]


class _Dates:
    """Whole numbers in doubles, divided and counted."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def plus(self, a: str, b: float | str) -> str:
        return self.graph.op("Add", a, b if isinstance(b, str) else self.graph.number(b))

    def minus(self, a: str, b: str) -> str:
        return self.graph.op("Sub", a, b)

    def over(self, a: str, size: float, before: float = 0.0) -> str:
        """⌊(a + before) / size⌋."""
        held = self.plus(a, before) if before else a
        return self.graph.op("Floor", self.graph.op("Div", held, self.graph.number(size)))

    def less(self, a: str, count: str, size: float) -> str:
        """a - count size."""
        return self.graph.op("Sub", a, self.times(count, size))

    def times(self, a: str, size: float) -> str:
        return self.graph.op("Mul", a, self.graph.number(size))

    def civil(self, day: str) -> dict[str, str]:
        """Year, quarter, month, day and day of the year, in the Gregorian calendar.

        Years begin in March, so that a leap day is the last of its year (Hinnant 2013).
        """
        z = self.plus(day, EPOCH)
        era = self.over(z, 146_097.0)
        of_era = self.less(z, era, 146_097.0)
        leaps = self.minus(self.over(of_era, 36_524.0), self.over(of_era, 146_096.0))
        year = self.over(self.plus(self.minus(of_era, self.over(of_era, 1460.0)), leaps), 365.0)
        before = self.plus(
            self.times(year, 365.0), self.minus(self.over(year, 4.0), self.over(year, 100.0))
        )
        of_year = self.minus(of_era, before)
        march = self.over(self.times(of_year, 5.0), 153.0, before=2.0)  # 0: March
        first = self.over(self.times(march, 153.0), 5.0, before=2.0)
        late = self.graph.cast(self.graph.op("GreaterOrEqual", march, self.graph.number(10.0)))
        month = self.plus(self.less(march, late, 12.0), 3.0)
        years = self.plus(self.plus(year, self.times(era, 400.0)), late)
        return {
            "year": years,
            "quarter": self.plus(self.over(month, 3.0, before=-1.0), 1.0),
            "month": month,
            "day": self.plus(self.minus(of_year, first), 1.0),
            "yearday": self.plus(self.minus(self.plus(day, FIRST), self._days_before(years)), 1.0),
        }

    def _days_before(self, year: str) -> str:
        """From 0001-01-01 to the first day of a year."""
        y = self.plus(year, -1.0)
        leaps = self.plus(self.minus(self.over(y, 4.0), self.over(y, 100.0)), self.over(y, 400.0))
        return self.plus(self.times(y, 365.0), leaps)
