"""The plan of a batch: its documents, in shards. Made once; every later run and every machine reads the same plan.

    OUT/_inkgate/plan.json              how many, and where the parts are; created last, and by one run only
    OUT/_inkgate/plan-TOKEN/00000.jsonl 100 shards, one a line
    OUT/_inkgate/done/00017.json        shard 17 is read
    OUT/data/00017.jsonl                its rows

Resuming needs two listings and no list of documents in memory: 10 million documents are 40,000 shards.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from inkgate.errors import SourceMissing
from inkgate.storage.objects import Objects, StoredObject

VERSION: Final = 1


class BatchInvalid(Exception):
    """The folder of results can't be used; the text says why."""


_SHARDS_A_PART: Final = 100
_MAX_PART_BYTES: Final = 200_000_000
_MAX_PLAN_BYTES: Final = 100_000


@dataclass(frozen=True, slots=True)
class PlannedDocument:
    """A document of a plan.

    Attributes:
        name: its path below the input.
        url: of the object.
        size: in bytes.
        etag: it must have this one when it is read; empty if the store has none.
    """

    name: str
    url: str
    size: int
    etag: str = ""


@dataclass(frozen=True, slots=True)
class Shard:
    """The documents that are read and written down together."""

    index: int
    documents: tuple[PlannedDocument, ...]


_MAX_MARKER_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ShardLimits:
    """A shard has at most so many documents and, unless it is a single one, bytes."""

    documents: int = 256
    bytes: int = 64_000_000


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What is in `plan.json`: the input's URL, the rows' format, and the `token` that names the folder of the parts."""

    source: str
    format: str
    token: str
    shards: int
    documents: int
    bytes: int
    version: int = VERSION


class BatchFolder:
    """The folder of a batch's results, and its names."""

    def __init__(self, objects: Objects, url: str) -> None:
        self.objects = objects
        self.url = url.rstrip("/")

    def place(self, *names: str) -> str:
        """The URL of what is below the folder."""
        return "/".join([self.url, *names])

    def done_marker(self, shard: int) -> str:
        return self.place("_inkgate", "done", f"{shard:05}.json")

    async def done_shard(self, shard: int) -> dict[str, Any]:
        """What the marker of a shard that is done says. Raises InkgateError: it can't be read."""
        found: dict[str, Any] = json.loads(await self.objects.get(self.done_marker(shard), max_bytes=_MAX_MARKER_BYTES))
        return found

    def data(self, shard: int, suffix: str) -> str:
        return self.place("data", f"{shard:05}{suffix}")

    def part(self, token: str, number: int) -> str:
        return self.place("_inkgate", f"plan-{token}", f"{number:05}.jsonl")

    @property
    def plan_file(self) -> str:
        return self.place("_inkgate", "plan.json")

    async def plan(self) -> BatchPlan | None:
        """The plan; None if there is none yet.

        Raises:
            BatchInvalid: it is of another version of inkgate, or none.
            EngineFailed: the store can't be reached.
        """
        try:
            data = await self.objects.get(self.plan_file, max_bytes=_MAX_PLAN_BYTES)
        except SourceMissing:
            return None
        try:
            found: dict[str, Any] = json.loads(data)
            if found.get("version") != VERSION:
                raise BatchInvalid("The plan is of another version of inkgate.")
            return BatchPlan(**found)
        except (TypeError, AttributeError, ValueError) as error:
            raise BatchInvalid("plan.json is not a plan.") from error

    async def make_plan(
        self, source: str, rows: str, documents: Sequence[PlannedDocument], limits: ShardLimits
    ) -> BatchPlan:
        """Writes a plan, and returns it; the one of another run, if that was faster. `rows`: their format.

        Raises:
            EngineFailed: the store can't be reached.
        """
        shards = list(_shards(documents, limits))
        token = secrets.token_hex(4)
        for number, first in enumerate(range(0, len(shards), _SHARDS_A_PART)):
            lines = b"".join(_as_json(shard) + b"\n" for shard in shards[first : first + _SHARDS_A_PART])
            await self.objects.put(self.part(token, number), lines)
        plan = BatchPlan(source, rows, token, len(shards), len(documents), sum(document.size for document in documents))
        if await self.objects.put(self.plan_file, _as_json(plan), create_only=True):
            return plan
        other = await self.plan()
        if other is None:
            raise BatchInvalid("plan.json was deleted while it was made.")
        return other

    async def shards(self, plan: BatchPlan, wanted: AsyncIterable[int]) -> AsyncIterator[Shard]:
        """The `wanted` shards of the plan, as their indexes come. A part that two have in common is loaded once.

        Raises:
            BatchInvalid: a part is damaged.
        """
        number, lines = -1, []
        async for index in wanted:
            if index // _SHARDS_A_PART != number:
                number = index // _SHARDS_A_PART
                data = await self.objects.get(self.part(plan.token, number), max_bytes=_MAX_PART_BYTES)
                lines = data.splitlines()
            yield _parsed_shard(lines[index % _SHARDS_A_PART])

    async def done(self) -> set[int]:
        """The shards that are read."""
        names = [PurePosixPath(each.url).stem async for each in self.objects.list(self.place("_inkgate", "done"))]
        return {int(name) for name in names if name.isdigit()}


def _as_json(entry: BatchPlan | Shard) -> bytes:
    """ASCII, unlike orjson's: names of local files need not be valid UTF-8."""
    return json.dumps(asdict(entry)).encode()


def _parsed_shard(line: bytes) -> Shard:
    try:
        found = json.loads(line)
        return Shard(found["index"], tuple(PlannedDocument(**each) for each in found["documents"]))
    except (KeyError, TypeError, ValueError) as error:
        raise BatchInvalid("A part of the plan is damaged.") from error


def _shards(documents: Sequence[PlannedDocument], limits: ShardLimits) -> Iterator[Shard]:
    index, held, size = 0, list[PlannedDocument](), 0
    for document in documents:
        if held and (len(held) == limits.documents or size + document.size > limits.bytes):
            yield Shard(index, tuple(held))
            index, held, size = index + 1, [], 0
        held.append(document)
        size += document.size
    if held:
        yield Shard(index, tuple(held))


async def list_documents(objects: Objects, source: str, suffixes: frozenset[str]) -> list[PlannedDocument]:
    """The documents below `source`, a folder's URL, by name; without hidden ones and those of other suffixes.

    Raises:
        EngineFailed: the store can't be reached.
    """
    begin = source.rstrip("/") + "/"

    def planned(found: StoredObject) -> PlannedDocument | None:
        name = found.url.removeprefix(begin)
        hidden = any(part.startswith((".", "_inkgate")) for part in name.split("/"))
        if hidden or PurePosixPath(name).suffix.lower() not in suffixes:
            return None
        return PlannedDocument(name, found.url, found.byte_count, found.etag)

    listed = [planned(found) async for found in objects.list(source)]
    return sorted((each for each in listed if each is not None), key=lambda each: each.name)
