"""A fake of vLLM's server with the same command line and HTTP port, which fails on request.

`FAKE_VLLM` in its environment is a JSON object; see FakeOptions. It does not import inkgate: it starts in a tenth of a
second. POST /fail?how=oom (or exit, error) makes it die while it serves.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

OOM = (
    "(EngineCore pid=7) ERROR 11-20 23:00:00 [core.py:900] Traceback (most recent call last):",
    '(EngineCore pid=7) ERROR 11-20 23:00:00 [core.py:900]   File "core.py", line 1, in run',
    (
        "(EngineCore pid=7) ERROR 11-20 23:00:00 [core.py:900] torch.OutOfMemoryError: CUDA out of memory. "
        "Tried to allocate 2.00 GiB."
    ),
    (
        "(APIServer pid=6) ERROR 11-20 23:00:01 [async_llm.py:1] vllm.v1.engine.exceptions.EngineDeadError: EngineCore "
        "encountered an issue. See stack trace (above) for the root cause."
    ),
)
LOADING = (
    "(EngineCore pid=7) INFO 11-20 23:00:00 [gpu_model_runner.py:1] Starting to load model tiny...",
    (
        "\rLoading safetensors checkpoint shards:   0% Completed | 0/2 [00:00<?, ?it/s]"
        "\rLoading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.00s/it]"
        "\rLoading safetensors checkpoint shards: 100% Completed | 2/2 [00:02<00:00,  1.00s/it]"
    ),
    (
        "(EngineCore pid=7) INFO 11-20 23:00:03 [kv_cache_utils.py:1] GPU KV cache size: 65,536 tokens, Maximum "
        "concurrency for 16,384 tokens per request: 4.00x"
    ),
)
STARTED = "INFO:     Application startup complete."
CORE = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
ANSWER = ("Invoice", " number", " 20417")


@dataclass(frozen=True)
class FakeOptions:
    """Its behaviour.

    Attributes:
        folder: where each process creates an empty file `main-PID` or `core-PID`, and each start `start-N.json`.
        oom_above: runs out of memory at start with more sequences than this.
        complaint: is logged before it exits with status 2 at start.
        too_old_for: a flag that it does not know: it exits with status 2 if given.
        silent: never listens.
        stubborn: ignores SIGTERM.
        shares: creates a piece of shared memory, and a file `shared-NAME`.
        kills_gateway: kills its guardian's parent at start.
    """

    folder: str
    oom_above: int = 1000
    complaint: str = ""
    too_old_for: str = ""
    silent: bool = False
    stubborn: bool = False
    shares: bool = False
    kills_gateway: bool = False


def flag(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        known = self.path == "/v1/models"
        body = {"object": "list", "data": [{"id": flag("--served-model-name")}]} if known else {}
        self._answer(200 if known else 404, "application/json", json.dumps(body).encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/fail"):
            how = self.path.partition("how=")[2]
            if how == "oom":
                say(*OOM)
            os._exit(0 if how == "exit" else 1)
        events = [{"choices": [{"index": 0, "delta": {"content": token}}]} for token in ANSWER]
        events.append({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}]})
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        self._answer(200, "text/event-stream", text.encode())

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the library
        pass


def say(*lines: str) -> None:
    print("\n".join(lines), file=sys.stderr, flush=True)


def main() -> None:
    told = FakeOptions(**json.loads(os.environ["FAKE_VLLM"]))
    folder = Path(told.folder)
    (folder / f"main-{os.getpid()}").touch()
    number = len(list(folder.glob("start-*.json")))
    (folder / f"start-{number}.json").write_text(
        json.dumps({"arguments": sys.argv[1:], "environment": dict(os.environ)}), encoding="utf-8"
    )
    if told.complaint:
        say(told.complaint)
        sys.exit(2)
    if told.too_old_for in sys.argv:
        say(f"api_server.py: error: unrecognized arguments: {told.too_old_for}")
        sys.exit(2)
    kept: tuple[int, ...] = ()
    if told.shares:
        shared = SharedMemory(create=True, size=4096)
        (folder / f"shared-{shared.name}").touch()
        tracker = resource_tracker.getfd()
        assert tracker is not None
        kept = (tracker,)  # as in every process of vLLM: it waits for the last of them
    # in its own session, so that no signal to a process group reaches it
    core = subprocess.Popen([sys.executable, "-I", "-S", "-c", CORE], start_new_session=True, pass_fds=kept)
    (folder / f"core-{core.pid}").touch()
    say(*LOADING)
    if int(flag("--max-num-seqs")) > told.oom_above:
        say(*OOM)
        os._exit(1)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if told.stubborn else lambda *_: os._exit(0))
    if told.kills_gateway:
        stat = Path(f"/proc/{os.getppid()}/stat").read_text(encoding="utf-8")
        os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
    if told.silent:
        time.sleep(600)
    server = ThreadingHTTPServer((flag("--host"), int(flag("--port"))), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say(STARTED)
    while True:
        time.sleep(600)


if __name__ == "__main__":
    main()
