"""Rows in a table of a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text

from inkgate.jobs.sinks.base import DeliverLater, DeliverNever
from inkgate.jobs.sinks.table import TableSink
from inkgate.settings import TableSinkSettings
from inkgate_client.types import PageError, PageResult
from support.jobs import delivery, document
from support.postgres import PostgresServer

pytestmark = pytest.mark.anyio

RECEIPTS = """
CREATE TABLE receipts (
    number varchar(20) PRIMARY KEY, total numeric(8, 2) NOT NULL CHECK (total >= 0), paid date, items integer,
    raw json, job text, at timestamp
)
"""
COLUMNS = {"number": "fields.number", "total": "fields.total", "paid": "fields.paid", "items": "fields.items"}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.real)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """With the table `receipts`."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/shop.db"
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        url = server.database()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(RECEIPTS))
    yield engine
    engine.dispose()


@asynccontextmanager
async def table_sink(database: Engine, columns: object = COLUMNS, **changes: object) -> AsyncIterator[TableSink]:
    url = database.url.render_as_string(hide_password=False)
    given = {"kind": "table", "database": url, "table": "receipts", "columns": columns, "key": ["number"], **changes}
    async with TableSink("db", TableSinkSettings.model_validate(given)) as sink:
        yield sink


def rows(database: Engine, columns: str = "*") -> list[tuple[Any, ...]]:
    with database.connect() as connection:
        return [tuple(row) for row in connection.execute(text(f"SELECT {columns} FROM receipts ORDER BY number"))]  # noqa: S608 - of tests


def page(index: int = 0, /, **fields: object) -> PageResult:
    return PageResult(index, 10, 10, text="x", fields=fields, engine="ppocr")


async def test_row_is_inserted_and_updated_by_its_key(database: Engine) -> None:
    async with table_sink(database) as sink:
        for total in ("3.50", "3.50", "4.25"):
            await sink.deliver(delivery(document(page(number="A1", total=total, paid="2026-11-23", items="3"))))
        await sink.deliver(delivery(document(page(number="A2", total=7))))
    assert [tuple(map(str, row)) for row in rows(database, "number, total, paid, items")] == [
        ("A1", "4.25", "2026-11-23", "3"),
        ("A2", str(rows(database, "total")[1][0]), "None", "None"),
    ]


async def test_sql_in_values_is_a_value(database: Engine) -> None:
    evil = "x'); DROP TABLE r;--"
    async with table_sink(database, {**COLUMNS, "job": "fields.note"}) as sink:
        note = '%s %(a)s :b ? $1 "; DELETE FROM receipts; --\\'
        await sink.deliver(delivery(document(page(number=evil, total=1, note=note))))
        await sink.deliver(delivery(document(page(number=evil, total=1, note=note))))
    assert rows(database, "number, job") == [(evil, note)]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"number": "A1", "total": "3,50"}, "column `total`: `3,50` is not a number"),
        ({"number": "A1", "total": "3.505"}, "column `total`: `3.505` has 3 digits"),
        ({"number": "A1", "total": "1000000"}, "column `total`: .* range"),
        ({"number": "A1"}, "column `total`: `fields.total` is missing, and the column must not be null"),
        ({"number": "A1", "total": None}, "column `total`: `fields.total` is missing"),
        ({"number": "A1", "total": ""}, "column `total`: `` is not a number"),
        ({"total": "1"}, "column `number`: `fields.number` is missing, and the key needs it"),
        ({"number": "A" * 21, "total": "1"}, "column `number`: it has 21 characters; the column holds 20"),
        ({"number": "A1", "total": "1", "paid": "23.11.26"}, "column `paid`: `23.11.26` is not a date"),
        ({"number": "A1", "total": "1", "items": "many"}, "column `items`: `many` is not a whole number"),
        ({"number": "A1", "total": "1", "items": 2**80}, "column `items`: .* range"),
        ({"number": "A1", "total": "-1"}, "(?i)check constraint"),
    ],
)
async def test_value_that_does_not_fit_is_named_and_nothing_is_written(
    database: Engine, fields: dict[str, object], reason: str
) -> None:
    async with table_sink(database) as sink:
        with pytest.raises(DeliverNever, match=reason):
            await sink.deliver(delivery(document(page(**fields))))
    assert rows(database) == []


