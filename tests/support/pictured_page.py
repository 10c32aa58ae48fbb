"""A page with text and a picture, and an engine that finds a figure on every page."""

from __future__ import annotations

import io
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from inkgate.caller import Caller
from inkgate.errors import InputRejected
from inkgate.page import Page
from inkgate.service.figures import Figures
from inkgate.serving.threads import FairThreads
from inkgate_client.block_image import BlockImage
from inkgate_client.types import PageResult, Task, TaskKind
from support.fake_engine import FakeEngine
from support.page_readers import page_reader

_WORDS = ["The", "hills", "north", "of", "the", "town", "were", "drawn", "by", "a", "surveyor"]


def picture(width: int = 640, height: int = 320) -> Image.Image:
    """Hills below a sky, with grain, and a red sun at the top left."""
    y, x = np.mgrid[0:height, 0:width]
    rgb = np.stack([120 + y * 0.3, 160 + y * 0.2, 230 - y * 0.2], -1)
    hills = y > height * 0.55 + 30 * np.sin(x / 37) + 18 * np.sin(x / 11)
    rgb[hills] = np.stack([60 + x * 0.1, 110 + y * 0.1, 50 + x * 0.0], -1)[hills]
    rgb[(x - 60) ** 2 + (y - 60) ** 2 < 35**2] = (250, 60, 40)
    rgb += np.random.default_rng(3).normal(0, 8, (height, width, 1))
    return Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8))


def pictured_page() -> Image.Image:
    """Text, the picture with a caption, and more text: 1240 x 1000 pixels."""
    image = Image.new("RGB", (1240, 1000), "white")
    canvas, font = ImageDraw.Draw(image), ImageFont.load_default(26)
    for row in range(6):
        canvas.text((120, 90 + row * 42), " ".join(_WORDS[row * 3 % 8 :][:8]), fill="black", font=font)
        if row < 5:
            canvas.text((120, 775 + row * 42), " ".join(_WORDS[row * 5 % 8 :][:8]), fill="black", font=font)
    image.paste(picture(), (300, 380))
    canvas.text((420, 715), "Figure 1: Hills in the morning", fill="black", font=font)
    return image


def opened(image: BlockImage | str) -> Image.Image:
    """The image, or the one in a `data:` URL."""
    data = image.data if isinstance(image, BlockImage) else b64decode(image.partition(",")[2])
    return Image.open(io.BytesIO(data)).convert("RGB")


@dataclass
class _AskedEngine(FakeEngine):
    """A FakeEngine that answers questions with `answers`, by name; without any, it does not support them."""

    answers: Mapping[str, object] | None = None

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        if task.kind is not TaskKind.EXTRACT:
            return await super().read(page, task, caller)
        self.tasks.append(task)
        if self.answers is None:
            raise InputRejected("task_unsupported", "It has no such prompt.")
        said = {name: self.answers[name] for name in task.fields if name in self.answers}
        return PageResult(page.index, page.size.width, page.size.height, fields=said, engine=self.name)


@dataclass
class PicturedEngine(FakeEngine):
    """A FakeEngine with the layer that keeps figures as images. `answers`: to questions, by name; None: it can't be
    asked.
    """

    answers: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        engine = _AskedEngine(self.name, self.failing, self.gate, self.reading, self.tasks, answers=self.answers)
        self._layer = page_reader(engine, figures=Figures(FairThreads(1)))

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        return await self._layer.read(page, task, caller)
