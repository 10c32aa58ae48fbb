"""`inkgate read`: documents in, text out, without a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkgate.cli.configure import (
    ConfigOption,
    EngineOption,
    VllmModelOption,
    VllmUrlOption,
    configured,
    engine_flags,
    logs_of_command,
)
from inkgate.cli.messages import INTERRUPTED, failure, misuse, say, start_errors
from inkgate.coordinates import Coordinates
from inkgate.settings import PdfText, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inkgate.cli.inputs import InputDocument
    from inkgate.cli.outputs import ExistingResults, Output, ToFolder
    from inkgate.cli.read_command import ReadCommand, ReadTally
    from inkgate.cli.read_remote import ServiceAddress
    from inkgate.documents.files import AnyFormat
    from inkgate.documents.pages import PageSelection

FORMATS = "text|markdown|json|hocr|alto|csv|mermaid|pdf|docx|xlsx"
SKIPPED_SHOWN = 10
AT_ONCE_BY_SERVICE = 4
SERVICE = "Read by a service"


ServerOption = Annotated[
    str,
    typer.Option(
        "--server",
        metavar="URL",
        help="Read by this running service, e.g. http://127.0.0.1:7860. Key: INKGATE_API_KEY or --key-file.",
        show_default=False,
        rich_help_panel=SERVICE,
    ),
]
KeyFileOption = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="A file with the service's API key.", rich_help_panel=SERVICE),
]


def read(  # noqa: PLR0913 - one parameter for each option of the command
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Images, PDFs, folders (with sub-folders), globs, or `-` for standard input.",
            show_default=False,
        ),
    ],
    *,
    format: Annotated[  # noqa: A002 - the option's name
        list[str] | None,
        typer.Option(
            "--format",
            "-f",
            metavar=FORMATS,
            help="Output formats, e.g. -f text,json. pdf is searchable. Default: text.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Write one file per document and format to this folder. Default: print.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="With -o: replace existing results. Default: refuse to start.")
    ] = False,
    skip_existing: Annotated[
        bool, typer.Option("--skip-existing", help="With -o: keep existing results and read the other documents.")
    ] = False,
    pages: Annotated[
        str | None,
        typer.Option(metavar="1-3,7", help="Pages to read, e.g. 1-3,7. The first page is 1. Default: all."),
    ] = None,
    coordinates: Annotated[
        Coordinates | None,
        typer.Option(
            help="Coordinates of the image as sent, or of the upright page. Default: sent for hOCR and ALTO, "
            "upright for JSON."
        ),
    ] = None,
    marks: Annotated[
        bool, typer.Option("--marks", help="Mark doubtful words and blocks in Markdown. Default: only what is no text.")
    ] = False,
    images: Annotated[
        bool,
        typer.Option(
            "--images",
            help="Keep figures as images: in JSON and Word, and beside Markdown files, in the folder NAME.images.",
        ),
    ] = False,
    pdf_text: Annotated[
        PdfText | None,
        typer.Option(help="Use the text layer of PDF pages; auto: only if it can be trusted."),
    ] = None,
    password: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Password of encrypted PDFs. Other users of this machine can see it while the command runs.",
            show_default=False,
        ),
    ] = "",
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j",
            min=1,
            max=64,
            metavar="N",
            help="How many documents to read at once. Default: 1, whose pages are read in parallel; with --server 4.",
        ),
    ] = None,
    server: ServerOption = "",
    key_file: KeyFileOption = None,
    engine: EngineOption = None,
    vllm_url: VllmUrlOption = None,
    vllm_model: VllmModelOption = None,
    config: ConfigOption = None,
) -> None:
    """Read documents and print or write their text.

    `inkgate read page.png` prints the text. `inkgate read scans/ -o out -f text,markdown` writes out/NAME.txt and
    out/NAME.md for every image and PDF in scans/ and its sub-folders. Several documents are printed below lines
    `==> NAME <==`; JSON is printed one document per line. With -o, the last line counts documents that were read,
    failed or skipped. Pages that a person should look at are named on standard error. In folders, files of other types
    are skipped; name a file to read it anyway.

    `inkgate read page.png --server http://127.0.0.1:7860` has a running service read it, with the same output.

    Exit status: 0 if all documents were read or skipped; 1 if a document or page failed; 2 if the arguments are wrong
    or a result exists and neither --overwrite nor --skip-existing is given.
    """
    flags = engine_flags(engine, vllm_url, vllm_model)
    reader = service_or_settings(server, key_file, config, flags, given=bool(engine or vllm_url or vllm_model))
    formats, selection = chosen_formats(format or ["text"], here=not server), _selection(pages)
    from inkgate.cli.inputs import collect
    from inkgate.cli.outputs import ToFolder, to_stdout
    from inkgate.cli.read_command import ReadCommand, ReadTally

    inputs = collect(paths)
    existing = _existing(overwrite=overwrite, skip_existing=skip_existing)
    to: Output
    if output is None or output == "-":
        to, sources = to_stdout(formats, len(inputs.sources)), inputs.sources
    else:
        to, sources = _into(Path(output), formats, inputs.sources, existing, images=images)
    to = replace(to, coordinates=coordinates, marks=marks)
    at_once = jobs or (AT_ONCE_BY_SERVICE if server else 1)
    command = ReadCommand(
        sources, to, formats, selection, pdf_text, password, images, min(at_once, max(len(sources), 1)), pages or ""
    )
    tally = _run(reader, command) if sources else ReadTally()
    say_skipped(inputs.skipped)
    if isinstance(to, ToFolder):
        say(summary(tally, to.folder, len(inputs.sources) - len(sources), len(inputs.skipped)))
    for note in tally.reviews:
        say(note)
    if tally.problems:
        count = len(tally.problems)
        what = "1 document or page" if count == 1 else f"{count} documents or pages"
        raise failure(f"{what} could not be read:", *tally.problems)


def _existing(*, overwrite: bool, skip_existing: bool) -> ExistingResults:
    from inkgate.cli.outputs import ExistingResults

    if overwrite and skip_existing:
        raise misuse("--overwrite and --skip-existing contradict each other. Give only one.")
    return ExistingResults.REPLACE if overwrite else ExistingResults.KEEP if skip_existing else ExistingResults.REFUSE


def _into(
    folder: Path,
    formats: tuple[AnyFormat, ...],
    sources: tuple[InputDocument, ...],
    existing: ExistingResults,
    *,
    images: bool,
) -> tuple[ToFolder, tuple[InputDocument, ...]]:
    """The output, and the documents that need to be read for it."""
    from inkgate.cli.outputs import to_folder

    to = to_folder(folder, formats, sources, existing, images=images)
    if not to.keep:
        return to, sources
    return to, tuple(source for source in sources if not all(path.exists() for path in to.files(source)))


def say_skipped(paths: Sequence[Path]) -> None:
    """Prints the files that were skipped in folders, at most ten of them."""
    for path in paths[:SKIPPED_SHOWN]:
        say(f"skipped {path}: not an image or PDF by its name. Name the file itself to read it anyway.")
    if len(paths) > SKIPPED_SHOWN:
        say(f"skipped {len(paths) - SKIPPED_SHOWN} more such files.")


def summary(tally: ReadTally, folder: Path, existing: int, unknown: int) -> str:
    """The last line of a run that wrote files: what was read, how long it took, what failed, what was skipped."""
    took_s = perf_counter() - tally.begun
    pages = f"{tally.pages} {'page' if tally.pages == 1 else 'pages'}"
    counts = {
        f"{tally.whole} read ({pages}) into {folder} in {took_s:.1f} s": True,
        f"{tally.partial} read in part": tally.partial > 0,
        f"{tally.failed} failed": True,
        f"{existing} skipped, having results": existing > 0,
        f"{unknown} skipped, not images or PDFs": unknown > 0,
    }
    return f"{'; '.join(text for text, told in counts.items() if told)}."


def service_or_settings(
    server: str, key_file: Path | None, config: Path | None, flags: dict[str, Any], *, given: bool
) -> Settings | ServiceAddress:
    """Who reads: the service, or an engine here. `flags`: of the engine. `given`: whether there were any. Raises
    typer.Exit.
    """
    if server and given:
        raise misuse("With --server, the service chooses the engine. Leave out --engine and --vllm-....")
    if key_file and not server:
        raise misuse("--key-file is for --server.")
    return _service(server, key_file) if server else configured(config, {"engine": flags})


def _service(url: str, key_file: Path | None) -> ServiceAddress:
    from inkgate.cli.doctor import is_address
    from inkgate.cli.read_remote import ServiceAddress

    if not is_address(url):
        raise misuse(f"{url!r} is not a URL. Use one such as http://127.0.0.1:7860.")
    return ServiceAddress.of(url, key_file)


def _run(reader: Settings | ServiceAddress, order: ReadCommand) -> ReadTally:
    """Reads in an event loop of its own.

    Raises:
        typer.Exit: the engine is unknown or did not start, the service can't be reached, or Ctrl-C was pressed.
    """
    try:
        return _read_here(reader, order) if isinstance(reader, Settings) else _read_there(reader, order)
    except KeyboardInterrupt as error:
        say("interrupted. Files that were already written are complete.")
        raise typer.Exit(INTERRUPTED) from error


def _read_here(settings: Settings, order: ReadCommand) -> ReadTally:
    import anyio

    from inkgate.cli.reading import read_documents
    from inkgate.telemetry.logs import configure_logs

    # Failures are listed at the end, so logs are shown only on request.
    configure_logs(logs_of_command(settings))
    with start_errors():
        return anyio.run(read_documents, settings, order)


def _read_there(address: ServiceAddress, order: ReadCommand) -> ReadTally:
    import anyio

    from inkgate.cli.read_command import ReadTally
    from inkgate.cli.read_remote import read_by_service
    from inkgate.client import ServiceError

    tally = ReadTally()
    try:
        return anyio.run(read_by_service, address, order, tally)
    except ServiceError as error:
        count = tally.whole + tally.partial
        before = [f"{count} {'document was' if count == 1 else 'documents were'} read before."] if count else []
        raise failure(str(error), *before, *tally.problems) from error


def chosen_formats(given: list[str], *, here: bool = True) -> tuple[AnyFormat, ...]:
    """The requested formats, each once. `here`: this process writes them, so their packages are needed.

    Raises:
        typer.Exit: with status 2, if one is unknown.
    """
    from inkgate.documents.files import format_named, names_of_formats, require_writer
    from inkgate.errors import InputRejected, install_extra

    names = dict.fromkeys(name.strip().lower() for part in given for name in part.split(","))
    known = names_of_formats()
    for name in names:
        if name not in known:
            raise misuse(f"{name!r} is not a format. Choose from {', '.join(known)}.")
    formats = tuple(format_named(name) for name in names)
    try:
        for wanted in formats if here else ():
            require_writer(wanted)
    except InputRejected as error:
        raise misuse(f"{error.detail} {install_extra('files')}.") from error
    return formats


def _selection(pages: str | None) -> PageSelection | None:
    from inkgate.documents.pages import parse_pages
    from inkgate.errors import InputRejected

    try:
        return None if pages is None else parse_pages(pages)
    except InputRejected as error:
        raise misuse(f"--pages: {error.detail}") from error
