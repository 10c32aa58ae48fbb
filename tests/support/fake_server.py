"""The real server on a free port with the fake engine behind it: `python -m support.fake_server`, for tests of HTTP."""

from __future__ import annotations

import anyio

from inkgate.api.server import serve
from inkgate.settings import load_settings
from inkgate.telemetry.logs import configure_logs
from support.api_client import running_api


async def main() -> None:
    settings = load_settings(None, server={"port": 0})
    async with running_api() as api:
        configure_logs(settings.log)  # after running_api, which captures logs for tests in process
        await serve(api.app, settings)


if __name__ == "__main__":
    anyio.run(main)
