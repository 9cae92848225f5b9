"""Text in blocks: all of it, in order, from files, gzip and pipes; and which format it has."""

import gzip
import os
import threading
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likelier import _core
from likelier.streams import reader
from likelier.streams.reader import Format, Text, format_of

LINES = st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\0", b"")), max_size=20).map(
    b"\n".join
)


def is_plain(text: bytes) -> bool:
    return not text.startswith((b"\x1f\x8b", *reader._OTHERS))


@given(LINES.filter(is_plain), st.integers(1, 50), st.lists(st.integers(0, 300), max_size=3), st.booleans())
def test_blocks_are_all_of_the_text(tmp_path_factory, text, size, cuts, packed):
    """A packed file may have several members, and zeros after them."""
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    parts = [text[a:b] for a, b in pairwise(places)]
    path = tmp_path_factory.getbasetemp() / "text"
    path.write_bytes(b"".join(map(gzip.compress, parts)) + b"\0" * size if packed else text)
    with Text(path, size) as opened:
        blocks = list(opened.blocks())
    assert b"".join(blocks) == text
    assert opened.position == path.stat().st_size
    assert all(blocks)


def blocks_until_trouble(path: Path, size: int) -> tuple[bytes, str]:
    found = b""
    try:
        with Text(path, size) as opened:
            for block in opened.blocks():
                found += block
    except ValueError as problem:
        return found, str(problem)
    return found, ""


def test_of_a_packed_file_that_is_cut_short_what_is_there_is_read(tmp_path):
    text = os.urandom(2000).hex().encode() + b"\n1,2\n" * 100
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n") + gzip.compress(text)[:-9])
    found, trouble = blocks_until_trouble(path, 100)
    assert (b"a,b\n1,2\n" + text).startswith(found)
    assert len(found) > len(text) - 100
    assert trouble == f"{path}: the gzip file is cut short: what came before its end was read."


@pytest.mark.parametrize("what", ["checksum", "member"])
def test_of_a_damaged_packed_file_what_came_before_is_read(tmp_path, what):
    text = b"a,b\n" + b"1,2\n" * 1000
    packed = gzip.compress(text)
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(packed[:-8] + b"\1" * 8 if what == "checksum" else packed + b"garbage")
    found, trouble = blocks_until_trouble(path, 100)
    assert found[:3900] == text[:3900]
    assert f"{path}: the gzip file is damaged (" in trouble


@pytest.fixture
def pipe(monkeypatch) -> Iterator[int]:
    """What is written to it comes from standard input."""
    out, into = os.pipe()
    monkeypatch.setattr(reader, "_STANDARD_INPUT", out)
    yield into
    os.close(out)


@pytest.mark.parametrize("packed", [False, True])
def test_rows_of_a_pipe_are_handed_on_as_they_come(pipe, packed):
    """The writer waits until its row was seen before it writes the next."""
    rows = [b"x,y\n", b"1,2\n", b"3,4\n"]
    seen = threading.Semaphore(0)
    packer = zlib.compressobj(wbits=31)

    def write() -> None:
        for row in rows:
            os.write(pipe, packer.compress(row) + packer.flush(zlib.Z_SYNC_FLUSH) if packed else row)
            seen.acquire(timeout=10)
        if packed:
            os.write(pipe, packer.flush())
        os.close(pipe)

    writer = threading.Thread(target=write)
    writer.start()
    found = []
    with Text("-") as opened:
        assert opened.name == "standard input"
        for block in opened.blocks():
            if block:
                found.append(block)
                seen.release()
    writer.join()
    assert found == rows


def test_a_pause_is_an_empty_block_and_settles_what_is_known(pipe, monkeypatch):
    monkeypatch.setattr(reader, "PAUSE", 0.01)
    os.write(pipe, b"x,y\n1,a\n")
    parser, rows = _core.TextParser("csv", target="y"), _core.HashedRows()
    with Text("-") as opened:
        for block in opened.blocks():
            parser.parse(block, rows)
            if not block:
                break
        assert len(rows) == 1
        os.close(pipe)
        assert list(opened._blocks) == []


