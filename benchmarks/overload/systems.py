"""Starts and stops a real vLLM on the CPU with a small KV cache, and the gateways in front of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.overload.traffic import MODEL
from benchmarks.processes import LITELLM_OPEN, ROOT, free_port, inkgate_command, litellm_config, server

PYTHON = ROOT / ".venv-vllm" / "bin" / "python"
WEIGHTS = ROOT / "tests" / "models" / "tiny-paddleocr-vl"
KV_BLOCKS = 48
"""Blocks of 128 tokens: room for about twenty requests of the traffic, but not for a hundred."""
OTHER_CORES = ("taskset", "-c", f"1-{(os.cpu_count() or 2) - 1}")
VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
NAMES = ("vLLM alone", "vLLM with queue limits", "semaphore of 16", "LiteLLM", "inkgate")


@dataclass
class RunningSystem:
    """A running system at `url`, and its vLLM at `vllm`."""

    name: str
    url: str
    vllm: str
    process: subprocess.Popen[bytes]

    def preemptions(self) -> int:
        """Preemptions of vLLM since its start."""
        text = httpx.get(f"{self.vllm.removesuffix('/v1')}/metrics", timeout=30, trust_env=False).text
        return sum(
            round(float(value))
            for value in re.findall(r"^vllm:num_preemptions_total\{[^}]*\} (\S+)", text, re.MULTILINE)
        )

    @property
    def dead(self) -> bool:
        """Whether vLLM has ended."""
        return self.process.poll() is not None


@contextmanager
def running(name: str, peers: Path | None) -> Iterator[RunningSystem]:
    """A newly started system of this name (NAMES)."""
    with ExitStack() as stack:
        limits = ["--max-num-seqs", "16", "--max-num-queued-reqs", "16"] if name == "vLLM with queue limits" else []
        port = free_port()
        vllm = f"http://127.0.0.1:{port}/v1"
        process = stack.enter_context(server(_vllm_command(port, limits), f"{vllm}/models", VARIABLES))
        url = vllm
        if name not in {"vLLM alone", "vLLM with queue limits"}:
            port = free_port()
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            command, variables = _command_before(name, port, vllm, folder, peers)
            url = f"http://127.0.0.1:{port}/v1"
            stack.enter_context(server([*OTHER_CORES, *command], f"{url}/models", variables))
        yield RunningSystem(name, url, vllm, process)


def _vllm_command(port: int, flags: Sequence[str]) -> list[str]:
    # vLLM's default batch size, with the KV cache of a small card.
    shared = ["--enforce-eager", "--max-model-len", "2048", "--num-gpu-blocks-override", str(KV_BLOCKS)]
    address = ["--host", "127.0.0.1", "--port", str(port), "--served-model-name", MODEL]
    cheap = ["--no-enable-prefix-caching", "--mm-processor-cache-gb", "0"]
    # vLLM runs on the first core, like on a card; the rest runs on the others.
    command = ["taskset", "-c", "0", str(PYTHON), "-m", "vllm.entrypoints.openai.api_server", "--model", str(WEIGHTS)]
    return [*command, *address, *shared, *cheap, *flags]


def _command_before(
    name: str, port: int, vllm: str, folder: Path, peers: Path | None
) -> tuple[list[str], dict[str, str]]:
    """Command and environment of what stands in front of `vllm`."""
    if name == "inkgate":
        return inkgate_command(port, "--engine", "vllm", "--vllm-url", vllm), {
            "INKGATE_ENGINE__VLLM__PRESET": MODEL,
            "INKGATE_ENGINE__VLLM__PRESET_FOLDER": str(ROOT / "tests" / "models" / "presets"),
            "INKGATE_LIMITS__MAX_IN_FLIGHT": "1000",
            "INKGATE_LOG__LEVEL": "warning",
        }
    if name == "LiteLLM":
        if peers is None:
            raise SystemExit("--peers names no folder with `litellm`")
        config = litellm_config(folder, MODEL, vllm)
        command = [str(peers / "litellm"), "--config", str(config), "--port", str(port), "--host", "127.0.0.1"]
        return command, LITELLM_OPEN
    return [sys.executable, "-m", "benchmarks.overload.semaphore_proxy", str(port), vllm.removesuffix("/v1")], {}
