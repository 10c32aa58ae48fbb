"""Media in chat requests: a model server is never handed a URL to fetch."""

from __future__ import annotations

import base64
import json
from typing import Any

import orjson
import pytest

from inkgate.api.chat.request import MAX_REMOTE, remote_media
from inkgate.errors import InputRejected
from inkgate.settings import FetchSettings
from inkgate.storage.fetch import Check, Fetcher
from support.api_client import png
from support.chat_api import JSON, PATH, relay
from support.chat_requests import JPEG_URL, RECORDED
from support.stub_upstream import image_of

pytestmark = pytest.mark.anyio

METADATA = "http://169.254.169.254/latest/meta-data/"
PUBLIC = "https://files.example/page.png"
PARTS: list[Any] = [
    {"type": "image_url", "image_url": {"url": METADATA}},
    {"type": "image_url", "image_url": METADATA},
    {"image_url": METADATA},
    {"image_url": {"url": "HtTp://169.254.169.254/"}},
    {"type": "image_url", "image_url": {"url": "http:169.254.169.254"}},
    {"type": "image_url", "image_url": {"url": " \thttp://169.254.169.254/"}},
    {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
    {"type": "image_url", "image_url": {"url": "File:///etc/passwd"}},
    {"type": "image_url", "image_url": {"url": " data:image/png;base64,aGk="}},
    {"type": "input_image", "image_url": METADATA},
    {"type": "video_url", "video_url": {"url": METADATA}},
    {"type": "audio_url", "audio_url": {"url": METADATA}},
    {"type": "input_audio", "input_audio": {"data": METADATA, "format": "wav"}},
    {"type": "file", "file": {"file_data": METADATA}},
    {"type": "text", "text": "x", "uuid": "1", "image_url": METADATA},
    {"type": "of tomorrow", "source": {"list": [{"deeper": [METADATA]}]}},
    {"type": "tool_result", "content": [{"type": "image_url", "image_url": {"url": METADATA}}]},
]


def request(*parts: object) -> bytes:
    content = [{"type": "text", "text": "Note: http://169.254.169.254/ is a text"}, *parts]
    return orjson.dumps({"model": "stub-model", "messages": [{"role": "user", "content": content}], "max_tokens": 7})


class LocalFetcher(Fetcher):
    """Has its files at hand."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(FetchSettings(enabled=True), 1000)
        self.asked: list[str] = []
        self._files = files

    async def fetch(self, url: str, check: Check | None = None, if_match: str = "") -> bytes:
        self.asked.append(url)
        if url not in self._files:
            raise InputRejected("url_unreachable", "It is not here.")
        return self._files[url]


async def test_no_url_goes_up_while_nothing_may_be_fetched() -> None:
    wrong = []
    async with relay() as (api, stub):
        for part in PARTS:
            answer = await api.client.post(PATH, content=request(part), headers=JSON)
            if (answer.status_code, answer.json().get("error", {}).get("code")) != (403, "url_forbidden"):
                wrong.append((part, answer.text))
    assert not wrong
    assert stub.seen == []


async def test_an_escaped_url_is_seen_and_one_behind_a_large_image_too() -> None:
    large = "data:image/png;base64," + 5000 * "A"
    hidden = b'{"messages":[{"content":[{"image_url":"%s"},{"\\u0069mage_url":"\\u0068ttp://10.0.0.1/"}]}]}'
    async with relay() as (api, stub):
        answer = await api.client.post(PATH, content=hidden % large.encode(), headers=JSON)
    assert (answer.status_code, stub.seen) == (403, [])


@pytest.mark.parametrize("url", [METADATA, "http://localhost:8001/metrics", "file:///etc/passwd", "http://[::1]/"])
async def test_where_fetching_is_allowed_only_public_addresses_are(url: str) -> None:
    part = {"type": "image_url", "image_url": {"url": url}}
    async with relay(fetch={"enabled": True}) as (api, stub):
        answer = await api.client.post(PATH, content=request(part), headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"], stub.seen) == (403, "url_forbidden", [])


async def test_what_may_be_fetched_is_fetched_here_and_goes_up_in_the_request() -> None:
    image = png(64, 48)
    shelf = LocalFetcher({PUBLIC: image})
    part = {"type": "image_url", "image_url": {"url": PUBLIC, "detail": "high"}}
    async with relay(fetcher=shelf) as (api, stub):
        answer = await api.client.post(PATH, content=request(part, {"image_url": JPEG_URL}), headers=JSON)
        assert answer.status_code == 200
    ((asked,), (before, sent, other)) = stub.seen, stub.seen[0]["messages"][0]["content"]
    assert shelf.asked == [PUBLIC]
    assert base64.b64decode(sent["image_url"]["url"].partition(";base64,")[2]) == image
    assert sent["image_url"]["detail"] == "high"
    assert (before["text"], other) == ("Note: http://169.254.169.254/ is a text", {"image_url": JPEG_URL})
    assert asked["max_tokens"] == 7


async def test_a_file_that_was_uploaded_is_read_by_its_signed_url() -> None:
    async with relay() as (api, stub):
        uploaded = await api.client.post("/v1/files", files={"file": ("a.png", png(64, 48))})
        signed = await api.client.get(f"/v1/files/{uploaded.json()['id']}/url")
        part = {"type": "image_url", "image_url": {"url": signed.json()["url"]}}
        answer = await api.client.post(PATH, content=request(part), headers=JSON)
    assert answer.status_code == 200
    assert image_of(stub.seen[0]).shape == (48, 64, 3)


async def test_urls_are_bounded_in_number_and_in_size() -> None:
    part = {"type": "image_url", "image_url": {"url": PUBLIC}}
    shelf = LocalFetcher({PUBLIC: bytes(4000)})
    async with relay(fetcher=shelf, limits={"max_body_mb": 0.02}) as (api, stub):
        many = await api.client.post(PATH, content=request(*[part] * (MAX_REMOTE + 1)), headers=JSON)
        large = await api.client.post(PATH, content=request(*[part] * 5), headers=JSON)
    assert (many.status_code, many.json()["error"]["code"]) == (422, "options_invalid")
    assert (large.status_code, large.json()["error"]["code"]) == (413, "body_too_large")
    assert (len(shelf.asked), stub.seen) == (4, [])


def test_what_clients_send_points_at_nothing_outside() -> None:
    for body in RECORDED.values():
        assert not list(remote_media(json.loads(body)["messages"]))
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert not list(remote_media([{"content": deep}, {"content": "http://a/"}, {"content": ["http://a/"]}, 3]))
