"""The real server on a free port with the fake engine and a stub model server, for tests of HTTP: `python -m
support.fake_server`."""

from __future__ import annotations

import anyio

from inkgate.api.http.server import serve
from inkgate.settings import load_settings
from inkgate.telemetry.logs import configure_logs
from support.chat_api import relay


async def main() -> None:
    settings = load_settings(None, server={"port": 0})
    async with relay() as (api, _):
        configure_logs(settings.log)  # after relay, which captures logs for tests in process
        await serve(api.app, settings)


if __name__ == "__main__":
    anyio.run(main)
