"""A cluster, for the laws of what runs on one."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """A scheduler and two worker processes of one thread each, on loopback."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s"}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as started,
        Client(started, set_as_default=False) as found,
    ):
        yield found
