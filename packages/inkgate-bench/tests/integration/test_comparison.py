"""Services that run already, compared: stubs of model servers, over HTTP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from aiohttp import web

from inkgate_bench.accuracy.manifest import Entry
from inkgate_bench.compare.contenders import documents, parse
from inkgate_bench.compare.results import EngineComparison, EngineResult
from inkgate_bench.compare.run import (
    ComparisonPlan,
    ResponseUnusable,
    ServiceReader,
    chat_transcript,
    compare,
    document_transcript,
    simple_transcript,
)
from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.plan import Load, Plan
from inkgate_bench.load.results import Axis
from inkgate_bench.load.run import LoadResult, run
from inkgate_bench.load.target import ProtocolName, Target
from inkgate_client.concurrency import Threads
from support.comparisons import MACHINE
from support.evaluation import draw, write_manifest
from support.load_target import load_target, refusal
from support.stub_upstream import Reply, Request, error_reply, running_stub

pytestmark = pytest.mark.anyio
PLAN = Plan(Axis.CONCURRENCY, 2, seconds=0.3, warm_s=0.05, timeout_s=5)
NOBODY = "http://127.0.0.1:9/v1"


def pages(folder: Path) -> Path:
    draw(folder / "a.png", "hello")
    draw(folder / "b.png", "hello")
    (folder / "a.txt").write_text("hello world", encoding="utf-8")
    return folder


async def compared(source: Path, *specs: str, rounds: int = 1, stop: anyio.Event | None = None) -> EngineComparison:
    said: list[str] = []
    comparing = ComparisonPlan(documents(source), PLAN, rounds=rounds)
    return await compare(parse(specs), comparing, MACHINE, None, stop or anyio.Event(), said.append)


async def only(source: Path, *specs: str) -> EngineResult:
    (engine,) = (await compared(source, *specs)).engines
    return engine


async def test_each_gets_the_same_pages_and_its_figures(tmp_path: Path) -> None:
    with running_stub(Reply(["hello ", "world"])) as right, running_stub(Reply(["hello"])) as wrong:
        found = await compared(pages(tmp_path), f"right={right.url}", f"wrong={wrong.url}", rounds=2)
    assert (found.pages, found.clients, found.rounds, found.partial) == (2, 2, 2, False)
    good, bad = found.engines
    assert [engine.name for engine in found.engines] == ["right", "wrong"]
    assert (good.model, len(good.runs), good.why_not, good.memory_mb) == ("stub-model", 2, "", None)
    assert good.error_share == 0
    assert good.p50_s is not None
    assert (good.answered_per_s or 0) > 0
    assert good.accuracy is not None
    assert bad.accuracy is not None
    assert (good.accuracy.documents, good.accuracy.cer, bad.accuracy.cer) == (1, 0.0, 0.5)


async def test_nobody_at_an_address_is_told_and_the_others_are_measured(tmp_path: Path) -> None:
    with running_stub(Reply(["hello world"])) as there:
        gone, found = (await compared(pages(tmp_path), f"gone={NOBODY}", f"there={there.url}", rounds=2)).engines
    assert "Nothing listens" in gone.why_not
    assert gone.runs == ()
    assert len(found.runs) == 2


async def test_answers_that_fail_are_errors_and_were_not_read(tmp_path: Path) -> None:
    def every_second(request: Request) -> Reply:
        asked.append(request)
        return Reply(["hello world"]) if len(asked) % 2 else error_reply(500, "broken")

    asked: list[Request] = []
    draw(tmp_path / "a.png", "hello")
    draw(tmp_path / "b.png", "world")
    known = [{"path": "a.png", "text": "hello world"}, {"path": "b.png", "text": "hello world"}]
    for item in known:
        (tmp_path / item["path"]).with_suffix(".txt").write_text(item["text"], encoding="utf-8")
    with running_stub(every_second) as stub:
        engine = await only(tmp_path, stub.url)
    assert engine.accuracy is not None
    assert (engine.accuracy.documents, engine.accuracy.unread, engine.accuracy.cer) == (2, 1, 0.5)
    assert 0 < (engine.error_share or 0) < 1
    assert any(kind.startswith("500") for kind in engine.errors)


async def test_a_service_of_the_simple_protocol_is_read_and_loaded_alike(tmp_path: Path) -> None:
    async def reply(_request: web.Request, _number: int) -> web.StreamResponse:
        return web.json_response({"text": "hello world"})

    async with load_target(reply) as target:
        engine = await only(pages(tmp_path), target.url)
        assert len(set(target.bodies)) == 1  # both pages are alike, whether read for accuracy or as load
    assert engine.engine.startswith("simple at")
    assert engine.accuracy is not None
    assert (engine.accuracy.documents, engine.accuracy.cer, engine.accuracy.unread) == (1, 0.0, 0)
    async with load_target(refusal(503, "service_full")) as target:
        full = await only(pages(tmp_path), target.url)
    assert full.accuracy is not None
    assert full.accuracy.unread == 1


async def test_documents_with_unit_tests_are_read_as_markdown(tmp_path: Path) -> None:
    draw(tmp_path / "a.png", "hello")
    plain = Entry("a.png", tmp_path / "a.png", "", "-", "-")
    async with load_target(refusal(503, "service_full")) as target:
        reader = ServiceReader("ours", Target(f"{target.url}/ocr", ProtocolName.OCR), Threads("documents", 1))
        for entry in (plain, replace(plain, tests=tmp_path / "a.tests.jsonl")):
            with pytest.raises(ResponseUnusable, match="503 service_full"):
                await reader.read(entry)
        text, parse = target.bodies
    assert b'name="task"' not in text
    assert b'name="task"\r\n\r\nparse\r\n' in parse


def test_text_is_found_in_the_responses_of_every_protocol() -> None:
    event = b'data: {"choices":[{"delta":{"content":"he"}}]}\n\n'
    end = b'data: {"choices":[{"delta":{"content":"llo"},"finish_reason":"length"}]}\n\ndata: [DONE]\n\n'
    streamed = chat_transcript(event + end)
    assert (streamed.text, [failure.code for failure in streamed.failures]) == ("hello", ["output_truncated"])
    assert chat_transcript(b'{"choices":[{"message":{"content":"hello"}}]}').text == "hello"
    assert simple_transcript(b'{"result":"hello"}').text == "hello"
    for broken in (b"[]", b'{"text": 3}'):
        with pytest.raises(ResponseUnusable):
            simple_transcript(broken)
    with pytest.raises(ResponseUnusable):
        chat_transcript(b"data: {broken\n\n")
    with pytest.raises(ResponseUnusable):
        document_transcript(b'{"text": "hello"}')


async def test_told_to_stop_it_ends_with_what_there_is(tmp_path: Path) -> None:
    stop = anyio.Event()
    stop.set()
    with running_stub(Reply(["hello world"])) as stub:
        found = await compared(pages(tmp_path), stub.url, stop=stop)
    assert found.partial
    assert found.engines[0].notes == ("Interrupted before it was measured.",)
    assert stub.seen == []


async def test_a_run_that_was_interrupted_early_is_no_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, results = anyio.Event(), list[LoadResult]()

    async def run_and_stop(load: Load, *, stop: anyio.Event) -> LoadResult:
        result = await run(load, stop=stop)
        if results:
            stop.set()
            result = replace(result, partial=True, summary=replace(result.summary, seconds=0.01))
        results.append(result)
        return result

    monkeypatch.setattr("inkgate_bench.compare.run.run", run_and_stop)
    with running_stub(Reply(["hello world"])) as stub:
        found = await compared(pages(tmp_path), stub.url, rounds=3, stop=stop)
    assert len(results) == 2
    assert found.engines[0].runs == (results[0].summary,)
    assert found.engines[0].notes == ("A run was interrupted.",)


async def test_a_manifest_is_read_and_what_does_not_open_is_left_out(tmp_path: Path) -> None:
    draw(tmp_path / "one.png", "hello")
    odd = {"path": "odd.png", "pillow": {"opens": False}}
    manifest = write_manifest(tmp_path, {"path": "one.png", "text": "hello"}, odd)
    with running_stub(Reply(["hello"])) as stub:
        engine = await only(manifest, stub.url)
    assert engine.accuracy is not None
    assert (engine.accuracy.documents, engine.accuracy.f1) == (1, 1.0)


def test_a_folder_without_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadImpossible, match="holds no image or PDF"):
        documents(tmp_path)
