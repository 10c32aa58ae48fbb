"""`inkgate notion`: documents as rows of a Notion database."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from inkgate.cli.configure import (
    ConfigOption,
    EngineOption,
    VllmModelOption,
    VllmUrlOption,
    engine_flags,
    logs_of_command,
)
from inkgate.cli.extract import FieldsOption, PagesOption, PathsArgument, SchemaOption, TypeOption, extract_arguments
from inkgate.cli.messages import FAILED, INTERRUPTED, failure, misuse, needs_extra, say, start_errors
from inkgate.cli.read import KeyFileOption, ServerOption, service_or_settings
from inkgate.settings import Settings

if TYPE_CHECKING:
    from inkgate.cli.inputs import InputDocument
    from inkgate.cli.read_remote import ServiceAddress
    from inkgate.integrations.notion.connect import NotionTarget
    from inkgate.integrations.notion.reading import RowReader
    from inkgate.integrations.notion.rows import NotionRows
    from inkgate.library import ExtractArguments

TOKEN_VARIABLE = "NOTION_TOKEN"  # noqa: S105 - a name
URL_VARIABLE = "NOTION_API_URL"
_WRITE = "What is written"


def notion(  # noqa: PLR0913 - one parameter for each option of the command
    database: Annotated[
        str,
        typer.Argument(metavar="DATABASE", help="Address or ID of the database, or a data source.", show_default=False),
    ],
    paths: PathsArgument,
    *,
    type: TypeOption = "",  # noqa: A002 - the option's name
    schema: SchemaOption = None,
    fields: FieldsOption = "",
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME=VALUE",
            help="Write only such columns, e.g. Total=fields.total. May be repeated.",
            show_default=False,
            rich_help_panel=_WRITE,
        ),
    ] = None,
    create_columns: Annotated[
        bool, typer.Option("--create-columns", help="Make columns that are missing.", rich_help_panel=_WRITE)
    ] = False,
    rate: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=1000,
            metavar="REQUESTS",
            help="Requests a second. Notion allows 3, for all that use the token.",
            rich_help_panel=_WRITE,
        ),
    ] = 3.0,
    jobs: Annotated[int, typer.Option("-j", min=1, max=64, help="How many documents to read at once.")] = 2,
    pages: PagesOption = None,
    server: ServerOption = "",
    key_file: KeyFileOption = None,
    engine: EngineOption = None,
    vllm_url: VllmUrlOption = None,
    vllm_model: VllmModelOption = None,
    config: ConfigOption = None,
) -> None:
    """Write a row for each document into a Notion database: its file, its fields, and its text as the page.

    `inkgate notion https://www.notion.so/acme/Receipts-1f2e... scans/ --type receipt --create-columns` reads the
    documents and prints the address of each row. The token of the connection is in NOTION_TOKEN. Fields are looked for
    as by `inkgate extract`. A document that has a row already, by its content, gets no second one: run the command
    again after an error, or when there are more documents.

    Columns: File, Document type, Pages, Confidence, Needs review, one for each field, and `inkgate`, which recognises
    documents. `--column NAME=VALUE` chooses others, with VALUE one of file, type, pages, confidence, needs_review and
    fields.NAME.

    Exit status: 0 if all rows were written; 1 if one was not; 2 if the arguments, the token or the database are wrong.
    """
    with needs_extra("notion"):
        import notion_client  # noqa: F401 - says before the models are loaded that it is missing
    from inkgate.cli.inputs import collect
    from inkgate.cli.read import say_skipped
    from inkgate.integrations.notion.columns import NotionMisfit

    flags = engine_flags(engine, vllm_url, vllm_model)
    reader = service_or_settings(server, key_file, config, flags, given=bool(engine or vllm_url or vllm_model))
    wanted = extract_arguments(type, schema, fields, pages)
    target = _target(database, column or [], rate, create_columns=create_columns)
    try:
        target.check()
    except NotionMisfit as error:
        raise misuse(str(error)) from error
    inputs = collect(paths)
    order = _NotionOrder(target, wanted, jobs)
    tally = _run(reader, inputs.sources, order)
    say_skipped(inputs.skipped)
    if tally.problems:
        say(f"{len(tally.problems)} documents have no whole row:", *tally.problems)
        raise typer.Exit(FAILED)


def _target(database: str, columns: Sequence[str], rate: float, *, create_columns: bool) -> NotionTarget:
    from inkgate.integrations.notion.calls import API_URL, NotionAccess
    from inkgate.integrations.notion.connect import NotionTarget

    token = os.environ.get(TOKEN_VARIABLE, "").strip()  # noqa: TID251 - not for the command line
    if not token:
        raise misuse(f"Put the secret of your Notion connection into {TOKEN_VARIABLE} (docs/guides/notion.md).")
    chosen = dict[str, str]()
    for each in columns:
        name, equals, value = each.rpartition("=")
        if not (equals and name.strip() and value.strip()):
            raise misuse(f"--column {each}: write it as NAME=VALUE, such as Total=fields.total.")
        chosen[name.strip()] = value.strip()
    url = os.environ.get(URL_VARIABLE, "").strip() or API_URL  # noqa: TID251
    access = NotionAccess(token, url, rate)
    return NotionTarget(access, database, chosen, create_columns=create_columns)


@dataclass(frozen=True, slots=True)
class _NotionOrder:
    """What is written, what is looked for in documents, and how many are read at once."""

    target: NotionTarget
    wanted: ExtractArguments
    at_once: int


@dataclass(slots=True)
class _NotionTally:
    """A line for each document that has no whole row."""

    problems: list[str] = field(default_factory=list)


def _run(reader: Settings | ServiceAddress, sources: Sequence[InputDocument], order: _NotionOrder) -> _NotionTally:
    """Raises typer.Exit: an argument, the token or the database is wrong, or Ctrl-C was pressed."""
    import anyio

    from inkgate.client import ServiceError
    from inkgate.concurrency import single_error
    from inkgate.integrations.notion.calls import NotionAway, NotionRefused
    from inkgate.integrations.notion.columns import NotionMisfit
    from inkgate.integrations.notion.connect import notion_rows

    tally = _NotionTally()

    async def run() -> None:
        with single_error():
            async with AsyncExitStack() as stack:
                rows = await stack.enter_async_context(notion_rows(order.target))  # before the models are loaded
                read = await stack.enter_async_context(_reader(reader, order.wanted))
                await _write_all(read, rows, sources, order.at_once, tally)

    try:
        with start_errors():
            anyio.run(run)
    except (NotionMisfit, NotionRefused) as error:
        raise misuse(*tally.problems, str(error)) from error
    except NotionAway as error:
        url = order.target.access.url
        again = "Run the same command again: rows that are written already stay as they are."
        raise failure(*tally.problems, f"{error}. The address of its API is {url}.", again) from error
    except ServiceError as error:
        raise failure(*tally.problems, str(error)) from error
    except KeyboardInterrupt as error:
        say("interrupted. Run the same command again to go on.")
        raise typer.Exit(INTERRUPTED) from error
    return tally


@asynccontextmanager
async def _reader(reader: Settings | ServiceAddress, wanted: ExtractArguments) -> AsyncIterator[RowReader]:
    """Raises InputRejected, EngineFailed, ServiceError."""
    from inkgate.client import AsyncInkgateClient, FieldsAsked
    from inkgate.extraction.finder import field_finder
    from inkgate.extraction.wanted import wanted_fields
    from inkgate.integrations.notion.reading import EngineRowReader, ServiceRowReader
    from inkgate.library import AsyncOcr, field_request
    from inkgate.telemetry.logs import configure_logs

    if isinstance(reader, Settings):
        configure_logs(logs_of_command(reader))
        wanted_fields(field_request(None, wanted), field_finder(reader).types)
        async with AsyncOcr(reader) as ocr:
            yield EngineRowReader(ocr, wanted)
        return
    asked = FieldsAsked(wanted.get("type", ""), wanted.get("schema"), tuple(wanted.get("fields", ())))
    async with AsyncInkgateClient(reader.url, reader.key) as client:
        await client.models()  # says at once that the service is gone or wants another key
        yield ServiceRowReader(client, asked, str(wanted.get("pages") or ""))


async def _write_all(
    reader: RowReader, rows: NotionRows, sources: Sequence[InputDocument], at_once: int, tally: _NotionTally
) -> None:
    """Raises NotionMisfit and NotionRefused if no row can be written, ServiceError if the service is gone."""
    import anyio

    slots = anyio.Semaphore(at_once)

    async def one(source: InputDocument) -> None:
        try:
            if problem := await _write(reader, rows, source):
                tally.problems.append(problem)
        finally:
            slots.release()

    async with anyio.create_task_group() as tasks:
        for source in sources:
            await slots.acquire()
            tasks.start_soon(one, source)


async def _write(reader: RowReader, rows: NotionRows, source: InputDocument) -> str:
    """Writes one row and prints its address. Returns why there is none, or an empty text."""
    from inkgate.cli.read_command import problem_line
    from inkgate.cli.read_remote import result_or_problem
    from inkgate.codec import encodable
    from inkgate.concurrency import Threads
    from inkgate.errors import InkgateError
    from inkgate.integrations.notion.calls import NotionAway, NotionRefused
    from inkgate.types import Document

    try:
        data = await Threads("notion_files", 1).run(source.data)
        document = await result_or_problem(source, reader.read(Document(data, encodable(source.relative.name))))
        if isinstance(document, str):
            return document
        written = await rows.put(document)
    except OSError as error:
        return f"{source.name}: {error.strerror or error}."
    except InkgateError as error:
        return problem_line(source.name, error.as_page_error(), error.title)
    except NotionAway as error:
        return f"{source.name}: {error}. Run the same command again to go on."
    except NotionRefused as error:
        if error.of_settings:
            raise
        return f"{source.name}: {error}"
    print(encodable(f"{source.name}: {written.change.value} {written.url}"))
    for note in written.notes:
        say(f"{source.name}: {note}.")
    return ""
