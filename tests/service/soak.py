"""`make soak`: a server that is killed a thousand times, and processes on one PostgreSQL log.

python -m tests.service.soak [KILLS]
"""

import sys
import tempfile
import time

from tests.service.kills import kill_often


def main(kills: int = 1000) -> None:
    """In rounds of 25 kills: a new log and a new seed each, so that a failure can be run again."""
    start, events, done, seed = time.monotonic(), 0, 0, 0
    while done < kills:
        some = min(25, kills - done)
        with tempfile.TemporaryDirectory(prefix="likelier-soak-") as folder:
            found, repeated = kill_often(folder, some, seed=seed)
        done, events, seed = done + some, events + found, seed + 1
        seconds = time.monotonic() - start
        print(
            f"seed {seed - 1}: {some} kills, {found} events, {repeated} requests sent again: nothing lost, "
            f"nothing learned twice; {done} kills, {events} events in {seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
