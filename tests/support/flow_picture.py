"""A picture of a flowchart, what a model writes of it, and a service with a web page in front of such a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from support.server import Server, running_server
from support.stub_upstream import Reply, Request, running_stub, words_as_tokens

ANSWER = """```mermaid
flowchart TD
    A[Order received] --> B{In stock (warehouse)?}
    B -->|yes| C[Ship the order]
    B -->|no| D[Order more]
    D --> B
    C --> E([Done])
```"""
"""Its label with parentheses has to be repaired."""
BOXES = {
    "Order received": (300, 70, 90, 32),
    "In stock\n(warehouse)?": (300, 200, 120, 62),
    "Ship the order": (160, 350, 90, 32),
    "Order more": (470, 350, 80, 32),
    "Done": (160, 460, 60, 28),
}
"""Centre, and half of width and height."""
LINES = (
    ((300, 102), (300, 138)),
    ((235, 230), (160, 318)),
    ((365, 230), (440, 318)),
    ((520, 318), (410, 190)),
    ((160, 382), (160, 432)),
)
_FONT = next(Path("/usr/share/fonts").rglob("DejaVuSans.ttf"), None)


def flow_picture(title: str = "") -> bytes:
    """The picture as PNG, with a title."""
    image = Image.new("RGB", (640, 520), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.truetype(str(_FONT), 17) if _FONT else ImageFont.load_default(17)
    draw.text((12, 8), title, "black", font)
    for begin, end in LINES:
        draw.line((*begin, *end), fill="black", width=2)
        draw.ellipse((end[0] - 4, end[1] - 4, end[0] + 4, end[1] + 4), fill="black")
    for text, (x, y, wide, high) in BOXES.items():
        shape = (x - wide, y - high, x + wide, y + high)
        if "?" in text:
            draw.polygon(((x, y - high), (x + wide, y), (x, y + high), (x - wide, y)), "#fff8d6", "black")
        elif text == "Done":
            draw.rounded_rectangle(shape, 26, "#e3f4e3", "black")
        else:
            draw.rectangle(shape, "#e6eefc", "black")
        draw.multiline_text((x, y), text, "black", font, anchor="mm", align="center")
    draw.text((170, 262), "yes", "black", font)
    draw.text((410, 252), "no", "black", font)
    data = BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


@contextmanager
def running_chart_page(said: Callable[[], str] = lambda: ANSWER) -> Iterator[Server]:
    """A service with a web page, in front of a model that answers every request with `said`."""

    def script(request: Request) -> Reply:
        return Reply(words_as_tokens(said()))

    environment = {"INKGATE_UI__ENABLED": "true", "INKGATE_METRICS__PORT": "0"}
    with (
        running_stub(script, models=("tencent/HunyuanOCR",)) as stub,
        running_server("--engine", "hunyuanocr", "--vllm-url", stub.url, environment=environment) as server,
    ):
        yield server
