"""Bodies that become many times what they weigh: refused, or decoded in bounded memory, while others are answered."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.server import SERVE_FAKE_ENGINE, Server, running_server

SIZE = 20_000_000
MOST = 6.5
"""Times its size that a body may take. The worst is text with one emoji: the body, a copy of it while it is parsed, and
four bytes a character are 6.0, to which the allocator adds a little (6.004 was seen)."""
TIME_S = 60.0
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=B"
TESTS = Path(__file__).parents[1]


def filled(unit: bytes) -> bytes:
    return unit * (SIZE // len(unit))


def part(name: str, value: bytes) -> bytes:
    return b'--B\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n--B--\r\n' % (name.encode(), value)


def bodies() -> dict[str, tuple[str, str, bytes, str]]:
    """Name to address, type, body, and the code of the answer."""
    values = b"[" + filled(b"{},") + b"1]"
    escapes = b"data:," + filled(b"%41")
    chat = b'{"messages":' + values + b"}"
    return {
        "values": ("/ocr", JSON, b'{"image":' + values + b"}", "body_too_complex"),
        "nested": ("/layout-parsing", JSON, b'{"file":' + filled(b"[") + b"}", "body_too_complex"),
        "chat": ("/v1/chat/completions", JSON, chat, "body_too_complex"),
        "pages in a form": ("/v1/ocr", MULTIPART, part("pages", values), "body_too_complex"),
        "pages as text": ("/ocr", JSON, b'{"image":"eHg=","pages":"' + filled(b"1-1900,") + b'1"}', "body_too_complex"),
        "fields of a form": ("/ocr", FORM, filled(b"&"), "request_malformed"),
        "escapes in a form": ("/ocr", FORM, b"image_data=" + filled(b"%41"), "type_unsupported"),
        "escapes in a part": ("/ocr", MULTIPART, part("file", escapes), "type_unsupported"),
        "escapes in JSON": ("/v1/ocr", JSON, b'{"document":{"image_url":"' + escapes + b'"}}', "type_unsupported"),
        "an emoji": ("/ocr", JSON, b'{"image":"' + filled(b"a") + "🙂".encode() + b'"}', "base64_invalid"),
        "an escaped emoji": (
            *("/v1/ocr", JSON, b'{"document":{"image_url":"' + filled(b"a") + rb'\ud83d\ude42"}}'),
            "base64_invalid",
        ),
        "an emoji in a form": ("/ocr", FORM, b"image_data=" + filled(b"a") + b"%F0%9F%99%82", "base64_invalid"),
        "an emoji in a part": ("/ocr", MULTIPART, part("file", filled(b"a") + "🙂".encode()), "type_unsupported"),
        "a long URL": ("/ocr", JSON, b'{"image":"http://a/' + filled(b"a") + b'"}', "url_forbidden"),
    }


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server(program=SERVE_FAKE_ENGINE, environment={"PYTHONPATH": str(TESTS)}) as running:
        yield running


def memory(server: Server, what: str) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    (kilobytes,) = re.findall(rf"{what}:\s+(\d+)", status)
    return int(kilobytes) * 1024


def answered_meanwhile(server: Server, done: threading.Event) -> int:
    """How often /livez was answered until `done`, each time before a supervisor would have lost its patience."""
    count = 0
    with httpx.Client(base_url=server.url, timeout=1.0, trust_env=False) as client:
        while not done.wait(0.02):
            client.get("/livez").raise_for_status()
            count += 1
    return count


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="peak memory is Linux's to tell")
def test_no_body_takes_many_times_its_size_or_keeps_others_waiting(server: Server) -> None:
    wrong = []
    for name, (path, kind, body, code) in bodies().items():
        Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")  # the peak begins anew
        before = memory(server, "VmRSS")
        done = threading.Event()
        failures: list[BaseException] = []

        def watch(done: threading.Event = done, failures: list[BaseException] = failures) -> None:
            try:
                answered_meanwhile(server, done)
            except httpx.HTTPError as error:
                failures.append(error)

        watcher = threading.Thread(target=watch)
        watcher.start()
        answer = httpx.post(
            f"{server.url}{path}", content=body, headers={"content-type": kind}, timeout=TIME_S, trust_env=False
        )
        done.set()
        watcher.join()
        taken = (memory(server, "VmHWM") - before) / len(body)
        if f'"{code}"' not in answer.text or taken >= MOST or failures:
            wrong.append((name, answer.text[:200], taken, failures))
    assert not wrong
