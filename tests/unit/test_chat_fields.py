"""Fields of chat requests by which one client could spend what belongs to others, and what images are charged."""

from __future__ import annotations

import io
from typing import Any

import orjson
import pytest
from PIL import Image

from inkgate.api.chat.fields import RULES, Treatment
from inkgate.api.chat.images import UNKNOWN_MODEL, image_limits, size_of
from inkgate.api.chat.request import apply_changes, parse_chat
from inkgate.engines.vlm.presets import find_preset
from inkgate.errors import InputRejected
from inkgate.settings import load_settings
from inkgate_client.types import Size
from support.api_client import b64

PADDLE = find_preset("paddleocr-vl").largest_images
MOST = 1605632
"""From PaddleOCR-VL: the fields that its client sends for spotting."""
FORBIDDEN: dict[str, object] = {
    "media_io_kwargs": {"video": {"num_frames": 10_000}},
    "priority": -1,
    "request_id": "of another",
    "session_id": "of another",
    "kv_transfer_params": {"remote_host": "10.0.0.1"},
    "ec_transfer_params": {"remote_host": "10.0.0.1"},
    "logits_processors": ["os.system"],
    "use_beam_search": True,
    "prompt_logprobs": 0,
    "echo": True,
    "chat_template": "{% for _ in range(10 ** 9) %}{% endfor %}",
    "top_logprobs": -1,
    "logprob_token_ids": [1] * 21,
    "stop": ["a"] * 1025,
    "stop_token_ids": [1] * 1025,
    "bad_words": ["a"] * 1025,
    "allowed_token_ids": [1] * 1025,
    "logit_bias": {str(n): 1 for n in range(1025)},
    "repetition_detection": {"max_pattern_size": 1025, "min_count": 2},
    "structured_outputs": {"regex": "a" * 65_536},
    "response_format": {"type": "json_schema", "json_schema": {"schema": {"enum": ["a" * 65_536]}}},
    "guided_json": "a" * 65_536,
    "guided_regex": "a" * 65_536,
    "guided_choice": ["a" * 65_536],
    "guided_grammar": "a" * 65_536,
}
"""A value that isn't passed on, of each field that may have one."""


def request(url: str = "", /, **fields: Any) -> bytes:  # noqa: ANN401 - what becomes JSON
    content = [{"type": "image_url", "image_url": {"url": url}}] if url else "x" * 400
    return orjson.dumps({"model": "m", "messages": [{"role": "user", "content": content}], **fields})


def image_url(width: int, height: int, kind: str = "PNG", **saved: object) -> str:
    data = io.BytesIO()
    Image.new("L" if kind == "JPEG" else "RGB", (width, height)).save(data, kind, **saved)
    return f"data:image/{kind.lower()};base64,{b64(data.getvalue())}"


def sent(body: bytes) -> dict[str, Any]:
    """The request as a model server gets it."""
    asked = parse_chat(body, PADDLE)
    return dict(orjson.loads(apply_changes(asked).body if asked.changes.ignored else asked.body))


def test_no_forbidden_field_is_passed_on() -> None:
    stopped = {Treatment.DROPPED, Treatment.REFUSED, Treatment.BOUNDED}
    assert [name for name in FORBIDDEN if name not in RULES or RULES[name].treatment not in stopped] == []


def test_every_field_is_dropped_or_refused_as_its_rule_says() -> None:
    wrong: list[object] = []
    for name, rule in RULES.items():
        if rule.treatment not in {Treatment.DROPPED, Treatment.REFUSED, Treatment.BOUNDED} or name == "uuid":
            continue
        body = request(temperature=0, **{name: FORBIDDEN[name]})
        try:
            asked = parse_chat(body)
        except InputRejected as error:
            if rule.treatment is Treatment.DROPPED or name not in error.detail:
                wrong.append((name, error.detail))
            continue
        if asked.changes.ignored != (name,) or sent(body) != orjson.loads(request(temperature=0)):
            wrong.append((name, asked.changes))
    assert wrong == []
    assert set(FORBIDDEN) < set(RULES)


def test_modest_values_are_passed_on_as_they_came() -> None:
    fields: dict[str, Any] = {
        "top_logprobs": 20,
        "logprobs": True,
        "stop": ["a"] * 16,
        "guided_regex": "---\\nprimary_language: (?:[a-z]{2}|null)\\n",
        "response_format": {"type": "json_object"},
        "repetition_detection": {"max_pattern_size": 100, "min_count": 3},
        "vllm_xargs": {"no_repeat_ngram_size": 100},
        "chat_template_kwargs": {"enable_thinking": False},
        "cache_salt": "mine",
        "priority": 0,
        "echo": False,
        "prompt_logprobs": None,
        "mm_processor_kwargs": {"min_pixels": 112896, "max_pixels": MOST},
        "a_new_field": {"size": 1},
    }
    assert parse_chat(request(**fields), PADDLE).changes.ignored == ()


@pytest.mark.parametrize(
    ("holder", "inner"), [("chat_template_kwargs", "chat_template"), ("vllm_xargs", "kv_transfer_params")]
)
def test_fields_within_fields_are_refused(holder: str, inner: str) -> None:
    with pytest.raises(InputRejected, match=f"{holder}.{inner}"):
        parse_chat(request(**{holder: {inner: "x"}}))


