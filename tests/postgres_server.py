"""A PostgreSQL server of the tests' own, on the loopback, where one is installed."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if Path("/usr/lib/postgresql").is_dir() else []


def binary(name):
    found = shutil.which(name, path=str(BINARIES[-1])) if BINARIES else None
    return found or shutil.which(name)


def other_user():
    """PostgreSQL does not run as root."""
    if os.getuid():
        return {}
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("this is root, and there is no user postgres to run a database")
    return {"user": "postgres", "group": "postgres", "extra_groups": []}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def postgres_server():
    """The URL of a database server of the tests' own."""
    if binary("initdb") is None or binary("postgres") is None:
        pytest.skip("no PostgreSQL server is installed (Debian: postgresql)")
    user = other_user()
    with tempfile.TemporaryDirectory(prefix="likelier-pg-") as folder:
        if user:
            shutil.chown(folder, "postgres", "postgres")
        data, port = Path(folder) / "data", free_port()
        subprocess.run(
            [binary("initdb"), "-D", data, "-A", "trust", "-U", "likelier", "-E", "UTF8", "--no-sync"],
            check=True,
            capture_output=True,
            cwd=folder,
            **user,
        )
        command = [binary("postgres"), "-D", data, "-p", str(port), "-k", folder, "-h", "127.0.0.1"]
        server = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user
        )
        try:
            url = f"postgresql://likelier@127.0.0.1:{port}/postgres"
            _up(url)
            yield url
        finally:
            server.send_signal(signal.SIGINT)  # at once, whoever is connected
            server.wait(30)


def _up(url):
    import psycopg

    for _ in range(300):
        try:
            psycopg.connect(url, connect_timeout=2).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("PostgreSQL did not start")
