"""The chat protocol on the side of the model: requests to questions, pieces to events that the client understands."""

from __future__ import annotations

import base64

import numpy as np
import orjson
import pytest
from PIL import Image

from inkgate.engines.transformers.chat import (
    DONE,
    ChatPrompt,
    GeneratedPiece,
    GenerationEnd,
    TransformersSampling,
    chat_prompt_of,
    event_of,
    events_of,
)
from inkgate.engines.vlm.preset import Preset
from inkgate.engines.vlm.presets import find_preset
from inkgate.errors import InputRejected
from inkgate.model_servers.protocol import Delta, EventLines, GeneratedToken, TokenUsage, delta_of
from inkgate_client.types import TaskKind
from support.images import encoded

PICTURE = Image.new("RGB", (6, 4), (200, 30, 10))
URL = "data:image/png;base64," + base64.b64encode(encoded(PICTURE, "PNG")).decode()


def asked(preset: Preset, kind: TaskKind, **more: object) -> ChatPrompt:
    plan = preset.plan(kind)
    return chat_prompt_of(orjson.dumps({"messages": preset.messages(plan.prompt, URL), **plan.as_request(), **more}))


def test_a_preset_s_request_becomes_a_question_with_its_image() -> None:
    question = asked(find_preset("hunyuanocr-1.5"), TaskKind.TEXT)

    assert question.messages == [
        {"role": "system", "content": ""},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "提取图中的文字。"}]},
    ]
    (pixels,) = question.images
    assert np.array_equal(pixels, np.asarray(PICTURE))
    assert question.sampling == TransformersSampling(
        max_tokens=4096, temperature=0.0, top_p=1.0, top_k=-1, repetition_penalty=1.08, skip_special_tokens=True
    )


def test_limits_of_the_image_travel_with_the_tasks_that_have_their_own() -> None:
    preset = find_preset("paddleocr-vl")
    limits = preset.plan(TaskKind.SPOT).limits
    pixels = (limits.min_pixels, limits.max_pixels) if limits.sent else None
    assert asked(preset, TaskKind.SPOT).sampling.pixels == pixels
    kwargs = {"min_pixels": 784, "max_pixels": 200_704}
    assert asked(preset, TaskKind.TEXT, mm_processor_kwargs=kwargs).sampling.pixels == (784, 200_704)


def test_what_only_vllm_knows_of_is_left_out() -> None:
    more: dict[str, object] = {"repetition_detection": {"min_count": 200}, "vllm_xargs": {"no_repeat_ngram_size": 100}}
    preset = find_preset("paddleocr-vl")
    assert asked(preset, TaskKind.TEXT, **more).sampling == asked(preset, TaskKind.TEXT).sampling


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"messages": 3}',
        b'{"messages": [{"role": "user"}]}',
        b'{"messages": [{"role": "user", "content": 3}]}',
        b'{"messages": [{"role": "user", "content": [{"type": "audio"}]}]}',
        b'{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]}',
        b'{"messages": [{"role": "user", "content": "?"}], "temperature": "warm"}',
        *(
            orjson.dumps({"messages": [{"role": "u", "content": [{"type": "image_url", "image_url": {"url": url}}]}]})
            for url in (
                "https://example.com/a.png",
                "data:text/plain;base64,aaaa",
                "data:image/png;base64,*",
                "data:image/png;base64,",
                "data:image/png;base64,aaaa",
            )
        ),
    ],
)
def test_what_is_no_chat_with_images_is_refused(body: bytes) -> None:
    with pytest.raises(InputRejected) as refused:
        chat_prompt_of(body)
    assert refused.value.code == "upstream_rejected"


def test_events_are_understood_as_those_of_a_server() -> None:
    stream = (
        event_of(GeneratedPiece("Straße ", -0.25))
        + event_of(GeneratedPiece("20417", -0.5))
        + events_of(GenerationEnd("length", 12, 2))
    )
    lines = EventLines()
    payloads = list(lines.payloads(stream))

    assert [delta_of(payload) for payload in payloads] == [
        Delta("Straße ", (GeneratedToken("Straße ".encode(), -0.25),)),
        Delta("20417", (GeneratedToken(b"20417", -0.5),)),
        Delta(finish_reason="length"),
        Delta(usage=TokenUsage(12, 2)),
    ]
    assert lines.done
    assert stream.endswith(DONE)
