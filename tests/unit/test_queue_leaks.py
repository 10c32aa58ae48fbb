"""Queued and running work never leaks a slot."""

import math
from dataclasses import dataclass, field

import anyio
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st

from inkgate.caller import Priority
from inkgate.errors import EngineFailed, InkgateError
from inkgate.serving.order import Work
from support.scheduling import SchedulerBench


@dataclass
class Client:
    work: Work
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    finish: anyio.Event = field(default_factory=anyio.Event)
    raises: InkgateError | None = None

    async def run(self, house: SchedulerBench) -> None:
        with self.scope:
            try:
                async with house.work_queue.turn(self.work) as turn:
                    await self.finish.wait()
                    turn.tokens_used = 2 * self.work.tokens
                    if self.raises:
                        raise self.raises
            except InkgateError:
                return


steps = st.lists(
    st.one_of(
        st.builds(
            Work,
            tokens=st.integers(0, 300),
            tenant=st.sampled_from("ab"),
            priority=st.sampled_from(Priority),
            deadline=st.sampled_from([math.inf, 1005.0, 1040.0]),
        ),
        st.tuples(st.sampled_from(["finish", "fail", "cancel", "both"]), st.integers(0, 50)),
        st.tuples(st.sampled_from(["limit", "tick", "breathe"]), st.integers(1, 20)),
    ),
    max_size=40,
)


async def play(todo: list[Work | tuple[str, int]]) -> SchedulerBench:
    house = SchedulerBench(places=2, max_waiting=8)
    clients: list[Client] = []
    async with anyio.create_task_group() as tasks:
        for step in todo:
            if isinstance(step, Work):
                clients.append(Client(step))
                tasks.start_soon(clients[-1].run, house)
                continue
            match step:
                case ("limit", value):
                    house.limit.value = value
                case ("tick", value):
                    house.now += value
                case ("breathe", value):
                    for _ in range(value):
                        await checkpoint()
                case (how, value) if clients:
                    client = clients[value % len(clients)]
                    client.raises = EngineFailed("engine_failed", "x") if how == "fail" else None
                    if how != "cancel":
                        client.finish.set()
                    if how in {"cancel", "both"}:
                        client.scope.cancel()
        await anyio.wait_all_tasks_blocked()
        assert house.work_queue.waiting == 0 or house.work_queue.in_flight > 0
        for client in clients:
            client.finish.set()
    return house


@given(steps)
@settings(deadline=None, max_examples=50)
def test_nothing_leaks_and_all_get_an_end_whatever_happens(todo: list[Work | tuple[str, int]]) -> None:
    house = anyio.run(play, todo)
    assert house.is_empty()
