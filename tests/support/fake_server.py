"""The real server on a free port with the fake engine, jobs and a stub model server, for tests of HTTP: `python -m
support.fake_server`."""

from __future__ import annotations

from tempfile import TemporaryDirectory

import anyio

from inkgate.api.http.server import serve
from inkgate.jobs.intake.arrivals import Intake
from inkgate.settings import PipelineSettings, load_settings
from inkgate.systemd import service_manager
from inkgate.telemetry.logs import configure_logs
from support.adder import MemoryAdder
from support.api_client import add_intake
from support.chat_api import relay


async def main() -> None:
    settings = load_settings(None, server={"port": 0})
    with TemporaryDirectory() as folder:
        async with relay(jobs={"folder": folder}) as (api, _):
            add_intake(api, Intake(MemoryAdder(), {"scans": PipelineSettings(sources=("s3://scans/",))}))
            configure_logs(settings.log)  # after relay, which captures logs for tests in process
            await serve(api.app, settings, manager=service_manager())


if __name__ == "__main__":
    anyio.run(main)