async def test_pages_that_fit_are_written_and_the_others_named(database: Engine) -> None:
    pages = [
        page(0, number="A1", total="1"),
        page(1, number="A2", total="one"),
        PageResult(2, error=PageError("engine_failed", "It failed.", "Try again.")),
        page(3, number="A4", total="-4"),
        page(4, number="A5", total="5"),
        page(5, number="A5", total="5"),
        page(6, number="A5", total="6"),
    ]
    async with table_sink(database, rows="page") as sink:
        with pytest.raises(DeliverNever) as refused:
            await sink.deliver(delivery(document(*pages)))
    assert [row[0] for row in rows(database)] == ["A1", "A5"]
    reasons = str(refused.value).split("; ")
    assert reasons[0] == "page 2: column `total`: `one` is not a number"
    assert reasons[1] == "page 7: it has the same key as page 5, and other values"
    assert reasons[2].startswith("page 4: the database says: ")


async def test_json_times_and_values_of_the_job_are_written(database: Engine) -> None:
    columns = {"number": "job.id", "total": "fields.total", "raw": "fields", "job": "source.url", "at": "job.ended"}
    async with table_sink(database, columns) as sink:
        await sink.deliver(delivery(document(page(total="1.00", tags=["a", None]))))
    found = rows(database, "number, raw, job, at")[0]
    assert found[0] == "job_01"
    assert "tags" in str(found[1])
    assert found[2] == "s3://scans/in/2026/receipt.png"
    assert str(found[3]).startswith("2027-01-15 08:00:03.25")


async def test_missing_json_is_null_in_the_database(database: Engine) -> None:
    columns = {"number": "job.id", "total": "job.saved", "raw": "fields.raw"}
    async with table_sink(database, columns) as sink:
        await sink.deliver(delivery(document(page())))
    with database.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM receipts WHERE raw IS NULL")).scalar() == 1


async def test_job_without_a_result_has_no_row(database: Engine) -> None:
    async with table_sink(database) as sink:
        await sink.deliver(delivery(None))
    assert rows(database) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"table": "nowhere"}, "no table `nowhere`"),
        ({"columns": {"number": "job.id", "totals": "job.saved"}}, "no column `totals`"),
        ({"key": ["total"]}, r"no primary key or unique constraint on exactly \(total\)"),
        ({"key": ["number", "total"]}, r"on exactly \(number, total\)"),
        ({"columns": {"number": "job.id"}}, "needs a value for column `total`"),
    ],
)
async def test_settings_that_do_not_fit_wait_for_a_correction(
    database: Engine, changes: dict[str, object], reason: str
) -> None:
    async with table_sink(database, **changes) as sink:
        with pytest.raises(DeliverLater, match=reason):
            await sink.deliver(delivery(document(page(number="A1", total="1"))))


async def test_unique_index_is_a_key_but_a_partial_one_is_not(database: Engine) -> None:
    with database.begin() as connection:
        connection.execute(text("CREATE UNIQUE INDEX whole ON receipts (job)"))
        connection.execute(text("CREATE UNIQUE INDEX part ON receipts (items) WHERE items > 0"))
    columns = {**COLUMNS, "job": "job.id"}
    async with table_sink(database, columns, key=["job"]) as sink:
        for number in ("A1", "A2"):
            await sink.deliver(delivery(document(page(number=number, total="1"))))
    assert rows(database, "number, job") == [("A2", "job_01")]
    async with table_sink(database, columns, key=["items"]) as sink:
        with pytest.raises(DeliverLater, match="unique"):
            await sink.deliver(delivery(document(page(number="A1", total="1", items=1))))


