"""The service as a user starts it, uses it with curl, and stops it."""

from __future__ import annotations

import base64
import json
import re
import shlex
import signal
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from support.server import Server, inkgate, inkgate_here, running_server
from support.waiting import until

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "report.png"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def curl(*arguments: str) -> str:
    return subprocess.run(
        ["curl", "--silent", "--show-error", *arguments], cwd=ROOT, capture_output=True, check=True, timeout=90
    ).stdout.decode()


@pytest.mark.smoke
def test_the_readme_tells_the_truth(server: Server) -> None:
    command = re.search(r"^curl (.*)$", README, re.MULTILINE)
    promised = re.search(r"```markdown\n(.*?)```", README, re.DOTALL)
    assert command is not None
    assert promised is not None
    arguments = shlex.split(command.group(1))
    assert arguments[-1] == "http://127.0.0.1:7860/ocr"
    answer = curl(*arguments[:-1], f"{server.url}/ocr")
    rows = promised.group(1).splitlines()
    assert len(rows) > 3
    assert [line for line in answer.splitlines() if line.startswith("|")] == rows
    assert "technical assistance" in answer


def test_a_form_from_curl_is_answered_with_the_text(server: Server) -> None:
    answer = json.loads(curl("-F", f"file=@{SAMPLE}", f"{server.url}/ocr"))
    assert "Gaza & West Bank" in answer["text"]
    assert answer["text"].strip() == answer["pages"][0]["text"].strip()


def test_json_from_curl_is_answered_with_the_text(server: Server, tmp_path: Path) -> None:
    body = tmp_path / "body.json"
    body.write_text(json.dumps({"image": base64.b64encode(SAMPLE.read_bytes()).decode()}))
    answer = json.loads(curl("-H", "Content-Type: application/json", "--data-binary", f"@{body}", f"{server.url}/ocr"))
    assert "Gaza & West Bank" in answer["text"]


@pytest.mark.smoke
def test_metrics_count_what_was_asked_on_a_port_of_their_own(server: Server) -> None:
    assert httpx.URL(server.metrics_url).port != httpx.URL(server.url).port
    httpx.get(f"{server.url}/livez", trust_env=False, timeout=60)
    text = httpx.get(server.metrics_url, trust_env=False, timeout=60).text
    assert re.search(r'^http_requests_total\{endpoint="/livez",method="GET",status="200"\} [1-9]', text, re.MULTILINE)
    assert 'inkgate_limit{queue="pages"} ' in text


@pytest.mark.smoke
def test_probes_and_documentation_answer(server: Server) -> None:
    for path in ("/livez", "/readyz", "/health", "/docs", "/openapi.json"):
        assert httpx.get(server.url + path, timeout=30).status_code == 200, path


def test_on_sigterm_what_has_begun_is_answered_and_what_is_new_is_sent_elsewhere() -> None:
    image = SAMPLE.read_bytes()
    with running_server() as server, socket.create_connection(_address(server), timeout=60) as client:
        head = (
            b"POST /ocr?format=text HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
            b"Expect: 100-continue\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        )
        body = (
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n' + image + b"\r\n--b--\r\n"
        )
        client.sendall(head % len(body))
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")  # the body is asked for: the request has begun
        client.sendall(body[: len(body) // 2])
        server.process.send_signal(signal.SIGTERM)
        _wait_until_draining(server)
        refused = httpx.post(f"{server.url}/ocr", files={"file": image}, timeout=60)
        assert refused.status_code == 503
        assert int(refused.headers["Retry-After"]) >= 1
        assert refused.json()["code"] == "draining"
        client.sendall(body[len(body) // 2 :])
        answer = b"".join(iter(lambda: client.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"Gaza & West Bank" in answer
        assert server.process.wait(60) == 0


def _address(server: Server) -> tuple[str, int]:
    url = httpx.URL(server.url)
    assert url.port is not None
    return url.host, url.port


def _wait_until_draining(server: Server) -> None:
    until(lambda: httpx.get(f"{server.url}/readyz", timeout=30).status_code == 503, server.log_text)


def test_with_a_key_the_service_may_be_open_to_the_network_and_asks_for_it() -> None:
    made = inkgate("key").stdout.decode()
    key = re.search(r"^    (inkgate_\S+)$", made, re.MULTILINE)
    hashes = re.search(r"INKGATE_AUTH__KEY_HASHES='(.*)'", made)
    assert key is not None
    assert hashes is not None
    assert key.group(1) not in hashes.group(1)
    variables = {"INKGATE_AUTH__KEY_HASHES": hashes.group(1)}
    with running_server("--host", "0.0.0.0", environment=variables) as server:  # noqa: S104 - what is tested
        url = server.url.replace("0.0.0.0", "127.0.0.1") + "/ocr"  # noqa: S104 - as the server says it
        refused = httpx.post(url, json={"image": ""}, timeout=60)
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
        let_in = httpx.post(url, json={"image": ""}, headers={"Authorization": f"Bearer {key.group(1)}"}, timeout=60)
        assert let_in.status_code == 400
        assert server.stop() == 0
        assert key.group(1) not in server.log_text()


def test_without_a_key_the_network_is_refused() -> None:
    ended = inkgate_here("serve", "--host", "0.0.0.0", "--port", "0")  # noqa: S104 - what is tested
    assert ended.returncode == 2
    assert b"no API key is set" in ended.stderr
    assert b"inkgate key" in ended.stderr


def test_a_taken_port_is_told_in_one_line(server: Server) -> None:
    ended = inkgate("serve", "--port", str(_address(server)[1]))
    assert ended.returncode == 1
    assert ended.stderr.decode().count("\n") == 1
    assert b"Address already in use" in ended.stderr


REFUSED_SETTINGS = (
    ("INKGATE_SEVER__PORT", "1", "Did you mean INKGATE_SERVER__PORT?"),
    ("INKGATE_LIMITS__MAX_PAGE", "1", "Did you mean INKGATE_LIMITS__MAX_PAGES?"),
    ("INKGATE_SERVER__DRAIN_S", "long", "server.drain_s = 'long' (from INKGATE_SERVER__DRAIN_S)"),
    ("INKGATE_ENGINE__NAME", "pp", "Unknown engine 'pp'"),
    ("INKGATE_CONFIG", "nowhere.toml", "There is no settings file nowhere.toml"),
)


def test_settings_that_make_no_sense_are_refused_with_status_2() -> None:
    wrong = []
    for variable, value, message in REFUSED_SETTINGS:
        ended = inkgate_here("serve", "--port", "0", environment={variable: value})
        said = ended.stderr.decode()
        if ended.returncode != 2 or message not in said or "Traceback" in said:
            wrong.append((variable, ended.returncode, said))
    assert not wrong
