"""A service whose model server comes and goes: it answers all the time."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from itertools import count

import httpx
import pytest
from PIL import Image

from support.images import encoded
from support.ppocr import drawn
from support.server import Server, running_server
from support.stub_upstream import Reply, running_stub
from support.waiting import until

MODEL = "PaddleOCR-VL-1.6-0.9B"
GOOD = Reply(["Invoice", " number", " 20417"])
VLLM = "INKGATE_ENGINE__VLLM__"
SETTINGS = {
    VLLM + "READING": "page",
    VLLM + "LISTEN_AFTER_S": "0.5",
    VLLM + "RECOVER_S": "0.5",
    VLLM + "DNS_INTERVAL_S": "0.2",
}
CHAT = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5}
_numbers = count()


@pytest.fixture
def port() -> int:
    """A free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def page() -> bytes:
    """A page that no cache has."""
    return encoded(Image.fromarray(drawn([f"Invoice {next(_numbers)}"])), "PNG")


class Reader:
    """Reads pages, and keeps what went wrong."""

    def __init__(self, server: Server) -> None:
        self.client = httpx.Client(base_url=server.url, timeout=120, trust_env=False)
        self.wrong: list[tuple[int, str]] = []

    def engine(self) -> str:
        """Of one more page."""
        answer = self.client.post("/ocr?format=json", files={"file": page()})
        if answer.status_code != 200 or "Invoice" not in answer.text:
            self.wrong.append((answer.status_code, answer.text))
            return ""
        return str(answer.json()["pages"][0]["engine"])

    def until_read_by(self, engine: str) -> None:
        until(lambda: self.engine() == engine, lambda: f"a page read by {engine}; {self.wrong}")


@pytest.mark.parametrize("form", ["http://127.0.0.1:{}/v1", "dns+http://localhost:{}/v1"])
def test_one_appears_and_goes_and_every_page_is_read(port: int, form: str) -> None:
    flags = ("--engine", "paddleocr-vl", "--vllm-url", form.format(port))
    with ExitStack() as stack:
        server = stack.enter_context(running_server(*flags, environment=SETTINGS))
        reader = Reader(server)
        stack.callback(reader.client.close)

        assert reader.engine() == "ppocr"
        assert reader.client.get("/readyz").status_code == 200
        (warning,) = reader.client.get("/readyz").json()["warnings"]
        assert (warning["code"], "ppocr reads its pages" in warning["detail"]) == ("replica-out", True)
        first = reader.client.post("/ocr?format=json", files={"file": page()}).json()
        assert first["pages"][0]["degraded"] == ["model_server_out"]
        assert first["engine"] == "ppocr"
        assert [note[:35] for note in first["notes"]] == ["Page 1: read by ppocr, because the "]
        chat = reader.client.post("/v1/chat/completions", json=CHAT)
        assert (chat.status_code, chat.json()["error"]["code"]) == (503, "starting")
        assert int(chat.headers["retry-after"]) >= 1

        with running_stub(GOOD, models=(MODEL,), port=port):
            reader.until_read_by("paddleocr-vl-1.6")
            assert reader.client.post("/v1/chat/completions", json=CHAT).status_code == 200
        reader.until_read_by("ppocr")
        assert reader.client.get("/readyz").status_code == 200
        assert reader.wrong == []


def test_without_an_engine_to_fall_back_on_clients_are_told_when_to_come_back(port: int) -> None:
    flags = ("--engine", "paddleocr-vl", "--vllm-url", f"http://127.0.0.1:{port}/v1")
    with running_server(*flags, environment=SETTINGS | {VLLM + "FALLBACK": "false"}) as server:
        reader = Reader(server)
        refused = reader.client.post("/ocr", files={"file": page()})
        assert (refused.status_code, refused.json()["code"]) == (503, "starting")
        assert int(refused.headers["retry-after"]) >= 1
        ready = reader.client.get("/readyz")
        assert (ready.status_code, "waiting for its model server" in ready.text) == (503, True)
        assert reader.client.get("/livez").status_code == 200
        with running_stub(GOOD, models=(MODEL,), port=port):
            until(lambda: reader.client.get("/readyz").status_code == 200, server.log_text)
            assert reader.engine() == "paddleocr-vl-1.6"
        reader.client.close()
