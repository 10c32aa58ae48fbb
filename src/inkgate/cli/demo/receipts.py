"""`inkgate demo receipts`: photos and PDFs of receipts become rows of a table, and a list of what to look at."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from inkgate.cli.demo.folder import DemoFolder
from inkgate.cli.demo.reasons import reasons
from inkgate.cli.demo.service import (
    DemoRun,
    RunningDemo,
    jobs_settings,
    print_commands,
    print_heading,
    print_removal,
    run_demo,
    submitted,
    toml_text,
    write_settings,
)
from inkgate.cli.extract_outputs import FieldRows
from inkgate.cli.inputs import InputDocument
from inkgate.cli.plain_tables import add_row, plain_table, wide_console
from inkgate_client import AsyncJobHandle, Fields, JobAs, WantedFields
from inkgate_client.concurrency import Threads

TYPE = "receipt"
_TABLE = """\
CREATE TABLE IF NOT EXISTS receipts (
  job TEXT PRIMARY KEY, file TEXT, merchant TEXT, date TEXT, subtotal TEXT, tax TEXT, total TEXT, review TEXT
)"""
_COLUMNS = {
    "job": "job.id",
    "file": "job.name",
    "merchant": "fields.merchant_name",
    "date": "fields.date",
    "subtotal": "fields.subtotal",
    "tax": "fields.tax",
    "total": "fields.total",
    "review": "extraction.review",
}
_ROWS_S = 20.0
"""How long rows are waited for after the last job has ended."""


@dataclass(frozen=True, slots=True)
class ReceiptRead:
    """What became of a receipt. `job`: its ID; `why`: reasons to look at it; `problem`: why there are no fields."""

    source: InputDocument
    job: str = ""
    found: Fields[dict[str, Any]] | None = None
    why: tuple[str, ...] = ()
    problem: str = ""

    @property
    def name(self) -> str:
        return str(self.source.relative)


def run_receipts(run: DemoRun, sources: Sequence[InputDocument]) -> None:
    """Raises typer.Exit, OSError."""
    with closing(sqlite3.connect(_database(run.folder))) as database, database:
        database.execute(_TABLE)
    settings = write_settings(run, _toml(run.folder))

    async def show(demo: RunningDemo) -> None:
        await _show(demo, sources)

    run_demo(run, settings, show)


def _database(folder: DemoFolder) -> Path:
    return folder.path / "receipts.db"


def _toml(folder: DemoFolder) -> str:
    columns = "\n".join(f'{column} = "{path}"' for column, path in _COLUMNS.items())
    return f"""\

{jobs_settings(folder)}
# What is done with a job of this pipeline: its fields go into the table.
[pipelines.receipts]
tenant = "address:127.0.0.1"  # who may use it: callers from this machine
extract_type = "{TYPE}"
sinks = ["rows"]

[sinks.rows]
kind = "table"
database = {toml_text(f"sqlite:///{_database(folder)}")}
table = "receipts"
key = ["job"]

[sinks.rows.columns]
{columns}
"""


async def _show(demo: RunningDemo, sources: Sequence[InputDocument]) -> None:
    lines = wide_console()
    lines.print(f"Web page: {demo.url}/\nReading {len(sources)} documents as jobs:\n")
    job_as = JobAs(pipeline="receipts", extract=WantedFields(TYPE))
    jobs = [(source, await submitted(demo, source, job_as)) for source in sources]
    read = []
    for source, job in jobs:
        read.append(receipt := await _read(source, job))
        lines.print(f"  {_line(receipt)}", markup=False)
    rows = await _rows(demo.folder, [receipt.job for receipt in read if receipt.found is not None])
    _print_rows(demo.folder, rows)
    _print_problems(read)
    _write_csv(demo.folder, read)
    _print_next_steps(demo, next((receipt.source.name for receipt in read if receipt.found), "receipt.jpg"))


async def _read(source: InputDocument, job: AsyncJobHandle | str) -> ReceiptRead:
    if isinstance(job, str):
        return ReceiptRead(source, problem=job)
    status = await job.wait()
    if status.error is not None:
        return ReceiptRead(source, job.id, problem=f"{status.error.detail} {status.error.remedy}")
    fields = await job.fields()
    why = tuple(reasons(fields.found)) if fields.needs_review else ()  # none once a person has looked
    return ReceiptRead(source, job.id, fields.found, why)


def _line(receipt: ReceiptRead) -> str:
    if receipt.found is None:
        state = "could not be read"
    elif receipt.why:
        state = "read, needs review"
    else:
        state = "read"
    return f"{receipt.name}: {state}"


async def _rows(folder: DemoFolder, jobs: Sequence[str]) -> list[sqlite3.Row]:
    """The rows of the jobs, once the sink has written them; after some time, those that are there."""

    def written() -> list[sqlite3.Row]:
        with closing(sqlite3.connect(_database(folder))) as database:
            database.row_factory = sqlite3.Row
            found = {row["job"]: row for row in database.execute("SELECT * FROM receipts")}
        return [found[job] for job in jobs if job in found]

    threads, rows = Threads("demo_rows", 1), list[sqlite3.Row]()
    with anyio.move_on_after(_ROWS_S):
        while len(rows := await threads.run(written)) < len(jobs):  # noqa: ASYNC110 - of another connection
            await anyio.sleep(0.1)
    return rows


def _write_csv(folder: DemoFolder, read: Sequence[ReceiptRead]) -> None:
    rows = FieldRows(folder.path / "receipts.csv")
    for receipt in read:
        if receipt.found is not None:
            source = InputDocument(Path(receipt.name), receipt.source.relative)
            rows.add(source, receipt.found)
    rows.end()


def _print_rows(folder: DemoFolder, rows: Sequence[sqlite3.Row]) -> None:
    print_heading(f"Table `receipts` of {folder.said('receipts.db')}: {len(rows)} rows")
    columns = ("file", "merchant", "date", "tax", "total", "review")
    table = plain_table(*(column.upper() for column in columns))
    for row in rows:
        add_row(table, *("" if row[column] is None else str(row[column]) for column in columns))
    wide_console().print(table)


def _print_problems(read: Sequence[ReceiptRead]) -> None:
    to_review = [(receipt.name, "; ".join(receipt.why)) for receipt in read if receipt.why]
    failed = [(receipt.name, receipt.problem) for receipt in read if receipt.found is None]
    for heading, found in (("A person should look at", to_review), ("Could not be read", failed)):
        if found:
            print_heading(f"{heading}: {len(found)} of {len(read)}")
            table = plain_table("FILE", "WHY")
            for cells in found:
                add_row(table, *cells)
            wide_console().print(table)


def _print_next_steps(demo: RunningDemo, sample: str) -> None:
    """`sample`: the path of a receipt."""
    folder, part = demo.folder, shlex.quote(f"file=@{sample}")
    print_heading("What to try next")
    wide_console().print(
        f"  Look at what needs review beside its picture, and correct it: {demo.url}/#extract", soft_wrap=True
    )
    print_commands(
        "inkgate demo receipts --from FOLDER   # your own receipts",
        f"curl -F {part} -F type=receipt {demo.url}/extract   # the fields of one, at once",
        f'curl -F {part} -F \'extract={{"type": "receipt"}}\' -F pipeline=receipts {demo.url}/v1/jobs'
        "   # a job, and a row",
        f"curl '{demo.url}/v1/jobs?review=needs_review'",
        f"inkgate extract {folder.said('documents')} --type receipt -f csv",
        f"inkgate serve --config {folder.said('inkgate.toml')}   # the same service, with its pipeline into the table",
    )
    print_removal(folder)
