"""An engine outside of inkgate: reads pages with the `tesseract` command.

INKGATE_ENGINE__NAME=tesseract_engine:Tesseract PYTHONPATH=examples/extending inkgate read scan.png
"""

from __future__ import annotations

import shutil

import anyio
import cv2

from inkgate.caller import Caller
from inkgate.errors import EngineFailed
from inkgate.page import Page
from inkgate.settings import Settings
from inkgate_client.types import PageResult, Task


class Tesseract:
    """An Engine. Lines have no boxes, because the command's plain text has none."""

    name = "tesseract"

    def __init__(self, settings: Settings) -> None:
        self._at_once = anyio.CapacityLimiter(settings.engine.ppocr.concurrent_pages)

    async def start(self) -> None:
        if shutil.which("tesseract") is None:
            raise EngineFailed("engine_unavailable", "The command `tesseract` is not installed.")

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        async with self._at_once:
            pixels = await page.pixels()
            _, png = cv2.imencode(".png", cv2.cvtColor(pixels.rgb, cv2.COLOR_RGB2BGR))
            done = await anyio.run_process(["tesseract", "-", "-"], input=png.tobytes())
        size = page.size
        return PageResult(page.index, size.width, size.height, text=done.stdout.decode().strip(), engine=self.name)

    async def stop(self) -> None:
        """Nothing to free."""
