"""The log on disk: torn writes, full disks, damaged snapshots, two servers, newer versions."""

import shutil
import sqlite3
import time
from itertools import pairwise

import pytest

pytest.importorskip("msgspec", reason="likelier[serve] is not installed")

from likelier.service.events import Config
from likelier.service.models import new_content, served_of
from likelier.service.recovery import begin, models_of, recovered
from likelier.service.snapshots import captured
from likelier.service.sqlite_store import SqliteStore
from likelier.service.store import Draft, StoreError
from likelier.service.writer import Clock


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.db"


def begun(path, **how):
    store = SqliteStore(path, **how)
    begin(store, None, Config(), lambda: new_content({"bits": 6}))
    return store


def drafts(n, first=0):
    return [Draft(f"r{first + i}", b'{"a": %d}' % i, b'"yes"' if i % 2 else b'"no"') for i in range(n)]


def test_events_come_back_as_they_were_written(path):
    store = begun(path)
    some = [
        Draft("ä\u2028'\"", b'{"caf\xc3\xa9": "\xf0\x9f\x98\x80", "n": 1e22}'),
        Draft(None, b"{}", b"true"),
        Draft("ä\u2028'\"", None, b"-1.5"),
    ]
    written = store.append(some, 12.5)
    store.close()
    again = SqliteStore(path)
    assert list(again.after(2)) == written
    assert again.last() == (5, 12.5)
    assert again.known(["ä\u2028'\"", "other"])["ä\u2028'\""].y == b"-1.5"
    again.close()


def test_an_id_has_one_row_and_one_label_whatever_the_server_does(path):
    store = begun(path)
    store.append([Draft("a", b"{}")], 1.0)
    for again in (Draft("a", b'{"b": 1}'), Draft("a", b"{}", b"1")):
        with pytest.raises(StoreError, match="UNIQUE"):
            store.append([Draft("new", b"{}"), again], 2.0)
    assert store.last()[0] == 3
    assert [event.id for event in store.after(2)] == ["a"]
    store.append([Draft("b", b"{}")], 2.0)
    assert [event.seq for event in store.after(2)] == [3, 4]
    store.close()


def test_a_log_cut_at_every_byte_of_its_last_pages_is_what_was_committed(path, tmp_path):
    """The write-ahead log is cut at each byte of the last commit, and filled with what a disk may leave."""
    store = begun(path, page_size=512)
    store.append(drafts(3), 1.0)
    wal = path.with_name("events.db-wal")
    before = wal.stat().st_size
    store.append(drafts(1, first=3), 2.0)
    after = wal.stat().st_size
    assert before < after < before + 20_000
    files = path.read_bytes(), wal.read_bytes()
    store.close()
    for cut in range(before, after + 1):
        for rest in (b"", b"\0" * (after - cut)) if cut % 16 == 0 else (b"",):
            torn = tmp_path / "torn.db"
            torn.write_bytes(files[0])
            torn.with_name("torn.db-wal").write_bytes(files[1][:cut] + rest)
            torn.with_name("torn.db-shm").unlink(missing_ok=True)
            connection = sqlite3.connect(torn)
            connection.execute("PRAGMA synchronous = OFF")  # of this copy
            ids = [id for (id,) in connection.execute("SELECT id FROM events WHERE seq > 2 ORDER BY seq")]
            if cut % 64 == 0:
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            connection.close()
            assert ids == [f"r{i}" for i in range(4 if cut == after else 3)]


@pytest.mark.parametrize("cut", [0, 3])
def test_a_server_goes_on_from_a_torn_log(path, cut):
    store = begun(path)
    store.append(drafts(4), 1.0)
    store.append(drafts(4, first=4), 2.0)
    wal = path.with_name("events.db-wal")
    files = path.read_bytes(), wal.read_bytes()
    store.close()
    path.write_bytes(files[0])
    wal.write_bytes(files[1][: len(files[1]) - cut])
    again = SqliteStore(path)
    n = 8 if cut == 0 else 4
    assert again.last()[0] == 2 + n
    live = recovered(again)
    assert live.rows_learned == n
    again.append([Draft("more", b"{}")], 3.0)
    assert [event.id for event in again.after(2 + n)] == ["more"]
    again.close()


