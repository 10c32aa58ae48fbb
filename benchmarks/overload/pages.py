"""The embedded engine under load: half to ten times its capacity, a long PDF beside single pages, a greedy tenant.

    python -m benchmarks.overload.pages --json FILE

An open loop on `POST /ocr`, without cache. Pages are drawn receipts and screens of three sizes. Loads run from the
smallest to the largest and back, and both runs of a load are combined, to compensate for a machine that slows down.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import aiohttp
from PIL import Image, ImageDraw, ImageFont

from benchmarks.figures import write_json
from benchmarks.overload import traffic
from benchmarks.overload.traffic import Protocol, Result, TimedRequest, poisson
from benchmarks.processes import free_port, inkgate_command, server
from inkgate.api.http.auth import hash_key

LOADS = (0.5, 1.0, 2.0, 5.0, 10.0)
SIZES = ((320, 200, 3), (480, 640, 8), (800, 1000, 14))
"""Width, height and number of lines of a page."""
WORDS = (
    *("invoice", "total", "amount", "paid", "cash", "change", "receipt", "number"),
    *("date", "table", "order", "tax", "item", "price", "thank", "you"),
)


@cache
def page(size: int, number: int) -> bytes:
    """A page of one of the sizes, as PNG."""
    width, height, lines = SIZES[size]
    rng = random.Random(size * 1000 + number)
    image = Image.new("RGB", (width, height), "white")
    canvas = ImageDraw.Draw(image)
    pitch = height / (lines + 1)
    for line in range(lines):
        text = " ".join(rng.choices(WORDS, k=2 + size * 2)) + f" {rng.randint(1, 9999)}"
        canvas.text((12, 8 + line * pitch), text, fill="black", font=ImageFont.load_default(min(26, pitch * 0.6)))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def pdf(pages: int) -> bytes:
    """A scanned PDF with that many pages."""
    images = [Image.open(io.BytesIO(page(1, number % 20))).convert("RGB") for number in range(pages)]
    out = io.BytesIO()
    images[0].save(out, "PDF", save_all=True, append_images=images[1:])
    return out.getvalue()


def draw_page(rng: random.Random, sizes: Sequence[int] = (0, 1, 2)) -> TimedRequest:
    """A page of one of the sizes, at random."""
    return TimedRequest(0.0, page(rng.choice(sizes), rng.randrange(20)))


def _form(ask: TimedRequest) -> tuple[object, dict[str, str]]:
    form = aiohttp.FormData()
    form.add_field("file", ask.body, filename="page.png")
    return form, {"X-API-Key": ask.tenant}


PAGES = Protocol("/ocr", _form, lambda body: b'"complete"' in body)
arrivals = partial(poisson, draw=draw_page)
offered = partial(traffic.offered, protocol=PAGES)
capacity_of = partial(traffic.closed, clients=4, draw=draw_page, protocol=PAGES)


@contextmanager
def service(tenants: Sequence[str] = ()) -> Iterator[str]:
    """inkgate with the embedded engine; `tenants`: its API keys."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    variables = {"INKGATE_CACHE__ENABLED": "false", "INKGATE_LOG__LEVEL": "warning"}
    if tenants:
        variables["INKGATE_AUTH__KEY_HASHES"] = json.dumps([hash_key(tenant) for tenant in tenants])
    with server(inkgate_command(port), f"{url}/readyz", variables):
        yield url


@dataclass(frozen=True)
class Options:
    """Times in seconds."""

    seconds: float
    deadline_s: float


async def load_curve(url: str, capacity: float, options: Options) -> list[dict[str, object]]:
    together: dict[float, Result] = {}
    for turn, load in enumerate((*LOADS, *reversed(LOADS))):
        asks = arrivals(load * capacity, options.seconds, seed=int(load * 100) + turn)
        result = await offered(url, asks, options.seconds, options.deadline_s)
        print(row_of(load, capacity, result), file=sys.stderr, flush=True)
        together[load] = together[load].followed_by(result) if load in together else result
        await asyncio.sleep(2)
    return [row_of(load, capacity, result) for load, result in together.items()]


