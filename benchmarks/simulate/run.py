"""Runs a scenario under a policy, in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import anyio

from benchmarks.simulate import clock
from benchmarks.simulate.policies import NewPolicy, Policy
from benchmarks.simulate.scenario import End, Event, Link, RequestResult, Run, Sample, Scenario
from benchmarks.simulate.server import QueueFull, Server, ServerGone
from benchmarks.simulate.workload import Request, requests
from inkgate.errors import EngineFailed, InputRejected, Overloaded

SAMPLE_S = 1.0


def simulate(scenario: Scenario, new_policy: NewPolicy) -> Run:
    """The same scenario and policy give the same run, to the last digit."""
    return clock.run(lambda: _World(scenario, new_policy).run())


class _World:
    def __init__(self, scenario: Scenario, new_policy: NewPolicy) -> None:
        self._scenario = scenario
        self._servers = [
            Server(scenario.card, scenario.flags, scenario.seed + number) for number in range(scenario.servers)
        ]
        self._links = [Link(server) for server in self._servers]
        self._gateways = [
            (new_policy(link, scenario.seed + number), link)
            for number in range(scenario.gateways)
            for link in self._links
        ]
        self._ended: list[RequestResult] = []
        self._samples: list[Sample] = []

    async def run(self) -> Run:
        scenario = self._scenario
        async with anyio.create_task_group() as background:
            for policy, _ in self._gateways:
                background.start_soon(policy.run)
            background.start_soon(self._sample)
            background.start_soon(self._happen, sorted(scenario.events, key=lambda event: event.at))
            async with anyio.create_task_group() as clients:
                for tenants, gateways in ((scenario.tenants, self._gateways), (scenario.beside, None)):
                    made = requests(tenants, scenario.until_s, scenario.seed)
                    clients.start_soon(self._arrive, clients, made, gateways)
            background.cancel_scope.cancel()
        now = anyio.current_time()
        preemptions = sum(server.preempted + server.batch.preemptions * server.up for server in self._servers)
        deaths = sum(server.deaths for server in self._servers)
        busy = sum(server.busy_s for server in self._servers) / (now * len(self._servers))
        return Run(scenario, self._ended, self._samples, preemptions, deaths, busy)

    async def _arrive(
        self, clients: anyio.abc.TaskGroup, made: Sequence[Request], gateways: Sequence[tuple[Policy, Link]] | None
    ) -> None:
        turns = cycle(gateways or [(None, link) for link in self._links])
        for request, (policy, link) in zip(made, turns, strict=False):
            await anyio.sleep_until(request.at)
            if policy is None:
                clients.start_soon(self._ask_past, link.server, request)
            else:
                clients.start_soon(self._ask, policy, request)

    async def _ask(self, policy: Policy, request: Request) -> None:
        how = End.LEFT
        with anyio.move_on_at(request.at + self._scenario.leave_s):
            try:
                await policy.read(request)
                how = End.ANSWERED
            except (Overloaded, QueueFull):
                how = End.REFUSED
            except InputRejected:
                how = End.EXPIRED
            except (EngineFailed, ServerGone):
                how = End.FAILED
        self._ended.append(RequestResult(request, how, anyio.current_time()))

    async def _ask_past(self, server: Server, request: Request) -> None:
        with anyio.move_on_at(request.at + self._scenario.leave_s):
            try:
                await server.generate(request.page)
            except ServerGone:
                return

    async def _happen(self, events: Sequence[Event]) -> None:
        for event in events:
            await anyio.sleep_until(event.at)
            event.act(self._links)

    async def _sample(self) -> None:
        while True:
            for policy, link in self._gateways:
                batch = link.server.batch
                self._samples.append(
                    Sample(anyio.current_time(), policy.limit, len(batch.running), batch.waiting, batch.kv_usage)
                )
            await anyio.sleep(SAMPLE_S)
