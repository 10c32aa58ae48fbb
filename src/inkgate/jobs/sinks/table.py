"""Results as rows of a table in somebody else's database, inserted or updated by a unique key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import structlog
from sqlalchemy import Engine, MetaData, Table, Text, create_engine, inspect, types
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.engine import URL, Inspector, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    IntegrityError,
    NoSuchModuleError,
    NoSuchTableError,
    SQLAlchemyError,
    StatementError,
)
from sqlalchemy.sql import Executable

from inkgate.installation import install_extra
from inkgate.jobs.job import Delivery, Job
from inkgate.jobs.sinks.base import DeliverLater, DeliverNever
from inkgate.jobs.sinks.columns import ColumnValue, column_of
from inkgate.jobs.sinks.values import RowSource, row_sources, value_at
from inkgate.settings import TableSinkSettings
from inkgate_client.concurrency import Threads
from inkgate_client.types import DocumentResult

log = structlog.get_logger(__name__)

_CONNECTIONS = 4
_CONNECT_S = 10
_STATEMENT_S = 30
_MAX_REASONS = 5


class TableSchemaMismatch(Exception):
    """The settings don't fit the table, or the table the settings."""


@dataclass(frozen=True, slots=True)
class _TargetColumn:
    name: str
    path: str
    convert: ColumnValue
    nullable: bool


@dataclass(frozen=True, slots=True)
class _Target:
    columns: tuple[_TargetColumn, ...]
    upsert: Executable


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    values: dict[str, Any]


class TableSink:
    """Writes rows. A row that does not fit makes the delivery a dead letter that names row, column and reason; the
    other rows are written all the same. A job without any result has no row.
    """

    def __init__(self, name: str, settings: TableSinkSettings) -> None:
        """Created on the event loop. `name`: for messages."""
        self._name = name
        self._settings = settings
        self._threads = Threads(f"sink {name}", _CONNECTIONS)
        self._engine: Engine | None = None
        self._target: _Target | None = None

    async def __aenter__(self) -> Self:
        """Checks the settings against the table. What is wrong is logged; deliveries then wait until it is corrected,
        as they do while the database is unavailable.
        """
        try:
            await self._threads.run(self._prepare)
        except TableSchemaMismatch as error:
            log.error("sink_schema_mismatch", sink=self._name, why=str(error))  # noqa: TRY400 - the trace says no more
        except SQLAlchemyError as error:
            log.warning("sink_database_unavailable", sink=self._name, why=_first_line(error))
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._engine is not None:
            await self._threads.run(self._engine.dispose)

    async def deliver(self, delivery: Delivery) -> None:
        """Writes the rows. See Sink."""
        try:
            document = await delivery.load()
        except LookupError:
            log.info("sink_no_result", sink=self._name, job=delivery.job.id)
            return
        await self._threads.run(self._write, delivery.job, document, await delivery.fields())

    def _write(self, job: Job, document: DocumentResult, fields: Mapping[str, Any] | None) -> None:
        try:
            target = self._prepare()
            sources = row_sources(job, document, fields, by_page=self._settings.rows == "page")
            rows, mismatches = self._rows(target, sources)
            mismatches += self._upsert(target, rows)
        except TableSchemaMismatch as error:
            raise DeliverLater(str(error)) from error
        except SQLAlchemyError as error:
            self._target = None  # the table may have changed
            raise DeliverLater(_first_line(error)) from error
        if mismatches:
            more = f"; and {len(mismatches) - _MAX_REASONS} more" if len(mismatches) > _MAX_REASONS else ""
            raise DeliverNever("; ".join(mismatches[:_MAX_REASONS]) + more)

    def _rows(self, target: _Target, sources: Sequence[RowSource]) -> tuple[list[_Row], list[str]]:
        """The rows that fit, by key so that two writers don't wait for each other, and why the others don't."""
        rows: dict[str, _Row] = {}
        mismatches = list[str]()
        for source in sources:
            try:
                row = _Row(source.label, {one.name: self._value(one, source) for one in target.columns})
                key = repr([row.values[name] for name in self._settings.key])
                before = rows.setdefault(key, row)
                if before.values != row.values:
                    raise ValueError(f"it has the same key as {before.label.rstrip(': ')}, and other values")
            except ValueError as error:
                mismatches.append(f"{source.label}{error}")
        return [rows[key] for key in sorted(rows)], mismatches

    def _value(self, column: _TargetColumn, source: RowSource) -> object:
        """Raises ValueError if there is none that fits."""
        try:
            value = value_at(column.path, source)
            if value is not None:
                return column.convert(value)
        except ValueError as error:
            raise ValueError(f"column `{column.name}`: {error}") from None
        if column.name in self._settings.key:
            raise ValueError(f"column `{column.name}`: `{column.path}` is missing, and the key needs it")
        if not column.nullable:
            raise ValueError(f"column `{column.name}`: `{column.path}` is missing, and the column must not be null")
        return None

    def _upsert(self, target: _Target, rows: Sequence[_Row]) -> list[str]:
        """Writes the rows in one transaction; or, if the database refuses one, each in its own. Returns why it refused
        some.
        """
        engine = self._made_engine()
        if not rows:
            return []
        try:
            with engine.begin() as connection:
                connection.execute(target.upsert, [row.values for row in rows])
        except (DataError, IntegrityError):
            return [reason for row in rows if (reason := _refused(engine, target, row))]
        return []

    def _prepare(self) -> _Target:
        """The table as it is. Raises TableSchemaMismatch and SQLAlchemyError."""
        if self._target is None:
            self._target = self._reflected(self._made_engine())
        return self._target

    def _made_engine(self) -> Engine:
        if self._engine is None:
            self._engine = _engine(self._settings.database.get_secret_value())
        return self._engine

    def _reflected(self, engine: Engine) -> _Target:
        settings = self._settings
        schema, _, name = settings.table.rpartition(".")
        try:
            table = Table(name, MetaData(), schema=schema or None, autoload_with=engine, resolve_fks=False)
        except NoSuchTableError:
            raise TableSchemaMismatch(f"there is no table `{settings.table}`") from None
        if missing := [column for column in settings.columns if column not in table.columns]:
            raise TableSchemaMismatch(f"table `{settings.table}` has no column `{missing[0]}`")
        if set(settings.key) not in _unique_keys(inspect(engine), name, schema or None):
            key = ", ".join(settings.key)
            raise TableSchemaMismatch(
                f"table `{settings.table}` has no primary key or unique constraint on exactly ({key})"
            )
        for column in table.columns:
            given = column.server_default is not None or column.identity or column is table.autoincrement_column
            if column.name not in settings.columns and not column.nullable and not given:
                raise TableSchemaMismatch(f"`columns` needs a value for column `{column.name}`, which must not be null")
        columns = tuple(self._column(table, column, engine.dialect.name) for column in settings.columns)
        return _Target(columns, _upsert_into(table, settings.columns, settings.key, engine.dialect.name))

    def _column(self, table: Table, name: str, dialect: str) -> _TargetColumn:
        column = table.columns[name]
        convert = column_of(column.type, dialect)
        if convert is None:
            raise TableSchemaMismatch(f"column `{name}` has the type {column.type}, which is not supported")
        if isinstance(column.type, types.JSON):
            column.type.none_as_null = True
        elif isinstance(column.type, types.Numeric) and dialect == "sqlite":
            column.type = Text()  # as columns.py says; SQLite makes a number of it
        return _TargetColumn(name, self._settings.columns[name], convert, bool(column.nullable))


