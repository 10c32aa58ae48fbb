"""The API in process, in front of a stub of a model server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from inkgate.model_servers.server import ModelServer
from inkgate.storage.fetch import Fetcher
from inkgate.telemetry.observer import NO_OBSERVER
from support.api_client import Api, running_api
from support.stub_upstream import Reply, Script, StubUpstream, running_stub

PATH = "/v1/chat/completions"
JSON = {"content-type": "application/json"}
HELLO = Reply(["Hel", "lo"])


@asynccontextmanager
async def relay(
    script: Script | Reply = HELLO,
    models: tuple[str, ...] = ("stub-model",),
    vllm: dict[str, object] | None = None,
    fetcher: Fetcher | None = None,
    **flags: dict[str, object],
) -> AsyncIterator[tuple[Api, StubUpstream]]:
    """The API with the settings in `flags`, and the parts behind it."""
    with running_stub(script, models) as stub:
        upstream = ModelServer(stub.url, 5)
        try:
            async with running_api(None, fetcher, upstream, vllm, NO_OBSERVER, None, **flags) as api:
                yield api, stub
        finally:
            await upstream.close()
