"""Fields through a model server: the model's values are looked up in what the embedded engine read."""

from __future__ import annotations

import io
import json

import httpx
from PIL import Image, ImageDraw, ImageFont

from support.server import running_server
from support.stub_upstream import Reply, Request, error_reply, prompt_of, running_stub

MODEL = "tencent/HunyuanOCR"
ROWS = ("LITTLE HARBOUR TRADING LTD", "Served by Amy Farrow", "Table 17", "TOTAL 28.50")
SCHEMA = {
    "type": "object",
    "properties": {
        "waiter": {"type": ["string", "null"]},
        "table": {"type": ["string", "null"]},
        "guest": {"type": ["string", "null"]},
    },
}
ANSWER = {"waiter": "Amy Farrow", "table": 17, "guest": "Bob Miller"}
"""The last is not on the page."""


def receipt() -> bytes:
    image = Image.new("RGB", (700, 380), "white")
    draw = ImageDraw.Draw(image)
    for at, row in enumerate(ROWS):
        draw.text((40, 40 + 80 * at), row, "black", ImageFont.load_default(34))
    written = io.BytesIO()
    image.save(written, "PNG")
    return written.getvalue()


def test_a_model_s_values_stand_if_they_are_on_the_page() -> None:
    """The server refuses schemas, as an older one does."""

    def script(request: Request) -> Reply:
        if "字段" not in prompt_of(request):
            return Reply(["\n".join(ROWS)])
        if "response_format" in request:
            return error_reply(400, "No grammars here.")
        return Reply([json.dumps(ANSWER)])

    with (
        running_stub(script, models=(MODEL,)) as stub,
        running_server("--engine", "hunyuanocr", "--vllm-url", stub.url) as server,
        httpx.Client(base_url=server.url, timeout=120, trust_env=False) as client,
    ):
        form = {"schema": json.dumps(SCHEMA)}
        answer = client.post("/extract", files={"file": ("r.png", receipt())}, data=form).raise_for_status().json()
        log = server.log_text()
    asked = [request for request in stub.seen if "字段" in prompt_of(request)]
    assert answer["data"] == {"waiter": "Amy Farrow", "table": "17", "guest": None}
    assert answer["fields"]["/waiter"]["origin"] == "model"
    assert len(answer["fields"]["/waiter"]["sources"][0]["box"]) == 4
    assert ["response_format" in request for request in asked] == [True, False]
    assert "Farrow" not in log
