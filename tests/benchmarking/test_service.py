"""The load benchmark of the service, at a small size."""

import itertools

import pytest

pytest.importorskip("uvicorn", reason="likelier[serve] is not installed")
pytest.importorskip("uvloop", reason="likelier[serve] is not installed")

from benchmarks.service import cli
from benchmarks.service.load import Found, load
from benchmarks.service.servers import likelier, peer

ROWS = [{"x": {"a": i % 3, "b": f"w{i % 5}"}, "y": i % 2} for i in range(50)]


def test_requests_are_answered_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(cli, "TAUGHT", 20)
    with peer("echo") as echo, likelier(tmp_path / "events.db", "--set", "bits=8") as server:
        servers = {"echo": echo, "likelier": server}
        cli.teach(server, ROWS)
        taught = 20
        for name, measure in cli.MEASURES.items():
            measure = measure._replace(rows=min(measure.rows, 10))
            found = cli.measured(measure, servers, ROWS, seconds=0.05, repeats=1)
            assert set(found) == {"echo", "likelier"}
            assert len(list(cli.lines(measure, found))) == 2
            if not measure.labels:
                assert server.get("/model")["rows_learned"] == taught, name
        some = list(itertools.islice(cli.requests(cli.MEASURES["learn"], ROWS)(), 30))
        before = server.get("/model")["rows_learned"]
        counted = load(server.port, iter(some), connections=4, seconds=30)
        assert len(counted.taken) == 30
        assert server.get("/model")["rows_learned"] == before + 30
        wrong = [one.replace(b"/learn", b"/wrong") for one in some]
        with pytest.raises(RuntimeError, match="404"):
            load(server.port, iter(wrong), connections=1, seconds=5)


def test_quantiles_are_in_milliseconds():
    found = Found(seconds=2.0, taken=[0.001, 0.002, 0.003, 0.004])
    assert found.rate == 2
    assert found.quantile(0.5) == pytest.approx(2.5)
