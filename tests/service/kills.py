"""Servers that are killed: what the tests and `make soak` do with them."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

from likelier.service.live import Live
from likelier.service.models import served_of
from likelier.service.recovery import models_of
from likelier.service.server import opened
from likelier.service.snapshots import model_in

START = 60  # seconds in which a server must be up
COMMAND = "import sys; from likelier.cli import main; sys.exit(main())"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """A real `likelier serve`, which can be killed and started again."""

    def __init__(self, folder, *arguments, port=None, store=None, set_up=None):
        self.folder, self.port = Path(folder), port or free_port()
        self.store = store or str(self.folder / "events.db")
        self.arguments, self.set_up = arguments, set_up
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        command = [sys.executable, "-c", COMMAND, "serve", "--port", str(self.port), "--store", self.store]
        self.process = subprocess.Popen(
            [*command, *self.arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            preexec_fn=self.set_up,
        )
        return self

    def wait(self):
        """Until it answers."""
        end = time.monotonic() + START
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"it ended: {self.process.stderr.read().decode()}")
            try:
                if httpx.get(f"{self.url}/health", timeout=2).status_code == 200:
                    return self
            except httpx.TransportError:
                time.sleep(0.02)
        raise TimeoutError("the server did not start")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        return self.ended()

    def end(self):
        self.process.terminate()
        return self.ended()

    def ended(self):
        self.process.wait(60)
        self.process.stderr.close()
        return self.process.returncode


class Load(threading.Thread):
    """A client that predicts rows and reports labels, and remembers what was acknowledged.

    horizon: seconds after which the server may refuse a label as too late. They count from when the row was
    first sent: its answer may have been lost, and the server may have been down since.
    """

    def __init__(self, urls, number, seed, *, horizon=float("inf")):
        super().__init__(daemon=True)
        self.urls, self.number, self.horizon = urls, number, horizon
        self.rng = random.Random(f"{seed}/{number}")
        self.rows, self.labels = {}, {}  # acknowledged
        self.doubtful = {}  # labels that were known before: logged, or as the row expired
        self.unsure = 0  # requests that were sent more than once
        self.problems = []
        self.began = 0.0  # when the present row was first sent
        self.stopping = threading.Event()

    def run(self):
        try:
            with httpx.Client(timeout=20) as client:
                i = 0
                while not self.stopping.is_set():
                    self.one(client, f"c{self.number}-{i}")
                    i += 1
        except Exception as problem:
            self.problems.append(repr(problem))

    def one(self, client, id):
        rng = self.rng
        x = {"user": f"u{rng.randrange(50)}", "ad": f"a{rng.randrange(10)}", "hour": rng.random() * 24}
        y = "click" if rng.random() < 0.3 else "no"
        if rng.random() < 0.5:
            self.send(client, "/predict", {"x": x, "id": id})
            if rng.random() < 0.7:
                self.send(client, "/learn", {"id": id, "y": y})
        else:
            self.send(client, "/learn", {"x": x, "y": y, "id": id})

    def acknowledged(self, body, answer):
        """The server has said that it has this."""
        id = body["id"]
        if "x" in body:
            self.rows[id] = body["x"]
        if "y" in body:
            assert answer["learned"] + answer["duplicates"] == 1
            (self.labels if answer["learned"] else self.doubtful)[id] = body["y"]

    def send(self, client, path, body):
        """Until it is acknowledged: again as often as it takes."""
        attempts = 0
        began = self.began if "x" not in body else time.monotonic()
        self.began = began
        while not self.stopping.is_set():
            try:
                answer = client.post(self.rng.choice(self.urls) + path, json=body)
            except httpx.TransportError:
                attempts += 1
                time.sleep(0.02)
                continue
            if answer.status_code in (429, 503):
                time.sleep(0.05)
                continue
            if answer.status_code == 200:
                self.acknowledged(body, answer.json())
                self.unsure += attempts > 0
            elif not (answer.status_code == 410 and time.monotonic() - began > self.horizon):
                self.problems.append(f"{path} {body}: {answer.status_code} {answer.text}")
            return


def checked(store_name, loads, final=None):
    """All that was acknowledged is in the log, once; and the log teaches the model that was served.

    final: the bytes of the model that the server had in the end.
    """
    store = opened(store_name, read_only=True)
    try:
        rows, labels = {}, {}
        seen = Counter()
        events = list(store.after(0))
        for event in events:
            if event.x is not None and event.id is not None:
                rows[event.id] = json.loads(event.x)
                seen[event.id, "row"] += 1
            if event.y is not None:
                labels[event.id] = json.loads(event.y)
                seen[event.id, "label"] += 1
        assert max(seen.values(), default=1) == 1
        assert [event.seq for event in events] == sorted({event.seq for event in events})
        for load in loads:
            assert not load.problems, load.problems
            for id, x in load.rows.items():
                assert rows[id] == x
            for id, y in load.labels.items():
                assert labels[id] == y
            for id, y in load.doubtful.items():
                assert labels.get(id, "no") == y
        offline = Live(models_of(store))
        offline.apply(events)
        if final is not None:
            assert offline.served.content() == served_of(final).content()
        return len(events), sum(load.unsure for load in loads)
    finally:
        store.close()


def final_model(store_name):
    """The model in the newest snapshot of a store."""
    store = opened(store_name, read_only=True)
    try:
        return model_in(store.snapshot(store.snapshots()[0]))
    finally:
        store.close()


def kill_often(folder, kills, *, clients=4, seed=0, note=lambda text: None):
    """A server that is killed so many times while clients ask it; and then ended in good order."""
    horizon = 3
    arguments = [
        "--label-horizon",
        str(horizon),
        "--default-class",
        "no",
        "--snapshot-every",
        "0.7",
        "--set",
        "bits=10",
    ]
    server, rng = Server(folder, *arguments), random.Random(seed)
    loads = [Load([server.url], i, seed, horizon=horizon) for i in range(clients)]
    server.start().wait()
    for load in loads:
        load.start()
    for i in range(kills):
        time.sleep(rng.uniform(0.0, 1.0))
        server.kill()
        server.start()
        if rng.random() < 0.2:  # not even up
            time.sleep(rng.uniform(0.0, 1.5))
            server.kill()
            server.start()
        server.wait()
        note(f"kill {i + 1}")
    time.sleep(0.3)
    for load in loads:
        load.stopping.set()
    for load in loads:
        load.join(60)
    server.end()
    return checked(server.store, loads, final_model(server.store))
