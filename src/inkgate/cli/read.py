"""`inkgate read`: documents in, text out, without a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from inkgate.cli.messages import INTERRUPTED, check_outputs, failure, misuse, say
from inkgate.cli.readers import ReaderOptions, reads_documents, run_with_reader
from inkgate.settings import PdfText
from inkgate_client.coordinates import Coordinates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inkgate.cli.inputs import InputDocument
    from inkgate.cli.outputs import ExistingResults, Output, ToFolder
    from inkgate.cli.read_command import ReadCommand, ReadTally
    from inkgate.documents.files import AnyFormat
    from inkgate_client.formats.chunks import ChunkOptions
    from inkgate_client.reading import DocumentReader

FORMATS = "text|markdown|json|hocr|alto|csv|mermaid|chunks|pdf|docx|xlsx"
SKIPPED_SHOWN = 10


@reads_documents()
def read(  # noqa: PLR0913 - one parameter for each option of the command
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH",
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
            metavar="upright|sent",
            help="Coordinates of the image as sent, or of the upright page. Default: sent for hOCR and ALTO, "
            "upright for JSON.",
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
    chunk_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Largest chunk in tokens, which are estimated. Default: 512.")
    ] = None,
    chunk_characters: Annotated[
        int | None, typer.Option(metavar="N", help="Largest chunk in characters, in place of tokens.")
    ] = None,
    chunk_overlap: Annotated[
        int, typer.Option(metavar="N", help="How much of a chunk the next one has, too, in the same unit.")
    ] = 0,
    chunk_headings: Annotated[
        bool, typer.Option("--chunk-headings", help="The headings above a chunk stand in front of its text.")
    ] = False,
    pdf_text: Annotated[
        PdfText | None,
        typer.Option(
            metavar="auto|never|always", help="Use the text layer of PDF pages; auto: only if it can be trusted."
        ),
    ] = None,
    password: Annotated[
        str,
        typer.Option(
            metavar="PASSWORD",
            help="Password of encrypted PDFs. Other users of this machine can see it while the command runs.",
            show_default=False,
        ),
    ] = "",
    reader: ReaderOptions,
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
    formats = chosen_formats(format or ["text"])
    chunks = _chunk_options(chunk_tokens, chunk_characters, chunk_overlap, headings=chunk_headings)
    _check_pages(pages)
    if not reader.servers:
        reader.settings()  # says what is wrong with them before anything else
    from inkgate.cli.inputs import collect
    from inkgate.cli.outputs import ToFolder, to_stdout
    from inkgate.cli.read_command import ReadCommand, ReadTally, task_of
    from inkgate_client import ReadOptions
    from inkgate_client.types import TaskKind

    inputs = collect(paths)
    existing = _existing(overwrite=overwrite, skip_existing=skip_existing)
    to: Output
    if output is None or output == "-":
        to, sources = to_stdout(formats, len(inputs.sources)), inputs.sources
    else:
        to, sources = _into(Path(output), formats, inputs.sources, existing, images=images)
    to = replace(to, coordinates=coordinates, marks=marks, chunks=chunks)
    options = ReadOptions(
        task=(TaskKind.PARSE if images else task_of(formats)).value,
        pages=pages or "",
        pdf_text=pdf_text.value if pdf_text else "",
        password=password,
        images=images,
    )
    tally = ReadTally()
    if sources:
        _run(reader, ReadCommand(sources, to, formats, options, min(reader.at_once, len(sources))), tally)
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

    check_outputs(folder / "result")
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


def _run(reader: ReaderOptions, order: ReadCommand, tally: ReadTally) -> None:
    """Reads in an event loop of its own.

    Raises:
        typer.Exit: the engine is unknown or did not start, the service can't be reached, or Ctrl-C was pressed.
    """

    async def read_all(opened: DocumentReader) -> None:
        from inkgate.cli.read_command import read_documents

        await read_documents(opened, order, tally)

    try:
        run_with_reader(reader, read_all, before=tally.lines_before_failure)
    except KeyboardInterrupt as error:
        say("interrupted. Files that were already written are complete.")
        raise typer.Exit(INTERRUPTED) from error


def chosen_formats(given: list[str]) -> tuple[AnyFormat, ...]:
    """The requested formats, each once, by name or suffix: `markdown` or `md`. `html` is hOCR.

    Raises:
        typer.Exit: with status 2, if one is unknown.
    """
    from inkgate.documents.files import format_named, names_of_formats

    formats: dict[AnyFormat, None] = {}
    for name in (name.strip() for part in given for name in part.split(",")):
        try:
            formats[format_named(name)] = None
        except ValueError as error:
            raise misuse(f"{name!r} is not a format. Choose from {', '.join(names_of_formats())}.") from error
    return tuple(formats)


def _chunk_options(tokens: int | None, characters: int | None, overlap: int, *, headings: bool) -> ChunkOptions:
    from inkgate_client.formats.chunks import ChunkOptions

    try:
        return ChunkOptions(tokens, characters, overlap, headings)
    except ValueError as error:
        raise misuse(str(error)) from error


def _check_pages(pages: str | None) -> None:
    from inkgate.documents.pages import parse_pages
    from inkgate.errors import InputRejected

    try:
        if pages is not None:
            parse_pages(pages)
    except InputRejected as error:
        raise misuse(f"--pages: {error.detail}") from error