async def test_table_that_was_changed_is_looked_at_again(database: Engine) -> None:
    async with table_sink(database) as sink:
        await sink.deliver(delivery(document(page(number="A1", total="1"))))
        with database.begin() as connection:
            connection.execute(text("ALTER TABLE receipts RENAME COLUMN items TO things"))
        with pytest.raises(DeliverLater):
            await sink.deliver(delivery(document(page(number="A2", total="1"))))
        with pytest.raises(DeliverLater, match="no column `items`"):
            await sink.deliver(delivery(document(page(number="A2", total="1"))))
        with database.begin() as connection:
            connection.execute(text("ALTER TABLE receipts RENAME COLUMN things TO items"))
        await sink.deliver(delivery(document(page(number="A2", total="1"))))
    assert [row[0] for row in rows(database)] == ["A1", "A2"]


@pytest.mark.real
async def test_database_that_is_away_is_tried_again(postgres: PostgresServer) -> None:
    database = create_engine(postgres.database())
    with database.begin() as connection:
        connection.execute(text(RECEIPTS))
    database.dispose()
    postgres.kill()
    try:
        async with table_sink(database) as sink:
            with pytest.raises(DeliverLater, match="the database says"):
                await sink.deliver(delivery(document(page(number="A1", total="1"))))
            postgres.restore()
            await sink.deliver(delivery(document(page(number="A1", total="1"))))
            postgres.kill()
            with pytest.raises(DeliverLater, match="the database says"):
                await sink.deliver(delivery(document(page(number="A2", total="1"))))
            postgres.restore()
            await sink.deliver(delivery(document(page(number="A2", total="1"))))
        assert [row[0] for row in rows(database)] == ["A1", "A2"]
    finally:
        postgres.restore()
        database.dispose()


@pytest.mark.real
async def test_types_of_postgresql(postgres: PostgresServer) -> None:
    database = create_engine(postgres.database())
    with database.begin() as connection:
        connection.execute(text("CREATE SCHEMA shop"))
        connection.execute(text("CREATE TYPE way AS ENUM ('cash', 'card')"))
        connection.execute(text("CREATE DOMAIN amount AS numeric(6, 2) CHECK (value > 0)"))
        connection.execute(
            text(
                "CREATE TABLE shop.receipts (id bigserial PRIMARY KEY, number uuid UNIQUE, way way, total amount,"
                " raw jsonb, at timestamptz, paid boolean, rate double precision, code char(3), price money)"
            )
        )
    columns = {
        **{name: f"fields.{name}" for name in ("number", "way", "total", "paid", "rate", "code")},
        "raw": "fields",
        "at": "job.created",
    }
    fields: dict[str, object] = {
        "number": "12345678-1234-5678-1234-567812345678", "way": "card", "total": "9.99", "paid": "true", "rate": 0.5,
        "code": "EUR",
    }  # fmt: skip
    async with table_sink(database, columns, table="shop.receipts") as sink:
        await sink.deliver(delivery(document(page(**fields))))
        for name, value, reason in (
            ("way", "cheque", "none of cash, card"),
            ("total", "0", "amount"),
            ("code", "EURO", "3"),
        ):
            with pytest.raises(DeliverNever, match=reason):
                await sink.deliver(delivery(document(page(**{**fields, name: value}))))
    async with table_sink(database, {**columns, "price": "fields.total"}, table="shop.receipts") as sink:
        with pytest.raises(DeliverLater, match="MONEY, which is not supported"):
            await sink.deliver(delivery(document(page(**fields))))
    with database.connect() as connection:
        found = connection.execute(text("SELECT way, total::text, paid, rate, code, raw->>'way' FROM shop.receipts"))
        assert [tuple(row) for row in found] == [("card", "9.99", True, 0.5, "EUR", "card")]
    database.dispose()


async def test_database_that_can_not_be_used_is_named(tmp_path: Path) -> None:
    for url, reason in (
        (f"sqlite:///{tmp_path}/missing.db", "no such SQLite file"),
        ("nosuchdb://host/x", "is not a URL"),
        ("mysql+nosuch://host/x", "is not a URL"),
        ("mysql+pymysql://host/x", "pymysql, is not installed"),
    ):
        columns = {"number": "job.id"}
        given = {"kind": "table", "database": url, "table": "t", "columns": columns, "key": ["number"]}
        async with TableSink("db", TableSinkSettings.model_validate(given)) as sink:
            with pytest.raises(DeliverLater, match=reason):
                await sink.deliver(delivery(document(page())))
    assert not (tmp_path / "missing.db").exists()
