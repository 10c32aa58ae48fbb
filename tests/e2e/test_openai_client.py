"""OpenAI's own client, with nothing changed but its address."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

import pytest
from openai import APIError, APIStatusError, AsyncOpenAI, BadRequestError, NotFoundError
from openai.types.chat import ChatCompletionMessageParam
from PIL import Image

from support.images import encoded
from support.server import Server
from support.stub_upstream import StubUpstream

pytestmark = pytest.mark.anyio

MODEL = "PaddleOCR-VL-1.6-0.9B"
URL = f"data:image/png;base64,{base64.b64encode(encoded(Image.new('RGB', (64, 48), 'white'), 'PNG')).decode()}"
MESSAGES: list[ChatCompletionMessageParam] = [
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL}}, {"type": "text", "text": "OCR:"}]}
]


@pytest.fixture
async def client(gateway: Server) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(api_key="any", base_url=f"{gateway.url}/v1", max_retries=0) as opened:
        yield opened


@pytest.mark.smoke
async def test_an_answer_in_one_piece(client: AsyncOpenAI, model_server: StubUpstream) -> None:
    extra = {"mm_processor_kwargs": {"min_pixels": 112896}}
    answer = await client.chat.completions.create(model=MODEL, messages=MESSAGES, temperature=0, extra_body=extra)
    assert answer.choices[0].message.content == "Invoice number 20417"
    assert answer.choices[0].finish_reason == "stop"
    assert model_server.seen[-1]["mm_processor_kwargs"] == {"min_pixels": 112896}


async def test_an_answer_in_pieces(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model=MODEL, messages=MESSAGES, stream=True, stream_options={"include_usage": True}
    )
    pieces = [chunk async for chunk in stream]
    told = [piece.choices[0] for piece in pieces if piece.choices]
    assert "".join(choice.delta.content or "" for choice in told) == "Invoice number 20417"
    assert told[-1].finish_reason == "stop"
    assert pieces[-1].usage is not None


async def test_closing_a_stream_frees_the_model_server(client: AsyncOpenAI, model_server: StubUpstream) -> None:
    left = model_server.left
    stream = await client.chat.completions.create(model=MODEL, messages=MESSAGES, stream=True, user="endless")
    seen = ""
    async for chunk in stream:
        seen += chunk.choices[0].delta.content or ""
        if len(seen) > 100:
            break
    await stream.close()
    await model_server.wait_until_left(left + 1)
    assert seen.startswith("Invoice number 20417")


async def test_errors_of_the_model_server_are_the_clients_own_exceptions(client: AsyncOpenAI) -> None:
    with pytest.raises(BadRequestError, match=r"length is 4096 tokens .* and `max_tokens` is 9000") as caught:
        await client.chat.completions.create(model=MODEL, messages=MESSAGES, user="wrong")
    assert (caught.value.code, "Secret" in str(caught.value)) == ("context_length_exceeded", False)


async def test_errors_of_the_gateway_have_their_code_and_request_id(client: AsyncOpenAI, server: Server) -> None:
    async with AsyncOpenAI(api_key="any", base_url=f"{server.url}/v1", max_retries=0) as without_models:
        with pytest.raises(APIError) as caught:
            await without_models.chat.completions.create(model=MODEL, messages=MESSAGES)
    assert caught.value.code == "chat_unavailable"
    with pytest.raises(NotFoundError):
        await client.completions.create(model=MODEL, prompt="none of ours")


async def test_a_stream_that_breaks_off_is_no_whole_answer(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model=MODEL, messages=MESSAGES, stream=True, user="broken")
    seen = ""
    with pytest.raises(APIError, match="broke off"):
        async for chunk in stream:
            seen += chunk.choices[0].delta.content or ""
    assert seen == "Invoice number 20417"


async def test_the_engines_name_and_the_models_list(client: AsyncOpenAI, model_server: StubUpstream) -> None:
    names = [model.id async for model in client.models.list()]
    answer = await client.chat.completions.create(model="paddleocr-vl-1.6", messages=MESSAGES)
    assert (names[0], "paddleocr-vl-1.6" in names) == (MODEL, True)
    assert answer.choices[0].message.content == "Invoice number 20417"
    assert model_server.seen[-1]["model"] == MODEL


async def test_what_took_too_long_is_not_sent_again(gateway: Server, model_server: StubUpstream) -> None:
    """The client repeats a 408 twice on its own, unless the answer has `x-should-retry: false`."""
    before = len(model_server.seen)
    async with AsyncOpenAI(api_key="any", base_url=f"{gateway.url}/v1", max_retries=2) as client:
        with pytest.raises(APIStatusError) as late:
            await client.chat.completions.create(
                model=MODEL, messages=MESSAGES, user="silent", extra_headers={"X-Inkgate-Timeout": "0.5"}
            )
    assert (late.value.status_code, late.value.code) == (408, "deadline_exceeded")
    assert len(model_server.seen) - before == 1
