"""Checks that every client gets its own document when several send the same one and one of them disconnects.

    python -m benchmarks.shared_reads --seconds 600 --json FILE

Runs `inkgate serve` with the embedded engine. In each round, two or three clients send the same PDF, an image of a
number unique to the round, and one disconnects at a random moment; several rounds run at once. Counts which number the
others got, and their errors.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
from PIL import Image, ImageDraw, ImageFont

from benchmarks.leak import ANSWER_S, free_port, running, until_answers

ROUNDS_AT_ONCE = 3
LEAVES_WITHIN_S = 0.5
STAGGER_S = 0.05
REPORT_S = 60.0
_APART = 97
"""Numbers are multiples of this, so that one misread digit never gives another round's number."""


def numbers() -> Iterator[str]:
    """Numbers of ten digits each, far apart."""
    for number in range(10**9 // _APART, 10**10 // _APART):
        yield str(number * 7919 % (9 * 10**9 // _APART) * _APART + 10**9)


def image_only(number: str) -> bytes:
    """A PDF with one page that shows `number` as an image, without text."""
    image = Image.new("RGB", (600, 200), "white")
    ImageDraw.Draw(image).text((40, 60), number, fill="black", font=ImageFont.load_default(72))
    file = io.BytesIO()
    image.save(file, "PDF", resolution=150)
    return file.getvalue()


class Soak:
    """Outcomes of the clients that stayed: `right`, `another's`, `misread`, or the code or status of an error."""

    def __init__(self, client: httpx.AsyncClient, seed: int) -> None:
        self.outcomes: Counter[str] = Counter()
        self.left = 0
        self.rounds = 0
        self._client = client
        self._random = random.Random(seed)
        self._numbers = numbers()
        self._sent: set[str] = set()

    async def until(self, end: float) -> None:
        """Runs consecutive rounds until the time `end`."""
        while time.monotonic() < end:
            number = next(self._numbers)
            self._sent.add(number)
            await self._round(number, image_only(number))
            self.rounds += 1

    async def _round(self, number: str, data: bytes) -> None:
        clients = [asyncio.ensure_future(self._ask(data)) for _ in range(self._random.randint(2, 3))]
        leaver = clients.pop(0 if self._random.random() < 0.8 else -1)
        await asyncio.sleep(self._random.random() * LEAVES_WITHIN_S)
        self.left += leaver.cancel()
        for outcome in await asyncio.gather(*clients):
            self.outcomes[self._judged(number, outcome)] += 1
        await asyncio.gather(leaver, return_exceptions=True)

    async def _ask(self, data: bytes) -> httpx.Response | httpx.HTTPError:
        await asyncio.sleep(self._random.random() * STAGGER_S)
        try:
            return await self._client.post("/ocr", files={"file": ("page.pdf", data)})
        except httpx.HTTPError as error:
            return error

    def _judged(self, number: str, outcome: httpx.Response | httpx.HTTPError) -> str:
        if isinstance(outcome, httpx.HTTPError):
            return type(outcome).__name__
        answer = outcome.json()
        errors = [str(page["error"]["code"]) for page in answer.get("pages", ()) if page.get("error")]
        if outcome.status_code != 200 or errors:
            return (errors or [str(answer.get("code", outcome.status_code))])[0]
        text = re.sub(r"\D", "", str(answer["text"]))
        if text == number:
            return "right"
        return "another's" if text in self._sent else "misread"


async def soak(url: str, seconds: float, seed: int) -> Soak:
    async with httpx.AsyncClient(base_url=url, timeout=ANSWER_S, trust_env=False) as client:
        found = Soak(client, seed)
        end = time.monotonic() + seconds
        rounds = [asyncio.ensure_future(found.until(end)) for _ in range(ROUNDS_AT_ONCE)]
        while pending := [task for task in rounds if not task.done()]:
            await asyncio.wait(pending, timeout=REPORT_S)
            print(found.rounds, "rounds,", found.left, "left,", dict(found.outcomes), file=sys.stderr, flush=True)
        await asyncio.gather(*rounds)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    port = free_port()
    with running(sys.executable, "-m", "inkgate", "serve", "--port", str(port)) as service:
        asyncio.run(until_answers(f"http://127.0.0.1:{port}"))
        found = asyncio.run(soak(f"http://127.0.0.1:{port}", arguments.seconds, arguments.seed))
        alive = service.poll() is None
    faults = {name: found.outcomes[name] for name in ("another's", "engine_unavailable", "page_broken")}
    summary = {"seconds": arguments.seconds, "rounds": found.rounds, "left": found.left, "service_alive": alive}
    summary |= {"stayed": sum(found.outcomes.values()), "outcomes": dict(found.outcomes)}
    print(json.dumps(summary, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(summary, indent=2))
    return 1 if any(faults.values()) or not alive else 0


if __name__ == "__main__":
    sys.exit(main())
