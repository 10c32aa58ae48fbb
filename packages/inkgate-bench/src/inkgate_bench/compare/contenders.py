"""What is compared, from the command line: engines, services, and the documents that all of them get."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inkgate_bench.accuracy.manifest import Entry, load_manifest
from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.pages import load_pages
from inkgate_bench.load.service import Serve

_NAMED = re.compile(r"([\w .-]+)=(.+)")
_WITH_SERVER = re.compile(r"([^@/:]+)@(https?://.+)")
_URL = re.compile(r"https?://")


class ContenderInvalid(ValueError):
    """The text names nothing that can be measured; the message says why."""


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service that runs already: it is neither started nor stopped, and its memory is unknown."""

    url: str


@dataclass(frozen=True, slots=True)
class Contender:
    """`service`: what is started for the comparison, or where it runs."""

    name: str
    service: Serve | RunningService


def parse(specs: Sequence[str], config: Path | None = None) -> tuple[Contender, ...]:
    """The contenders that `specs` name, each as `[NAME=]WHAT`. WHAT is

    - an engine (`ppocr`, `transformers`, `paddleocr-vl`): started with the settings of `config`;
    - an engine and its model server (`paddleocr-vl@http://gpu:8000/v1`): a gateway is started in front of it;
    - a settings file (`four-threads.toml`): started with it;
    - an address (`http://gpu:8000/v1`): measured as it is, in the protocol that it speaks.

    Raises:
        ContenderInvalid: there are none, two have the same name, or a file is missing.
    """
    if not specs:
        raise ContenderInvalid("Name at least one engine or address.")
    contenders = tuple(_contender(spec.strip(), config) for spec in specs)
    names = [contender.name for contender in contenders]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ContenderInvalid(f"{', '.join(twice)} is given twice: name each, as in NAME={specs[0]}.")
    return contenders


def _contender(spec: str, config: Path | None) -> Contender:
    named = _NAMED.fullmatch(spec)
    name, what = (named[1].strip(), named[2].strip()) if named else ("", spec)
    if not what:
        raise ContenderInvalid("An engine has no name.")
    if _URL.match(what):
        return Contender(name or what, RunningService(what))
    if what.endswith(".toml"):
        file = Path(what)
        if not file.is_file():
            raise ContenderInvalid(f"There is no file {what}.")
        return Contender(name or file.stem, Serve(config=file))
    with_server = _WITH_SERVER.fullmatch(what)
    if with_server:
        settings = {"engine.name": with_server[1], "engine.vllm.urls": json.dumps([with_server[2]])}
        return Contender(name or what, Serve(settings, config))
    return Contender(name or what, Serve({"engine.name": what}, config))


def documents(source: Path) -> tuple[Entry, ...]:
    """The documents of a manifest (docs/guides/accuracy.md) that open, the images and PDFs of a folder, or one file.

    `scan.txt` beside `scan.png` is its text.

    Raises:
        LoadImpossible: there is no image and no PDF.
        ManifestInvalid: the manifest can't be read.
    """
    if source.suffix.lower() == ".json":
        entries = tuple(entry for entry in load_manifest(source) if entry.opens)
        if not entries:
            raise LoadImpossible(f"{source} lists no document that opens.")
        return entries
    folder = source.parent if source.is_file() else source
    return tuple(_entry(folder, page.name) for page in load_pages(source))


def _entry(folder: Path, name: str) -> Entry:
    file = folder / name
    text = file.with_suffix(".txt")
    return Entry(name, file, str(Path(name).parent), "-", "-", text if text.is_file() else None)