def test_a_full_disk_loses_nothing_and_applies_nothing(path):
    store = begun(path)
    pages = store._one("PRAGMA page_count")[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages + 3}")
    written = 0

    def fill():
        nonlocal written
        for i in range(1000):
            store.append([Draft(f"r{i}", b'{"a": "%s"}' % (b"x" * 500))], 1.0)
            written += 1

    with pytest.raises(StoreError, match="full"):
        fill()
    assert 0 < written < 1000
    assert len(list(store.after(2))) == written
    store._connection.execute("PRAGMA max_page_count = 100000")
    store.append([Draft("after", b"{}")], 2.0)
    assert store.last()[0] == 3 + written
    store.close()


def test_a_damaged_snapshot_is_passed_over_for_an_older_one_or_the_log(path):
    store = begun(path)
    live = recovered(store)
    for i in range(3):
        live.apply(store.append(drafts(20, first=20 * i), float(i)))
        store.put_snapshot(live.version, captured(live)())
    wanted = live.served.content()
    for version in store.snapshots():
        file = store.folder / f"{version:016d}.lks"
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        notes = []
        again = recovered(store, note=notes.append)
        assert f"snapshot {version} is passed over" in notes[-1]
        assert again.served.content() == wanted
        assert again.version == live.version
    store.close()


def test_a_snapshot_of_events_that_are_not_in_the_log_is_passed_over(path, tmp_path):
    store = begun(path)
    live = recovered(store)
    shutil.copy(path, tmp_path / "old.db")
    shutil.copy(path.with_name("events.db-wal"), tmp_path / "old.db-wal")
    live.apply(store.append(drafts(5), 1.0))
    store.put_snapshot(live.version, captured(live)())
    shutil.copytree(store.folder, tmp_path / "old.db.snapshots")
    store.close()
    old, notes = SqliteStore(tmp_path / "old.db"), []
    assert recovered(old, note=notes.append).rows_learned == 0
    assert "not in the log" in notes[0]
    old.close()


def test_the_newest_snapshots_are_kept_and_few_older_ones_of_every_age(path):
    store = begun(path)
    for version in range(1, 200):
        store.put_snapshot(version * 100, b"x")
        there = [version // 100 for version in store.snapshots()]
        assert there[:4] == list(range(version, max(version - 4, 0), -1))
        assert there[-1] == 1
        assert len(there) <= 4 + 9
        ages = [version - one for one in there[4:]]
        assert all(later <= 4 * age + 4 for age, later in pairwise(ages))
    store.close()


def test_a_second_server_on_a_store_is_refused_and_readers_are_not(path):
    store = begun(path)
    with pytest.raises(StoreError, match="in use by another likelier serve"):
        SqliteStore(path)
    store.append(drafts(2), 1.0)
    reader = SqliteStore(path, read_only=True)
    assert reader.last()[0] == 4
    reader.close()
    store.close()
    SqliteStore(path).close()


def test_other_databases_and_newer_ones_are_refused_and_left_alone(path, tmp_path):
    begun(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    content = path.read_bytes()
    with pytest.raises(StoreError, match=r"newer likelier \(schema 99"):
        SqliteStore(path)
    assert path.read_bytes() == content
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="something else"):
        SqliteStore(other)
    text = tmp_path / "text.db"
    text.write_text("this is no database, whatever its name says" * 100)
    with pytest.raises(StoreError, match="not a database"):
        SqliteStore(text)
    with pytest.raises(FileNotFoundError, match="there is no store"):
        SqliteStore(tmp_path / "missing.db", read_only=True)


def test_a_damaged_model_is_refused(path):
    store = begun(path)
    sha = next(iter(recovered(store)._models.__closure__ or ()), None)
    assert sha is not None
    store._connection.execute("UPDATE models SET content = substr(content, 2)")
    with pytest.raises(StoreError, match="missing or damaged"):
        models_of(store)(store._one("SELECT sha FROM models")[0])
    store.close()


def test_a_clock_that_is_set_does_not_move_event_time(monkeypatch):
    clock = Clock(last=0.0)
    first = clock.now()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert first <= clock.now() < first + 5
    monkeypatch.setattr(time, "time", lambda: 1e12)
    assert clock.now() < first + 5
    assert Clock(last=2e12).now() >= 2e12  # nor does a restart with a clock that is behind


def test_an_uploaded_model_is_parsed_and_not_executed():
    import pickle

    class Evil:
        def __reduce__(self):
            return exec, ("raise SystemExit('executed')",)

    with pytest.raises(ValueError, match="not a likelier model"):
        served_of(pickle.dumps(Evil()))
