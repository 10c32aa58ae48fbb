"""`inkgate extract`, `inkgate verify` and `inkgate types`: fields of documents, found here or by a service."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from inkgate.cli.messages import FAILED, INTERRUPTED, failure, misuse, say, start_errors
from inkgate.cli.read import KeyFileOption, ServerOption, service_or_settings
from inkgate.settings import Settings

if TYPE_CHECKING:
    from inkgate.cli.extract_outputs import FieldsFound, FieldsOutput
    from inkgate.cli.inputs import InputDocument
    from inkgate.cli.read_remote import ServiceAddress
    from inkgate.library import AsyncOcr, ExtractArguments

NEEDS_REVIEW = 3
FORMATS = ("json", "csv")

PathsArgument = Annotated[
    list[str],
    typer.Argument(metavar="PATH...", help="Images, PDFs, folders, globs, or `-`.", show_default=False),
]
TypeOption = Annotated[
    str,
    typer.Option("--type", metavar="NAME", help="The document type; `inkgate types` lists them.", show_default=False),
]
SchemaOption = Annotated[
    Path | None,
    typer.Option("--schema", metavar="FILE", help="A JSON Schema of the object to find.", show_default=False),
]
FieldsOption = Annotated[
    str, typer.Option("--fields", metavar="A,B", help="Names of the fields to find.", show_default=False)
]
PagesOption = Annotated[
    str | None, typer.Option(metavar="1-3,7", help="Pages to read, e.g. 1-3,7. The first page is 1. Default: all.")
]


def extract(  # noqa: PLR0913 - one parameter for each option of the command
    paths: PathsArgument,
    *,
    type: TypeOption = "",  # noqa: A002 - the option's name
    schema: SchemaOption = None,
    fields: FieldsOption = "",
    format: Annotated[  # noqa: A002 - the option's name
        str, typer.Option("--format", "-f", metavar="json|csv", help="One JSON object, or one row, a document.")
    ] = "json",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="PATH", help="JSON: a folder for NAME.json; CSV: the file. Default: print."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="With -o: replace existing results.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with status 3 if a document needs review.")] = False,
    jobs: Annotated[int, typer.Option("-j", min=1, max=64, help="How many documents to read at once.")] = 2,
    pages: PagesOption = None,
    server: ServerOption = "",
    key_file: KeyFileOption = None,
    engine: EngineOption = None,
    vllm_url: VllmUrlOption = None,
    vllm_model: VllmModelOption = None,
    config: ConfigOption = None,
) -> None:
    """Find fields in documents: those of a type, a JSON Schema, or names. Without any, the type is found.

    `inkgate extract receipt.jpg --type receipt` prints the fields with their places, as POST /extract does.
    `inkgate extract scans/ --type receipt -f csv -o receipts.csv` writes a row a document; after an interruption, the
    same command goes on where it was. A JSON object a line is printed for several documents. With `--server URL`, a
    running service finds them, with the same output.

    Exit status: 0 if all documents were read; 1 if one could not be; 2 if the arguments are wrong; 3 with --strict if
    one needs review.
    """
    if format not in FORMATS:
        raise misuse(f"{format!r} is not a format. Choose from {', '.join(FORMATS)}.")
    if output is not None and format == "json" and output.is_file():
        raise misuse(f"{output} is a file. For JSON, -o names a folder.")
    from inkgate.cli.extract_outputs import FieldRows, PrintedFields, WrittenFields
    from inkgate.cli.inputs import collect
    from inkgate.cli.read import say_skipped

    flags = engine_flags(engine, vllm_url, vllm_model)
    reader = service_or_settings(server, key_file, config, flags, given=bool(engine or vllm_url or vllm_model))
    wanted = extract_arguments(type, schema, fields, pages)
    inputs = collect(paths)
    to: FieldsOutput
    sources, rows = inputs.sources, None
    if format == "csv":
        to = rows = FieldRows.into(output, repr(wanted), overwrite=overwrite)
        sources = rows.without_earlier(sources)
    elif output is not None:
        to = WrittenFields.into(output, inputs.sources, overwrite=overwrite)
    else:
        to = PrintedFields(2 if len(inputs.sources) == 1 else None)
    outcome = _run(reader, sources, _Order(wanted, at_once=jobs), to)
    if rows is not None:
        outcome.to_review[:0] = rows.to_review
        rows.forget_run()
    say_skipped(inputs.skipped)
    outcome.end(strict=strict)


def verify(  # noqa: PLR0913 - one parameter for each option of the command
    path: Annotated[str, typer.Argument(metavar="FILE", help="The document.", show_default=False)],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="JSON with the values.", show_default=False)],
    *,
    type: TypeOption = "",  # noqa: A002 - the option's name
    schema: SchemaOption = None,
    fields: FieldsOption = "",
    pages: PagesOption = None,
    engine: EngineOption = None,
    vllm_url: VllmUrlOption = None,
    vllm_model: VllmModelOption = None,
    config: ConfigOption = None,
) -> None:
    """Look up values that somebody else found: those that stand in the document are kept, others are null.

    Exit status: 0 if all is well; 1 if the document could not be read; 2 if the arguments are wrong; 3 if it needs
    review.
    """
    from inkgate.cli.extract_outputs import PrintedFields
    from inkgate.cli.inputs import collect

    settings = configured(config, {"engine": engine_flags(engine, vllm_url, vllm_model)})
    wanted = extract_arguments(type, schema, fields, pages)
    sources = collect([path]).sources
    if len(sources) != 1:
        raise misuse(f"{path} names {len(sources)} documents. Values belong to one.")
    _run(settings, sources, _Order(wanted, _text(data)), PrintedFields(2)).end(strict=True)


def types(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Print the JSON Schema of this type.", show_default=False)
    ] = "",
    *,
    config: ConfigOption = None,
) -> None:
    """List the document types and their fields, or print the JSON Schema of one."""
    from inkgate.extraction.finder import field_finder

    with start_errors():
        known = field_finder(configured(config, {})).types
        if name:
            print(json.dumps(known.named(name).source, ensure_ascii=False, indent=2))
            return
    for each, schema in sorted(known.schemas.items()):
        print(f"{each}: {', '.join(leaf.path.removeprefix('/').replace('/-/', '[].') for leaf in schema.leaves)}")


def extract_arguments(type_name: str, schema: Path | None, fields: str, pages: str | None) -> ExtractArguments:
    """What the options ask for. Raises typer.Exit: they contradict each other, or the schema can't be read."""
    names = [name for part in fields.split(",") if (name := part.strip())]
    if fields and not names:
        raise misuse("--fields names no field.")
    if sum([bool(type_name), schema is not None, bool(names)]) > 1:
        raise misuse("Give only one of --type, --schema and --fields.")
    wanted: ExtractArguments = {"type": type_name, "fields": names, "pages": pages}
    if schema is not None:
        wanted["schema"] = _text(schema)
    return wanted


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise misuse(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8'}.") from error


@dataclass(frozen=True, slots=True)
class _Order:
    """What to find in each document. `data`: values to look up instead. `at_once`: documents that are read at once."""

    wanted: ExtractArguments
    data: str | None = None
    at_once: int = 1


@dataclass(slots=True)
class _Outcome:
    """What became of the documents: names of those that need review, and a line for each that could not be read."""

    to_review: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def take(self, source: InputDocument, found: FieldsFound | str, to: FieldsOutput) -> None:
        """Writes the fields of a document, or notes why there are none. Raises OSError."""
        if isinstance(found, str):
            self.problems.append(found)
            return
        to.add(source, found)
        if found.extraction.status.value == "needs_review":
            self.to_review.append(source.name)

    def end(self, *, strict: bool) -> None:
        """Raises typer.Exit with the status of the command."""
        for name in self.to_review:
            say(f"{name} needs review.")
        if self.problems:
            say(f"{len(self.problems)} documents could not be read:", *self.problems)
            raise typer.Exit(FAILED)
        if strict and self.to_review:
            raise typer.Exit(NEEDS_REVIEW)


def _run(
    reader: Settings | ServiceAddress, sources: Sequence[InputDocument], order: _Order, to: FieldsOutput
) -> _Outcome:
    """Raises typer.Exit: an argument is wrong, the engine did not start, the service is gone, or Ctrl-C was pressed."""
    try:
        if isinstance(reader, Settings):
            outcome = _run_here(reader, sources, order, to)
        else:
            outcome = _run_there(reader, sources, order, to)
        to.end()
    except OSError as error:
        raise failure(f"{error.filename or 'The output'}: {error.strerror or error}.") from error
    except KeyboardInterrupt as error:
        to.end()
        say("interrupted. What was found until then is written.")
        raise typer.Exit(INTERRUPTED) from error
    return outcome


def _run_there(address: ServiceAddress, sources: Sequence[InputDocument], order: _Order, to: FieldsOutput) -> _Outcome:
    import anyio

    from inkgate.cli.extract_remote import finding_by_service
    from inkgate.client import FieldsAsked, ServiceError

    wanted, outcome = order.wanted, _Outcome()
    asked = FieldsAsked(wanted.get("type", ""), wanted.get("schema"), tuple(wanted.get("fields", ())))

    async def run() -> None:
        async with finding_by_service(address, asked, str(wanted.get("pages") or "")) as find:
            await _extracted(find, sources, order, to, outcome)

    try:
        anyio.run(run)
    except ServiceError as error:
        to.end()
        raise failure(str(error), *outcome.problems) from error
    return outcome


def _run_here(settings: Settings, sources: Sequence[InputDocument], order: _Order, to: FieldsOutput) -> _Outcome:
    import anyio

    from inkgate.extraction.finder import field_finder
    from inkgate.extraction.wanted import wanted_fields
    from inkgate.library import AsyncOcr, field_request
    from inkgate.telemetry.logs import configure_logs

    configure_logs(logs_of_command(settings))

    def check() -> None:
        """Raises InputRejected before the models are loaded."""
        wanted_fields(field_request(order.data, order.wanted), field_finder(settings).types)

    async def run() -> _Outcome:
        async with AsyncOcr(settings) as ocr:
            return await _extracted(partial(_found, ocr, order), sources, order, to)

    with start_errors():
        check()
        return anyio.run(run)


async def _extracted(
    find: Callable[[InputDocument], Awaitable[FieldsFound | str]],
    sources: Sequence[InputDocument],
    order: _Order,
    to: FieldsOutput,
    outcome: _Outcome | None = None,
) -> _Outcome:
    """Reads several documents at once, and writes their fields in the order of `sources`. No more than `order.at_once`
    are read or wait to be written. Raises OSError: the output can't be written.
    """
    import anyio

    from inkgate.concurrency import single_error

    outcome = outcome or _Outcome()
    slots = anyio.Semaphore(order.at_once)
    turns = [anyio.Event() for _ in range(len(sources) + 1)]
    turns[0].set()

    async def one(at: int) -> None:
        found = await find(sources[at])
        await turns[at].wait()
        outcome.take(sources[at], found, to)
        turns[at + 1].set()
        slots.release()

    with single_error():
        async with anyio.create_task_group() as tasks:
            for at in range(len(sources)):
                await slots.acquire()
                tasks.start_soon(one, at)
    return outcome


async def _found(ocr: AsyncOcr, order: _Order, source: InputDocument) -> FieldsFound | str:
    """The fields, or why there are none."""
    from inkgate.cli.extract_outputs import FieldsFound
    from inkgate.cli.read_command import problem_line
    from inkgate.codec import encodable
    from inkgate.concurrency import Threads
    from inkgate.errors import InkgateError
    from inkgate.fields.as_json import document_fields_to_dict
    from inkgate.types import Document

    try:
        content = await Threads("extract_files", 1).run(source.data)
    except OSError as error:
        return f"{error.filename or source.name}: {error.strerror or error}."
    try:
        found = await ocr.extract(Document(content, encodable(source.name)), data=order.data, **order.wanted)
    except InkgateError as error:
        return problem_line(source.name, error.as_page_error(), error.title)
    return FieldsFound(found.extraction, document_fields_to_dict(found.extraction, found.document))
