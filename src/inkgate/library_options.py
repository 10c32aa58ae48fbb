"""What the library (library.py) is given, as the Reader and the service take it: settings, and options of a read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from inkgate.documents.pages import PageSelection, select
from inkgate.errors import InputRejected
from inkgate.reader import ReadOptions
from inkgate.settings import DegradationSettings, LimitSettings, PdfText, Settings, config_file, load_settings
from inkgate.types import Task, TaskKind

SettingsSource = Settings | Mapping[str, Mapping[str, object]] | str | os.PathLike[str] | None
"""Settings, changes such as `{"engine": {"name": "hunyuanocr"}}`, or a TOML file. Without a file, the one that
INKGATE_CONFIG names applies. The environment (`INKGATE_...`) applies to all but Settings.
"""
_NO_DEADLINE_S = 365 * 24 * 3600.0


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


def read_options(
    task: Task | str = TaskKind.PARSE,
    pages: PageSelection | str | int | Sequence[int] | None = None,
    pdf_text: PdfText | str | None = None,
    password: str = "",
    images: bool | None = None,
) -> ReadOptions:
    """The options for the Reader; see ReadArguments.

    Raises:
        InputRejected: "options_invalid" or "pages_invalid".
    """
    try:
        task = task if isinstance(task, Task) else Task(TaskKind(task))
        pdf_text = None if pdf_text is None else PdfText(pdf_text)
    except ValueError as error:
        raise InputRejected("options_invalid", f"{error}.") from error
    task = task if images is None else replace(task, images=images)
    chosen = pages if isinstance(pages, PageSelection) else select(pages, first=1)
    return ReadOptions(task, chosen, pdf_text, password)


def settings_of(source: SettingsSource) -> Settings:
    if isinstance(source, Settings):
        return source
    if isinstance(source, Mapping):
        return load_settings(config_file(), **{branch: dict(values) for branch, values in source.items()})
    return load_settings(config_file() if source is None else Path(source))
