"""What the library is given, as the Reader and the service take it: settings, and options of a read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, cast

from pydantic import BaseModel

from inkgate.documents.pages import PageSelection, select
from inkgate.errors import InputRejected
from inkgate.service.reader import CheckedOptions
from inkgate.settings import DegradationSettings, LimitSettings, PdfText, Settings, config_file, load_settings
from inkgate_client.fields.asked import Wanted, WantedFields
from inkgate_client.requests import ReadOptions, check_arguments
from inkgate_client.types import Task, TaskKind

SettingsSource = Settings | Mapping[str, Mapping[str, object]] | str | os.PathLike[str] | None
"""Settings, changes such as `{"engine": {"name": "hunyuanocr"}}`, or a TOML file. Without a file, the one that
INKGATE_CONFIG names applies. The environment (`INKGATE_...`) applies to all but Settings.
"""
_NO_DEADLINE_S = 365 * 24 * 3600.0


class ReadArguments(TypedDict, total=False):
    """How to read a document; all are optional.

    Attributes:
        task: `parse` (default: text, blocks and Markdown), `text` (lines only, faster on some engines), another
            TaskKind, or a Task with its options.
        pages: such as "1-3,7", a number, or a list of numbers, from 1. Default: all.
        pdf_text: when to use the text layer of PDF pages: `auto`, `never` or `always`. Default: the setting.
        password: of an encrypted PDF.
        images: keep figures as images (`Block.image`), which the Markdown then links to. Default: no.
    """

    task: Task | str
    pages: PageSelection | str | int | Sequence[int] | None
    pdf_text: PdfText | str | None
    password: str
    images: bool | None


class ExtractArguments(TypedDict, total=False):
    """What to find in a document, and how to read it; without `type`, `schema` and `fields`, its type is found.

    Attributes:
        type: a document type, such as `receipt`.
        schema: a JSON Schema as an object or as text, or a pydantic model class.
        fields: names.
        pages, pdf_text, password: as ReadArguments.
    """

    type: str
    schema: Mapping[str, object] | str | type[BaseModel]
    fields: Sequence[str]
    pages: PageSelection | str | int | Sequence[int] | None
    pdf_text: PdfText | str | None
    password: str


def without_server(settings: Settings) -> Settings:
    """The settings for documents of one program, where no other client waits: unless these settings differ from their
    defaults, there is no time limit, and quality is not lowered under load.
    """
    # Not by model_fields_set: changing one setting of a branch marks all of them.
    limits, serving = settings.limits, settings.serving
    if limits.time_s == LimitSettings().time_s:
        limits = limits.model_copy(update={"time_s": _NO_DEADLINE_S})
    if serving.degradation == DegradationSettings():
        degradation = DegradationSettings(enabled=False)
        serving = serving.model_copy(update={"degradation": degradation})
    return settings.model_copy(update={"limits": limits, "serving": serving})


def read_arguments(function: str, arguments: ReadArguments, *others: str) -> CheckedOptions:
    """The options for the Reader, of arguments of a public function, which has the `others`, too.

    Raises:
        InputRejected: as `read_options`.
        TypeError: one is no argument of it.
    """
    check_arguments(function, arguments, (*ReadArguments.__annotations__, *others))
    return read_options(**arguments)


def read_options(
    task: Task | str = TaskKind.PARSE,
    pages: PageSelection | str | int | Sequence[int] | None = None,
    pdf_text: PdfText | str | None = None,
    password: str = "",
    images: bool | None = None,
) -> CheckedOptions:
    """The options for the Reader; see ReadArguments.

    Raises:
        InputRejected: "options_invalid" or "pages_invalid".
    """
    task = task if isinstance(task, Task) else Task(_kind(task))
    try:
        pdf_text = None if pdf_text is None else PdfText(pdf_text)
    except ValueError as error:
        raise InputRejected("options_invalid", f"There is no pdf_text {pdf_text!r}: {', '.join(PdfText)}.") from error
    task = task if images is None else replace(task, images=images)
    chosen = pages if isinstance(pages, PageSelection) else select(pages, first=1)
    return CheckedOptions(task, chosen, pdf_text, password)


def checked_options(options: ReadOptions | CheckedOptions) -> CheckedOptions:
    """The options for the Reader. Raises InputRejected as `read_options`."""
    if isinstance(options, CheckedOptions):
        return options
    task = Task(_kind(options.task), fields=options.fields, language=options.language or None)
    return read_options(task, options.pages or None, options.pdf_text or None, options.password, options.images)


def _kind(task: str) -> TaskKind:
    try:
        return TaskKind(task)
    except ValueError as error:
        raise InputRejected("options_invalid", f"There is no task {task!r}: {', '.join(TaskKind)}.") from error


_EXAMPLE = '{"engine": {"name": "hunyuanocr"}}'


def settings_of(source: SettingsSource) -> Settings:
    """The settings. Raises ValueError or OSError if they are wrong or their file can't be read, TypeError for what can
    be no settings.
    """
    if isinstance(source, Settings):
        return source
    if isinstance(source, Mapping):
        for branch, values in source.items():
            if not isinstance(values, Mapping):
                raise ValueError(f"The settings of {branch!r} must have names, such as {_EXAMPLE}.")  # noqa: TRY004 - as for other wrong settings
        return load_settings(config_file(), **{branch: dict(values) for branch, values in source.items()})
    if not (source is None or isinstance(source, str | os.PathLike)):
        raise TypeError(f"Settings are a mapping such as {_EXAMPLE}, or a TOML file, not {type(source).__name__}.")
    return load_settings(config_file() if source is None else Path(source))


def asked_fields(
    wanted: Wanted | type[Any], data: Mapping[str, object] | str | None, named: ExtractArguments
) -> WantedFields:
    """What is asked for: `wanted`, or one of `type`, `schema` and `fields` in `named`.

    Raises:
        InputRejected: "options_invalid": it is given twice.
        TypeError: `named` has a name that is no argument.
    """
    function = "extract" if data is None else "verify"
    check_arguments(function, named, ExtractArguments.__annotations__)
    parts = WantedFields(named.get("type", ""), named.get("schema"), tuple(named.get("fields", ())), data)
    try:
        return parts.or_wanted(cast("Wanted", wanted))
    except ValueError as error:
        raise InputRejected("options_invalid", str(error)) from error


def given_values(data: Mapping[str, object] | str | BaseModel, wanted: Wanted, named: ExtractArguments) -> WantedFields:
    """Values to verify. A pydantic object says with its class what they are; the names of other values are the fields
    unless something else is named.
    """
    if isinstance(data, BaseModel):
        model: Wanted = type(data)
        data, wanted = data.model_dump(mode="json"), model if wanted is None else wanted
    asked = asked_fields(wanted, data, named)
    if isinstance(data, Mapping) and not (asked.type or asked.schema is not None or asked.names):
        return WantedFields(names=tuple(data), data=data)
    return asked


def extract_options(named: ExtractArguments) -> CheckedOptions:
    """How to read. Raises InputRejected."""
    return read_options(pages=named.get("pages"), pdf_text=named.get("pdf_text"), password=named.get("password", ""))
