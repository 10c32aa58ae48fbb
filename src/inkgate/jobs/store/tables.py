"""The tables of jobs, for SQLite and PostgreSQL, and their versions.

Times are Unix times in seconds: of the database's clock on PostgreSQL, of this machine's on SQLite.
"""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_bytes
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from inkgate.storage.files import SECRET_BYTES

metadata = MetaData()

jobs = Table(
    "inkgate_jobs",
    metadata,
    Column("id", String(32), primary_key=True),  # in order of creation
    Column("tenant", Text, nullable=False),
    Column("state", String(12), nullable=False),
    Column("name", Text, nullable=False),
    Column("source", Text, nullable=False),  # JSON of JobSource
    Column("upload", String(64)),
    Column("options", Text, nullable=False),  # JSON of JobOptions, without the password
    Column("password", Text),
    Column("rank", Integer, nullable=False),
    Column("turn", BigInteger, nullable=False),  # order of its tenant's jobs
    Column("pipeline", Text, nullable=False),
    Column("webhook", Text, nullable=False),
    Column("key", String(64)),
    Column("fingerprint", String(64), nullable=False),
    Column("created", Double, nullable=False),
    Column("not_before", Double, nullable=False),
    Column("started", Double),
    Column("ended", Double),
    Column("deadline", Double),
    Column("pages", Integer),
    Column("saved", Integer, nullable=False, default=0),
    Column("failed", Integer, nullable=False, default=0),
    Column("attempts", Integer, nullable=False, default=0),
    Column("retries", Integer, nullable=False, default=0),  # since a page was saved
    Column("suspect", Integer),  # the page that is being read alone
    Column("suspect_deaths", Integer, nullable=False, default=0),
    Column("lease", String(32)),
    Column("leased_at", Double),
    Column("lease_until", Double),
    Column("document", Text),  # JSON of JobDocument
    Column("error_code", String(64)),
    Column("error_detail", Text),
    Column("expired", Boolean, nullable=False, default=False),  # its pages are no longer kept
    Column("review", String(12)),  # JobReview, of a job that finds fields
    Column("batch", String(32)),  # ID of the first job of its batch
    UniqueConstraint("tenant", "key", name="inkgate_jobs_key"),
    Index("inkgate_jobs_turns", "state", "rank", "tenant", "turn", "id"),
    Index("inkgate_jobs_tenant", "tenant", "id"),
    Index("inkgate_jobs_ended", "expired", "ended"),
    Index("inkgate_jobs_upload", "upload"),
    Index("inkgate_jobs_review", "tenant", "review", "id"),
    Index(
        "inkgate_jobs_batch",
        "tenant",
        "state",
        "rank",
        "not_before",
        sqlite_where=text("batch IS NOT NULL"),
        postgresql_where=text("batch IS NOT NULL"),
    ),
)

