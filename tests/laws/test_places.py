"""The laws of places: a table gives the same model wherever its files are, and however they are packed."""

import bz2
import gzip
import io
import json
import pickle
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import likelier as lk
from likelier import _core
from likelier.data.files import locations

RNG = np.random.default_rng(0)
N = 90
TABLE = pa.table({"a": RNG.normal(size=N), "b": RNG.normal(size=N), "y": np.arange(N) % 3})
PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": lambda text: pa.compress(text, "zstd", asbytes=True),
    "zstd": lambda text: pa.compress(text, "zstd", asbytes=True),
}


def lz4(text: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "lz4") as packed:
        packed.write(text)
    return sink.getvalue().to_pybytes()


PACK["lz4"] = lz4


def contents(table: pa.Table, ending: str) -> bytes:
    """A file with this table."""
    held = io.BytesIO()
    kind, _, packing = ending.partition(".")
    if kind == "parquet":
        pq.write_table(table, held)
    elif kind == "jsonl":
        held.write("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode())
    elif kind in ("svm", "vw"):
        form = "{y} 1:{a!r} 2:{b!r}\n" if kind == "svm" else "{y} |n a:{a!r} b:{b!r}\n"
        held.write("".join(form.format(**row) for row in table.to_pylist()).encode())
    else:
        options = pyarrow.csv.WriteOptions(delimiter="\t" if kind == "tsv" else ",")
        pyarrow.csv.write_csv(table, held, options)
    return PACK[packing](held.getvalue()) if packing else held.getvalue()


def totals(path, ending: str) -> list[tuple[float, float]]:
    """The label of each row, and the sum of its cells."""
    found = []
    source = lk.scan(path, **({} if ending.startswith(("svm", "vw")) else {"target": "y"}))
    for chunk in (chunk for part in source.parts(0) for chunk in part()):
        ones = np.ones(chunk.X.shape[1])
        sums = np.empty((chunk.X.shape[0], 1))
        _core.affine(chunk.X.native(), ones[None], np.zeros(1), np.zeros(len(ones)), sums, False)
        found += zip(chunk.y.tolist(), sums[:, 0].tolist(), strict=True)
    return found


def write(folder: str, ending: str, rows=(40, N)) -> list[str]:
    """Two files there; their URLs."""
    place = MemoryFileSystem()
    found = []
    for i, (start, stop) in enumerate(zip((0, *rows), rows, strict=False)):
        with place.open(f"{folder}/deep/part-{i}.{ending}", "wb") as file:
            file.write(contents(TABLE.slice(start, stop - start), ending))
        found.append(f"memory:/{folder}/deep/part-{i}.{ending}")
    return found


@pytest.fixture
def folder(tmp_path):
    """A folder in memory, gone after the test."""
    name = f"/{tmp_path.name}"
    yield name
    if MemoryFileSystem().exists(name):
        MemoryFileSystem().rm(name, recursive=True)


EXPECTED = [(row["y"], row["a"] + row["b"]) for row in TABLE.to_pylist()]
PLAIN = ["parquet", "csv", "tsv", "jsonl", "svm", "vw"]
KINDS = [*PLAIN, *(f"{kind}.{packing}" for kind in ("csv", "jsonl", "svm") for packing in PACK)]


@pytest.mark.parametrize("ending", KINDS)
def test_every_format_at_every_place(folder, tmp_path, ending):
    urls = write(folder, ending)
    for path in (urls, f"memory:/{folder}/**/*.{ending}", f"memory:/{folder}/*/part-?.{ending}"):
        assert totals(path, ending) == EXPECTED
    here = tmp_path / f"a part.{ending}"
    here.write_bytes(contents(TABLE, ending))
    for path in (here, f"file://{tmp_path}/a%20part.{ending}", f"file://{tmp_path}/*.{ending}"):
        assert totals(path, ending) == EXPECTED
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as packed:
        packed.write(here, f"in/it.{ending}")
    path = f"zip://in/*::file://{tmp_path}/all.zip"
    assert totals(path, ending) == EXPECTED


def test_a_folder_elsewhere_is_all_that_is_in_it_but_what_is_hidden(folder):
    urls = write(folder, "csv")
    MemoryFileSystem().pipe(f"{folder}/_notes.csv", b"x\n")
    MemoryFileSystem().pipe(f"{folder}/.hidden/part-9.csv", b"x\n")
    assert [file.path for file in lk.scan(f"memory:/{folder}", target="y").files] == urls
    with pytest.raises(FileNotFoundError, match=r"no file matches 'memory://.*\.parquet'"):
        lk.scan(f"memory:/{folder}/*.parquet")
    with pytest.raises(FileNotFoundError, match="no file matches 'memory://nowhere"):
        lk.scan("memory://nowhere/t.csv")


def test_what_follows_a_question_mark_belongs_to_the_url(folder):
    MemoryFileSystem().pipe(f"{folder}/t.csv?token=a.b", contents(TABLE, "csv"))
    assert totals(f"memory:/{folder}/t.csv?token=a.b", "csv") == EXPECTED


def test_parts_are_small_and_travel(folder):
    source = lk.scan(write(folder, "parquet"), target="y")
    parts = [pickle.loads(pickle.dumps(part)) for part in source.parts(0)]
    assert sum(chunk.X.shape[0] for part in parts for chunk in part()) == N
    assert len(pickle.dumps(source.parts(0)[0])) < 5000


def test_a_file_elsewhere_that_changed_or_is_gone(folder):
    source = lk.scan(write(folder, "csv"), target="y")
    MemoryFileSystem().pipe(f"{folder}/deep/part-1.csv", b"a,b,y\n1,2,3\n")
    with pytest.raises(ValueError, match=r"memory://.*part-1\.csv: the file has changed"):
        lk.GaussianNB().fit(source)
    MemoryFileSystem().rm(f"{folder}/deep/part-1.csv")
    with pytest.raises(ValueError, match=r"memory://.*part-1\.csv: the file has been removed"):
        lk.GaussianNB().fit(source)


class Broken(MemoryFileSystem):
    """Files of which nothing behind the first bytes can be read, with an error that Arrow does not know."""

    protocol = "broken"

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("broken://", "memory://"))

    def open(self, path, mode="rb", **how):
        file = super().open(path, mode, **how)
        if mode != "rb":
            return file

        class Failing(io.BytesIO):
            def read(self, n=-1):
                if self.tell() + (n if n >= 0 else 1 << 40) > 1000:
                    raise RuntimeError("the line went dead")
                return super().read(n)

        return Failing(file.read())


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "svm"])
def test_a_file_that_fails_in_mid_read_is_named(folder, ending):
    import fsspec

    fsspec.register_implementation("broken", Broken, clobber=True)
    url = write(folder, ending)[0].replace("memory", "broken")
    with pytest.raises(OSError, match=r"broken://.*: cannot be read: the line went dead"):
        totals(url, ending)


def test_places_that_cannot_be_reached():
    with pytest.raises(ValueError, match=r"nowhere://t\.csv: cannot be reached: Protocol not known"):
        lk.scan("nowhere://t.csv")


def test_without_fsspec(monkeypatch):
    import sys

    locations._fsspec_system.cache_clear()
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ImportError, match=r"memory://t\.csv: .*pip install fsspec"):
        lk.scan("memory://t.csv")


def test_files_packed_in_another_way_than_they_say(tmp_path):
    text = contents(TABLE, "csv")
    for name, held, said in [
        ("a.csv.gz", text, "name ends as that of a gzip file, but the file is not compressed"),
        (
            "b.csv.gz",
            bz2.compress(text),
            "name ends as that of a gzip file, but the file is compressed by bz2",
        ),
        ("c.csv", gzip.compress(text), r"compressed by gzip, and its name does not end with \.gz"),
    ]:
        (tmp_path / name).write_bytes(held)
        with pytest.raises(ValueError, match=said):
            lk.scan(tmp_path / name)
