"""Several managed servers, one for each GPU or group of GPUs, as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio

from inkgate.engines.base import Engine, EngineWrapper
from inkgate.engines.vllm.managed.command import ServerCommand, free_port, server_command
from inkgate.engines.vllm.managed.supervisor import ManagedServer
from inkgate.engines.vllm.preset import Preset
from inkgate.errors import EngineFailed, InputRejected
from inkgate.settings import ManagedSettings, TracingSettings, VllmSettings

VISIBLE = "CUDA_VISIBLE_DEVICES"


def fleet_commands(
    preset: Preset, settings: VllmSettings, tracing: TracingSettings | None = None
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


class ManagedFleet(EngineWrapper):
    """An Engine: `inner` and its servers, which start before and stop after it. Each server's `run` must be running."""

    def __init__(self, servers: Sequence[ManagedServer], inner: Engine) -> None:
        self._servers = tuple(servers)
        super().__init__(inner)

    async def start(self) -> None:
        """Returns when one server responds and `inner` has found its model there. The others join when they do.

        Raises:
            EngineFailed: no server starts, or `inner` does not; all are then stopped.
        """
        started = False
        try:
            await self._first_started()
            await self._inner.start()
            started = True
        finally:
            if not started:
                with anyio.CancelScope(shield=True):  # bounded by `engine.vllm.managed.stop_s`
                    await self._stop_servers()

    async def stop(self) -> None:
        """As Engine.stop."""
        try:
            await self._inner.stop()
        finally:
            await self._stop_servers()

    async def _first_started(self) -> None:
        failures: list[EngineFailed] = []
        started = anyio.Event()

        async def one(server: ManagedServer) -> None:
            try:
                await server.start()
            except EngineFailed as error:
                failures.append(error)
            else:
                started.set()
                waits.cancel_scope.cancel()  # the wait only: `run` goes on starting the others

        async with anyio.create_task_group() as waits:
            for server in self._servers:
                waits.start_soon(one, server)
        if not started.is_set():
            raise failures[0]

    async def _stop_servers(self) -> None:
        async with anyio.create_task_group() as tasks:
            for server in self._servers:
                tasks.start_soon(server.stop)
