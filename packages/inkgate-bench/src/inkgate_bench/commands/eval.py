"""`inkgate eval`: accuracy on documents whose content is known."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from inkgate.cli.commands import MEASURING, Command
from inkgate.cli.configure import ConfigOption, EngineOption, configured
from inkgate.cli.messages import check_outputs, failure, misuse, writing_outputs
from inkgate.cli.readers import JobsOption
from inkgate.errors import EngineFailed, InputRejected
from inkgate.settings import PdfText, Settings
from inkgate_bench.accuracy.manifest import BenchmarkFormat

if TYPE_CHECKING:
    from inkgate_bench.accuracy.manifest import Entry
    from inkgate_bench.accuracy.peers import Peer
    from inkgate_bench.accuracy.public_benchmarks import PublicBenchmark, PublicResult
    from inkgate_bench.accuracy.report import Evaluation
    from inkgate_bench.accuracy.results import AccuracyReport
    from inkgate_bench.accuracy.searchable import SearchableCheck

PIPED_WIDTH = 320
"""Columns of tables that go to a file or a pipe, which have no width of their own."""


@dataclass(frozen=True, slots=True)
class _EvaluationPlan:
    """What to measure, and how."""

    manifest: Path
    entries: tuple[Entry, ...]
    peers: tuple[Peer, ...]
    pdf_text: PdfText | None
    parallel: int
    structure: bool


def evaluate(  # noqa: PLR0913  # one parameter for each option of the command
    manifest: Annotated[
        Path, typer.Argument(metavar="MANIFEST", help="JSON list of documents and their ground truth.")
    ],
    *,
    form: Annotated[
        BenchmarkFormat,
        typer.Option(
            "--format",
            metavar="|".join(BenchmarkFormat),
            help="Form of MANIFEST; omnidocbench: its JSON; omni-parse-bench: its folder.",
        ),
    ] = BenchmarkFormat.MANIFEST,
    engine: EngineOption = None,
    against: Annotated[
        str, typer.Option(metavar="NAMES", help="Other tools to measure as well, e.g. rapidocr,tesseract.")
    ] = "",
    folder: Annotated[
        str | None, typer.Option("--filter", metavar="FOLDER", help="Only documents in this folder.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N documents.")] = None,
    pdf_text: Annotated[
        PdfText | None,
        typer.Option(metavar="auto|never|always", help="Whether to use the text that PDF pages contain."),
    ] = None,
    jobs: JobsOption = 1,
    overlay: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON object that changes entries of MANIFEST, by path.")
    ] = None,
    text_only: Annotated[
        bool, typer.Option("--text-only", help="Read without Markdown, where no unit tests need it: faster.")
    ] = False,
    searchable_pdf: Annotated[
        bool,
        typer.Option(
            "--searchable-pdf",
            help="Instead, make searchable PDFs, and check that pdftotext finds all text and images are unchanged.",
        ),
    ] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all figures to this file.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with charts and tables.")] = None,
    before: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON of an earlier run: print the differences by group.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Measure accuracy: characters, words, reading order, tables, fields, lines lost, unit tests, confidence, speed.

    The documents in MANIFEST are read as `inkgate read` and the server read them. The page "Accuracy" of the
    documentation describes manifests and figures. The exit status is 0 if everything could be measured.
    """
    settings = configured(config, {"engine": {"name": engine}})
    check_outputs(*(file for file in (json, html) if file))
    from inkgate_bench.accuracy.manifest import ManifestInvalid, load_manifest, select
    from inkgate_bench.accuracy.peers import PeerMissing, find_peer
    from inkgate_bench.accuracy.report import as_json, tables
    from inkgate_bench.accuracy.results import read_report
    from inkgate_bench.accuracy.scores import check_truths

    if form is not BenchmarkFormat.MANIFEST and (searchable_pdf or html or before or overlay or folder or text_only):
        raise misuse("With --format, only --against, --engine, --limit, --pdf-text, --jobs and --json can be given.")
    try:
        peers = tuple(find_peer(name.strip()) for name in against.split(",") if name.strip())
        if form is not BenchmarkFormat.MANIFEST:
            plan = _EvaluationPlan(manifest, (), peers, pdf_text, jobs, structure=True)
            _run_benchmark(settings, form, plan, limit, json)
            return
        earlier = None if before is None else _earlier(before)
        entries = select(load_manifest(manifest, overlay), folder, limit)
        if not entries:
            raise misuse(f"{manifest} lists no document in {folder!r}.")
        check_truths(entries)
        plan = _EvaluationPlan(manifest, entries, peers, pdf_text, jobs, structure=not text_only)
        if searchable_pdf:
            _check_searchable(settings, plan)
            return
        evaluation = anyio.run(_measure, settings, plan)
    except (ManifestInvalid, PeerMissing, InputRejected) as error:
        raise misuse(str(error)) from error
    except EngineFailed as error:
        raise failure(str(error)) from error
    print_wide(tables(evaluation))
    document = as_json(evaluation)
    _write(json, document)
    if html is not None or earlier is not None:
        _show(read_report(document), html, earlier, str(before))


