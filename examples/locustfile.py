"""Load for `POST /ocr` by Locust (docs/guides/load-testing.md):

    pip install locust
    locust -f examples/locustfile.py --host http://127.0.0.1:7860 --headless -u 8 -r 8 -t 30s

Each user sends a page, waits for the response, and sends the next one: a closed loop. A refused user waits as long as
`Retry-After` says. A response with an unread page counts as failed, whatever its status.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import mimetypes
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from locust import FastHttpUser, events, task

SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pdf", ".png", ".tif", ".tiff", ".webp"})
BOUNDARY = "inkgate-page"


class Body(NamedTuple):
    """A prepared request body."""

    content: bytes
    content_type: str


class Verdict(NamedTuple):
    """`failure`: why a response counts as failed; empty for success. `pause_s`: before the user's next request."""

    failure: str
    pause_s: float


def bodies(folder: Path, form: str) -> list[Body]:
    """One body per document in `folder`, prepared once: encoding each request would count as the service's time."""
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES)
    if not files:
        raise FileNotFoundError(f"{folder} contains no images or PDFs.")
    return [_json(file) if form == "json" else _multipart(file) for file in files]


def _json(file: Path) -> Body:
    image = base64.b64encode(file.read_bytes()).decode()
    return Body(json.dumps({"image": image}).encode(), "application/json")


def _multipart(file: Path) -> Body:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    head = f'Content-Disposition: form-data; name="file"; filename="page"\r\nContent-Type: {kind}\r\n\r\n'
    content = b"--%b\r\n%b%b\r\n--%b--\r\n" % (BOUNDARY.encode(), head.encode(), file.read_bytes(), BOUNDARY.encode())
    return Body(content, f"multipart/form-data; boundary={BOUNDARY}")


def judge(status: int, headers: Mapping[str, str], content: bytes) -> Verdict:
    """Classifies a response. Shows the code of refusals: `503 service_full` is not a broken service."""
    try:
        answer = json.loads(content)
    except ValueError:
        return Verdict(f"{status} without JSON", 0.0)
    if status == 200:
        read = answer.get("status", "complete") == "complete"
        return Verdict("" if read else f"200 {answer['status']}", 0.0)
    return Verdict(f"{status} {answer.get('code', '')}".rstrip(), float(headers.get("Retry-After") or 0))


@events.init_command_line_parser.add_listener
def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds options to Locust; also settable by the environment: LOCUST_PAGES, LOCUST_FORM."""
    parser.add_argument(
        "--pages", env_var="LOCUST_PAGES", default=str(Path(__file__).parent), help="Folder of images and PDFs."
    )
    parser.add_argument("--form", env_var="LOCUST_FORM", default="json", choices=["json", "multipart"])


class Reader(FastHttpUser):
    """A client that sends one page after another. Users start at random pages."""

    network_timeout = 120.0
    pages: Iterator[Body] = iter(())
    form = ""
    pause_s = 0.0

    def on_start(self) -> None:
        """Prepares the requests, before measuring."""
        options = self.environment.parsed_options
        ready = bodies(Path(options.pages), options.form)
        first = random.randrange(len(ready))  # noqa: S311  # no secret
        self.pages = itertools.cycle(ready[first:] + ready[:first])
        self.form = options.form

    def wait_time(self) -> float:
        """The pause that the last response asked for: zero unless it was a refusal."""
        return self.pause_s

    @task
    def read(self) -> None:
        """Sends one page."""
        body = next(self.pages)
        headers = {"Content-Type": body.content_type, "Cache-Control": "no-store"}  # bypasses inkgate's cache
        name = f"/ocr {self.form}"
        with self.client.post("/ocr", data=body.content, headers=headers, name=name, catch_response=True) as answer:
            verdict = judge(answer.status_code, answer.headers or {}, answer.content or b"")
            self.pause_s = verdict.pause_s
            if verdict.failure:
                answer.failure(verdict.failure)
