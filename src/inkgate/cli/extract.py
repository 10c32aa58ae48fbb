"""`inkgate extract`, `inkgate verify` and `inkgate types`: fields of documents, without a server."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkgate.cli.configure import ConfigOption, EngineOption, VllmModelOption, VllmUrlOption, configured, engine_flags
from inkgate.cli.messages import FAILED, failure, misuse, remedy_here, say
from inkgate.settings import Settings

if TYPE_CHECKING:
    from inkgate.cli.inputs import InputDocument
    from inkgate.library import AsyncOcr, DocumentFields, ExtractArguments

NEEDS_REVIEW = 3
FORMATS = ("json", "csv")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Spreadsheets run cells that begin with these."""

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
    strict: Annotated[bool, typer.Option("--strict", help="Exit with status 3 if a document needs review.")] = False,
    pages: PagesOption = None,
    engine: EngineOption = None,
    vllm_url: VllmUrlOption = None,
    vllm_model: VllmModelOption = None,
    config: ConfigOption = None,
) -> None:
    """Find fields in documents: those of a type, a JSON Schema, or names. Without any, the type is found.

    `inkgate extract receipt.jpg --type receipt` prints the fields with their places, as POST /extract does.
    `inkgate extract scans/ --type receipt -f csv -o receipts.csv` writes a row a document. A JSON object a line is
    printed for several documents.

    Exit status: 0 if all documents were read; 1 if one could not be; 2 if the arguments are wrong; 3 with --strict if
    one needs review.
    """
    if format not in FORMATS:
        raise misuse(f"{format!r} is not a format. Choose from {', '.join(FORMATS)}.")
    if output is not None and format == "json" and output.is_file():
        raise misuse(f"{output} is a file. For JSON, -o names a folder.")
    from inkgate.cli.inputs import collect

    settings = configured(config, {"engine": engine_flags(engine, vllm_url, vllm_model)})
    wanted = _wanted(type, schema, fields, pages)
    sources = collect(paths).sources
    found, problems = _run(settings, sources, wanted, None)
    if format == "csv":
        _write_rows(found, output)
    else:
        _write_objects(found, output)
    _end(found, problems, strict=strict)


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
    from inkgate.cli.inputs import collect

    settings = configured(config, {"engine": engine_flags(engine, vllm_url, vllm_model)})
    wanted = _wanted(type, schema, fields, pages)
    found, problems = _run(settings, collect([path]).sources, wanted, _text(data))
    _write_objects(found, None)
    _end(found, problems, strict=True)


def types(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Print the JSON Schema of this type.", show_default=False)
    ] = "",
    *,
    config: ConfigOption = None,
) -> None:
    """List the document types and their fields, or print the JSON Schema of one."""
    from inkgate.errors import InputRejected
    from inkgate.extraction.finder import field_finder

    try:
        known = field_finder(configured(config, {})).types
        if name:
            print(json.dumps(known.named(name).source, ensure_ascii=False, indent=2))
            return
    except InputRejected as error:
        raise misuse(f"{error.detail} {remedy_here(error.code, error.remedy)}") from error
    for each, schema in sorted(known.schemas.items()):
        print(f"{each}: {', '.join(leaf.path.removeprefix('/').replace('/-/', '[].') for leaf in schema.leaves)}")


def _wanted(type_name: str, schema: Path | None, fields: str, pages: str | None) -> ExtractArguments:
    names = [name for part in fields.split(",") if (name := part.strip())]
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


Found = Sequence[tuple[str, "DocumentFields"]]


def _run(
    settings: Settings, sources: Sequence[InputDocument], wanted: ExtractArguments, data: str | None
) -> tuple[Found, list[str]]:
    """Names of documents with their fields, and a line for each that could not be read."""
    import anyio

    from inkgate.cli.messages import INTERRUPTED, cause
    from inkgate.errors import EngineFailed, InputRejected
    from inkgate.extraction.finder import field_finder
    from inkgate.extraction.wanted import wanted_fields
    from inkgate.library import AsyncOcr, field_request
    from inkgate.telemetry.logs import configure_logs

    shown = "level" in settings.log.model_fields_set
    configure_logs(settings.log if shown else settings.log.model_copy(update={"level": "error"}))

    def check() -> None:
        """Raises InputRejected before the models are loaded."""
        wanted_fields(field_request(data, wanted), field_finder(settings).types)

    async def run() -> tuple[Found, list[str]]:
        async with AsyncOcr(settings) as ocr:
            return await _extracted(ocr, sources, wanted, data)

    try:
        check()
        return anyio.run(run)
    except InputRejected as error:
        raise misuse(f"{error.detail} {remedy_here(error.code, error.remedy)}") from error
    except EngineFailed as error:
        raise failure(
            f"{error.title}. {error.detail} {remedy_here(error.code, error.remedy)}", *cause(error)
        ) from error
    except KeyboardInterrupt as error:
        say("interrupted.")
        raise typer.Exit(INTERRUPTED) from error


