"""Who takes part: what people write on the command line, and what it stands for."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inkgate.bench.load.service import Serve

_NAMED = re.compile(r"([\w .-]+)=(.+)")
_PLACED = re.compile(r"([^@/:]+)@(https?://.+)")
_URL = re.compile(r"https?://")


class ContenderInvalid(ValueError):
    """It stands for nothing that can be measured; the message says why, and what would."""


@dataclass(frozen=True, slots=True)
class Given:
    """A service that runs already: it is neither started nor stopped, and its memory is its own affair."""

    url: str


@dataclass(frozen=True, slots=True)
class Contender:
    """`place`: what is started for the comparison, or where it is."""

    name: str
    place: Serve | Given


def parse(specs: Sequence[str], config: Path | None = None) -> tuple[Contender, ...]:
    """The contenders that `specs` name, each as `[NAME=]WHAT`. WHAT is

    - an engine (`ppocr`, `transformers`, `paddleocr-vl`): started with the settings of `config`;
    - an engine and a model server of its own (`paddleocr-vl@http://gpu:8000/v1`): the gateway is started before it;
    - a file of settings (`four-threads.toml`): started with those;
    - an address (`http://gpu:8000/v1`): measured as it is, in the protocol that it speaks.

    Raises:
        ContenderInvalid: there are none, two have the same name, or a file is not there.
    """
    if not specs:
        raise ContenderInvalid("Name at least one engine, or one address.")
    contenders = tuple(_contender(spec.strip(), config) for spec in specs)
    names = [contender.name for contender in contenders]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ContenderInvalid(f"{', '.join(twice)}: twice. Give each a name of its own: NAME={specs[0]}.")
    return contenders


def _contender(spec: str, config: Path | None) -> Contender:
    named = _NAMED.fullmatch(spec)
    name, what = (named[1].strip(), named[2].strip()) if named else ("", spec)
    if not what:
        raise ContenderInvalid("An engine without a name.")
    if _URL.match(what):
        return Contender(name or what, Given(what))
    if what.endswith(".toml"):
        file = Path(what)
        if not file.is_file():
            raise ContenderInvalid(f"There is no file {what}.")
        return Contender(name or file.stem, Serve(config=file))
    placed = _PLACED.fullmatch(what)
    if placed:
        settings = {"engine.name": placed[1], "engine.vllm.urls": json.dumps([placed[2]])}
        return Contender(name or what, Serve(settings, config))
    return Contender(name or what, Serve({"engine.name": what}, config))
