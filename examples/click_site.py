"""A simulated site that asks `likelier serve` which advertisement to show, and reports clicks later.

Visitors come one after another. For each, the site asks how likely a click on each of three advertisements
is, and shows the most likely one, or now and then any of them. It predicts the row that it has shown under
an id, so that the row waits for its label. One visitor in ten or so clicks, a little later, and the site
reports that. Nobody reports that a visitor has not clicked: after the label horizon such rows count as
"no".

The server is a real one, in a process of its own. Halfway it is killed with SIGKILL and started again.

    python examples/click_site.py [picture.png]
"""

import heapq
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # to a file: no screen is needed

import matplotlib.pyplot as plt
import numpy as np

import likelier as lk
from likelier.service.client import ServerError

VISITS = 4000
SLOWEST, HORIZON = 0.2, 0.5  # seconds: the slowest click, and how long the server waits for one
ADS, SECTIONS, USERS = 8, 4, 300
EXPLORED = 0.1  # share of visits in which any advertisement is shown, so that all of them are learned
COMMAND = [sys.executable, "-c", "import sys; from likelier.cli import main; sys.exit(main())", "serve"]


class Visitors:
    """Who comes, what they like, and which of their clicks are still to come."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(5)
        self._likes = self.rng.standard_normal((SECTIONS, ADS))
        self._users = 0.5 * self.rng.standard_normal(USERS)
        self._clicks: list[tuple[float, str]] = []  # when, and on which row
        self.shown = self.clicked = 0

    def come(self) -> tuple[int, int, list[int]]:
        """A user, a section of the site, and three advertisements to choose from."""
        ads = self.rng.choice(ADS, 3, replace=False)
        return int(self.rng.integers(USERS)), int(self.rng.integers(SECTIONS)), ads.tolist()

    def chance(self, user: int, section: int, ad: int) -> float:
        """The probability of a click, which the server does not know."""
        return float(1 / (1 + np.exp(3 - self._likes[section, ad] - self._users[user])))

    def see(self, id: str, chance: float) -> None:
        """An advertisement is shown; perhaps it will be clicked."""
        self.shown += 1
        if self.rng.random() < chance:
            heapq.heappush(self._clicks, (time.monotonic() + self.rng.random() * SLOWEST, id))

    def clicks(self, *, all: bool = False) -> list[str]:
        """The rows that were clicked meanwhile."""
        found = []
        while self._clicks and (all or self._clicks[0][0] <= time.monotonic()):
            found.append(heapq.heappop(self._clicks)[1])
        self.clicked += len(found)
        return found


def row(user: int, section: int, ad: int) -> dict[str, str]:
    """What the model is told; the last feature is the pair of the two before."""
    return {"user": f"u{user}", "section": f"s{section}", "ad": f"a{ad}", "both": f"s{section} a{ad}"}


def start(store: Path, port: int) -> "subprocess.Popen[bytes]":
    """A server on a store, which may be new or that of a server that was killed."""
    labels = [
        "--label-horizon",
        str(HORIZON),
        "--default-class",
        "no",
        "--class-priors",
        "no=0.9,click=0.1",
    ]
    where = ["--store", str(store), "--port", str(port), "--snapshot-every", "1", "--set", "bits=14"]
    return subprocess.Popen([*COMMAND, *where, *labels], stdout=subprocess.DEVNULL)


def wait(client: lk.Client) -> None:
    """Until the server answers."""
    for _ in range(600):
        try:
            client.health()
        except Exception:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("the server did not start")


def visit(client: lk.Client, visitors: Visitors, number: int) -> tuple[float, float, float]:
    """Choose an advertisement for a visitor, and report clicks.

    How likely a click was: on the one that was shown, on any of the three, and on the best of them.
    """
    user, section, ads = visitors.come()
    answers = client.predict_many([row(user, section, ad) for ad in ads])
    best = int(np.argmax([answer.proba.get("click", 0.5) for answer in answers]))
    ad = ads[best] if visitors.rng.random() > EXPLORED else ads[int(visitors.rng.integers(3))]
    id = f"visit-{number}"
    client.predict(row(user, section, ad), id=id)
    chance = visitors.chance(user, section, ad)
    visitors.see(id, chance)
    report(client, visitors.clicks())
    each = [visitors.chance(user, section, one) for one in ads]
    return chance, float(np.mean(each)), max(each)


def report(client: lk.Client, clicked: list[str]) -> None:
    """Clicks: sent again until the server has them, which learns each once."""
    for id in clicked:
        try:
            client.learn("click", id=id)
        except ServerError as problem:
            if problem.status != 410:  # the server was down for longer than the horizon
                raise


def drawn(chances: list[tuple[float, float, float]], path: str) -> None:
    """How likely clicks were, over time."""
    figure, ax = plt.subplots(figsize=(8, 4.8), layout="constrained")
    width = max(VISITS // 20, 1)
    means = np.array([np.mean(chances[i : i + width], axis=0) for i in range(0, len(chances), width)])
    for values, name, style in zip(
        means.T, ("shown", "at random", "the best"), ("-", ":", "-."), strict=True
    ):
        ax.plot(np.arange(1, len(means) + 1) * width, values, style, label=name)
    ax.axvline(VISITS // 2, color="#D55E00", linestyle="--", label="the server is killed")
    ax.set_xlabel("visits")
    ax.set_ylabel("probability of a click")
    ax.legend()
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


def main(path: str = "click_site.png") -> None:
    """The site, the server, a kill and a restart; and the same model once more from the log alone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    visitors, chances = Visitors(), list[tuple[float, float, float]]()
    with (
        tempfile.TemporaryDirectory() as folder,
        lk.Client(f"http://127.0.0.1:{port}", retries=50) as client,
    ):
        store = Path(folder) / "events.db"
        server = start(store, port)
        wait(client)
        for number in range(VISITS):
            if number == VISITS // 2:
                server.kill()
                server.wait()
                server = start(store, port)
            chances.append(visit(client, visitors, number))
        report(client, visitors.clicks(all=True))
        time.sleep(HORIZON)
        client.predict({}, id="last")  # event time goes on by events: all rows before it expire
        model = client.model()
        server.terminate()
        server.wait()
        replay = subprocess.run(
            [*COMMAND[:-1], "stream", str(store), "--quiet"], capture_output=True, text=True, check=True
        )
    shown, blind, best = np.mean(chances[VISITS // 2 :], axis=0)
    print(f"{visitors.shown} shown, {visitors.clicked} clicked; {model['rows_learned']} rows learned")
    print(
        f"probability of a click in the second half: {shown:.4f} as shown, {blind:.4f} at random, "
        f"{best:.4f} by the best choice"
    )
    print(f"from the log alone: {replay.stdout.strip().splitlines()[-1]}")
    drawn(chances, path)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main(*sys.argv[1:2])
