"""Several processes on one PostgreSQL log: one leads, the others follow, and whoever dies is replaced."""

import random
import time
from contextlib import closing

import httpx
import pytest

pytest.importorskip("uvicorn", reason="likelier[serve] is not installed")
pytest.importorskip("psycopg", reason="likelier[postgres] is not installed")

import psycopg
from tests import postgres_server
from tests.service.kills import Load, Server, checked, final_model

from likelier.service.events import Config
from likelier.service.models import new_content
from likelier.service.postgres_store import Conflict, PostgresStore
from likelier.service.recovery import begin, recovered
from likelier.service.server import Options, prepared
from likelier.service.snapshots import captured
from likelier.service.store import Draft, StoreError

database = postgres_server.postgres_server


@pytest.fixture
def url(database):
    """A database of the test's own."""
    name = f"t{time.time_ns()}"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return database.rpartition("/")[0] + f"/{name}"


def begun(url):
    store = PostgresStore(url)
    with store.exclusive():
        begin(store, None, Config(), lambda: new_content({"bits": 8}))
    return store


def test_events_snapshots_and_models_come_back(url):
    store = begun(url)
    live = recovered(store)
    drafts = [
        Draft("ä'\"", '{"ü": "\U0001f600"}'.encode()),
        Draft(None, b"{}", b"1"),
        Draft("ä'\"", None, b"0"),
    ]
    live.apply(store.append(drafts, 5.0))
    store.put_snapshot(live.version, captured(live)())
    assert store.snapshots() == [5]
    other = PostgresStore(url)
    again = recovered(other)
    assert again.served.content() == live.served.content()
    assert [event[2:5] for event in other.after(2)] == [tuple(draft[:3]) for draft in drafts]
    assert other.known(["ä'\""])["ä'\""].y == b"0"
    for one in (store, other):
        one.close()


def test_appends_of_several_processes_have_one_order_and_each_id_once(url):
    stores = [begun(url), PostgresStore(url)]
    for i in range(20):
        stores[i % 2].append([Draft(f"r{i}", b"{}")], float(-i))
    events = list(stores[0].after(2))
    assert [event.seq for event in events] == list(range(3, 23))
    assert [event.id for event in events] == [f"r{i}" for i in range(20)]
    assert sorted(event.at for event in events) == [event.at for event in events]
    with pytest.raises(Conflict):
        stores[1].append([Draft("new", b"{}"), Draft("r3", b"{}")], 0.0)
    assert stores[0].last()[0] == 22
    for store in stores:
        store.close()


def test_one_process_leads_and_the_next_one_when_it_is_gone(url):
    first, second = begun(url), PostgresStore(url)
    assert first.lead()
    assert not second.lead()
    first.close()
    end = time.monotonic() + 10
    while not second.lead():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert second.leads
    with psycopg.connect(url, autocommit=True) as admin:  # the connection is cut
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
            "datname = current_database()"
        )
    with pytest.raises(StoreError, match="PostgreSQL"):
        second.last()
    assert not second.leads
    assert second.last()[0] == 2
    assert second.lead()
    second.close()


def test_processes_on_one_log_have_the_same_settings(url):
    begun(url).close()
    first, fresh = begun(url), Options(store=url, config=Config(horizon=5.0), fresh=lambda: b"")
    first.serve()
    second = PostgresStore(url)
    with pytest.raises(StoreError, match=r"horizon is None there and 5\.0 here.*the same options"):
        prepared(second, fresh, print)
    with pytest.raises(StoreError, match="another --shadow"):
        prepared(second, Options(store=url, shadow=new_content({"bits": 8})), print)
    assert second.last()[0] == 2
    prepared(second, Options(store=url), print)
    first.close()
    assert prepared(second, fresh, print).config.horizon == 5.0  # nobody else is there any more
    second.close()


def test_a_process_that_lost_its_connection_still_counts_as_serving(url):
    first, second = begun(url), PostgresStore(url)
    first.serve()
    first._connection.close()
    assert first.last()[0] == 2  # on a new connection
    assert not second.alone()
    first.close()
    assert second.alone()
    second.close()


def test_a_label_that_is_late_by_the_clock_of_another_process_is_not_logged(url, run):
    async def body(service):
        assert (await service.post("/predict", {"x": {"a": 1}, "id": "r"})).status_code == 200
        assert (await service.post("/predict", {"x": {"a": 1}, "id": "s"})).status_code == 200
        other = PostgresStore(url)
        assert (await service.post("/learn", {"id": "s", "y": "no"})).status_code == 200
        seq, at = other.last()
        other.append([Draft("ahead", b"{}")], at + 100)
        answer = await service.post("/learn", {"id": "r", "y": "no"})
        assert answer.status_code == 410, answer.text
        assert other.last()[0] == seq + 1
        assert (await service.post("/learn", {"x": {"a": 1}, "y": "no"})).status_code == 200
        other.close()

    run(body, path=url, config=Config(horizon=60.0))


def test_a_newer_schema_is_refused(url):
    begun(url).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE likelier_schema SET version = 99")
    with pytest.raises(StoreError, match="newer likelier"):
        PostgresStore(url)


def test_a_leader_that_is_killed_is_replaced_and_nothing_is_lost_or_learned_twice(url, tmp_path):
    kills(url, tmp_path, 3)


def kills(url, folder, times, *, seed=0):
    """Three processes, of which the leader, or any other, is killed so many times."""
    rng = random.Random(seed)
    begun(url).close()
    servers = [Server(folder, "--set", "bits=8", store=url).start() for _ in range(3)]
    for server in servers:
        server.wait()
    loads = [Load([server.url for server in servers], i, seed) for i in range(4)]
    try:
        for load in loads:
            load.start()
        for _ in range(times):
            time.sleep(rng.uniform(0.2, 1.0))
            victim = leader(servers) if rng.random() < 0.7 else rng.choice(servers)
            victim.kill()
            start = time.monotonic()
            assert leader([server for server in servers if server is not victim]) is not victim
            assert time.monotonic() - start < 10
            victim.start().wait()
        time.sleep(0.5)
        for load in loads:
            load.stopping.set()
        for load in loads:
            load.join(60)
        with closing(PostgresStore(url)) as store:
            version = store.last()[0]
        served = [settled(server, version) for server in servers]
        assert served[0] == served[1] == served[2]
    finally:
        for server in servers:
            if server.process.poll() is None:
                server.end()
    with closing(PostgresStore(url)) as store:
        assert store.snapshots()[0] == version
    events, _ = checked(url, loads, final_model(url))
    assert events > 20


def leader(servers):
    """The server that leads, as soon as one does."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for server in servers:
            try:
                if httpx.get(f"{server.url}/health", timeout=5).json()["role"] == "leader":
                    return server
            except httpx.TransportError:
                continue
        time.sleep(0.05)
    raise TimeoutError("nobody leads")


def settled(server, version):
    """What a server answers to some rows, once it has all events."""
    end = time.monotonic() + 30
    while httpx.get(f"{server.url}/health", timeout=5).json()["version"] < version:
        assert time.monotonic() < end
        time.sleep(0.1)
    rows = [{"x": {"user": f"u{i}", "ad": f"a{i % 10}", "hour": i}} for i in range(20)]
    return httpx.post(f"{server.url}/predict", json={"rows": rows}, timeout=10).json()