def _write(file: Path | None, document: Mapping[str, object]) -> None:
    if file is not None:
        with writing_outputs():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(jsonlib.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")


def _run_benchmark(
    settings: Settings, form: BenchmarkFormat, plan: _EvaluationPlan, limit: int | None, json: Path | None
) -> None:
    """Measures on a public benchmark, prints its figures and writes them."""
    from inkgate_bench.accuracy.public_benchmarks import benchmark_json, benchmark_tables, load_benchmark

    benchmark = load_benchmark(form, plan.manifest)
    plan = replace(plan, entries=benchmark.entries[:limit])
    results = anyio.run(_measure_benchmark, settings, plan, benchmark)
    print_wide(benchmark_tables(results))
    _write(json, benchmark_json(form, results))


async def _measure_benchmark(
    settings: Settings, plan: _EvaluationPlan, benchmark: PublicBenchmark
) -> list[PublicResult]:
    from inkgate.bootstrap import running
    from inkgate.documents.open import Opener
    from inkgate_bench.accuracy.candidates import OwnReader
    from inkgate_bench.accuracy.peers import running_peer
    from inkgate_bench.accuracy.public_benchmarks import measure

    with _progress() as bars:
        async with running(settings) as service:
            name = service.engine.name
            own = OwnReader(name, service.gateway, plan.pdf_text, plan.parallel, structure=True)
            advance = _Bars(bars, plan.entries, [name, *(peer.name for peer in plan.peers)])
            results = [await measure(benchmark, own, plan.entries, advance)]
        for peer in plan.peers:
            async with Opener(settings.limits, settings.pdf) as opener, running_peer(peer, opener) as tool:
                results.append(await measure(benchmark, tool, plan.entries, advance))
    return results


def _check_searchable(settings: Settings, plan: _EvaluationPlan) -> None:
    """Prints what of searchable PDFs is right; exits with status 1 if something is not."""
    from inkgate_bench.accuracy.searchable import ToolMissing, searchable_table

    try:
        checks = anyio.run(_searchable, settings, plan)
    except ToolMissing as error:
        raise misuse(str(error)) from error
    print_wide(searchable_table(checks))
    if any(check.missing or check.images_kept is False for check in checks):
        raise failure("Some text is not found, or images were changed.")


async def _searchable(settings: Settings, plan: _EvaluationPlan) -> list[SearchableCheck]:
    from inkgate.bootstrap import running
    from inkgate_bench.accuracy.searchable import check_searchable

    with _progress() as bars:
        async with running(settings) as service:
            advance = _Bars(bars, plan.entries, [service.engine.name])
            return await check_searchable(
                service.gateway, plan.entries, plan.pdf_text, lambda entry: advance(service.engine.name, entry)
            )


def _show(report: AccuracyReport, html: Path | None, earlier: AccuracyReport | None, name: str) -> None:
    """Write the page, and print the differences from the earlier run."""
    from inkgate_bench.accuracy.difference import NotComparable, compare_evaluations, difference_tables
    from inkgate_bench.reports.files import write_report

    if html is not None:
        with writing_outputs():
            write_report(report, html)
    if earlier is not None:
        try:
            print_wide(difference_tables(compare_evaluations(earlier, report, (name, "this run"))))
        except NotComparable as error:
            raise failure(str(error)) from error


def _earlier(file: Path) -> AccuracyReport:
    from inkgate_bench.accuracy.results import AccuracyReport
    from inkgate_bench.reports.files import ReportUnreadable, load_report

    try:
        report = load_report(file)
    except ReportUnreadable as error:
        raise misuse(str(error)) from error
    if not isinstance(report, AccuracyReport):
        raise misuse(f"{file} is not a report of `inkgate eval`.")
    return report


def print_wide(content: RenderableType) -> None:
    """Print tables as wide as the terminal; in a file or a pipe, wide enough for one line a row."""
    console = Console()
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    console.print(content)


async def _measure(settings: Settings, plan: _EvaluationPlan) -> Evaluation:
    from inkgate.bootstrap import running
    from inkgate.documents.open import Opener
    from inkgate_bench.accuracy.candidates import OwnReader
    from inkgate_bench.accuracy.peers import running_peer
    from inkgate_bench.accuracy.report import Evaluation
    from inkgate_bench.accuracy.scores import probe, score

    with _progress() as bars:
        async with running(settings) as service:
            own = OwnReader(
                service.engine.name,
                service.gateway,
                plan.pdf_text,
                plan.parallel,
                structure=plan.structure,
                finder=service.fields,
            )
            advance = _Bars(bars, plan.entries, [own.name, *(peer.name for peer in plan.peers)])
            scores = [await score(own, plan.entries, advance)]
            probes = await probe(own, plan.entries, advance)
        # The engine is stopped before others are measured: its threads and memory would be in their way.
        for peer in plan.peers:
            async with Opener(settings.limits, settings.pdf) as opener, running_peer(peer, opener) as tool:
                scores.append(await score(tool, plan.entries, advance))
    return Evaluation(plan.manifest.name, tuple(scores), probes)


def _progress() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


class _Bars:
    """A progress bar for each candidate. The first, inkgate, also reads the documents without ground truth."""

    def __init__(self, bars: Progress, entries: Sequence[Entry], names: Sequence[str]) -> None:
        self._bars = bars
        scored = sum(entry.scored for entry in entries)
        self._tasks = {
            name: bars.add_task(name, total=len(entries) if number == 0 else scored)
            for number, name in enumerate(names)
        }

    def __call__(self, name: str, entry: Entry) -> None:
        """Advances the candidate's bar by one document."""
        self._bars.advance(self._tasks[name])
        self._bars.update(self._tasks[name], description=f"{name} {entry.path}")


COMMAND: Final = Command(evaluate, MEASURING, explain=True)
