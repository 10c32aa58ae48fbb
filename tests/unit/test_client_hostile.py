"""What services, proxies and websites that mean harm or are broken send to the client, and odd names of files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from inkgate.cli.inputs import InputDocument
from inkgate.cli.read_command import ReadTally
from inkgate.client import FileUnreadable, InkgateClient, ServiceError
from inkgate.types import DocumentResult, PageError, PageResult

PAGE: dict[str, Any] = {"index": 0, "width": 10, "height": 10}
SUMMARY = {"status": "failed", "name": "a", "mime_type": "b", "byte_count": 1, "page_count": 1, "engine": "e"}


def client(answer: httpx.Response, sent: list[httpx.Request] | None = None) -> InkgateClient:
    def respond(request: httpx.Request) -> httpx.Response:
        if sent is not None:
            sent.append(request)
        return answer

    return InkgateClient("http://inkgate.localhost", transport=httpx.MockTransport(respond))


def document(page: dict[str, Any]) -> httpx.Response:
    about = {"name": "a.png", "mime_type": "image/png", "byte_count": 1, "page_count": 1, "engine": "e", "notes": []}
    return httpx.Response(200, json={"schema_version": 1, **about, "pages": [page]})


@pytest.mark.parametrize("name", ["../../.profile", "/etc/passwd", "..", "a/b.png", "a\\b.png", "", "a\n.png", ".ssh"])
def test_the_name_of_an_image_leads_to_no_other_folder(name: str) -> None:
    image = {"name": name, "mime_type": "image/png", "width": 1, "height": 1, "base64": "AAAA"}
    block = {"type": "figure", "box": [0, 0, 1, 1], "lines": [], "text": "", "markdown": "", "image": image}
    assert client(document(PAGE | {"blocks": [block | {"image": image | {"name": "page-1-1.png"}}]})).read(b"x").pages
    with pytest.raises(ServiceError, match="unexpected form"):
        client(document(PAGE | {"blocks": [block]})).read(b"x")


def test_a_problem_of_any_form_is_a_service_error() -> None:
    codes: list[object] = [[], {}, 1, None]
    for code in codes:
        with pytest.raises(ServiceError, match=r"status 404|older inkgate"):
            client(httpx.Response(404, json={"code": code})).models()
    said = {**SUMMARY, "pages_answered": 0, "pages_failed": 1, "error": "disk full"}
    line = json.dumps(said, separators=(",", ":")).encode() + b"\n"
    stream = httpx.Response(200, headers={"X-Inkgate-Pages": "9" * 5000}, content=line)
    with client(stream).stream(b"x") as pages:
        assert pages.count is None
        with pytest.raises(ServiceError, match="disk full"):
            list(pages)


def test_an_error_code_of_a_later_service_is_a_problem_as_others(tmp_path: Path) -> None:
    tally, source = ReadTally(), InputDocument(tmp_path / "a.png", Path("a.png"))
    page = PageResult(0, 1, 1, error=PageError("of_the_future", "It rains.", "Wait."))
    tally.add(source, DocumentResult("a.png", "image/png", 1, 1, "e", (page,)))
    assert "page 1: The page could not be read. It rains. Wait. (of_the_future)" in tally.problems[0]


def test_a_file_whose_name_is_not_utf_8_is_sent(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.png")
    path.write_bytes(b"x")
    sent: list[httpx.Request] = []
    client(document(PAGE), sent).read(path)
    assert 'filename="caf\ufffd.png"'.encode() in sent[0].content


@pytest.mark.parametrize("url", ["http://user:sec/ret@127.0.0.1:9/", "http://user:sec@ret@127.0.0.1:9/", "http://[sec"])
def test_a_url_that_cannot_be_fetched_fails_alone_without_its_password(url: str) -> None:
    with client(document(PAGE)).read_many([url]) as outcomes:
        [outcome] = outcomes
    assert isinstance(outcome.error, FileUnreadable)
    assert "user:" not in str(outcome.error)
    assert "ret@" not in str(outcome.error)


def test_a_proxy_that_needs_another_package_fails_the_url_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(FileUnreadable, match="socks"):
        client(document(PAGE)).read("http://inkgate.localhost/a.png")
