"""What services, proxies and websites that mean harm or are broken send to the client, and odd names of files."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer

from inkgate.cli.inputs import InputDocument
from inkgate.cli.read import read as read_command
from inkgate.cli.read_command import ReadTally
from inkgate_client import FileUnreadable, InkgateClient, ServiceError, blocking_calls
from inkgate_client.types import DocumentResult, PageError, PageResult

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


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(302, headers={"location": "http://user:hunter2@elsewhere/ocr?token=hunter2"}),
        httpx.Response(401),
        httpx.Response(404),
        httpx.Response(500, text="<html>"),
        httpx.Response(200, text="<html>"),
    ],
)
def test_a_password_in_the_address_of_a_service_is_in_no_message(answer: httpx.Response) -> None:
    transport = httpx.MockTransport(lambda _: answer)
    with InkgateClient("http://user:hunter2@service", transport=transport) as service:
        with pytest.raises(ServiceError) as failed:
            service.read(b"page")
        with pytest.raises(ServiceError) as broken, service.stream(b"page") as pages:
            list(pages)
    for error in (failed, broken):
        assert "hunter2" not in str(error.value)
        assert "http://service" in str(error.value)


def test_a_password_is_in_no_message_about_a_service_that_is_gone() -> None:
    with InkgateClient("http://user:hunter2@127.0.0.1:1") as service, pytest.raises(ServiceError) as failed:
        service.engine()
    assert "http://127.0.0.1:1 can't be reached" in str(failed.value)


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


def test_another_file_of_the_same_size_is_not_sent_for_a_document_that_was_read(tmp_path: Path) -> None:
    scan = tmp_path / "scan.png"
    scan.write_bytes(b"a")
    read = client(document(PAGE)).read(scan)
    scan.write_bytes(b"b")
    with pytest.raises(FileUnreadable, match="was changed"):
        read.save(tmp_path / "scan.pdf")


def test_one_late_document_does_not_end_the_patience_with_a_busy_service() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if len(asked) == 1:
            raise httpx.ReadTimeout("late")
        return httpx.Response(503) if len(asked) == 2 else document(PAGE)

    asked: list[httpx.Request] = []
    service = InkgateClient("http://inkgate.localhost", transport=httpx.MockTransport(respond))
    with service.read_many([b"x", b"y"], concurrency=1) as outcomes:
        late, busy = outcomes
    assert late.error is not None
    assert busy.value is not None
    assert len(asked) == 3


def test_no_retry_after_is_too_large_to_wait_for() -> None:
    busy = client(httpx.Response(503, headers={"Retry-After": "9" * 400}))
    with pytest.raises(ServiceError) as refused:
        busy.models()
    assert refused.value.retry_after_s is not None
    assert refused.value.retry_after_s < threading.TIMEOUT_MAX


def test_a_website_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking_calls, "FETCH_S", -1.0)
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda *_: httpx.Response(200, content=b"x"))
    with pytest.raises(FileUnreadable, match="did not arrive within"):
        client(document(PAGE)).read("http://inkgate.localhost/a.png")


def test_what_failed_before_a_service_refuses_the_key_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"types": []})
        asked.append(request)
        return [document(PAGE), httpx.Response(415, text="no image"), httpx.Response(401)][len(asked) - 1]

    async def send(_: object, request: httpx.Request) -> httpx.Response:
        return respond(request)

    asked: list[httpx.Request] = []
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", send)
    files = [tmp_path / f"{name}.png" for name in "abc"]
    for file in files:
        file.write_bytes(b"x")
    with pytest.raises(typer.Exit) as ended:
        read_command(paths=[*map(str, files)], server=["http://inkgate.localhost"], jobs=1)
    said = capsys.readouterr().err
    assert ended.value.exit_code == 1
    assert "requires an API key" in said
    assert "1 document was read before" in said
    assert f"{files[1]}: " in said
