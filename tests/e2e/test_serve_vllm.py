"""`inkgate serve` in front of a model server that answers, dies, and comes back."""

from __future__ import annotations

from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
from PIL import Image

from support.images import encoded
from support.ppocr import drawn
from support.server import running_server
from support.stub_upstream import Reply, running_stub

IMAGE = encoded(Image.fromarray(drawn(["Invoice number 20417"])), "PNG")
OTHER = encoded(Image.fromarray(drawn(["Invoice number 20418"])), "PNG")
READ = Reply(["Invoice", " number", " 20417"])


def test_a_model_server_that_dies_is_told_of_and_found_again_by_itself() -> None:
    with ExitStack() as stack:
        first = stack.enter_context(ExitStack())
        stub = first.enter_context(running_stub(READ))
        server = stack.enter_context(
            running_server(
                "--engine",
                "paddleocr-vl",
                "--vllm-url",
                stub.url,
                environment={"INKGATE_ENGINE__VLLM__RECOVER_S": "2"},
            )
        )
        client = stack.enter_context(httpx.Client(base_url=server.url, timeout=60))
        ready = client.get("/readyz")
        whole = client.post("/ocr", files={"file": IMAGE})
        first.close()
        kept = client.post("/ocr", files={"file": IMAGE})
        gone = client.post("/ocr", files={"file": OTHER})
        stack.enter_context(running_stub(READ, port=urlsplit(stub.url).port or 0))
        again = client.post("/ocr", files={"file": OTHER})

    assert ready.status_code == 200
    assert (whole.status_code, whole.json()["text"]) == (200, "Invoice number 20417\n")
    assert whole.json()["engine"] == "paddleocr-vl-1.6"
    assert (kept.status_code, kept.json()["text"]) == (200, "Invoice number 20417\n")
    assert (gone.status_code, gone.json()["code"]) == (502, "upstream_unreachable")
    assert gone.headers["Retry-After"] == "10"
    assert "engine.vllm.urls" in gone.json()["remedy"]
    assert (again.status_code, again.json()["text"]) == (200, "Invoice number 20417\n")
