"""A gateway of support.gateway_tier: the real server with a fake engine, which holds pages back while a file exists. It
shares the database of jobs in the folder of that file.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from inkgate.api.http.server import serve
from inkgate.caller import Caller
from inkgate.page import Page
from inkgate.settings import load_settings
from inkgate.telemetry.logs import configure_logs
from inkgate_client.types import PageResult, Task
from support.api_client import running_api
from support.fake_engine import FakeEngine

FIRST_HELD = 2


@dataclass
class HeldEngine(FakeEngine):
    """Reads pages from the third on only once `hold` is gone."""

    hold: Path = field(default_factory=Path)

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        while page.index >= FIRST_HELD and self.hold.exists():  # noqa: ASYNC110 - of another process
            await anyio.sleep(0.02)
        return await super().read(page, task, caller)


async def main(hold: Path) -> None:
    settings = load_settings(None)
    jobs: dict[str, object] = {"folder": str(hold.parent), "database": f"sqlite:///{hold.parent / 'jobs.db'}"}
    async with running_api(HeldEngine(hold=hold), server={"port": settings.server.port}, jobs=jobs) as api:
        configure_logs(settings.log)  # after running_api, which captures logs for tests in process
        await serve(api.app, settings)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
