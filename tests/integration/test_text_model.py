"""A text model over HTTP: what it is sent, what comes of its answers, and what its failures cost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from inkgate.caller import NO_CALLER, Caller
from inkgate.errors import EngineFailed, InputRejected
from inkgate.extraction.finder import FieldFinder, field_finder
from inkgate.extraction.text_model import TEXT_MODEL, TextModelServer, parsed_object, parts_of
from inkgate.fields.schema import FieldSchema
from inkgate.settings import TextModelSettings, load_settings
from inkgate_client.fields.asked import WantedFields
from inkgate_client.fields.values import Extraction, FieldStatus
from inkgate_client.types import DocumentResult, Line, PageResult, Word
from support.receipts import RECEIPT, page

pytestmark = pytest.mark.anyio
Json = dict[str, Any]
PAGES = (page(RECEIPT),)
SCHEMA = FieldSchema.of_names(["cashier", "rope"])


def said(content: object) -> web.Response:
    text = content if isinstance(content, str) else orjson.dumps(content).decode()
    return web.json_response({"choices": [{"message": {"content": text}}]})


@asynccontextmanager
async def answering(answer: Callable[[Json], web.Response]) -> AsyncIterator[tuple[str, list[Json]]]:
    """A server on loopback; its URL, and the requests that it got."""
    asked: list[Json] = []

    async def complete(request: web.Request) -> web.Response:
        asked.append(await request.json())
        return answer(asked[-1])

    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    server = TestServer(app)
    await server.start_server()
    try:
        yield str(server.make_url("/v1")), asked
    finally:
        await server.close()


async def found(url: str, **names: object) -> Extraction:
    finder = field_finder(load_settings(None, fields={"text_model": {"url": url, "model": "small", **names}}))
    result = DocumentResult("receipt", "image/png", 1, 1, "fake", PAGES)
    async with finder.running():
        return await finder.find(result, await wanted(finder), NO_CALLER)


async def wanted(finder: FieldFinder) -> Any:  # noqa: ANN401
    return await finder.wanted(WantedFields(names=("cashier", "harbour")), NO_CALLER)


async def test_what_it_finds_is_looked_up_and_what_it_makes_up_is_null() -> None:
    async with answering(lambda _: said({"cashier": "AMY", "harbour": "Rotterdam"})) as (url, asked):
        extraction = await found(url)
    assert extraction.data == {"cashier": "AMY", "harbour": None}
    assert extraction.fields["/cashier"].origin == TEXT_MODEL
    assert extraction.fields["/harbour"].status is FieldStatus.UNGROUNDED
    (request,) = asked
    assert request["model"] == "small"
    assert "ANCHOR" in request["messages"][1]["content"]
    assert request["response_format"]["json_schema"]["schema"]["required"] == ["cashier", "harbour"]


async def test_terms_of_the_domain_correct_the_pages_and_are_told_to_the_model(tmp_path: Path) -> None:
    terms = tmp_path / "terms.toml"
    terms.write_text('[[terms]]\nterm = "Bollard hook"\n')
    quad = ((0.0, 0.0), (90.0, 0.0), (90.0, 9.0), (0.0, 9.0))
    words = (Word("Part:", quad, 1.0), Word("Bo11ard", quad, 0.6), Word("hook", quad, 1.0))
    pages = (PageResult(0, lines=(Line("Part: Bo11ard hook", quad, 0.6, words),)),)
    async with answering(lambda _: said({"part": "Bollard hook"})) as (url, asked):
        fields: Json = {"terms": [str(terms)], "text_model": {"url": url, "model": "small"}}
        finder = field_finder(load_settings(None, fields=fields))
        async with finder.running():
            wanted = await finder.wanted(WantedFields(names=("part",)), NO_CALLER)
            result = DocumentResult("slip", "image/png", 1, 1, "fake", pages)
            extraction = await finder.find(result, wanted, NO_CALLER)
    assert "Bollard hook" in asked[0]["messages"][0]["content"]
    source = extraction.fields["/part"].sources[0]
    assert (extraction.data["part"], source.read_as) == ("Bollard hook", "Part: Bo11ard hook")
    with pytest.raises(InputRejected, match="terms"):
        field_finder(load_settings(None, fields={"terms": [str(tmp_path / "none.toml")]}))


async def test_a_server_that_knows_no_schemas_is_asked_without() -> None:
    def answer(body: Json) -> web.Response:
        return web.Response(status=400) if "response_format" in body else said('```json\n{"cashier": "AMY"}\n```')

    async with answering(answer) as (url, asked):
        assert (await found(url)).data["cashier"] == "AMY"
    assert len(asked) == 2


async def test_requests_that_it_refuses_cost_other_callers_nothing() -> None:
    def answer(body: Json) -> web.Response:
        asked = body["messages"][1]["content"]
        if "rope" in asked:
            return web.Response(status=400)
        if "hostile" in asked and "response_format" in body:
            return web.Response(status=422)
        return said({"cashier": "AMY"})

    async with answering(answer) as (url, asked):
        model = TextModelServer(TextModelSettings(url=url, model="small"))
        async with model.running():
            assert await model.propose(PAGES, FieldSchema.of_names(["cashier"]), NO_CALLER)
            await model.propose(PAGES, FieldSchema.of_names(["hostile"]), NO_CALLER)
            for _ in range(20):
                with pytest.raises(EngineFailed, match="engine_failed"):
                    await model.propose(PAGES, SCHEMA, NO_CALLER)
            assert await model.propose(PAGES, FieldSchema.of_names(["cashier"]), NO_CALLER)
    assert "response_format" in asked[-1]


async def test_callers_without_time_cost_other_callers_nothing() -> None:
    async with answering(lambda _: said({"cashier": "AMY"})) as (url, _):
        model = TextModelServer(TextModelSettings(url=url, model="small"))
        async with model.running():
            late = Caller(deadline=anyio.current_time(), deadline_given=True)
            for _ in range(20):
                with pytest.raises(InputRejected, match="deadline_exceeded"):
                    await model.propose(PAGES, SCHEMA, late)
            assert await model.propose(PAGES, SCHEMA, NO_CALLER)


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: web.Response(status=500),
        lambda _: web.Response(status=400),
        lambda _: web.json_response([]),
        lambda _: web.Response(text="not JSON"),
        lambda _: web.Response(body=b"x" * (2 << 20)),
    ],
)
async def test_a_failure_costs_its_values_only_and_is_told(answer: Callable[[Json], web.Response]) -> None:
    async with answering(answer) as (url, _):
        extraction = await found(url)
    assert (extraction.data["cashier"], extraction.notes) == ("AMY", ("text_model_failed",))  # by rules


async def test_a_server_that_is_not_there_is_told() -> None:
    assert (await found("http://127.0.0.1:9/v1")).notes == ("text_model_failed",)


async def test_a_server_that_hangs_is_given_up() -> None:
    async def hang(_: web.Request) -> web.Response:
        await anyio.sleep(60)
        return web.Response()

    app = web.Application()
    app.router.add_post("/v1/chat/completions", hang)
    server = TestServer(app)
    await server.start_server()
    try:
        settings = TextModelSettings(url=str(server.make_url("/v1")), model="small", timeout_s=0.2)
        model = TextModelServer(settings)
        async with model.running():
            with pytest.raises(EngineFailed) as failure:
                await model.propose(PAGES, SCHEMA, NO_CALLER)
        assert failure.value.code in {"upstream_stalled", "upstream_unreachable"}
    finally:
        await server.close()


async def test_long_documents_are_sent_in_parts_and_each_part_may_answer() -> None:
    async with answering(lambda body: said({"cashier": "AMY" if "Cashier" in str(body) else None})) as (url, asked):
        extraction = await found(url, max_characters=100)
    assert len(asked) > 3
    assert extraction.data["cashier"] == "AMY"


def test_parts_hold_every_line_in_order_and_none_is_too_long() -> None:
    pages = [page("a|b\n" + "x" * 300), page("c")]
    parts = list(parts_of(pages, 50))
    assert all(len(part) <= 50 for part in parts)
    letters = [line for part in parts for line in part.splitlines() if len(line) == 1]
    assert letters == ["a", "b", "c"]


@pytest.mark.parametrize(
    "text", ["", "null", "{", "[1]", "{" * 1_000_000, "{" * 100_000 + "}", '{"a": NaN', "}{", None, 7]
)
def test_what_is_no_object_is_none(text: object) -> None:
    assert parsed_object(text) == {}
