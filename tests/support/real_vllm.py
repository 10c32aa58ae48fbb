"""A real vLLM on the CPU (`make test-servers`) with the tiny model that reads one rendered line."""

from __future__ import annotations

import io
import os
import random
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from lines import LONGEST, random_line, render
from rapidfuzz.distance import Levenshtein

from support.server import clean_environment

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-vllm" / "bin" / "python"
MODEL = ROOT / "tests" / "models" / "tiny-paddleocr-vl"
NAME = "tiny-paddleocr-vl"
START_S = 300.0
VARIABLES = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
SETTINGS = {
    "INKGATE_ENGINE__NAME": "vllm",
    "INKGATE_ENGINE__VLLM__PRESET": NAME,
    "INKGATE_ENGINE__VLLM__PRESET_FOLDER": str(ROOT / "tests" / "models" / "presets"),
    "INKGATE_ENGINE__VLLM__JPEG_QUALITY": "0",
}
"""The API key, whether inkgate starts vLLM or connects to it."""


def require_vllm(modules: Sequence[str] = ()) -> None:
    """Skips the test without vLLM or one of `modules`; fails if INKGATE_REQUIRE_ALL is set."""
    found = PYTHON.exists() and MODEL.exists()
    if found and modules:
        imports = f"import importlib.util as u; raise SystemExit(not all(map(u.find_spec, {list(modules)})))"
        found = subprocess.run([str(PYTHON), "-c", imports], check=False).returncode == 0
    if found:
        return
    if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
        pytest.fail("no vLLM here: `make test-servers` installs it")
    pytest.skip("no vLLM here: `make test-servers` installs it")


@dataclass(frozen=True)
class VllmProcess:
    """A ready vLLM: its base URL (with /v1), and its process."""

    url: str
    pid: int


@contextmanager
def running_vllm(log: Path) -> Iterator[VllmProcess]:
    """A running vLLM; stopped at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = ["--enforce-eager", "--max-model-len", "8192", "--max-num-seqs", "16"]
    address = ["--host", "127.0.0.1", "--port", str(port), "--served-model-name", NAME]
    command = [str(PYTHON), "-m", "vllm.entrypoints.openai.api_server", "--model", str(MODEL), *address, *flags]
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=clean_environment(**VARIABLES)) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}/v1"
            _wait_until_ready(url, process, log)
            yield VllmProcess(url, process.pid)
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < until:
        try:
            if httpx.get(f"{url}/models", trust_env=False, timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(f"vLLM did not start:\n{log.read_text(errors='replace')[-3000:]}")


@dataclass(frozen=True)
class RenderedLine:
    """A line of text and its picture, PNG."""

    text: str
    png: bytes


def rendered_lines(count: int, seed: int = 20417, shortest: int = 10) -> list[RenderedLine]:
    """Random lines of `shortest` to 32 characters. The shipped preset reads lines of 32 (tests/models/README.md)."""
    rng = random.Random(seed)
    lines = []
    for _ in range(count):
        text = random_line(rng, rng.randint(shortest, LONGEST))
        picture = io.BytesIO()
        render(text).save(picture, "PNG")
        lines.append(RenderedLine(text, picture.getvalue()))
    return lines


def share_right(truths: Sequence[str], read: Sequence[str]) -> float:
    """Share of characters read correctly, including spaces: 1 minus the character error rate, pooled."""
    edits = sum(Levenshtein.distance(truth, text) for truth, text in zip(truths, read, strict=True))
    return 1 - edits / sum(len(truth) for truth in truths)
