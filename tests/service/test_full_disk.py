"""A file system that really is full: what was acknowledged stays, predictions go on, and room is enough."""

import subprocess

import pytest

pytest.importorskip("uvicorn", reason="likelier[serve] is not installed")
httpx = pytest.importorskip("httpx", reason="likelier[serve] is not installed")

from tests.service.kills import Load, Server, checked, final_model  # noqa: E402

SIZE = 8 << 20  # bytes of the file system


@pytest.fixture
def small(tmp_path):
    """A file system of a few megabytes in memory."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here to make a small file system with")
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill(client, load):
    """Rows of 20 kB until one is refused; how many were taken."""
    for i in range(10_000):
        body = {"x": {"text": f"{i} " + "w" * 9000, "more": "v" * 9900}, "y": "no", "id": f"row {i}"}
        answer = client.post("/learn", json=body)
        if answer.status_code != 200:
            assert answer.status_code == 503, answer.text
            assert answer.headers["retry-after"]
            return i
        load.acknowledged(body, answer.json())
    raise AssertionError("the file system was never full")


def test_a_full_file_system_loses_nothing_and_passes(small):
    filler = small / "filler"
    filler.write_bytes(bytes(1 << 20))
    server = Server(small, "--set", "bits=8").start().wait()
    load = Load([server.url], 0, 0)
    with httpx.Client(base_url=server.url, timeout=20) as client:
        assert fill(client, load) > 50
        assert client.post("/predict", json={"x": {"text": "w"}}).status_code == 200
        assert client.get("/health").json()["status"] == "ok"
        filler.unlink()
        body = {"x": {"text": "room again"}, "y": "yes", "id": "last"}
        answer = client.post("/learn", json=body)
        assert answer.status_code == 200, answer.text
        load.acknowledged(body, answer.json())
        assert fill_again(client) == 503  # and full once more
    server.kill()  # with a full disk
    subprocess.run(["mount", "-o", f"remount,size={2 * SIZE}", small], check=True)
    server.start().wait()
    server.end()
    events, _ = checked(server.store, [load], final_model(server.store))
    assert events > len(load.labels)


def fill_again(client):
    """Other rows until one is refused."""
    for i in range(10_000):
        status = client.post(
            "/learn", json={"x": {"text": "w" * 9000}, "y": "no", "id": f"more {i}"}
        ).status_code
        if status != 200:
            return status
    raise AssertionError("the file system was never full")
