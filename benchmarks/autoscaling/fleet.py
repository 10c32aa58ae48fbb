"""A gateway in virtual time, made of the product's own parts, in front of simulated model servers that come and go."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import anyio
import orjson
from anyio.abc import TaskGroup

from benchmarks.simulate.batch import Flags
from benchmarks.simulate.card import Card
from benchmarks.simulate.server import Server, ServerGone
from benchmarks.simulate.workload import PageWork, Request
from inkgate.bootstrap.state import demand_for
from inkgate.caller import Caller
from inkgate.errors import EngineFailed
from inkgate.model_servers.metrics import ServerReading
from inkgate.model_servers.servers import model_servers
from inkgate.model_servers.upstream import ModelAnswer, ModelCall
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.degradation import Degradation
from inkgate.serving.order import Work
from inkgate.serving.permits import Arrival
from inkgate.serving.queue import WorkQueue
from inkgate.settings import Settings

_CLIENT_CAP = 4096
_BODY_BYTES = 500_000
_MODEL = "simulated"


class SimulatedEngine:
    """A model server of the load balancer, on the simulator's. Answers are not streamed."""

    def __init__(self, name: str, card: Card, seed: int) -> None:
        self.base_url = f"http://{name}/v1"
        self.server = Server(card, Flags(), seed)

    async def models(self) -> tuple[str, ...]:
        """See Upstream."""
        if not self.server.up:
            raise EngineFailed("upstream_unreachable", "The model server is down.")
        return (_MODEL,)

    async def probe(self) -> None:
        """See `Server` of the load balancer."""
        await self.models()

    async def readings(self) -> ServerReading | None:
        """See `Server` of the load balancer."""
        return self.server.reading()

    async def close(self) -> None:
        """See Upstream."""

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        """See Upstream."""
        call.sent()
        async with aclosing(self._answer(PageWork(*orjson.loads(call.body)))) as chunks:
            yield ModelAnswer(200, {}, chunks)

    async def _answer(self, page: PageWork) -> AsyncGenerator[bytes, None]:
        try:
            await self.server.generate(page)
        except ServerGone as gone:
            raise EngineFailed("upstream_unreachable", "The model server died.") from gone
        yield b'"prompt_tokens": %d, "completion_tokens": %d' % (page.image_tokens, page.output_tokens)


class SimulatedGateway:
    """Admission, queue, load balancer, limits and demand of the product, with its default settings."""

    def __init__(self) -> None:
        # The servers come as if they were found by name.
        url = "dns+http://engine:8000/v1"
        settings = Settings.model_validate({"engine": {"name": "paddleocr-vl", "vllm": {"urls": [url]}}})
        serving, vllm = settings.serving, settings.engine.vllm
        servers = model_servers(settings, (), [_MODEL], lambda _: None)
        self._servers = servers
        self._tasks = [task for task in servers.background if task.name != "discovery"]
        self._pages = WorkQueue(servers.limit_of(vllm.concurrent_pages), serving.scheduling)
        in_flight = servers.limit_of(settings.limits.max_in_flight)
        degradation = Degradation(serving.degradation, lambda: self._pages.queue_s)
        self._admission = AdmissionLimiter(lambda: in_flight.value, serving.admission, self._pages, degradation)
        self._demand = demand_for(servers, self._pages, self._admission, vllm.concurrent_pages)

    def start(self, tasks: TaskGroup) -> None:
        """Starts its background tasks."""
        for task in self._tasks:
            tasks.start_soon(task.run)
        tasks.start_soon(self._demand.run)

    def add(self, engine: SimulatedEngine) -> None:
        """A server became ready."""
        self._servers.balanced.add(engine)

    async def retire(self, engine: SimulatedEngine) -> None:
        """Returns once a server that is to stop has finished its calls."""
        self._servers.balanced.retire(engine.base_url)
        servers = self._servers.balanced.set
        while any(each.server is engine for each in servers.replicas):
            await servers.changed.wait()

    @property
    def servers_up(self) -> int:
        """Servers that take calls."""
        return self._servers.monitor.up

    @property
    def load_servers(self) -> float:
        """`inkgate_load_servers`."""
        return self._demand.servers or 0.0

    @property
    def backlog_s(self) -> float:
        """`inkgate_backlog_seconds` of the longer queue."""
        return max(self._pages.backlog_s or 0.0, self._servers.work_queue.backlog_s or 0.0)

    async def read(self, request: Request) -> None:
        """Reads a document of one page, as the gateway does.

        Raises:
            InkgateError: it was refused, late, or failed.
        """
        page = request.page
        caller = Caller(
            request.tenant,
            request.priority,
            request.deadline,
            request.flow,
            patience_s=request.deadline - request.at,
            deadline_given=True,
        )
        arrival = Arrival(request.tenant, request.priority, _BODY_BYTES, request.deadline)
        body = orjson.dumps((page.megapixels, page.image_tokens, page.output_tokens))
        kind = f"{round(page.megapixels, 0):g}"
        call = ModelCall(body, "", page.image_tokens, _CLIENT_CAP, kind, caller=caller)
        with anyio.CancelScope(deadline=request.deadline) as scope:
            async with (
                self._admission.admit(arrival),
                self._pages.turn(Work.for_caller(caller, page.image_tokens)),
                self._servers.upstream.send(call) as answer,
            ):
                async for _ in answer.chunks:
                    pass
        if scope.cancelled_caught:
            raise caller.timeout_error("It was not done in time.")
