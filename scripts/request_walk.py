"""Prints the path of one upload through the package: each module that the request enters, in order of first entry.

    python scripts/request_walk.py [FILE] [--calls]

FILE is sent as a form to POST /ocr of a started service with the embedded engine, in this process. --calls lists each
call from one module into another as well. Calls of background tasks, and of logging and metrics, are left out.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

import anyio
import httpx

from inkgate.api.app import create_app
from inkgate.bootstrap import running
from inkgate.settings import load_settings

ROOT = Path(__file__).parents[1]
PACKAGE = str(ROOT / "src" / "inkgate") + "/"
BESIDE = ("telemetry/", "supervision.py", "settings/", "types.py", "errors.py", "concurrency.py")
"""Modules that many others use, and that a document does not pass: values, errors, telemetry."""


class Walk:
    """Notes calls from one module of the package into another."""

    def __init__(self) -> None:
        self.on = False
        self.entered: dict[str, None] = {}
        self.calls: Counter[tuple[str, str, str]] = Counter()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not self.on:
            return
        module = _module_of(frame)
        if not module or module.startswith(BESIDE):
            return
        caller = frame.f_back
        while caller is not None and not _module_of(caller):
            caller = caller.f_back
        origin = "" if caller is None else _module_of(caller)
        if origin != module:
            self.entered.setdefault(module)
            self.calls[
                origin or "event loop", module, frame.f_code.co_qualname if sys.version_info >= (3, 11) else ""
            ] += 1


def _module_of(frame: FrameType) -> str:
    name = frame.f_code.co_filename
    return name.removeprefix(PACKAGE) if name.startswith(PACKAGE) else ""


async def _send(file: Path, walk: Walk) -> None:
    settings = load_settings(None, engine={"ppocr": {"workers": 0}}, pdf={"warm_workers": 0})
    async with running(settings) as service:
        app = create_app(service, settings)
        transport = httpx.ASGITransport(app)
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport) as client:
            walk.on = True
            with file.open("rb") as data:
                answer = await client.post("http://localhost/ocr", files={"file": data}, timeout=120)
            walk.on = False
            answer.raise_for_status()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "examples" / "report.png")
    parser.add_argument("--calls", action="store_true")
    asked = parser.parse_args()
    walk = Walk()
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        anyio.run(_send, asked.file, walk)
    finally:
        sys.setprofile(None)
    for number, module in enumerate(walk.entered, 1):
        print(f"{number:3} {module}")
    if asked.calls:
        for (origin, module, name), count in walk.calls.items():
            print(f"{origin} -> {module} {name} x{count}")


if __name__ == "__main__":
    main()
