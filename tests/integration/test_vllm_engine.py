"""The engine on model servers: what is asked, what becomes of the answer, and what is done where it goes wrong."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import numpy as np
import pytest
from PIL import Image
from pydantic import SecretStr
from structlog.testing import capture_logs

from inkgate.bootstrap import build_parts
from inkgate.caller import NO_CALLER
from inkgate.engines.vlm.engine import VlmEngine
from inkgate.engines.vlm.presets import find_preset
from inkgate.errors import EngineFailed, InputRejected
from inkgate.model_servers.server import ModelServer
from inkgate.settings import VllmSettings, load_settings
from inkgate_client.types import PageResult, Task, TaskKind, mean_confidence
from support.images import encoded
from support.ppocr import ArrayPage, drawn
from support.server import inkgate
from support.stub_upstream import (
    Reply,
    Request,
    Script,
    StubUpstream,
    error_reply,
    image_of,
    prompt_of,
    running_stub,
    words_as_tokens,
)

pytestmark = pytest.mark.anyio

PRESET = find_preset("paddleocr-vl")
PAGE = ArrayPage(drawn(["Invoice number 20417", "Total amount 42.50"]), index=3, dpi=200.0)
GOOD = Reply(words_as_tokens("Invoice number 20417\nTotal amount 42.50"), special=["</s>"])
LOOP = Reply(["Invoice number 20417.\n", "And so it goes. "], endless=True)


@asynccontextmanager
async def engine_on(stub: StubUpstream, settings: VllmSettings | None = None) -> AsyncIterator[VlmEngine]:
    settings = settings or VllmSettings(start_s=0.001)
    server = ModelServer(stub.url, settings.connect_s, settings.api_key.get_secret_value())
    engine = VlmEngine(PRESET, settings, server)
    try:
        await engine.start()
        yield engine
    finally:
        await engine.stop()


async def read(
    script: Script | Reply, task: Task | None = None, page: ArrayPage = PAGE, settings: VllmSettings | None = None
) -> tuple[PageResult, StubUpstream]:
    with running_stub(script) as stub:
        async with engine_on(stub, settings) as engine:
            return await engine.read(page, task or Task(), NO_CALLER), stub


def one_after_the_other(*replies: Reply) -> Callable[[Request], Reply]:
    """The first request gets the first reply, and so on; the last stays."""
    waiting = list(replies)
    return lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0]


def outcomes(result: PageResult) -> list[tuple[str, str]]:
    """What was changed on each attempt, and the code of what was wrong with it."""
    return [(attempt.change, attempt.error.code if attempt.error else "") for attempt in result.attempts]


@pytest.mark.smoke
async def test_text_is_read_with_the_confidence_of_its_words() -> None:
    result, _ = await read(GOOD)

    assert result.text == "Invoice number 20417\nTotal amount 42.50"
    assert (result.index, result.width, result.height, result.dpi) == (3, 640, 360, 200.0)
    assert (result.lines, result.blocks, result.markdown, result.error) == ((), None, None, None)
    assert [(word.text, word.start) for word in result.words[:4]] == [
        ("Invoice", 0),
        ("number", 8),
        ("20417", 15),
        ("Total", 21),
    ]
    assert mean_confidence(result.words) == pytest.approx(math.exp(-0.1))
    assert result.engine == "paddleocr-vl-1.6"
    assert [attempt.change for attempt in result.attempts] == [""]
    assert set(result.timings_ms) == {"render", "encode", "first_token", "generate", "parse"}


async def test_the_request_is_the_presets() -> None:
    _, stub = await read(GOOD)
    (request,) = stub.seen

    (message,) = request["messages"]
    assert [part["type"] for part in message["content"]] == ["image_url", "text"]
    assert message["content"][0]["image_url"]["url"].startswith("data:image/jpeg;base64,")
    assert prompt_of(request) == "OCR:"
    assert request["model"] == "stub-model"
    assert (request["temperature"], request["max_completion_tokens"], request["logprobs"]) == (0, 4096, True)
    assert request["mm_processor_kwargs"] == {"min_pixels": 112896, "max_pixels": 1003520}
    assert request["repetition_detection"]["min_count"] == 200


async def test_settings_change_the_request() -> None:
    settings = VllmSettings(
        max_tokens=500, logprobs=False, repetition_count=0, jpeg_quality=0, api_key=SecretStr("open sesame")
    )
    result, stub = await read(GOOD, settings=settings)
    (request,) = stub.seen

    assert request["max_completion_tokens"] == 500
    assert request.keys().isdisjoint({"logprobs", "repetition_detection", "max_tokens"})
    assert request["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert np.array_equal(image_of(request), PAGE.rgb)
    assert stub.headers[-1]["authorization"] == "Bearer open sesame"
    assert (result.text, result.words[:0]) == ("Invoice number 20417\nTotal amount 42.50", ())


async def test_a_large_page_is_shrunk_to_what_the_model_sees_before_it_is_sent() -> None:
    page = ArrayPage(drawn(["large"], (2400, 3300), font_px=300))
    result, stub = await read(GOOD, page=page)

    height, width = image_of(stub.seen[0]).shape[:2]
    assert 800_000 < height * width <= 1_003_520
    assert width / height == pytest.approx(2400 / 3300, rel=0.01)
    assert (result.width, result.height) == (2400, 3300)


async def test_a_page_is_parsed_to_markdown() -> None:
    result, _ = await read(Reply(words_as_tokens("# Title\n\nSome *text*.")), Task(kind=TaskKind.PARSE))
    assert result.markdown == "# Title\n\nSome *text*."
    assert result.text.split() == ["Title", "Some", "text."]
    assert result.blocks == ()


async def test_spotted_lines_are_in_pixels_of_the_page_with_their_own_confidence() -> None:
    places = "".join(f"<|LOC_{value}|>" for value in (100, 100, 500, 100, 500, 200, 100, 200))
    result, stub = await read(Reply(["Total", places], logprob=-0.5), Task(kind=TaskKind.SPOT))

    (line,) = result.lines
    assert line.text == "Total"
    assert line.quad == ((64.0, 36.0), (320.0, 36.0), (320.0, 72.0), (64.0, 72.0))
    assert line.confidence == pytest.approx(math.exp(-0.5))
    assert stub.seen[0]["skip_special_tokens"] is False
    assert image_of(stub.seen[0]).shape == (720, 1280, 3)  # small images are doubled for this task


async def test_a_blank_page_asks_nothing() -> None:
    blank = ArrayPage(np.full((300, 200, 3), 255, np.uint8))
    with running_stub(GOOD) as stub:
        async with engine_on(stub) as engine:
            stub.models_status = 500
            assert (await engine.read(blank, Task(), NO_CALLER)).text == ""
    assert stub.seen == []


async def test_what_runs_in_circles_is_ended_and_asked_again_with_another_temperature() -> None:
    result, stub = await read(one_after_the_other(LOOP, GOOD))

    assert result.text.startswith("Invoice number 20417\nTotal")
    assert result.error is None
    assert outcomes(result) == [("", "output_repeats"), ("temperature 0.2", "")]
    assert [request["temperature"] for request in stub.seen] == [0, 0.2]
    assert stub.left == 1


async def test_the_last_retry_ends_with_what_was_read_and_the_error() -> None:
    result, stub = await read(LOOP)

    assert result.error is not None
    assert result.error.code == "output_repeats"
    assert result.text.startswith("Invoice number 20417.\nAnd so it goes.")
    assert len(result.text) < 60
    changes = ["", "temperature 0.2", "temperature 0.5", "size 0.7"]
    assert outcomes(result) == [(change, "output_repeats") for change in changes]
    limits = [request["mm_processor_kwargs"]["max_pixels"] for request in stub.seen]
    assert limits[-1] < limits[0]
    assert stub.left == 4


async def test_a_repetition_that_the_server_ended_is_one() -> None:
    looping = Reply(["Once. ", *["again "] * 40], finish="repetition")
    result, _ = await read(one_after_the_other(looping, GOOD))
    assert [code for _, code in outcomes(result)] == ["output_repeats", ""]
    assert result.error is None


async def test_an_answer_cut_off_by_its_token_limit_is_an_error_with_what_was_read() -> None:
    result, stub = await read(Reply(words_as_tokens("only the first half"), finish="length"))
    assert result.error is not None
    assert (result.error.code, result.text) == ("output_truncated", "only the first half")
    assert len(stub.seen) == 1


async def test_a_loop_at_the_token_limit_is_a_loop() -> None:
    result, _ = await read(one_after_the_other(Reply(["A. ", *["no "] * 150], finish="length"), GOOD))
    assert [code for _, code in outcomes(result)] == ["output_repeats", ""]
    assert result.error is None


async def test_another_reason_to_end_is_a_failure() -> None:
    with pytest.raises(EngineFailed, match=r"upstream_failed.*'abort'"):
        await read(Reply(["a"], finish="abort"))
    with pytest.raises(EngineFailed, match="upstream_cut_off"):
        await read(Reply(["a"], finish=None))


async def test_a_fault_while_asking_again_keeps_what_was_read() -> None:
    result, _ = await read(one_after_the_other(LOOP, error_reply(500, "died")))
    assert result.error is not None
    assert result.error.code == "output_repeats"
    assert result.text.startswith("Invoice number 20417.")
    assert [attempt.error and attempt.error.code for attempt in result.attempts] == [
        "output_repeats",
        "upstream_failed",
    ]


async def test_what_the_server_refuses_is_the_pages_error() -> None:
    with pytest.raises(InputRejected, match=r"length is 4096 tokens .* the prompt has 5000") as rejected:
        await read(
            error_reply(400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096.")
        )
    assert rejected.value.code == "context_length_exceeded"


def server_of_2048_tokens(prompt_tokens: int, reply: Reply) -> Script:
    """Refuses what does not fit its context, as vLLM does."""

    def answer(request: Request) -> Reply:
        if request["max_completion_tokens"] + prompt_tokens <= 2048:
            return reply
        return error_reply(
            400,
            f"This model's maximum context length is 2048 tokens. However, you requested "
            f"{request['max_completion_tokens']} output tokens and your prompt contains {prompt_tokens} input tokens.",
        )

    return answer


async def test_an_answer_is_as_long_as_the_context_of_a_small_server_allows() -> None:
    tokens = PRESET.plan(TaskKind.TEXT).limits.tokens(PAGE.size)
    with running_stub(server_of_2048_tokens(tokens + 8, GOOD)) as stub, capture_logs() as logs:
        stub.described["max_model_len"] = 2048
        async with engine_on(stub) as engine:
            result = await engine.read(PAGE, Task(), NO_CALLER)
    assert (result.text, result.error) == ("Invoice number 20417\nTotal amount 42.50", None)
    assert stub.seen[-1]["max_completion_tokens"] > 2048 - tokens - 64
    (warning,) = [line for line in logs if line["event"] == "model_server_context_short"]
    assert (warning["max_model_len"], warning["answer_tokens"]) == (2048, 4096)


async def test_a_server_that_is_restarted_with_a_smaller_context_is_asked_for_what_fits() -> None:
    tokens = PRESET.plan(TaskKind.TEXT).limits.tokens(PAGE.size)
    with running_stub(server_of_2048_tokens(tokens + 8, GOOD)) as stub:
        stub.described["max_model_len"] = 16_384
        async with engine_on(stub) as engine:
            stub.described["max_model_len"] = 2048
            results = [await engine.read(PAGE, Task(), NO_CALLER) for _ in range(2)]
    assert [result.error for result in results] == [None, None]
    assert [request["max_completion_tokens"] > 2048 for request in stub.seen] == [True, False, False]


@pytest.mark.parametrize("small", [100, 2048])
async def test_a_server_that_is_restarted_with_a_larger_context_is_asked_for_more(small: int) -> None:
    def script(request: Request) -> Reply:
        return replace(GOOD, finish="stop" if request["max_completion_tokens"] > 2048 else "length")

    with running_stub(script) as stub:
        stub.described["max_model_len"] = small
        async with engine_on(stub) as engine:
            stub.described["max_model_len"] = 16_384
            results = [await engine.read(PAGE, Task(), NO_CALLER) for _ in range(2)]
    assert [result.error is None for result in results] == [small == 100, True]  # what was cut is not read again


async def test_a_page_that_a_small_context_cuts_names_the_flag() -> None:
    with running_stub(replace(GOOD, finish="length")) as stub:
        stub.described["max_model_len"] = 2048
        async with engine_on(stub) as engine:
            result = await engine.read(PAGE, Task(), NO_CALLER)
    assert result.error is not None
    assert result.error.code == "output_truncated"
    assert "--max-model-len of 2048 leaves" in result.error.detail
    assert result.text == "Invoice number 20417\nTotal amount 42.50"


async def test_an_image_that_no_context_holds_is_refused_with_the_flag_before_it_is_sent() -> None:
    with running_stub(GOOD) as stub:
        stub.described["max_model_len"] = 100
        async with engine_on(stub) as engine:
            with pytest.raises(InputRejected, match="--max-model-len is 100 tokens; the image takes") as refused:
                await engine.read(PAGE, Task(), NO_CALLER)
    assert (refused.value.code, "--max-model-len" in refused.value.remedy) == ("context_length_exceeded", True)
    assert stub.seen == []


async def test_a_task_that_the_model_cannot_do_is_not_asked() -> None:
    with running_stub(GOOD) as stub:
        async with engine_on(stub) as engine:
            with pytest.raises(InputRejected, match="task_unsupported"):
                await engine.read(PAGE, Task(kind=TaskKind.EXTRACT), NO_CALLER)
    assert stub.seen == []


async def test_a_cancelled_page_reaches_the_server() -> None:
    with running_stub(Reply(["begun"], silent="after")) as stub:
        async with engine_on(stub) as engine, anyio.create_task_group() as tasks:
            tasks.start_soon(engine.read, PAGE, Task(), NO_CALLER)
            await stub.wait_until_asked()
            tasks.cancel_scope.cancel()
        await stub.wait_until_left()
    assert stub.at_once == 0


async def test_the_model_is_chosen_by_setting_then_preset_then_as_the_only_one() -> None:
    served = ("other", "PaddlePaddle/PaddleOCR-VL-1.6")
    for models, setting, chosen in (
        (served, "other", "other"),
        (served, "", "PaddlePaddle/PaddleOCR-VL-1.6"),
        (("mine",), "", "mine"),
    ):
        with running_stub(GOOD, models=models) as stub:
            async with engine_on(stub, VllmSettings(model=setting)) as engine:
                await engine.read(PAGE, Task(), NO_CALLER)
        assert stub.seen[0]["model"] == chosen


@pytest.mark.parametrize("setting", ["", "third"])
async def test_a_model_that_is_not_served_fails_the_start_naming_those_that_are(setting: str) -> None:
    with running_stub(GOOD, models=("one", "two")) as stub, pytest.raises(EngineFailed, match="'one', 'two'") as failed:
        async with engine_on(stub, VllmSettings(model=setting)):
            pass
    assert failed.value.code == "model_unknown"


@pytest.mark.parametrize("status", [502, 503])
async def test_a_server_that_is_still_starting_is_waited_for(status: int) -> None:
    """Behind a proxy, too."""
    with running_stub(GOOD, models_status=status) as stub:
        async with anyio.create_task_group() as tasks:

            async def ready_once_asked() -> None:
                with anyio.fail_after(60):
                    while not stub.headers:  # noqa: ASYNC110 - it happens in the server's thread
                        await anyio.sleep(0.005)
                stub.models_status = 200

            tasks.start_soon(ready_once_asked)
            async with engine_on(stub, VllmSettings(start_s=60)) as engine:
                assert (await engine.read(PAGE, Task(), NO_CALLER)).error is None
    assert len(stub.headers) >= 3


async def test_a_server_that_does_not_come_fails_the_start() -> None:
    with running_stub(GOOD) as stub:
        gone = stub
    with pytest.raises(EngineFailed, match="upstream_unreachable"):
        async with engine_on(gone):
            pass


async def test_what_was_not_started_or_is_stopped_says_so() -> None:
    engine = VlmEngine(find_preset("hunyuanocr"), VllmSettings(), ModelServer("http://127.0.0.1:9/v1", 1))
    await engine.stop()
    with pytest.raises(EngineFailed, match="engine_unavailable"):
        await engine.read(PAGE, Task(), NO_CALLER)


@pytest.mark.parametrize(
    ("name", "vllm", "code", "said"),
    [
        ("nix", {}, "engine_unknown", "paddleocr-vl-1.6"),
        ("paddleocr-vl", {"managed": {"python": "no/such/python"}}, "engine_incomplete", "no/such/python"),
        ("vllm", {"urls": ("http://a/v1",)}, "engine_incomplete", "engine.vllm.preset"),
        ("vllm", {"preset": "mine", "preset_folder": "no/such/folder"}, "engine_incomplete", "no/such/folder"),
    ],
)
def test_what_an_engine_lacks_is_said(name: str, vllm: dict[str, object], code: str, said: str) -> None:
    with pytest.raises(InputRejected) as rejected:
        build_parts(load_settings(engine={"name": name, "vllm": vllm}))
    assert rejected.value.code == code
    assert said in rejected.value.detail


def test_a_preset_is_an_engine() -> None:
    urls = ("http://127.0.0.1:8000/v1",)
    assert (
        build_parts(load_settings(engine={"name": "hunyuanocr", "vllm": {"urls": urls}})).engine.name
        == "hunyuanocr-1.5"
    )
    named: dict[str, object] = {"name": "vllm", "vllm": {"urls": urls, "preset": "PaddleOCR-VL-0.9B"}}
    assert build_parts(load_settings(engine=named)).engine.name == "paddleocr-vl-1.0"


def test_the_command_reads_with_a_model_server() -> None:
    with running_stub(GOOD, models=("one", "two")) as stub:
        done = inkgate(
            "read",
            "-",
            "--engine",
            "paddleocr-vl",
            "--vllm-url",
            stub.url,
            "--vllm-model",
            "two",
            data=encoded(Image.fromarray(PAGE.rgb), "PNG"),
        )
    assert done.stderr == b""
    assert done.stdout.decode() == "Invoice number 20417\nTotal amount 42.50\n"
    assert stub.seen[0]["model"] == "two"


async def test_fields_are_asked_for_by_name_and_given_by_name() -> None:
    script = Reply(words_as_tokens('```json\n{"total": "42.50", "date": null}\n```'))
    task = Task(TaskKind.EXTRACT, fields=("total", "date"))
    with running_stub(script) as stub:
        server = ModelServer(stub.url, 5.0, "")
        engine = VlmEngine(find_preset("hunyuanocr"), VllmSettings(start_s=0.001), server)
        await engine.start()
        result = await engine.read(PAGE, task, NO_CALLER)
        with pytest.raises(InputRejected, match="name at least one field"):
            await engine.read(PAGE, Task(TaskKind.EXTRACT), NO_CALLER)
        with pytest.raises(InputRejected, match="languages: en, zh"):
            await engine.read(PAGE, Task(TaskKind.TRANSLATE, language="xx"), NO_CALLER)
        await engine.stop()

    assert result.fields == {"total": "42.50", "date": None}
    assert prompt_of(stub.seen[0]) == "提取图片中的: ['total','date'] 的字段内容，并按照 JSON 格式返回。"
    assert len(stub.seen) == 1


async def test_a_page_whose_server_breaks_off_within_the_answer_is_asked_for_once_more() -> None:
    result, stub = await read(one_after_the_other(Reply(["Invoice ", "number"], broken="close"), GOOD))

    assert (result.text, result.error) == ("Invoice number 20417\nTotal amount 42.50", None)
    assert outcomes(result) == [("", "upstream_cut_off"), ("again", "")]
    assert len(stub.seen) == 2
