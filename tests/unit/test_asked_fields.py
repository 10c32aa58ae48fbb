"""Fields of a page: the model's answer beside the lines that the grounding engine reads."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from inkgate.caller import NO_CALLER, Caller
from inkgate.errors import EngineFailed, InputRejected, Overloaded
from inkgate.page import Page
from inkgate.service.page import FIELDS_UNREAD
from inkgate_client.types import PageResult, Task, TaskKind
from support.page_readers import page_reader
from support.scripted_engine import KeyedPage

pytestmark = pytest.mark.anyio
WANTED = Task(kind=TaskKind.PARSE, fields=("total",))


class Told:
    """An engine that reads as told, and keeps the tasks."""

    def __init__(self, outcome: PageResult | Exception, name: str = "told") -> None:
        self.name = name
        self.outcome = outcome
        self.tasks: list[Task] = []
        self.cancelled = False

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.tasks.append(task)
        try:
            await anyio.lowlevel.checkpoint()
        except BaseException:
            self.cancelled = True
            raise
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


SEEN = PageResult(0, text="Total 3.50", engine="grounding")
ANSWER = PageResult(0, fields={"total": "3.50"}, engine="model")


async def read(model: Told, grounding: Told, task: Task = WANTED) -> PageResult:
    return await page_reader(model, asks_for_fields=True, grounding_reader=page_reader(grounding)).read(
        KeyedPage(b"page"), task, NO_CALLER
    )


async def test_the_answer_of_the_model_stands_beside_the_text_of_the_witness() -> None:
    model, grounding = Told(ANSWER), Told(SEEN)
    result = await read(model, grounding)
    assert (result.text, result.fields, result.engine) == ("Total 3.50", {"total": "3.50"}, "grounding")
    assert [task.kind for task in model.tasks] == [TaskKind.EXTRACT]
    assert grounding.tasks == [Task(kind=TaskKind.PARSE)]


@pytest.mark.parametrize(
    ("failure", "degraded"),
    [
        (EngineFailed("engine_failed", "It failed."), (FIELDS_UNREAD,)),
        (Overloaded("engine_breaker_open", "It is paused.", 5.0), (FIELDS_UNREAD,)),
        (InputRejected("task_unsupported", "It can't."), ()),
    ],
)
async def test_a_model_that_fails_or_knows_no_fields_costs_its_values_only(
    failure: Exception, degraded: tuple[str, ...]
) -> None:
    result = await read(Told(failure), Told(SEEN))
    assert (result.text, result.fields, result.degraded) == ("Total 3.50", None, degraded)


async def test_an_overload_is_the_callers_to_know_and_ends_the_witness() -> None:
    refused = Overloaded("service_full", "It is full.", retry_after_s=1)
    with pytest.raises(Overloaded):
        await read(Told(refused), Told(SEEN))


async def test_without_the_lines_of_the_witness_there_is_no_page() -> None:
    with pytest.raises(EngineFailed):
        await read(Told(ANSWER), Told(EngineFailed("engine_failed", "It failed.")))


async def test_other_tasks_go_to_the_engine() -> None:
    model, grounding = Told(ANSWER), Told(SEEN)
    assert await read(model, grounding, Task(kind=TaskKind.PARSE)) == ANSWER
    assert not grounding.tasks
