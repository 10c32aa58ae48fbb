"""Prints the path of one upload through the package: each module that the request enters, in order of first entry, and
the functions between the page loop and the engine.

    python scripts/request_walk.py [FILE] [--calls] [--check]

FILE is sent as a form to POST /ocr of a started service with the embedded engine, in this process. --calls lists each
call from one module into another as well. Calls of background tasks, and of logging and metrics, are left out. --check
prints only what is over the budget, and then ends with 1.
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
PACKAGES = tuple(f"{ROOT / folder}/" for folder in ("src/inkgate", "packages/inkgate-client/src/inkgate_client"))
BESIDE = ("telemetry/", "supervision.py", "settings/", "types.py", "errors.py", "concurrency.py")
"""Modules that many others use, and that a document does not pass: values, errors, telemetry."""
STEPS_OF_THE_ENGINE = ("engines/ppocr/", "layout/", "runtimes/", "text_direction.py")
"""What the engine and the layout analysis do with a page is not part of its way."""
MAX_MODULES = 55
"""Modules that an upload may enter without STEPS_OF_THE_ENGINE."""
MAX_FRAMES = 5
"""Functions between the page loop and the engine, without those of the cache."""


class Walk:
    """Notes calls from one module of the package into another.

    Attributes:
        between: the functions between the page loop (service/reader.py) and the engine, outermost first.
    """

    def __init__(self) -> None:
        self.on = False
        self.between: list[str] = []
        self.entered: dict[str, None] = {}
        self.calls: Counter[tuple[str, str, str]] = Counter()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not self.on:
            return
        module = _module_of(frame)
        if not module or module.startswith(BESIDE):
            return
        if module == "engines/ppocr/engine.py" and frame.f_code.co_name == "read" and not self.between:
            self.between = _between(frame)
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
    return next((name.removeprefix(package) for package in PACKAGES if name.startswith(package)), "")


def _between(engine: FrameType) -> list[str]:
    """The functions of the package that wait for this call of the engine, up to the page loop."""
    found: list[str] = []
    frame = engine.f_back
    while frame is not None and (module := _module_of(frame)) != "service/reader.py":
        if module and module != "serving/cache.py":
            found.insert(0, f"{module} {frame.f_code.co_name}")
        frame = frame.f_back
    return found


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
            walk.between.clear()  # the cache reads in a task of its own: the whole way is seen without it
            walk.on = True
            anew = {"Cache-Control": "no-cache"}
            with file.open("rb") as data:
                answer = await client.post("http://localhost/ocr", files={"file": data}, headers=anew, timeout=120)
            walk.on = False
            answer.raise_for_status()


def _over_budget(walk: Walk) -> int:
    """1, and what is over the budget is printed; 0 if nothing is."""
    own = [module for module in walk.entered if not module.startswith(STEPS_OF_THE_ENGINE)]
    told = []
    if len(own) > MAX_MODULES:
        told.append(f"An upload enters {len(own)} modules; at most {MAX_MODULES} are allowed: {', '.join(own)}.")
    if not 0 < len(walk.between) <= MAX_FRAMES:
        told.append(
            f"{len(walk.between)} functions are between the page loop and the engine; 1 to {MAX_FRAMES} are allowed: "
            f"{', '.join(walk.between)}."
        )
    print("\n".join(told), end="\n" if told else "")
    return 1 if told else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "examples" / "report.png")
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    walk = Walk()
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        anyio.run(_send, asked.file, walk)
    finally:
        sys.setprofile(None)
    if asked.check:
        sys.exit(_over_budget(walk))
    for number, module in enumerate(walk.entered, 1):
        print(f"{number:3} {module}")
    print("between the page loop and the engine:", ", ".join(walk.between))
    if asked.calls:
        for (origin, module, name), count in walk.calls.items():
            print(f"{origin} -> {module} {name} x{count}")


if __name__ == "__main__":
    main()
