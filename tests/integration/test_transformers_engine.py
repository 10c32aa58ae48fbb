"""A model in this process, read from as from a model server: answers, faults, cancelling, and one at a time."""

from __future__ import annotations

import itertools
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from inkgate.bootstrap import build_parts
from inkgate.caller import NO_CALLER
from inkgate.engines.transformers import hub
from inkgate.engines.transformers.chat import GenerativeModel
from inkgate.engines.transformers.engine import InProcessUpstream, TransformersEngine, call_settings
from inkgate.engines.vlm.engine import VlmEngine
from inkgate.engines.vlm.presets import find_preset
from inkgate.errors import EngineFailed, InputRejected
from inkgate.model_servers.upstream import ModelCall
from inkgate.settings import TransformersSettings, VllmSettings, load_settings
from inkgate_client.types import PageResult, Task
from support.ppocr import ArrayPage, drawn
from support.scripted_model import ScriptedAnswer, ScriptedModel, numbered

pytestmark = pytest.mark.anyio

PAGE = ArrayPage(drawn(["Invoice number 20417"]), index=3)
GOOD = ScriptedAnswer(["Invoice ", "number ", "204", "17"])
PRESET = find_preset("hunyuanocr-1.5")


@asynccontextmanager
async def engine_of(
    model: GenerativeModel, settings: TransformersSettings | None = None
) -> AsyncIterator[TransformersEngine]:
    server = InProcessUpstream(PRESET.served_names[0], lambda: model)
    asking = call_settings(settings or TransformersSettings(), VllmSettings())
    engine = TransformersEngine(server, VlmEngine(PRESET, asking, server))
    async with anyio.create_task_group() as group:
        group.start_soon(server.run)
        await engine.start()
        try:
            yield engine
        finally:
            await engine.stop()
            group.cancel_scope.cancel()


async def read(model: GenerativeModel, settings: TransformersSettings | None = None) -> PageResult:
    async with engine_of(model, settings) as engine:
        return await engine.read(PAGE, Task(), NO_CALLER)


async def test_a_page_is_read_with_the_confidence_of_its_words() -> None:
    model = ScriptedModel(GOOD)
    result = await read(model)

    assert (result.text, result.error, result.engine, result.index) == ("Invoice number 20417", None, PRESET.name, 3)
    assert [(word.text, round(word.confidence, 3)) for word in result.words] == [
        ("Invoice", 0.905),
        ("number", 0.905),
        ("20417", 0.905),
    ]
    (question,) = model.questions
    assert question.images[0].shape == (360, 640, 3)
    assert question.sampling.max_tokens == 4096


async def test_the_settings_limit_of_tokens_is_asked_for() -> None:
    model = ScriptedModel(GOOD)
    await read(model, TransformersSettings(max_tokens=77))
    assert model.questions[0].sampling.max_tokens == 77


async def test_an_answer_at_its_token_limit_is_an_error_beside_what_was_read() -> None:
    result = await read(ScriptedModel(ScriptedAnswer(["Invoice ", "num"], "length")))
    assert result.text == "Invoice num"
    assert result.error is not None
    assert result.error.code == "output_truncated"


async def test_a_repeating_answer_is_stopped_and_retried_as_the_preset_says() -> None:
    model = ScriptedModel(ScriptedAnswer(itertools.repeat("And so it goes. ")), GOOD)
    result = await read(model)

    assert model.ended_early.is_set()
    assert result.text == "Invoice number 20417"
    assert [(attempt.change, attempt.error and attempt.error.code) for attempt in result.attempts] == [
        ("", "output_repeats"),
        ("temperature 0.2", None),
    ]
    assert [question.sampling.temperature for question in model.questions] == [0.0, 0.2]


async def test_one_answer_at_a_time_in_a_thread_of_its_own() -> None:
    model = ScriptedModel(GOOD)
    texts: list[str] = []
    async with engine_of(model) as engine, anyio.create_task_group() as readers:

        async def reader() -> None:
            texts.append((await engine.read(PAGE, Task(), NO_CALLER)).text)

        for _ in range(6):
            readers.start_soon(reader)
    assert texts == ["Invoice number 20417"] * 6
    assert (model.most_at_once, "MainThread" in model.threads) == (1, False)


