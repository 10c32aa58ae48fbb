"""`inkgate eval`: how well the engine reads documents whose content is known."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer
from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from inkgate.errors import EngineFailed, InputRejected, install_extra
from inkgate.settings import PdfText, Settings, load_settings

if TYPE_CHECKING:
    from inkgate.bench.accuracy.candidates import Candidate
    from inkgate.bench.accuracy.manifest import Entry
    from inkgate.bench.accuracy.report import Evaluation

FAILED = 1
MISUSE = 2
PIPED_WIDTH = 240
"""Columns of tables that go to a file or a pipe, which have no width of their own."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be measured, and how."""

    manifest: Path
    entries: tuple[Entry, ...]
    against: tuple[str, ...]
    pdf_text: PdfText | None
    parallel: int


def evaluate(  # noqa: PLR0913  # one parameter for each option of the command
    manifest: Annotated[Path, typer.Argument(help="A JSON list of documents and their ground truth.")],
    *,
    engine: Annotated[str | None, typer.Option(help="The engine to measure; else as the settings say.")] = None,
    against: Annotated[
        str, typer.Option(metavar="NAMES", help="Other tools to measure in the same run: rapidocr,tesseract.")
    ] = "",
    folder: Annotated[
        str | None, typer.Option("--filter", metavar="FOLDER", help="Only documents of this folder.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N documents.")] = None,
    pdf_text: Annotated[PdfText | None, typer.Option(help="Whether PDF pages are read from their own text.")] = None,
    parallel: Annotated[int, typer.Option(min=1, help="Documents that are read at once; other tools read one.")] = 1,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all figures there, too.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings, as a TOML file.")] = None,
) -> None:
    """Measure how well documents are read: error rate, F1, lines found, unit tests passed, pages per second.

    The documents of MANIFEST are read as `inkgate read` and the server read them. docs/guides/accuracy.md says what a
    manifest looks like and what the figures mean. The exit status is 0 when everything could be measured.
    """
    settings = _settings(config, engine)
    try:
        from inkgate.bench.accuracy.manifest import ManifestInvalid, load_manifest, select
        from inkgate.bench.accuracy.peers import PeerMissing
        from inkgate.bench.accuracy.report import as_json, tables
        from inkgate.bench.accuracy.run import check_truths
    except ModuleNotFoundError as error:
        raise _misuse(f"{error.name} is not installed: {install_extra('bench')}.") from error
    try:
        entries = select(load_manifest(manifest), folder, limit)
        if not entries:
            raise _misuse(f"{manifest} lists no document in {folder!r}.")
        check_truths(entries)
        names = tuple(name.strip() for name in against.split(",") if name.strip())
        evaluation = anyio.run(_measure, settings, _Plan(manifest, entries, names, pdf_text, parallel))
    except (ManifestInvalid, PeerMissing, InputRejected) as error:
        raise _misuse(str(error)) from error
    except EngineFailed as error:
        raise _told(str(error), FAILED) from error
    console = Console()
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    console.print(tables(evaluation))
    if json is not None:
        json.parent.mkdir(parents=True, exist_ok=True)
        json.write_text(jsonlib.dumps(as_json(evaluation), ensure_ascii=False, indent=1), encoding="utf-8")


def _settings(config: Path | None, engine: str | None) -> Settings:
    try:
        return load_settings(config) if engine is None else load_settings(config, engine={"name": engine})
    except FileNotFoundError as error:
        raise _misuse(f"There is no file {config}.") from error
    except (ValidationError, ValueError) as error:
        raise _misuse(str(error)) from error


def _misuse(message: str) -> typer.Exit:
    return _told(message, MISUSE)


def _told(message: str, status: int) -> typer.Exit:
    """Says what is wrong; the exit to raise."""
    Console(stderr=True).print(message, style="red", markup=False)
    return typer.Exit(status)


async def _measure(settings: Settings, plan: _Plan) -> Evaluation:
    from inkgate.bench.accuracy.candidates import OwnReader
    from inkgate.bench.accuracy.peers import peer
    from inkgate.bench.accuracy.report import Evaluation
    from inkgate.bench.accuracy.run import probe, score
    from inkgate.bootstrap import running
    from inkgate.documents.open import Opener

    async with AsyncExitStack() as stack:
        # A tool that is missing is told before the first document, not after an hour.
        opener = await stack.enter_async_context(Opener(settings.limits, settings.pdf)) if plan.against else None
        peers = [peer(name, opener) for name in plan.against if opener is not None]
        with _progress() as bars:
            async with running(settings) as service:
                own = OwnReader(service.engine.name, service.reader, plan.pdf_text, plan.parallel)
                advance = _Bars(bars, plan.entries, [own, *peers])
                scores = [await score(own, plan.entries, advance)]
                probes = await probe(own, plan.entries, advance)
            # The engine is stopped before others are measured: its threads and memory would be in their way.
            scores += [await score(other, plan.entries, advance) for other in peers]
    return Evaluation(plan.manifest.name, tuple(scores), probes)


def _progress() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


class _Bars:
    """One bar for each candidate. The first, inkgate, reads the documents without ground truth, too."""

    def __init__(self, bars: Progress, entries: Sequence[Entry], candidates: Sequence[Candidate]) -> None:
        self._bars = bars
        scored = sum(entry.scored for entry in entries)
        self._tasks = {
            candidate.name: bars.add_task(candidate.name, total=len(entries) if number == 0 else scored)
            for number, candidate in enumerate(candidates)
        }

    def __call__(self, name: str, entry: Entry) -> None:
        """Advances the candidate's bar by one document."""
        self._bars.advance(self._tasks[name])
        self._bars.update(self._tasks[name], description=f"{name} {entry.path}")
