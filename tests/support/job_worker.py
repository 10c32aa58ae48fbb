"""A program that runs jobs as `inkgate work` does, with an engine that notes each page that it reads.

    JOB_NOTES=FILE JOB_PAGE_S=0.01 INKGATE_JOBS__FOLDER=FOLDER ... python -m support.job_worker

What happens to a page depends on the grey of its top left pixel, and to a document on the bytes at its end.
"""

from __future__ import annotations

import os
import signal

import anyio
import anyio.lowlevel

from inkgate import bootstrap
from inkgate.caller import Caller
from inkgate.jobs.documents import JobDocuments
from inkgate.jobs.job import Job
from inkgate.page import Page
from inkgate.settings import Settings, load_settings
from inkgate.telemetry.logs import configure_logs
from inkgate_client.types import Document, PageResult, Task

RAISES, HANGS, KILLS = 1, 2, 3
KILLS_AT_OPENING = b"kills at opening"


class NotingEngine:
    """Notes job, page and process of each page before it is read. The text names the process, too."""

    name = "noting"

    def __init__(self, settings: Settings) -> None:
        assert settings.jobs.enabled
        self._page_s = float(os.environ.get("JOB_PAGE_S", "0"))
        self._notes = os.open(os.environ["JOB_NOTES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        pixels = await page.pixels()
        os.write(self._notes, f"{caller.flow} {page.index} {os.getpid()}\n".encode())  # at once, for all processes
        match int(pixels.rgb[0, 0, 0]):
            case 1:  # RAISES
                raise ValueError("poison")
            case 2:  # HANGS
                await anyio.sleep_forever()
            case 3:  # KILLS
                os.kill(os.getpid(), signal.SIGKILL)
        await (anyio.sleep(self._page_s) if self._page_s else anyio.lowlevel.checkpoint())
        return PageResult(page.index, text=f"page {page.index} by {os.getpid()}", engine=self.name)


def _die_at_opening() -> None:
    """Lets the process die where a document's decoder would kill it: before anything of the document is known."""
    load = JobDocuments.load

    async def deadly(self: JobDocuments, job: Job) -> Document:
        document = await load(self, job)
        if document.data.endswith(KILLS_AT_OPENING):
            os.kill(os.getpid(), signal.SIGKILL)
        return document

    JobDocuments.load = deadly  # type: ignore[method-assign]


def main() -> None:
    _die_at_opening()
    settings = load_settings(None, engine={"name": f"{NotingEngine.__module__}:NotingEngine"})
    configure_logs(settings.log)
    anyio.run(bootstrap.work, settings, lambda: print("ready", flush=True), backend_options={"use_uvloop": True})


if __name__ == "__main__":
    NotingEngine.__module__ = "support.job_worker"
    main()