async def test_a_caller_who_leaves_ends_the_answer_and_the_next_is_answered() -> None:
    model = ScriptedModel(ScriptedAnswer(numbered()), GOOD)
    async with engine_of(model) as engine:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(engine.read, PAGE, Task(), NO_CALLER)
                while not model.questions:
                    await anyio.wait_all_tasks_blocked()
                scope.cancel()
        assert scope.cancelled_caught
        assert (await engine.read(PAGE, Task(), NO_CALLER)).text == "Invoice number 20417"
    assert model.ended_early.is_set()


async def test_who_left_while_waiting_is_not_answered() -> None:
    model = ScriptedModel(GOOD)
    server = InProcessUpstream("tiny", lambda: model)
    await server.start()
    async with server.send(ModelCall(b"{}")):
        pass
    async with anyio.create_task_group() as group:
        group.start_soon(server.run)
        await anyio.wait_all_tasks_blocked()
        await server.close()
    assert model.questions == []


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (EngineFailed("engine_failed", "Out of memory."), "engine_failed"),
        (InputRejected("upstream_rejected", "Too long."), "upstream_rejected"),
        (IndexError("list index out of range"), "engine_failed"),
    ],
)
async def test_a_fault_of_the_model_is_that_of_one_page(
    raised: Exception, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    async with engine_of(ScriptedModel(ScriptedAnswer(["Invoice "], raised=raised), GOOD)) as engine:
        with pytest.raises((EngineFailed, InputRejected)) as failed:
            await engine.read(PAGE, Task(), NO_CALLER)
        assert failed.value.code == code
        assert (await engine.read(PAGE, Task(), NO_CALLER)).text == "Invoice number 20417"


async def test_nothing_is_read_before_the_start_and_after_the_stop() -> None:
    server = InProcessUpstream("tiny", lambda: ScriptedModel(GOOD))
    for _ in range(2):
        with pytest.raises(EngineFailed, match="engine_unavailable"):
            await server.models()
        await server.close()


def library(error: Exception) -> SimpleNamespace:
    """What looks like torch and transformers, and fails to load a model."""

    class Loader:
        @staticmethod
        def from_pretrained(_: str, **options: object) -> None:
            assert options == {"local_files_only": True}
            raise error

    quiet = SimpleNamespace(set_verbosity_error=lambda: None, disable_progress_bar=lambda: None)
    return SimpleNamespace(
        AutoProcessor=Loader,
        __version__="5.0",
        utils=SimpleNamespace(logging=quiet),
        cuda=SimpleNamespace(is_available=lambda: False),
    )


def test_missing_weights_and_models_that_do_not_run_say_so(tmp_path: Path) -> None:
    for error, code in ((OSError("no such file"), "weights_missing"), (AssertionError("no CUDA"), "model_unusable")):
        loaded = library(error)
        with pytest.raises(EngineFailed) as failed:
            hub.load(str(tmp_path), TransformersSettings(), lambda _, loaded=loaded: loaded)  # type: ignore[misc]
        assert failed.value.code == code
        assert str(tmp_path) in failed.value.detail


def test_without_the_extra_it_is_named() -> None:
    def imported(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    with pytest.raises(EngineFailed, match=r"needs torch: `.* install 'torch>=2\.\d+' 'transformers>=5'`") as failed:
        hub.load("tiny", TransformersSettings(), imported)
    assert failed.value.code == "engine_not_installed"


@pytest.mark.parametrize(
    ("own", "code"),
    [
        ({}, "engine_incomplete"),
        ({"preset": "nobody"}, "engine_unknown"),
        ({"preset": "hunyuanocr-1.0"}, "engine_incomplete"),
    ],
)
def test_settings_that_name_no_model_are_refused(own: dict[str, str], code: str) -> None:
    with pytest.raises(InputRejected) as refused:
        build_parts(load_settings(engine={"name": "transformers", "transformers": own}))
    assert refused.value.code == code


def test_the_engine_is_built_by_its_settings_without_its_packages() -> None:
    parts = build_parts(load_settings(engine={"name": "transformers", "transformers": {"preset": "paddleocr-vl"}}))
    assert parts.engine.name == "paddleocr-vl-1.6"