async def _extracted(
    ocr: AsyncOcr, sources: Sequence[InputDocument], wanted: ExtractArguments, data: str | None
) -> tuple[Found, list[str]]:
    from inkgate.codec import encodable
    from inkgate.errors import InkgateError
    from inkgate.types import Document

    found: list[tuple[str, DocumentFields]] = []
    problems = []
    for source in sources:
        try:
            document = Document(source.data(), encodable(source.name))
            found.append((source.name, await ocr.extract(document, data=data, **wanted)))
        except InkgateError as error:
            remedy = remedy_here(error.code, error.remedy)
            problems.append(f"{source.name}: {error.title}. {error.detail} {remedy} ({error.code})")
        except OSError as error:
            problems.append(f"{error.filename or source.name}: {error.strerror or error}.")
    return found, problems


def _object(name: str, found: DocumentFields) -> dict[str, object]:
    from inkgate.fields.as_json import extraction_to_dict

    errors = {str(page.index): page.error.code for page in found.document.pages if page.error is not None}
    return {"file": name, **extraction_to_dict(found.extraction), "page_errors": errors}


def _write_objects(found: Found, folder: Path | None) -> None:
    if folder is None:
        indent = 2 if len(found) == 1 else None
        for name, fields in found:
            print(json.dumps(_object(name, fields), ensure_ascii=False, indent=indent))
        return
    taken: set[Path] = set()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, fields in found:
            path = folder / f"{Path(name).stem}.json"
            number = 2
            while path in taken:
                path = folder / f"{Path(name).stem}-{number}.json"
                number += 1
            taken.add(path)
            path.write_text(json.dumps(_object(name, fields), ensure_ascii=False, indent=2) + "\n", "utf-8")
    except OSError as error:
        raise failure(f"{error.filename or folder}: {error.strerror or error}.") from error
    say(f"{len(found)} written into {folder}.")


def rows_of(found: Found) -> str:
    """A CSV table: a row a document, a column a field; arrays as JSON. What a spreadsheet would run is quoted."""
    columns = list(dict.fromkeys(name for _, fields in found for name in _flat(fields.data)))
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["file", "document_type", "status", *(name.removeprefix("/") for name in columns)])
    for name, fields in found:
        values = _flat(fields.data)
        extraction = fields.extraction
        row = [name, extraction.document_type, extraction.status.value, *(values.get(each, "") for each in columns)]
        writer.writerow([_cell(value) for value in row])
    return table.getvalue()


def _flat(data: Mapping[str, object], above: str = "") -> dict[str, object]:
    """Values by path; arrays are values."""
    flat: dict[str, object] = {}
    for name, value in data.items():
        path = f"{above}/{name}"
        flat |= _flat(value, path) if isinstance(value, dict) else {path: value}
    return flat


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        is_number = value.lstrip("+-").replace(".", "", 1).replace(",", "").isdigit()
        return f"'{value}" if value.startswith(_FORMULA) and not is_number else value
    return json.dumps(value, ensure_ascii=False)


def _write_rows(found: Found, path: Path | None) -> None:
    table = rows_of(found)
    if path is None:
        sys.stdout.write(table)
        return
    try:
        # With a byte order mark, without which spreadsheets take UTF-8 for another encoding.
        path.write_text(table, "utf-8-sig")
    except OSError as error:
        raise failure(f"{path}: {error.strerror or error}.") from error
    say(f"{len(found)} rows written into {path}.")


def _end(found: Found, problems: Sequence[str], *, strict: bool) -> None:
    """Raises typer.Exit with the status of the command."""
    to_review = [name for name, fields in found if fields.extraction.status.value == "needs_review"]
    for name in to_review:
        say(f"{name} needs review.")
    if problems:
        say(f"{len(problems)} documents could not be read:", *problems)
        raise typer.Exit(FAILED)
    if strict and to_review:
        raise typer.Exit(NEEDS_REVIEW)