def test_a_pipe_with_nothing_is_empty(pipe):
    os.close(pipe)
    with Text("-") as opened:
        assert opened.start == b""
        assert list(opened.blocks()) == []


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (b"PAR1\x15\x04", "this is a Parquet file; what can be read is text"),
        (b"PK\x03\x04", "this is a zip archive;"),
        (b"\x28\xb5\x2f\xfd..", "this is compressed by zstd;"),
        ("a,b\n".encode("utf-16"), r"this is text in UTF-16 \(say so: --encoding utf-16\);"),
        (b"\x7fELF\0\0", "a zero byte: this is not text, but binary data"),
        (b"a,b\n1,2\n\0\0\0\0,\0\n", "a zero byte: this is not text, but binary data"),
        (gzip.compress(b"PAR1", mtime=0), "this is a Parquet file;"),
    ],
)
def test_what_is_no_text_is_refused_by_name(tmp_path, start, said):
    path = tmp_path / "data.csv"
    path.write_bytes(start)
    with pytest.raises(ValueError, match=r"data.csv(, line \d)?: " + said):
        Text(path)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError) as problem:
        Text(tmp_path)
    assert problem.value.filename == str(tmp_path)
    with pytest.raises(FileNotFoundError):
        Text(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("name", "start", "expected"),
    [
        ("a.csv", b"x,y\n", Format("csv")),
        ("a.CSV.gz", b"x;y\n", Format("csv", ";")),
        ("a.csv.gz", b"x|y\n", Format("csv", "|")),
        ("a.csv", b"x,y|z\n", Format("csv")),
        ("a.csv", b"x\n1\n", Format("csv")),
        ("a.tsv", b"x\ty\n", Format("csv", "\t")),
        ("b.c/a.jsonl.gz", b"{}\n", Format("json")),
        ("a.json", b"{}\n", Format("json")),
        ("a.libsvm", b"1\n", Format("svmlight")),
        ("a.vw", b"1\n", Format("vw")),
        ("a.dat", b"1 |f a b:2\n", Format("vw")),
        ("-", b"|f a b:2\n", Format("vw")),
        ("-", b"1 2.5 'tag|f a\n", Format("vw")),
        ("-", b'\n  {"a": 1}\n', Format("json")),
        ("-", b"# made by hand\n-1 qid:3 4:1.5 7:-2e-3 # no\n", Format("svmlight")),
        ("-", b"1 3:1\n", Format("svmlight")),
        ("a.txt", b"a b\tc\n", Format("csv", "\t")),
        ("a.txt", b"time,12:30\n", Format("csv")),
        ("-", b"\xef\xbb\xbfa;b\n", Format("csv", ";")),
        ("-", b"", Format("csv")),
    ],
)
def test_the_format_is_seen_by_name_and_first_line(name, start, expected):
    assert format_of(name, start) == expected


def test_a_json_array_is_refused():
    with pytest.raises(ValueError, match="x: this is a JSON array: JSON lines, with one object a line"):
        format_of("x", b"[\n{}]\n")


@pytest.mark.parametrize(
    ("name", "target", "rows", "labels"),
    [
        ("criteo_8k.tsv.gz", "0", 8000, ["0", "1"]),
        ("elec2.csv.gz", "class", 45312, ["1", "0"]),
        ("open_bandit_random_10k.csv.gz", "click", 10000, ["0", "1"]),
        ("rcv1_small.vw.gz", None, 1000, ["-1", "1"]),
        ("ipinyou_train.libsvm.gz", None, 26773, ["0", "1"]),
    ],
)
def test_files_of_streams_are_read_whole_in_blocks_of_any_size(data_file, name, target, rows, labels):
    found = []
    for size in (1 << 18, 77_777):
        with Text(data_file(name), size) as text:
            form = format_of(text.name, text.start)
            parser = _core.TextParser(form.kind, target=target, delimiter=form.delimiter)
            all_rows = _core.HashedRows()
            for block in text.blocks():
                parser.parse(block, all_rows)
        parser.parse(b"", all_rows, True)
        assert (len(all_rows), parser.labels, parser.bad) == (rows, labels, 0)
        found.append([array.tobytes() for array in _core.cells_of(all_rows)])
    assert found[0] == found[1]