def _engine(url: str) -> Engine:
    """Raises TableSchemaMismatch if the URL can't be used."""
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and not Path(parsed.database or "").is_file():
            raise TableSchemaMismatch("there is no such SQLite file")
        pool: dict[str, Any] = {"pool_size": _CONNECTIONS, "max_overflow": 0, "pool_pre_ping": True}
        return create_engine(parsed, connect_args=_connect_args(parsed), pool_recycle=1800, **pool)
    except (ArgumentError, NoSuchModuleError):
        raise TableSchemaMismatch("`database` is not a URL such as postgresql://user:password@host/name") from None
    except ModuleNotFoundError as error:
        extra = f" ({install_extra('postgres')})" if error.name == "psycopg" else ""
        raise TableSchemaMismatch(f"the database's driver, {error.name}, is not installed{extra}") from None


def _connect_args(url: URL) -> dict[str, Any]:
    """Time limits, unless the URL sets them, so that a table that is locked does not hold threads for ever."""
    if url.get_backend_name() == "postgresql" and url.get_driver_name() == "psycopg":
        limits = {
            "connect_timeout": _CONNECT_S,
            "options": f"-c statement_timeout={_STATEMENT_S}s",
            "tcp_user_timeout": _STATEMENT_S * 1000,
        }
        return {name: value for name, value in limits.items() if name not in url.query}
    return {"timeout": _STATEMENT_S} if url.get_backend_name() == "sqlite" else {}


def _unique_keys(inspector: Inspector, table: str, schema: str | None) -> list[set[str | None]]:
    """Sets of columns by which rows can be updated."""
    keys: list[set[str | None]] = [set(inspector.get_pk_constraint(table, schema)["constrained_columns"])]
    keys += [set(one["column_names"]) for one in inspector.get_unique_constraints(table, schema)]
    for index in inspector.get_indexes(table, schema):
        partial = any(name.endswith("_where") for name in index.get("dialect_options", {}))
        if index["unique"] and not partial:
            keys.append(set(index["column_names"]))
    return keys


def _upsert_into(table: Table, columns: Sequence[str] | dict[str, str], key: Sequence[str], dialect: str) -> Executable:
    """An INSERT of these columns that updates the row with the same key."""
    others = [column for column in columns if column not in key]
    if dialect in ("mysql", "mariadb"):
        into = mysql.insert(table)
        return into.on_duplicate_key_update({name: into.inserted[name] for name in others or key})
    if dialect not in ("postgresql", "sqlite"):
        raise TableSchemaMismatch(f"tables of {dialect} are not supported: use PostgreSQL, SQLite, MySQL or MariaDB")
    insert = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    if not others:
        return insert.on_conflict_do_nothing(index_elements=list(key))
    return insert.on_conflict_do_update(index_elements=list(key), set_={name: insert.excluded[name] for name in others})


def _refused(engine: Engine, target: _Target, row: _Row) -> str:
    """Why the database does not take the row; empty if it does."""
    try:
        with engine.begin() as connection:
            connection.execute(target.upsert, row.values)
    except (DataError, IntegrityError) as error:
        return f"{row.label}{_first_line(error)}"
    return ""


def _first_line(error: SQLAlchemyError) -> str:
    """The database's message, without the statement and its values."""
    cause = error.orig if isinstance(error, StatementError) and error.orig is not None else error
    return f"the database says: {(str(cause).splitlines() or [type(cause).__name__])[0][:200]}"
