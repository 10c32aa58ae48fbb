"""Bodies that become many times what they weigh: refused, or decoded in bounded memory, while others are answered."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.server import SERVE_FAKE_ENGINE, Server, running_server

SIZE = 20_000_000
MOST = 10
"""Times its size that a body may take. The worst is text with one emoji: the body, a copy of it while it is parsed, and
four bytes a character are 6.0. The allocator's peak differs from run to run: 3.7 to 6.7 were seen. Values that are
parsed all at once take 30, escapes that are decoded all at once 78.
"""
MAX_LOOP_S = 0.5
"""Processor time of the event loop for a body. All others wait for less than that, on a machine that is not busy."""
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


def loop_s(server: Server) -> float:
    """Processor time that the thread of the event loop has taken."""
    stat = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/stat").read_text(encoding="utf-8")
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="only Linux reports a peak of memory")
def test_no_body_takes_many_times_its_size_or_keeps_others_waiting(server: Server) -> None:
    wrong = []
    for name, (path, kind, body, code) in bodies().items():
        Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")  # resets the peak
        before, loop_before_s = memory(server, "VmRSS"), loop_s(server)
        answer = httpx.post(
            f"{server.url}{path}", content=body, headers={"content-type": kind}, timeout=TIME_S, trust_env=False
        )
        taken = (memory(server, "VmHWM") - before) / len(body)
        blocked_s = loop_s(server) - loop_before_s
        if f'"{code}"' not in answer.text or taken >= MOST or blocked_s >= MAX_LOOP_S:
            wrong.append((name, answer.text[:200], taken, blocked_s))
    assert not wrong