@pytest.mark.parametrize(
    ("asked", "passed"),
    [
        ({"min_pixels": 112896, "max_pixels": 10**9}, {"min_pixels": 112896, "max_pixels": MOST}),
        ({"min_pixels": 10**9}, {"min_pixels": MOST}),
        ({"max_pixels": 1003520, "do_resize": False}, {"max_pixels": 1003520}),
        ({"max_pixels": "1000000000", "min_pixels": 1e9}, None),
        ({"max_pixels": -1, "min_pixels": True}, None),
        ({"size": {"longest_edge": 10**9}, "images_kwargs": {"max_pixels": 10**9}}, None),
        ([1], None),
    ],
)
def test_images_are_no_larger_than_the_preset_has_them(asked: object, passed: object) -> None:
    body = request(mm_processor_kwargs=asked)
    assert parse_chat(body, PADDLE).changes.ignored == ("mm_processor_kwargs",)
    assert sent(body) == {**orjson.loads(request()), **({"mm_processor_kwargs": passed} if passed else {})}


def test_an_image_has_no_name_in_the_cache_of_all_clients() -> None:
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + 3000 * "A"}}
    messages = [{"role": "user", "content": [part | {"uuid": "shared"}, {"type": "text", "text": "uuid"}]}]
    body = orjson.dumps({"messages": messages})
    assert parse_chat(body).changes.ignored == ("uuid",)
    assert sent(body) == {"messages": [{"role": "user", "content": [part, {"type": "text", "text": "uuid"}]}]}


def test_limits_are_those_of_the_preset_and_the_setting() -> None:
    def of(name: str, **vllm: object) -> int:
        return image_limits(load_settings(None, engine={"name": name, "vllm": vllm}).engine).max_pixels

    assert [of("paddleocr-vl"), of("vllm", preset="hunyuanocr-1.5")] == [MOST, 2048 * 2048]
    assert of("paddleocr-vl", max_pixels=200_000) == 200_000
    assert of("ppocr") == UNKNOWN_MODEL.max_pixels


def test_images_are_charged_by_their_size_and_not_by_their_bytes() -> None:
    def tokens(url: str, **kwargs: object) -> int:
        fields: dict[str, Any] = {"mm_processor_kwargs": kwargs} if kwargs else {}
        return parse_chat(request(url, max_tokens=0, **fields), PADDLE).tokens

    large = image_url(5000, 5000)  # 75 MB of pixels in some 80 kB
    assert tokens(large, max_pixels=10**9) == tokens(large, max_pixels=MOST) == 45**2
    assert tokens(large, max_pixels=1003520) == 35**2
    assert tokens(image_url(280, 28), min_pixels=1, max_pixels=MOST) == 10
    assert tokens(image_url(280, 28), min_pixels=10**9) == 2160  # sides are rounded up
    # Without a limit in the request it is the server's own.
    assert tokens(large) == 63**2
    assert tokens("data:image/png;base64,AAAA") == tokens("file") == 4096
    many = [{"type": "image_url", "image_url": {"url": image_url(28, 28)}}] * 40
    body = orjson.dumps({"messages": [{"content": many}], "max_tokens": 0, "mm_processor_kwargs": {"min_pixels": 1}})
    assert parse_chat(body, PADDLE).tokens == 16 + 24 * 4096


def test_the_size_of_an_image_is_found_in_its_beginning() -> None:
    exif = Image.Exif()
    exif[0x010E] = "x" * 30_000
    urls = [
        image_url(1234, 567),
        image_url(1234, 567, "JPEG"),
        image_url(1234, 567, "JPEG", progressive=True, exif=exif),
        image_url(1234, 567, "WEBP"),
        image_url(1234, 567, "WEBP", lossless=True),
        image_url(1234, 567, "WEBP", exif=exif),
    ]
    assert [size_of(url.encode()) for url in urls] == [Size(1234, 567)] * len(urls)
    assert size_of(urls[1].replace("/", "\\/").encode()) == Size(1234, 567)
    assert size_of(memoryview(urls[0].encode())[len("data:") :]) == Size(1234, 567)
    for url in (
        "",
        "data:,",
        "data:image/png;base64,",
        "data:image/jpeg;base64,/9j/AAA",
        "data:x;base64,A",
        urls[0][:40],
    ):
        assert size_of(url.encode()) is None


def test_what_answers_and_prompts_may_take_is_charged_however_it_is_written() -> None:
    def tokens(**fields: Any) -> int:  # noqa: ANN401 - what becomes JSON
        return parse_chat(request(**fields)).answer_tokens

    assert [tokens(max_tokens=50, n=4), tokens(max_tokens="50", n="4"), tokens(max_tokens=50.0, n=4.0)] == [200] * 3
    assert tokens(max_tokens=50, min_tokens=70) == 70
    assert tokens(min_tokens=7000) == 7000
    assert tokens(ignore_eos=True) == 16_384
    assert tokens(ignore_eos=True, max_tokens=9) == 9
    assert tokens(max_tokens=1e300) > 10**15
    with pytest.raises(InputRejected, match="17 completions"):
        tokens(n="17")
    plain = parse_chat(request()).prompt_tokens
    document = {"text": "x" * 4000}
    for name, value in (("tools", [document]), ("documents", [document]), ("chat_template_kwargs", document)):
        assert 1000 < parse_chat(orjson.dumps(orjson.loads(request()) | {name: value})).prompt_tokens - plain < 1020
