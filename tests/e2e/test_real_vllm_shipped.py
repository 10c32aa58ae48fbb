"""The shipped presets on a real vLLM: its own parser takes their flags, and its refusals cost nothing."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from lines import LONGEST

from inkgate.engines.vlm.presets import known_presets
from inkgate.model_servers.managed.command import server_command
from inkgate.settings import ManagedSettings, VllmSettings
from support.real_vllm import NAME, PYTHON, RenderedLine, VllmProcess, rendered_lines, require_vllm, share_right
from support.server import Server, inkgate, running_server

pytestmark = pytest.mark.real

LINES = rendered_lines(16, seed=32, shortest=LONGEST)
TRUTHS = [line.text for line in LINES]
ENOUGH = 0.95
PARSE = """
import json, sys
from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser
for arguments in json.load(sys.stdin):
    validate_parsed_serve_args(make_arg_parser(FlexibleArgumentParser()).parse_args(arguments))
"""


@pytest.fixture(scope="module")
def gateway(vllm: VllmProcess) -> Iterator[Server]:
    """In front of a vLLM that was started without --trust-request-mm-kwargs."""
    with running_server("--engine", "paddleocr-vl", "--vllm-url", vllm.url) as server:
        yield server


def asked(line: RenderedLine, **fields: object) -> dict[str, object]:
    """A chat request as PaddleOCR's own client sends it."""
    url = f"data:image/png;base64,{base64.b64encode(line.png).decode()}"
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "OCR:"}]
    kwargs = {"min_pixels": 112896, "max_pixels": 1003520}
    request = {"model": NAME, "messages": [{"role": "user", "content": content}], "temperature": 0}
    return {**request, "max_completion_tokens": 4096, "mm_processor_kwargs": kwargs, **fields}


def test_the_parser_of_vllm_takes_the_flags_of_every_preset() -> None:
    require_vllm()
    settings = VllmSettings(managed=ManagedSettings(python=str(PYTHON), max_model_len=4096))
    commands = []
    for preset in known_presets():
        named = replace(preset, launch=replace(preset.launch, model=preset.launch.model or "weights"))
        arguments = server_command(named, settings).arguments(16)
        commands.append(arguments[arguments.index("--model") :])
    done = subprocess.run(
        [str(PYTHON), "-c", PARSE], input=json.dumps(commands), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_pages_are_read_by_a_vllm_without_the_preset_s_flag(gateway: Server, vllm: VllmProcess, tmp_path: Path) -> None:
    with httpx.Client(base_url=gateway.url, timeout=120, trust_env=False) as client:
        answers = [client.post("/ocr", files={"file": line.png}).raise_for_status().json() for line in LINES]
    assert share_right(TRUTHS, [answer["text"].strip("\n") for answer in answers]) >= ENOUGH
    pictures, texts = tmp_path / "pictures", tmp_path / "texts"
    pictures.mkdir()
    for number, line in enumerate(LINES):
        (pictures / f"{number:03}.png").write_bytes(line.png)
    done = inkgate("read", str(pictures), "-o", str(texts), "--engine", "paddleocr-vl", "--vllm-url", vllm.url)
    assert done.returncode == 0, done.stderr
    read = [path.read_text(encoding="utf-8").strip("\n") for path in sorted(texts.glob("*.txt"))]
    assert share_right(TRUTHS, read) >= ENOUGH


def test_a_chat_client_s_kwargs_are_left_out_and_it_is_told(gateway: Server, vllm: VllmProcess) -> None:
    with httpx.Client(timeout=120, trust_env=False) as client:
        bare = client.post(f"{vllm.url}/chat/completions", json=asked(LINES[0]))
        whole = client.post(f"{gateway.url}/v1/chat/completions", json=asked(LINES[0]))
        streamed = client.post(f"{gateway.url}/v1/chat/completions", json=asked(LINES[0], stream=True))
    assert (bare.status_code, bare.json()["error"]["param"]) == (400, "mm_processor_kwargs")
    assert whole.raise_for_status().json()["choices"][0]["message"]["content"] == LINES[0].text
    assert streamed.raise_for_status().text.endswith("data: [DONE]\n\n")
    assert [answer.headers["x-inkgate-ignored"] for answer in (whole, streamed)] == ["mm_processor_kwargs"] * 2
