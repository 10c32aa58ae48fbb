"""One document: the models are loaded for it and freed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack, overload

from pydantic import BaseModel

from inkgate.extraction.finder import field_finder
from inkgate.library.arguments import (
    ExtractArguments,
    ReadArguments,
    SettingsSource,
    asked_fields,
    extract_options,
    given_values,
    read_arguments,
    settings_of,
)
from inkgate.library.awaited import AsyncOcr
from inkgate.library.blocking import Ocr
from inkgate.library.local import fields_by_type
from inkgate.library.results import DocumentFields, OcrResult
from inkgate_client.fields.asked import ModelT, Wanted
from inkgate_client.files import Source


def read(document: Source, *, settings: SettingsSource = None, **arguments: Unpack[ReadArguments]) -> OcrResult:
    """Reads one document: a path, bytes, a file open in binary mode, a PIL image, a NumPy array (RGB, not BGR), or a
    URL if the setting `fetch.enabled` allows it. Loads the models for it: use Ocr for several. `arguments`: see
    ReadArguments.

    Raises:
        OSError: the file can't be read.
        ValueError: an array is no image, or a setting is wrong.
        InputRejected: the document or an argument can't be used.
        EngineFailed: the engine did not start, or read no page. A failed page among others has an `error` instead.
        RuntimeError: this thread runs an event loop.
    """
    ocr = Ocr(settings)
    source, _ = ocr.reader.loaded_here(document), read_arguments("read", arguments, "settings")  # before the models
    with ocr:
        return ocr.read(source, **arguments)


async def aread(document: Source, *, settings: SettingsSource = None, **arguments: Unpack[ReadArguments]) -> OcrResult:
    """Reads a document like `read`, for async code and notebooks."""
    read_arguments("aread", arguments, "settings")
    async with AsyncOcr(settings) as ocr:
        return await ocr.read(document, **arguments)


@overload
def extract(
    document: Source, wanted: type[ModelT], *, settings: SettingsSource = None, **named: Unpack[ExtractArguments]
) -> DocumentFields[ModelT | None]: ...


@overload
def extract(
    document: Source, wanted: Wanted = None, *, settings: SettingsSource = None, **named: Unpack[ExtractArguments]
) -> DocumentFields[Any]: ...


def extract(
    document: Source,
    wanted: Wanted | type[Any] = None,
    *,
    settings: SettingsSource = None,
    **named: Unpack[ExtractArguments],
) -> DocumentFields[Any]:
    """Fields of one document: those of a pydantic class, a document type, a JSON Schema or a list of names; without
    any, the type is found. Loads the models for it: use Ocr for several. See AsyncOcr.extract; raises as `read`.
    """
    ocr = Ocr(settings)
    source, _, _ = ocr.reader.loaded_here(document), asked_fields(wanted, None, named), extract_options(named)
    with ocr:
        return ocr.extract(source, wanted, **named)


@overload
async def aextract(
    document: Source, wanted: type[ModelT], *, settings: SettingsSource = None, **named: Unpack[ExtractArguments]
) -> DocumentFields[ModelT | None]: ...


@overload
async def aextract(
    document: Source, wanted: Wanted = None, *, settings: SettingsSource = None, **named: Unpack[ExtractArguments]
) -> DocumentFields[Any]: ...


async def aextract(
    document: Source,
    wanted: Wanted | type[Any] = None,
    *,
    settings: SettingsSource = None,
    **named: Unpack[ExtractArguments],
) -> DocumentFields[Any]:
    """Extracts fields like `extract`, for async code and notebooks."""
    asked_fields(wanted, None, named)
    async with AsyncOcr(settings) as ocr:
        return await ocr.extract(document, wanted, **named)


def verify(
    document: Source,
    data: Mapping[str, object] | str | BaseModel,
    wanted: Wanted = None,
    *,
    settings: SettingsSource = None,
    **named: Unpack[ExtractArguments],
) -> DocumentFields[Any]:
    """Looks up values of somebody else in one document; see AsyncOcr.verify. Raises as `read`."""
    ocr = Ocr(settings)
    source, _, _ = ocr.reader.loaded_here(document), given_values(data, wanted, named), extract_options(named)
    with ocr:
        return ocr.verify(source, data, wanted, **named)


async def averify(
    document: Source,
    data: Mapping[str, object] | str | BaseModel,
    wanted: Wanted = None,
    *,
    settings: SettingsSource = None,
    **named: Unpack[ExtractArguments],
) -> DocumentFields[Any]:
    """Verifies values like `verify`, for async code and notebooks."""
    given_values(data, wanted, named)
    async with AsyncOcr(settings) as ocr:
        return await ocr.verify(document, data, wanted, **named)


def document_types(*, settings: SettingsSource = None) -> dict[str, tuple[str, ...]]:
    """The paths of the fields of each document type, such as `/total`. Loads no models. Raises ValueError, OSError or
    InputRejected if the settings or a type's file can't be used.
    """
    return fields_by_type(field_finder(settings_of(settings)).types)
