"""Names of results: one rule for all commands that write files beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath

from inkgate.cli.inputs import InputDocument
from inkgate.cli.messages import misuse

FIELDS_SUFFIX = ".fields.json"
ERROR_SUFFIX = ".error.txt"
_OF_OTHERS = tuple(PurePath(suffix).stem for suffix in (FIELDS_SUFFIX, ERROR_SUFFIX))


def bare_name(file: PurePath) -> PurePath:
    """A document's name without its suffix: `a.png` gives `a`. `a.fields.png` stays as it is, because `a.fields.json`
    has the fields of `a.png`.
    """
    bare = file.with_suffix("")
    return file if bare.name.lower().endswith(_OF_OTHERS) else bare


def result_places(folder: Path, sources: Sequence[InputDocument], suffix: str) -> dict[InputDocument, Path]:
    """Returns where the results of each document go, without the format's suffix: its bare name, or its name if two
    documents have the same bare one. `suffix`: of one of the formats, for the message.

    Raises:
        typer.Exit: with status 2: two documents would be written to one file.
    """
    bare = Counter(bare_name(source.relative) for source in sources)
    places: dict[InputDocument, Path] = {}
    taken: dict[Path, InputDocument] = {}
    for source in sources:
        name = bare_name(source.relative)
        places[source] = place = folder / (name if bare[name] == 1 else source.relative)
        other = taken.setdefault(place, source)
        if other is not source:
            raise misuse(
                f"{other.name} and {source.name} would both be written to {place}{suffix}.",
                "Name their folder instead of the files, or read them in two runs.",
            )
    return places
