"""Files of `/v1/files` that gateways share: rows in the database of jobs, and their bytes beside the uploads of jobs.

A file's bytes are written before its row and deleted after it. What a killed process leaves between the two is found
by its age.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import Any
from uuid import uuid4

import structlog
from sqlalchemy import Connection, Row, delete, func, select

from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.jobs.store.database import Clock, Database, Recent, unavailable
from inkgate.jobs.store.records import clean
from inkgate.jobs.store.tables import files, secrets
from inkgate.jobs.store.turns import lock_turns
from inkgate.storage.files import RETENTION_S, FileUse, StoredFile, check_room, unknown_file
from inkgate.storage.objects import Objects
from inkgate.storage.uploads import not_kept

log = structlog.get_logger(__name__)

_SWEPT_AT_ONCE = 500


class SharedFiles:
    """A FileStore of all gateways with the same `jobs.database` and `jobs.uploads`. Used from one event loop."""

    def __init__(self, database: Database, clock: Clock, objects: Objects, folder_url: str, max_bytes: int) -> None:
        """`folder_url`: of the uploads, in which the files have a folder of their own. `max_bytes`: of all files."""
        self.now = clock
        self._database = database
        self._objects = objects
        self._folder_url = folder_url.rstrip("/") + "/files/"
        self._max_bytes = max_bytes
        self.missing = 0
        """Files so far whose bytes were not there."""
        self._secret = Recent(lambda connection: connection.execute(select(secrets.c.value)).scalar_one(), database)

    async def secret(self) -> bytes:
        return bytes(await self._secret.value())

    async def add(self, name: str, data: bytes, purpose: str, owner: str) -> StoredFile:
        file = StoredFile(str(uuid4()), clean(name), len(data), clean(purpose), owner, 0.0, 0.0)
        # What has no room is refused before it is written; the row decides, as others may be written meanwhile.
        await self._database.read(lambda connection: self._check_room(connection, file), owner)
        with _as_overload():
            await self._objects.put(self._url(file.id), data, private=True)

        def write(connection: Connection) -> StoredFile:
            now = self._check_room(connection, file)
            added = replace(file, created_at=now, expires_at=now + RETENTION_S)
            row = {key: value for key, value in asdict(added).items() if key != "data"}
            connection.execute(files.insert().values(**row, cost=file.cost))
            return added

        try:
            return await self._database.write(write, lock_turns)
        except InkgateError:
            await self._forget([file.id])
            raise

    def _check_room(self, connection: Connection, file: StoredFile) -> float:
        """Returns the time. Raises Overloaded as `add` does."""
        now = self._time(connection)
        use = select(func.count(), func.coalesce(func.sum(files.c.cost), 0), func.min(files.c.expires_at)).where(
            files.c.expires_at > now
        )
        total, own = (
            FileUse(count, int(taken), first or 0.0)
            for count, taken, first in (
                connection.execute(use).one(),
                connection.execute(use.where(files.c.owner == file.owner)).one(),
            )
        )
        check_room(file.cost, total, own, self._max_bytes, now)
        return now

    async def get(self, file_id: str, owner: str | None) -> StoredFile:
        chosen = select(files).where(files.c.id == clean(file_id), files.c.expires_at > self._database.now())
        if owner is not None:
            chosen = chosen.where(files.c.owner == owner)
        row = await self._database.read(lambda connection: connection.execute(chosen).first(), owner or "")
        if row is None:
            raise unknown_file()
        return _file_of(row)

    async def load(self, file: StoredFile) -> bytes:
        try:
            with _as_overload():
                return await self._whole(file)
        except InputRejected as error:
            await self.get(file.id, None)
            self.missing += 1
            log.error("file_missing", file=file.id, folder=self._folder_url)  # noqa: TRY400 - no fault of the code
            detail = (
                "The file's content is not at this gateway, or not whole. All gateways need the same `jobs.uploads`."
            )
            raise unavailable(detail) from error

    async def _whole(self, file: StoredFile) -> bytes:
        data = await self._objects.get(self._url(file.id), max_bytes=file.byte_count)
        if len(data) < file.byte_count:
            raise InputRejected("source_missing", "The end of the file is missing.")
        return data

    async def owned(self, owner: str) -> Sequence[StoredFile]:
        chosen = select(files).where(files.c.owner == owner, files.c.expires_at > self._database.now())
        chosen = chosen.order_by(files.c.created_at.desc(), files.c.id)
        return await self._database.read(
            lambda connection: [_file_of(row) for row in connection.execute(chosen)], owner
        )

    async def delete(self, file_id: str, owner: str) -> None:
        file = await self.get(file_id, owner)
        await self._database.write(lambda connection: connection.execute(delete(files).where(files.c.id == file.id)))
        await self._forget([file.id])

    async def expire(self) -> None:
        """Deletes the files that have expired."""
        expired = delete(files).where(files.c.expires_at <= self._database.now()).returning(files.c.id)
        await self._forget(await self._database.write(lambda connection: connection.execute(expired).scalars().all()))

    async def sweep(self, before: float) -> None:
        """Deletes bytes that were written before this time (Unix time) and belong to no file.

        Raises:
            EngineFailed: "source_unreachable".
        """
        found: list[str] = []
        async for each in self._objects.list(self._folder_url):
            if each.modified < before:
                found.append(each.url.rpartition("/")[2])
            if len(found) >= _SWEPT_AT_ONCE:
                await self._sweep(found)
                found.clear()
        await self._sweep(found)

    async def _sweep(self, file_ids: Sequence[str]) -> None:
        chosen = select(files.c.id).where(files.c.id.in_(file_ids))
        known = await self._database.read(lambda connection: set(connection.execute(chosen).scalars()))
        await self._forget([each for each in file_ids if each not in known])

    async def _forget(self, file_ids: Sequence[str]) -> None:
        """Deletes bytes; if the store fails, which it has logged, the next sweep does."""
        with suppress(EngineFailed):
            for file_id in file_ids:
                await self._objects.delete(self._url(file_id))

    def _time(self, connection: Connection) -> float:
        return float(connection.execute(select(self._database.now())).scalar_one())

    def _url(self, file_id: str) -> str:
        return f"{self._folder_url}{file_id}"


@contextmanager
def _as_overload() -> Iterator[None]:
    """Raises what the object store can't do as Overloaded."""
    try:
        yield
    except EngineFailed as error:
        raise not_kept(error) from error


def _file_of(row: Row[Any]) -> StoredFile:
    return StoredFile(row.id, row.name, row.byte_count, row.purpose, row.owner, row.created_at, row.expires_at)
