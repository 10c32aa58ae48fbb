"""Starts and stops a real vLLM on the CPU with a small KV cache, and the gateways in front of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks import processes
from benchmarks.overload.traffic import MODEL
from benchmarks.processes import free_port

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-vllm" / "bin" / "python"
WEIGHTS = ROOT / "tests" / "models" / "tiny-paddleocr-vl"
KV_BLOCKS = 48
"""Blocks of 128 tokens: room for about twenty requests of the traffic, but not for a hundred."""
START_S = 300.0
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
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        limits = ["--max-num-seqs", "16", "--max-num-queued-reqs", "16"] if name == "vLLM with queue limits" else []
        port = free_port()
        vllm = f"http://127.0.0.1:{port}/v1"
        process = stack.enter_context(vllm_process(port, limits, folder))
        url = vllm
        if name not in {"vLLM alone", "vLLM with queue limits"}:
            url = stack.enter_context(_before(name, vllm, folder, peers))
        yield RunningSystem(name, url, vllm, process)


@contextmanager
def vllm_process(
    port: int, flags: Sequence[str], folder: Path, kv_blocks: int | None = KV_BLOCKS
) -> Iterator[subprocess.Popen[bytes]]:
    """A ready vLLM. `kv_blocks`: None for as many as fit into memory."""
    # vLLM's default batch size, with the KV cache of a small card.
    small = [] if kv_blocks is None else ["--num-gpu-blocks-override", str(kv_blocks)]
    shared = ["--enforce-eager", "--max-model-len", "2048", *small]
    address = ["--host", "127.0.0.1", "--port", str(port), "--served-model-name", MODEL]
    cheap = ["--no-enable-prefix-caching", "--mm-processor-cache-gb", "0"]
    # vLLM runs on the first core, like on a card; the rest runs on the others.
    command = ["taskset", "-c", "0", str(PYTHON), "-m", "vllm.entrypoints.openai.api_server", "--model", str(WEIGHTS)]
    with processes.running(
        [*command, *address, *shared, *cheap, *flags], folder / "vllm.log", VARIABLES, ROOT
    ) as process:
        wait_until_up(f"http://127.0.0.1:{port}/v1/models", process, folder / "vllm.log")
        yield process


@contextmanager
def _before(name: str, vllm: str, folder: Path, peers: Path | None) -> Iterator[str]:
    port = free_port()
    variables: dict[str, str] = {}
    if name == "inkgate":
        command, variables = gateway_command(port, vllm)
    elif name == "LiteLLM":
        if peers is None:
            raise SystemExit("--peers names no folder with `litellm`")
        config = folder / "litellm.yaml"
        config.write_text(
            f"model_list:\n  - model_name: {MODEL}\n    litellm_params:\n      model: openai/{MODEL}\n"
            f"      api_base: {vllm}\n      api_key: none\n"
        )
        command = [str(peers / "litellm"), "--config", str(config), "--port", str(port), "--host", "127.0.0.1"]
        variables = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
    else:
        command = [sys.executable, "-m", "benchmarks.overload.semaphore_proxy", str(port), vllm.removesuffix("/v1")]
    with processes.running([*OTHER_CORES, *command], folder / "before.log", variables, ROOT) as process:
        url = f"http://127.0.0.1:{port}/v1"
        wait_until_up(f"{url}/models", process, folder / "before.log")
        yield url


def gateway_command(port: int, vllm: str) -> tuple[list[str], dict[str, str]]:
    """Command and environment of inkgate in front of `vllm`."""
    serve = ["-m", "inkgate", "serve", "--port", str(port), "--engine", "vllm", "--vllm-url", vllm]
    return [sys.executable, *serve], {
        "INKGATE_ENGINE__VLLM__PRESET": MODEL,
        "INKGATE_ENGINE__VLLM__PRESET_FOLDER": str(ROOT / "tests" / "models" / "presets"),
        "INKGATE_LIMITS__MAX_IN_FLIGHT": "1000",
        "INKGATE_LOG__LEVEL": "warning",
    }


@contextmanager
def server(command: Sequence[str], port: int, path: str, folder: Path, variables: dict[str, str]) -> Iterator[None]:
    """A server, once it returns 200 at `path`."""
    log = folder / "server.log"
    with processes.running(command, log, variables, ROOT) as process:
        wait_until_up(f"http://127.0.0.1:{port}{path}", process, log)
        yield


def wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Returns once `url` returns 200."""
    until = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < until:
        try:
            if httpx.get(url, timeout=5, trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.3)
    raise SystemExit(f"{url} did not come up:\n{log.read_text(errors='replace')[-3000:]}")
