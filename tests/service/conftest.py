"""What the tests of the service share: stores in folders of their own, and requests without a network."""

import asyncio
from contextlib import asynccontextmanager

import pytest

httpx = pytest.importorskip("httpx", reason="likelier[serve] is not installed")
pytest.importorskip("uvicorn", reason="likelier[serve] is not installed")

from likelier.service.events import Config  # noqa: E402
from likelier.service.models import new_content  # noqa: E402
from likelier.service.server import Options, service  # noqa: E402


class Asked:
    """A service that runs in this process, asked without a network."""

    def __init__(self, client, writer, monitor):
        self.client, self.writer, self.monitor = client, writer, monitor

    async def post(self, path, body, **how):
        return await self.client.post(path, json=body, **how)

    async def get(self, path, **how):
        return await self.client.get(path, **how)


@asynccontextmanager
async def asked(path, *, bits=10, **how):
    """A service on the store in a folder."""
    config = how.pop("config", Config())
    options = Options(store=str(path), fresh=lambda: new_content({"bits": bits}), config=config, **how)
    with service(options, print) as (writer, api, app):
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield Asked(client, writer, api.monitor)


@pytest.fixture
def run(tmp_path):
    """Runs a coroutine function with a service on an empty store."""

    def go(body, **how):
        async def main():
            async with asked(how.pop("path", tmp_path / "events.db"), **how) as service:
                return await body(service)

        return asyncio.run(main())

    return go
