"""What a load test sends: files, and how each protocol puts them into a request."""

from __future__ import annotations

import base64
import json
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.pages import LoadPage, load_pages
from inkgate_bench.load.protocols import ServiceResponse, protocol_of
from inkgate_bench.load.samples import RequestOutcome
from inkgate_bench.load.target import ProtocolName, Target
from support.api_client import pdf, png, tiff

PAGE = LoadPage('a "quoted" page.png', png(), "image/png", 1)


def test_images_and_documents_of_a_folder_are_found_by_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "scan").write_bytes(pdf(3))
    (tmp_path / "a.tiff").write_bytes(tiff(2))
    (tmp_path / "c.png").write_bytes(png())
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    (tmp_path / "truth.json").write_text("[]", encoding="utf-8")
    (tmp_path / "empty.png").write_bytes(b"")
    found = load_pages(tmp_path)
    assert [(page.name, page.media_type, page.pages) for page in found] == [
        ("a.tiff", "image/tiff", 2),
        ("b/scan", "application/pdf", 3),
        ("broken.pdf", "application/pdf", None),
        ("c.png", "image/png", 1),
    ]
    assert load_pages(tmp_path / "c.png") == (LoadPage("c.png", png(), "image/png", 1),)


def test_nothing_to_send_is_told(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text("[]", encoding="utf-8")
    for source in (tmp_path, tmp_path / "truth.json"):
        with pytest.raises(LoadImpossible, match="image or PDF"):
            load_pages(source)
    with pytest.raises(LoadImpossible, match="no file or folder"):
        load_pages(tmp_path / "gone")


def test_inkgates_form_has_the_file_and_its_name() -> None:
    body = protocol_of(Target("", ProtocolName.OCR)).body(PAGE)
    message = message_from_bytes(f"Content-Type: {body.content_type}\r\n\r\n".encode() + body.content)
    parts = message.get_payload()
    assert isinstance(parts, list)
    [part] = parts
    assert isinstance(part, Message)
    assert part.get_payload(decode=True) == png()
    assert part.get_content_type() == "image/png"
    assert part.get_param("name", header="content-disposition") == "file"
    assert part.get_filename() == "a %22quoted%22 page.png"


def test_inkgates_form_names_the_task_where_one_is_asked_for() -> None:
    body = protocol_of(Target("", ProtocolName.OCR, task="parse")).body(PAGE)
    message = message_from_bytes(f"Content-Type: {body.content_type}\r\n\r\n".encode() + body.content)
    task, file = (part for part in message.walk() if part is not message)
    assert (task.get_param("name", header="content-disposition"), task.get_payload()) == ("task", "parse")
    assert file.get_payload(decode=True) == png()


def test_simple_and_chat_requests_have_the_page_in_base64() -> None:
    simple = json.loads(protocol_of(Target("", ProtocolName.SIMPLE)).body(PAGE).content)
    assert base64.b64decode(simple["image"]) == png()
    target = Target("", ProtocolName.CHAT, model="reader", prompt="Read:", max_tokens=7)
    chat = json.loads(protocol_of(target).body(PAGE).content)
    assert (chat["model"], chat["max_tokens"], chat["stream"]) == ("reader", 7, True)
    image, words = chat["messages"][0]["content"]
    assert base64.b64decode(image["image_url"]["url"].removeprefix("data:image/png;base64,")) == png()
    assert words["text"] == "Read:"


def test_chat_takes_no_pdf() -> None:
    with pytest.raises(LoadImpossible, match="is a PDF"):
        protocol_of(Target("", ProtocolName.CHAT)).body(LoadPage("a.pdf", pdf(1), "application/pdf", 1))


@pytest.mark.parametrize(
    ("protocol", "status", "body", "outcome", "kind"),
    [
        (ProtocolName.OCR, 200, {"pages": [{"error": None}]}, RequestOutcome.ANSWERED, ""),
        (
            ProtocolName.OCR,
            200,
            {"pages": [{"error": {"code": "page_broken"}}]},
            RequestOutcome.FAILED,
            "200 partial page_broken",
        ),
        (ProtocolName.OCR, 408, {"code": "deadline_exceeded"}, RequestOutcome.TIMED_OUT, "408 deadline_exceeded"),
        (ProtocolName.OCR, 504, {"code": "service_timeout"}, RequestOutcome.TIMED_OUT, "504 service_timeout"),
        (ProtocolName.OCR, 200, {"pages": []}, RequestOutcome.FAILED, "200 partial"),
        (ProtocolName.OCR, 200, {"text": "x"}, RequestOutcome.FAILED, "200 unexpected body for protocol ocr"),
        (ProtocolName.OCR, 302, {}, RequestOutcome.FAILED, "302"),
        (ProtocolName.SIMPLE, 200, {"text": ""}, RequestOutcome.ANSWERED, ""),
        (ProtocolName.SIMPLE, 200, {"error": "no"}, RequestOutcome.FAILED, "200 error"),
        (ProtocolName.SIMPLE, 200, {"errorCode": 500, "code": "internal"}, RequestOutcome.FAILED, "200 error internal"),
        (ProtocolName.SIMPLE, 500, [], RequestOutcome.FAILED, "500"),
        (ProtocolName.CHAT, 200, {"choices": [{}]}, RequestOutcome.ANSWERED, ""),
        (ProtocolName.CHAT, 200, {"choices": []}, RequestOutcome.FAILED, "200 unexpected body for protocol chat"),
        (
            ProtocolName.CHAT,
            429,
            {"error": {"type": "rate_limit_error"}},
            RequestOutcome.REFUSED,
            "429 rate_limit_error",
        ),
        (ProtocolName.CHAT, 400, {"error": {"code": 400, "type": "Bad"}}, RequestOutcome.REJECTED, "400 Bad"),
    ],
)
def test_an_answer_is_worth_what_it_says(
    protocol: ProtocolName, status: int, body: object, outcome: RequestOutcome, kind: str
) -> None:
    verdict = protocol_of(Target("", protocol)).judge(ServiceResponse(status, {}, json.dumps(body).encode()))
    assert (verdict.outcome, verdict.kind) == (outcome, kind)


def test_pages_read_with_less_care_are_told() -> None:
    body = json.dumps({"pages": [{"degraded": []}, {"degraded": ["image"]}]}).encode()
    verdict = protocol_of(Target("", ProtocolName.OCR)).judge(ServiceResponse(200, {}, body))
    assert (verdict.degraded, verdict.pages) == (True, 2)