lines = Table(
    "inkgate_lines",
    metadata,
    Column("id", String(32), primary_key=True),  # that its first line will have as a job
    Column("batch", String(32), nullable=False),
    Column("tenant", Text, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("number", Integer, nullable=False),  # of lines
    Column("created", Double, nullable=False),
    Column("uploads", Text, nullable=False),  # that they need, with spaces between
    Column("packed", LargeBinary, nullable=False),  # JSON of IDs and NewJobs, compressed by zlib
    Index("inkgate_lines_tenant", "tenant", "id"),
    Index("inkgate_lines_rank", "rank", "tenant", "id"),
)

fields = Table(
    "inkgate_fields",
    metadata,
    Column("job", String(32), primary_key=True),
    Column("wanted", Text, nullable=False),  # JSON of JobFields
    Column("extraction", Text),  # JSON as published, once it was found
    Column("corrections", Text, nullable=False),  # JSON array of Correction
    Column("version", Integer, nullable=False),  # incremented by each change
)

pages = Table(
    "inkgate_pages",
    metadata,
    Column("job", String(32), primary_key=True),
    Column("page", Integer, primary_key=True, autoincrement=False),
    Column("failed", Boolean, nullable=False),
    Column("result", LargeBinary, nullable=False),  # codec.dump_page, compressed by zlib
    Column("saved_at", Double, nullable=False),
    Index("inkgate_pages_saved_at", "saved_at"),
)

shares = Table(
    "inkgate_shares",
    metadata,
    Column("rank", Integer, primary_key=True, autoincrement=False),
    Column("tenant", Text, primary_key=True),  # empty: the virtual time
    Column("turn", BigInteger, nullable=False),  # of versions before 3
    Column("used", Double, nullable=False, server_default="0"),  # pages by weight, in virtual time
)

outbox = Table(
    "inkgate_outbox",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("job", String(32), nullable=False),
    Column("sink", Text, nullable=False),
    Column("state", String(12), nullable=False),  # waiting, done, dead
    Column("attempts", Integer, nullable=False, default=0),
    Column("not_before", Double, nullable=False),
    Column("token", String(32)),
    Column("error", Text),
    Column("lane", Text, nullable=False, server_default=""),  # of DeliveryLane; empty: of a version before 4
    Index("inkgate_outbox_due", "state", "not_before"),
    Index("inkgate_outbox_lane", "state", "lane", "not_before"),
    Index("inkgate_outbox_job", "job"),
)

files = Table(
    "inkgate_files",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("name", Text, nullable=False),
    Column("byte_count", BigInteger, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("cost", BigInteger, nullable=False),  # of StoredFile
    Index("inkgate_files_owner", "owner", "created_at"),
    Index("inkgate_files_expires", "expires_at"),
)

secrets = Table("inkgate_secrets", metadata, Column("value", LargeBinary, primary_key=True))
"""One row: what signs URLs of files."""

schema = Table("inkgate_schema", metadata, Column("version", Integer, primary_key=True, autoincrement=False))


def _make_secret(connection: Connection) -> None:
    connection.execute(secrets.insert().values(value=token_bytes(SECRET_BYTES)))


VERSION = 6
"""Incremented with each change of the tables, and a step in `_STEPS` that makes it."""
_STEPS: dict[int, tuple[str | Callable[[Connection], None], ...]] = {
    2: (
        "ALTER TABLE inkgate_jobs ADD COLUMN review VARCHAR(12)",
        "CREATE INDEX inkgate_jobs_review ON inkgate_jobs (tenant, review, id)",
        (
            "CREATE TABLE inkgate_fields (job VARCHAR(32) NOT NULL, wanted TEXT NOT NULL, extraction TEXT, "
            "corrections TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (job))"
        ),
    ),
    3: (
        "ALTER TABLE inkgate_shares ADD COLUMN used DOUBLE PRECISION NOT NULL DEFAULT 0",
        "CREATE INDEX inkgate_jobs_turns ON inkgate_jobs (state, rank, tenant, turn, id)",
        # Turns of version 2 are far above those that begin now; IDs keep the order of these jobs.
        "UPDATE inkgate_jobs SET turn = 0 WHERE state IN ('queued', 'running', 'cancelling')",
        "UPDATE inkgate_shares SET turn = 0",
    ),
    4: (
        "ALTER TABLE inkgate_outbox ADD COLUMN lane TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX inkgate_outbox_lane ON inkgate_outbox (state, lane, not_before)",
    ),
    5: (
        "ALTER TABLE inkgate_jobs ADD COLUMN batch VARCHAR(32)",
        "CREATE INDEX inkgate_jobs_batch ON inkgate_jobs (tenant, state, rank, not_before) WHERE batch IS NOT NULL",
        lines.create,
    ),
    6: (files.create, secrets.create, _make_secret),
}
"""Changes of the tables by version: the SQL, or what runs it, that changes the tables of the version before. No step
removes a table or column, so that processes of the version before can go on during an update. It has to end within an
hour: a process of a version before 5 knows no lines of batches, and deletes uploads older than that which only lines
need."""
_LOCK = 7860_0001
"""Number of PostgreSQL's advisory lock by which two processes don't make the tables at once."""


def insert(connection: Connection) -> Callable[..., Any]:
    """The insert of the dialect, with ON CONFLICT."""
    return postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert


class StoreTooNew(Exception):
    """A later version of inkgate has changed the tables."""


def migrate(connection: Connection) -> None:
    """Makes the tables, or changes them to this version. In a transaction.

    Raises:
        StoreTooNew: they are of a later version.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    if not inspect(connection).has_table(schema.name):
        metadata.create_all(connection)
        _make_secret(connection)
        connection.execute(schema.insert().values(version=VERSION))
        return
    found = connection.execute(select(schema.c.version)).scalar_one()
    if found > VERSION:
        raise StoreTooNew(f"The tables of jobs have version {found}; this inkgate knows versions up to {VERSION}.")
    for version in range(found + 1, VERSION + 1):
        for statement in _STEPS[version]:
            if isinstance(statement, str):
                connection.execute(text(statement))
            else:
                statement(connection)
        connection.execute(update(schema).values(version=version))
