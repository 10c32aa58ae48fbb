"""Invalid and hostile requests: each gets a response that names the error, and the service is as before."""

from __future__ import annotations

import base64
import io
import random
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from PIL import Image, ImageDraw

from support import images, pdf_writer
from support.scenario import Footprint
from support.server import SERVE_FAKE_ENGINE, Server, clean_environment, running_server
from support.waiting import until

DATA = Path(__file__).parents[1] / "data" / "images"
TIME_S = 60.0
TRIMMED_S = 4.0
LOOKS = 16


def page() -> Image.Image:
    image = Image.new("RGB", (320, 120), "white")
    ImageDraw.Draw(image).text((20, 40), "Hello", fill="black", font_size=40)
    return image


def scrambled(data: bytes, seed: int) -> bytes:
    rng = random.Random(seed)
    changed = bytearray(data)
    for _ in range(20):
        changed[rng.randrange(len(changed) // 20, len(changed))] = rng.randrange(256)
    return bytes(changed)


def hostile_files() -> dict[str, bytes]:
    """Name to bytes: broken, mislabelled, empty, too large, too thin, encrypted, and files that lie."""
    whole = {
        name: images.encoded(page(), name.upper()) for name in ("jpeg", "png", "webp", "tiff", "bmp", "gif", "avif")
    } | {"heic": images.heic(page()), "pdf": pdf_writer.text_pdf(pdf_writer.paragraph())}
    files = {f"half.{name}": data[: len(data) // 2] for name, data in whole.items()}
    files |= {f"scrambled.{name}": scrambled(data, 1) for name, data in whole.items()}
    files |= {f"head.{name}": data[:16] for name, data in whole.items()}
    files |= {
        "empty.png": b"",
        "zeros.jpg": bytes(5000),
        "a picture.png": b"This is a letter, not a picture.\n" * 20,
        "page.html": b"<!doctype html><title>Not found</title>",
        "office.docx": b"PK\x03\x04" + bytes(200),
        "a png in truth.jpg": whole["png"],
        "encrypted.pdf": pdf_writer.encrypted_pdf(),
        "missing page.pdf": pdf_writer.pdf_with_missing_page(),
        "no pages.pdf": pdf_writer.text_pdf(),
        "header only.pdf": b"%PDF-1.7\n%%EOF\n",
        "bomb.png": images.png_header(60_000, 60_000),
        "dot.png": images.encoded(Image.new("RGB", (1, 1)), "PNG"),
        "thread.png": images.encoded(Image.new("L", (30_000, 30), 255), "PNG"),
        "needle.png": images.encoded(Image.new("L", (30, 30_000), 255), "PNG"),
    }
    return files | {path.name: path.read_bytes() for path in sorted(DATA.iterdir())}


def children(server: Server) -> list[str]:
    tasks = Path(f"/proc/{server.process.pid}/task").iterdir()
    return [child for task in tasks for child in (task / "children").read_text().split()]


def settled_memory_mb(server: Server) -> float:
    """Resident memory once freed memory was given back, which takes up to TRIMMED_S."""
    looks = []
    for _ in range(LOOKS):
        time.sleep(TRIMMED_S / LOOKS)
        looks.append(Footprint.of(server).memory_mb)
    return min(looks)


def check(answer: httpx.Response) -> None:
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["status"] == answer.status_code
        assert all(problem[field] for field in ("code", "title", "detail", "remedy", "request_id"))
        assert "Traceback" not in answer.text
        assert "/src/" not in answer.text
    else:
        assert answer.json()["status"] in {"complete", "partial"}


def test_every_hostile_file_is_answered_and_nothing_is_left_behind(server: Server, temporary: Path) -> None:
    files = hostile_files()
    with httpx.Client(base_url=server.url, timeout=TIME_S, trust_env=False) as client:

        def send_all() -> dict[str, int]:
            statuses = {}
            for name, data in files.items():
                form = client.post("/ocr", files={"file": (name, data)})
                check(form)
                statuses[name] = form.status_code
            return statuses

        statuses = send_all()
        warm, workers = settled_memory_mb(server), len(children(server))
        assert send_all() == statuses
        encoded = {"image": base64.b64encode(files["half.png"]).decode()}
        assert client.post("/ocr", json=encoded).status_code == statuses["half.png"]
        after = client.post("/ocr", files={"file": images.encoded(page(), "PNG")}).json()
    assert "Hello" in after["text"]
    until(lambda: Footprint.of(server).memory_mb < warm + 60, lambda: f"memory back from {Footprint.of(server)}")
    assert len(children(server)) <= workers
    assert list(temporary.iterdir()) == []
    assert server.process.poll() is None
    refused = {name for name, status in statuses.items() if status >= 400}
    assert {"empty.png", "bomb.png", "a picture.png", "encrypted.pdf", "no pages.pdf", "half.png"} <= refused
    assert not refused & {"a png in truth.jpg", "dot.png", "thread.png", "needle.png"}


WRONG_BODIES = (
    (b"{", "application/json", "json_invalid"),
    (b'{"image": 5}', "application/json", "options_invalid"),
    (b'{"image": "%%%"}', "application/json", "base64_invalid"),
    (b"{}", "application/json", "file_missing"),
    (b"[1, 2]", "application/json", "request_malformed"),
    (b"\xff\xfe", "application/json", "json_invalid"),
    (b"hello", "text/csv", "media_type_unsupported"),
    (b"--x\r\nnonsense", "multipart/form-data; boundary=x", "request_malformed"),
    (b"x", "multipart/form-data", "request_malformed"),
)


def test_a_wrong_body_is_told_what_is_wrong(server: Server) -> None:
    wrong = []
    for body, content_type, code in WRONG_BODIES:
        headers = {"Content-Type": content_type}
        answer = httpx.post(f"{server.url}/ocr", content=body, headers=headers, timeout=TIME_S, trust_env=False)
        check(answer)
        if answer.json()["code"] != code:
            wrong.append((body, content_type, code, answer.text))
    assert not wrong


def exchange(url: str, sent: bytes) -> bytes:
    """What comes back on a connection that sends this and then nothing more."""
    parts = urlsplit(url)
    answer = io.BytesIO()
    with socket.create_connection((parts.hostname, parts.port), timeout=TIME_S) as connection:
        connection.sendall(sent)
        while received := connection.recv(65536):
            answer.write(received)
            if b"\r\n\r\n" in answer.getvalue() and b"request_id" in answer.getvalue():
                break
    return answer.getvalue()


def test_a_body_larger_than_allowed_is_refused_before_it_is_sent(server: Server) -> None:
    head = (
        b"POST /ocr HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 90000000\r\n\r\n"
    )
    answer = exchange(server.url, head)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"body_too_large"' in answer


def test_a_body_that_stalls_is_given_up(server: Server) -> None:
    head = b"POST /ocr HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n"
    answer = exchange(server.url, head + b'{"image": "')
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"body_timeout"' in answer


@pytest.mark.parametrize("examples", [8, pytest.param(50, marks=pytest.mark.endurance)])
def test_the_api_keeps_to_its_own_description(examples: int, tmp_path: Path) -> None:
    """schemathesis makes requests up from the OpenAPI description; what reads the pages is of no matter to it.

    Two checks are left out: a schema can't say "a valid image", so data that fits it may be refused; and values are
    accepted that real clients send though they don't fit (`include_blocks=0`).
    """
    paths = {"PYTHONPATH": str(Path(__file__).parents[1])}
    with running_server(program=SERVE_FAKE_ENGINE, environment=paths) as server:
        command = [
            *(sys.executable, "-m", "schemathesis.cli"),
            "run",
            f"{server.url}/openapi.json",
            "--workers",
            "1",
            "--max-examples",
            str(examples),
            "--seed",
            "1",
        ]
        command += ["--exclude-checks", "positive_data_acceptance,negative_data_rejection", "--no-color"]
        command += ["--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all"]
        done = subprocess.run(
            command, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=400, check=False
        )
    assert done.returncode == 0, done.stdout[-6000:]
    assert " passed" in done.stdout
