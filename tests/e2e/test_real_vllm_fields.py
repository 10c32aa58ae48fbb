"""Fields asked of a real vLLM: a model that a grammar forces to answer, and that knows nothing, gives no value."""

from __future__ import annotations

import base64
import io
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from PIL import Image, ImageDraw, ImageFont

from inkgate.engines.vlm.answer_schema import FieldAnswer
from support.real_vllm import NAME, SETTINGS, VllmProcess
from support.server import Server, running_server

pytestmark = pytest.mark.real

NAMES = ("invoice number", "buyer", "IBAN")
PAGES = 3


@pytest.fixture(scope="module")
def gateway(vllm: VllmProcess) -> Iterator[Server]:
    with running_server("--vllm-url", vllm.url, environment=SETTINGS) as server:
        yield server


def picture(number: int) -> bytes:
    """A note that has none of the fields."""
    rng = random.Random(number)
    image = Image.new("RGB", (640, 360), "white")
    draw = ImageDraw.Draw(image)
    for row in range(4):
        words = " ".join("".join(rng.choices("abcdeghklmnoprstuvw", k=rng.randint(4, 9))) for _ in range(4))
        draw.text((30, 30 + 80 * row), words, "black", ImageFont.load_default(30))
    written = io.BytesIO()
    image.save(written, "PNG")
    return written.getvalue()


def test_a_model_that_is_forced_to_answer_and_knows_nothing_gives_no_value(gateway: Server) -> None:
    with httpx.Client(base_url=gateway.url, timeout=300, trust_env=False) as client:

        def extract(number: int) -> dict[str, Any]:
            names = json.dumps({"type": "object", "properties": {n: {"type": ["string", "null"]} for n in NAMES}})
            answer = client.post("/extract", files={"file": picture(number)}, data={"schema": names})
            return dict(answer.raise_for_status().json())

        with ThreadPoolExecutor(PAGES) as clients:
            found = list(clients.map(extract, range(PAGES)))
        state = client.get("/state").json()
    assert [answer["data"] for answer in found] == [dict.fromkeys(NAMES)] * PAGES
    assert "fields_unread" not in json.dumps(found)  # the model was asked, and its answers were read
    assert state["work"]["tokens_out"] > PAGES * len(NAMES)


def test_the_grammar_makes_it_answer_with_values(gateway: Server) -> None:
    """Without values to drop, the test above would show nothing."""
    url = "data:image/png;base64," + base64.b64encode(picture(0)).decode()
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "[]"}]
    request: dict[str, Any] = {
        "model": NAME,
        "messages": [{"role": "user", "content": content}],
        "response_format": FieldAnswer(NAMES).response_format,
        "temperature": 2.0,
        "max_completion_tokens": 512,
    }
    values: list[object] = []
    with httpx.Client(base_url=gateway.url, timeout=300, trust_env=False) as client:
        for seed in range(8):
            answer = client.post("/v1/chat/completions", json={**request, "seed": seed}).raise_for_status().json()
            (choice,) = answer["choices"]
            if choice["finish_reason"] == "stop":
                found = json.loads(choice["message"]["content"])
                assert found.keys() == set(NAMES)
                values += found.values()
            if any(values):
                return
    raise AssertionError(f"no value in {values}")