def row_of(load: float, capacity: float, result: Result) -> dict[str, object]:
    return {
        "load": load,
        "offered": len(result.results),
        **{name: result.count(name) for name in ("good", "late", "refused", "failed")},
        "goodput_of_capacity": round(result.goodput / capacity, 3),
        "p50_s": _rounded(result.quantile(0.5, "good")),
        "p99_s": _rounded(result.quantile(0.99, "good")),
        "refusal_p50_ms": _rounded(result.quantile(0.5, "refused"), 1000),
        "refusal_p99_ms": _rounded(result.quantile(0.99, "refused"), 1000),
    }


async def beside_a_pdf(url: str, capacity: float, options: Options) -> dict[str, object]:
    """The p95 latency of small single pages, alone and while a PDF of 200 pages is read."""
    asks = arrivals(0.2 * capacity, options.seconds, seed=3, draw=partial(draw_page, sizes=(0, 1)))
    alone = await offered(url, asks, options.seconds, 60)
    form = aiohttp.FormData()
    form.add_field("file", pdf(200), filename="long.pdf")
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:
        reading = asyncio.create_task(_status(session, f"{url}/ocr", form))
        await asyncio.sleep(1)
        beside = await offered(url, asks, options.seconds, 60)
        still = not reading.done()
        status = await reading
    before, after = alone.quantile(0.95, "good"), beside.quantile(0.95, "good")
    return {
        "singles": len(asks),
        "p95_alone_s": _rounded(before),
        "p95_beside_s": _rounded(after),
        "ratio": None if not before or not after else round(after / before, 2),
        "all_good": beside.count("good") == len(asks),
        "pdf_outlasted_them": still,
        "pdf_status": status,
    }


async def _status(session: aiohttp.ClientSession, url: str, form: aiohttp.FormData) -> int:
    async with session.post(url, data=form) as response:
        await response.read()
        return response.status


async def greedy_tenant(url: str, capacity: float, options: Options) -> dict[str, object]:
    """The goodput of three tenants at a quarter of the capacity each, beside a fourth at one and ten times that."""
    share = capacity / 4
    goodput = []
    for factor in (1, 10):
        asks = [ask for n in range(3) for ask in arrivals(0.8 * share, options.seconds, 10 + n, f"modest-{n}")]
        asks += arrivals(0.8 * share * factor, options.seconds, 99, "greedy")
        result = await offered(url, sorted(asks, key=lambda ask: ask.at), options.seconds, options.deadline_s)
        modest = [each for each in result.results if each.ask.tenant != "greedy"]
        goodput.append(sum(each.outcome == "good" for each in modest))
        greedy = [each for each in result.results if each.ask.tenant == "greedy"]
        answers = {
            name: dict(Counter(each.status for each in of)) for name, of in (("modest", modest), ("greedy", greedy))
        }
        print(f"greedy x{factor}: {answers}", file=sys.stderr, flush=True)
        await asyncio.sleep(2)
    return {
        "modest_good_beside_modest": goodput[0],
        "modest_good_beside_greedy": goodput[1],
        "kept": round(goodput[1] / goodput[0], 3),
    }


def _rounded(value: float | None, factor: float = 1.0) -> float | None:
    return None if value is None else round(value * factor, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--deadline-s", type=float, default=10.0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    options = Options(arguments.seconds, arguments.deadline_s)
    with service() as url:
        asyncio.run(capacity_of(url, seconds=5))
        capacity = asyncio.run(capacity_of(url, seconds=options.seconds))
        print(f"capacity: {capacity:.2f} pages a second", file=sys.stderr, flush=True)
        found: dict[str, object] = {
            "capacity": capacity,
            "beside_a_pdf": asyncio.run(beside_a_pdf(url, capacity, options)),
        }
        found["curve"] = asyncio.run(load_curve(url, capacity, options))
    with service(("greedy", "modest-0", "modest-1", "modest-2")) as url:
        found["greedy_tenant"] = asyncio.run(greedy_tenant(url, capacity, options))
    print(json.dumps(found, indent=2))
    write_json(arguments.json, found)


if __name__ == "__main__":
    main()
