"""`inkgate read`: documents in, text out, without a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkgate.cli.configure import ConfigOption, EngineOption, VllmModelOption, VllmUrlOption, configured, engine_flags
from inkgate.cli.messages import INTERRUPTED, failure, misuse, say
from inkgate.settings import PdfText, Settings

if TYPE_CHECKING:
    from inkgate.cli.outputs import Output
    from inkgate.cli.reading import Order
    from inkgate.documents.formats import Format
    from inkgate.documents.pages import PageSelection

FORMATS = "text|markdown|json|hocr|alto"


def read(  # noqa: PLR0913 - one parameter for each option of the command
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Images and PDFs; folders, with all folders in them; globs; `-` for standard input.",
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
            help="What to write; several as -f text,json. Default: text.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder for one file a document and format. Default: print."
        ),
    ] = None,
    pages: Annotated[
        str | None,
        typer.Option(metavar="1-3,7", help="Pages to read of each document, the first being 1. Default: all."),
    ] = None,
    pdf_text: Annotated[
        PdfText | None,
        typer.Option(help="Take the text that a PDF page carries itself: auto takes it when it can be trusted."),
    ] = None,
    engine: EngineOption = None,
    vllm_url: VllmUrlOption = None,
    vllm_model: VllmModelOption = None,
    config: ConfigOption = None,
) -> None:
    """Read documents and print or write what they say.

    `inkgate read page.png` prints the text. `inkgate read scans/ -o out -f text,markdown` writes out/NAME.txt and
    out/NAME.md for every image and PDF in scans/, sub-folders kept. Of several documents, each is printed below a
    line `==> NAME <==`; JSON is printed as one document a line.

    Exit status: 0: all was read; 1: a document or a page was not, which is said at the end; 2: the command was wrong.
    """
    settings = configured(config, {"engine": engine_flags(engine, vllm_url, vllm_model)})
    formats, selection = _formats(format or ["text"]), _selection(pages)
    from inkgate.cli.inputs import collect
    from inkgate.cli.outputs import to_folder, to_stdout
    from inkgate.cli.reading import Order

    sources = tuple(collect(paths))
    if output is None or output == "-":
        to: Output = to_stdout(formats, len(sources))
    else:
        to = to_folder(Path(output), formats, sources)
    problems = _run(settings, Order(sources, to, formats, selection, pdf_text))
    if problems:
        raise failure(f"not everything could be read ({len(problems)}):", *problems)


def _run(settings: Settings, order: Order) -> list[str]:
    """Reads in an event loop of its own.

    Raises:
        typer.Exit: the engine is unknown or did not start, or Ctrl-C was pressed.
    """
    import anyio

    from inkgate.cli.reading import read_documents
    from inkgate.errors import EngineFailed, InputRejected
    from inkgate.telemetry.logs import configure_logs

    # Failures are summed up at the end; what logs say besides them is for those who ask.
    wanted = "level" in settings.log.model_fields_set
    configure_logs(settings.log if wanted else settings.log.model_copy(update={"level": "error"}))
    try:
        return anyio.run(read_documents, settings, order)
    except InputRejected as error:
        raise misuse(f"{error.detail} {error.remedy}") from error
    except EngineFailed as error:
        raise failure(f"{error.title}. {error.detail} {error.remedy}") from error
    except KeyboardInterrupt as error:
        say("interrupted; files that were written are whole.")
        raise typer.Exit(INTERRUPTED) from error


def _formats(given: list[str]) -> tuple[Format, ...]:
    """The formats asked for, each once.

    Raises:
        typer.Exit: with status 2, where one is unknown.
    """
    from inkgate.documents.formats import Format

    names = dict.fromkeys(name.strip().lower() for part in given for name in part.split(","))
    known = {kind.value: kind for kind in Format}
    for name in names:
        if name not in known:
            raise misuse(f"{name!r} is not a format; there are {', '.join(known)}.")
    return tuple(known[name] for name in names)


def _selection(pages: str | None) -> PageSelection | None:
    from inkgate.documents.pages import parse_pages
    from inkgate.errors import InputRejected

    try:
        return None if pages is None else parse_pages(pages)
    except InputRejected as error:
        raise misuse(f"--pages: {error.detail}") from error
