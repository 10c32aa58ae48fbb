"""The same model on transformers, in the service's own process: 200 rendered lines, as on vLLM."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from support.real_transformers import ENVIRONMENT, MODULES, running_service
from support.real_vllm import NAME, PYTHON, rendered_lines, require_vllm, share_right
from support.server import Server, clean_environment

pytestmark = pytest.mark.real

LINES = rendered_lines(200)
ENOUGH = 0.98


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    require_vllm(MODULES)
    with running_service() as server:
        yield server


def read(client: httpx.Client, png: bytes) -> str:
    answer = client.post("/ocr", json={"image": base64.b64encode(png).decode()}).raise_for_status()
    return str(answer.json()["text"]).strip("\n")


def test_rendered_lines_are_read_over_http(server: Server) -> None:
    with (
        httpx.Client(base_url=server.url, timeout=240, trust_env=False) as client,
        ThreadPoolExecutor(4) as clients,
    ):
        texts = list(clients.map(lambda line: read(client, line.png), LINES))
    assert share_right([line.text for line in LINES], texts) >= ENOUGH


def test_confidence_is_that_of_the_model(server: Server) -> None:
    with httpx.Client(base_url=server.url, timeout=240, trust_env=False) as client:
        answer = client.post("/ocr?format=json", files={"file": LINES[0].png}).raise_for_status().json()
    (page,) = answer["pages"]
    assert page["engine"] == NAME
    assert [attempt["error"] for attempt in page["attempts"]] == [None]
    assert 0.5 < page["confidence"] <= 1
    assert "".join(word["text"] for word in page["words"]) == page["text"].replace(" ", "").strip()


def test_the_command_says_what_was_cut_off_and_where_weights_are_missing(tmp_path: Path) -> None:
    require_vllm(MODULES)
    picture = tmp_path / "line.png"
    picture.write_bytes(LINES[0].png)

    def run(variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
        command = [str(PYTHON), "-m", "inkgate", "read", str(picture)]
        environment = clean_environment(**{**ENVIRONMENT, **variables})
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)

    cut = run({"INKGATE_ENGINE__TRANSFORMERS__MAX_TOKENS": "4"})
    assert (cut.returncode, cut.stdout.splitlines()[0]) == (1, LINES[0].text[:4])
    assert "output_truncated" in cut.stderr

    missing = run({"INKGATE_ENGINE__TRANSFORMERS__MODEL": str(tmp_path / "none")})
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "engine.transformers.download" in missing.stderr
