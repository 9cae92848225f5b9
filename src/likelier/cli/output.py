"""Tables of answers to files."""

import csv
import io
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv


class Output(Protocol):
    """Takes tables of one schema after another."""

    def write(self, table: Any, /) -> None: ...

    def close(self) -> None: ...


class CSV:
    """Lines of text, quotation marks only where they are needed."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.begun = file, False

    def write(self, table: Any) -> None:
        if not self.begun:
            line = io.StringIO()
            csv.writer(line, lineterminator="\n").writerow(table.schema.names)
            self.file.write(line.getvalue().encode())
            self.begun = True
        try:
            self.file.write(_lines(table, "none"))
        except pa.ArrowInvalid:  # a cell has a comma, a quotation mark or an end of line in it
            self.file.write(_lines(table, "needed"))

    def close(self) -> None:
        pass


def _lines(table: Any, quoting: str) -> Any:
    lines = pa.BufferOutputStream()
    arrow_csv.write_csv(table, lines, arrow_csv.WriteOptions(include_header=False, quoting_style=quoting))
    return lines.getvalue()


class Parquet:
    """A row group for each table."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.writer: Any = None

    def write(self, table: Any) -> None:
        if self.writer is None:
            self.writer = pq.ParquetWriter(self.file, table.schema)
        self.writer.write_table(table)

    def close(self) -> None:
        self.writer.close()
