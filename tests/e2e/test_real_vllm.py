"""The service in front of a real vLLM: 200 rendered lines through every way in."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from inkgate_client import InkgateClient
from support.real_vllm import NAME, SETTINGS, RenderedLine, VllmProcess, rendered_lines, share_right
from support.server import Server, inkgate, running_server

pytestmark = pytest.mark.real

LINES = rendered_lines(200)
TRUTHS = [line.text for line in LINES]
CLIENTS = 16
ENOUGH = 0.98

Read = Callable[[httpx.Client, RenderedLine], str]


@pytest.fixture(scope="module")
def gateway(vllm: VllmProcess) -> Iterator[Server]:
    with running_server("--vllm-url", vllm.url, environment=SETTINGS) as server:
        yield server


def b64(line: RenderedLine) -> str:
    return base64.b64encode(line.png).decode()


def data_url(line: RenderedLine) -> str:
    return f"data:image/png;base64,{b64(line)}"


def simple(client: httpx.Client, line: RenderedLine) -> str:
    return str(client.post("/ocr", json={"image": b64(line)}).raise_for_status().json()["text"])


def multipart(client: httpx.Client, line: RenderedLine) -> str:
    return str(client.post("/ocr", files={"file": line.png}).raise_for_status().json()["text"])


def rapidocr(client: httpx.Client, line: RenderedLine) -> str:
    found = client.post("/ocr", files={"image_file": line.png}).raise_for_status().json()
    return "\n".join(found[key]["rec_txt"] for key in sorted(found, key=int))


def paddlex(client: httpx.Client, line: RenderedLine) -> str:
    answer = client.post("/ocr", json={"file": b64(line), "fileType": 1}).raise_for_status().json()
    return "\n".join(answer["result"]["ocrResults"][0]["prunedResult"]["rec_texts"])


def layout_parsing(client: httpx.Client, line: RenderedLine) -> str:
    answer = client.post("/layout-parsing", json={"file": b64(line), "fileType": 1}).raise_for_status().json()
    return str(answer["result"]["layoutParsingResults"][0]["markdown"]["text"])


def mistral(client: httpx.Client, line: RenderedLine) -> str:
    document = {"type": "image_url", "image_url": data_url(line)}
    answer = client.post("/v1/ocr", json={"model": "mistral-ocr-latest", "document": document}).raise_for_status()
    return str(answer.json()["pages"][0]["markdown"])


def chat(client: httpx.Client, line: RenderedLine) -> str:
    image = {"type": "image_url", "image_url": {"url": data_url(line)}}
    message = {"role": "user", "content": [image, {"type": "text", "text": "OCR:"}]}
    request = {"model": NAME, "messages": [message], "temperature": 0, "max_completion_tokens": 128}
    answer = client.post("/v1/chat/completions", json=request).raise_for_status()
    return str(answer.json()["choices"][0]["message"]["content"])


@pytest.mark.parametrize("read", [simple, multipart, rapidocr, paddlex, layout_parsing, mistral, chat])
def test_every_form_reads_rendered_lines(gateway: Server, read: Read) -> None:
    with (
        httpx.Client(base_url=gateway.url, timeout=120, trust_env=False) as client,
        ThreadPoolExecutor(CLIENTS) as clients,
    ):
        texts = list(clients.map(lambda line: read(client, line).strip("\n"), LINES))
    assert share_right(TRUTHS, texts) >= ENOUGH


def test_the_command_reads_rendered_lines(vllm: VllmProcess, tmp_path: Path) -> None:
    pictures, texts = tmp_path / "pictures", tmp_path / "texts"
    pictures.mkdir()
    for number, line in enumerate(LINES):
        (pictures / f"{number:03}.png").write_bytes(line.png)
    done = inkgate("read", str(pictures), "-o", str(texts), "--vllm-url", vllm.url, environment=SETTINGS)
    assert done.returncode == 0, done.stderr
    assert b"200 read" in done.stderr
    read = [path.read_text(encoding="utf-8").strip("\n") for path in sorted(texts.glob("*.txt"))]
    assert share_right(TRUTHS, read) >= ENOUGH


def test_confidence_is_that_of_the_model(gateway: Server) -> None:
    with httpx.Client(base_url=gateway.url, timeout=120, trust_env=False) as client:
        answer = client.post("/ocr?format=json", files={"file": LINES[0].png}).raise_for_status().json()
    (page,) = answer["pages"]
    assert page["engine"] == NAME
    assert [attempt["error"] for attempt in page["attempts"]] == [None]
    assert 0.5 < page["confidence"] <= 1
    assert "".join(word["text"] for word in page["words"]) == page["text"].replace(" ", "").strip()


def test_what_vllm_refuses_is_told_with_what_the_client_can_mend(gateway: Server) -> None:
    request = {"model": NAME, "messages": [{"role": "user", "content": "?"}]}
    wrong: list[tuple[dict[str, object], int, str]] = [
        ({"model": "nobody"}, 404, "The model server has no model 'nobody'."),
        (
            {"max_completion_tokens": 1_000_000},
            400,
            "is 8192 tokens for prompt and answer together, and `max_completion_tokens` is 1000000.",
        ),
        (
            {"messages": [{"role": "user", "content": "x" * 9000}]},
            400,
            "is 8192 tokens for prompt and answer together, and the prompt has ",
        ),
        ({"temperature": -1}, 400, "does not accept the request's `temperature`."),
    ]
    failures = []
    with httpx.Client(base_url=gateway.url, timeout=120, trust_env=False) as client:
        for fields, status, said in wrong:
            answer = client.post("/v1/chat/completions", json={**request, **fields})
            if answer.status_code != status or said not in answer.json()["error"]["message"]:
                failures.append((fields.keys(), answer.status_code, answer.text))
    assert failures == []


def test_the_state_shows_the_server(gateway: Server, vllm: VllmProcess) -> None:
    with httpx.Client(base_url=gateway.url, timeout=120, trust_env=False) as client:
        simple(client, LINES[0])
    with InkgateClient(gateway.url) as asked:
        for _ in range(100):  # the gateway reads the server each second
            state = asked.state()
            (replica,) = state.replicas
            if replica.generation_tokens:
                break
            time.sleep(0.1)
    assert (replica.name, replica.state, replica.flags) == (vllm.url, "up", ())
    assert (replica.generation_tokens or 0) > 0
    assert (replica.kv_tokens or 0) > 0
    assert [queue.name for queue in state.queues] == ["embedded", "pages", "calls"]
    assert (state.build.model, state.build.inference_engine) == (NAME, "vllm")
    assert state.work.pages["ok"] > 0
    assert state.work.tokens_out > 0
    assert state.ready
