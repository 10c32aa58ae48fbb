"""`inkgate demo contracts`: searchable PDFs, Markdown and fields of contracts, and what changed in a version."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkgate.cli.demo.changes import changes
from inkgate.cli.demo.folder import sample_bytes
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
    write_settings,
)
from inkgate.cli.inputs import InputDocument
from inkgate.cli.plain_tables import add_row, plain_table, wide_console
from inkgate_client import AsyncJobHandle, Fields, JobAs, WantedFields
from inkgate_client.concurrency import Threads
from inkgate_client.fields.values import FieldStatus

SCHEMA = "contract.schema.json"
DRAFT, SIGNED = "lease-draft", "lease-signed"
_COLUMNS = {"PARTY A": "party_a", "PARTY B": "party_b", "FROM": "start_date", "TO": "end_date", "AMOUNT": "amount"}


@dataclass(frozen=True, slots=True)
class ContractRead:
    """A contract that was read. `name`: its file without the suffix."""

    name: str
    pages: int
    found: Fields[dict[str, Any]]
    markdown: str


def run_contracts(run: DemoRun, sources: Sequence[InputDocument]) -> None:
    """Raises typer.Exit, OSError."""
    run.folder.write(SCHEMA, sample_bytes(SCHEMA))
    settings = write_settings(run, f"\n{jobs_settings(run.folder)}")

    async def show(demo: RunningDemo) -> None:
        await _show(demo, sources)

    run_demo(run, settings, show)


async def _show(demo: RunningDemo, sources: Sequence[InputDocument]) -> None:
    lines, schema = wide_console(), sample_bytes(SCHEMA).decode()
    lines.print(f"Web page: {demo.url}/\nReading {len(sources)} contracts as jobs:\n")
    job_as = JobAs(extract=WantedFields(schema=schema))
    jobs = [(Path(source.relative).stem, await submitted(demo, source, job_as)) for source in sources]
    writer = _Writer(demo)
    read: dict[str, ContractRead] = {}
    for name, job in jobs:
        if isinstance(job, str):
            lines.print(f"  {name}: {job}", markup=False)
            continue
        read[name] = contract = await writer.written(name, job)
        lines.print(f"  {name}: {contract.pages} pages; wrote {', '.join(writer.suffixes)}", markup=False)
    _print_fields(list(read.values()))
    if DRAFT in read and SIGNED in read:
        await _print_comparison(demo, read[DRAFT], read[SIGNED], schema)
    _print_next_steps(demo)


class _Writer:
    """Writes the results of contracts."""

    def __init__(self, demo: RunningDemo) -> None:
        self._folder = demo.folder
        self._threads = Threads("demo_results", 1)
        self.suffixes = (".md", ".fields.json", ".values.json", ".pdf")

    async def written(self, name: str, job: AsyncJobHandle) -> ContractRead:
        """Waits for the job and writes its results. Raises ServiceError, OSError."""
        status = await job.wait()
        markdown, fields = await job.result_in("markdown"), (await job.fields()).found
        await self._write(f"{name}.md", markdown)
        await self._write(f"{name}.fields.json", _json(fields.answer))
        await self._write(f"{name}.values.json", _json(fields.data))
        if ".pdf" in self.suffixes:
            await self._write(f"{name}.pdf", await job.result_in("pdf"))
        return ContractRead(name, status.pages.saved, fields, markdown.decode())

    async def _write(self, name: str, data: bytes) -> None:
        await self._threads.run(self._folder.write, f"results/{name}", data)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


def _print_fields(read: Sequence[ContractRead]) -> None:
    print_heading(f"Fields of {SCHEMA}")
    table = plain_table("FILE", *_COLUMNS, "REVIEW")
    for contract in read:
        data = contract.found.data
        cells = (_cell(data.get(column)) for column in _COLUMNS.values())
        add_row(table, contract.name, *cells, "; ".join(reasons(contract.found)))
    wide_console().print(table)


async def _print_comparison(demo: RunningDemo, draft: ContractRead, signed: ContractRead, schema: str) -> None:
    """Looks up the values of the draft in the signed contract, and compares the texts."""
    file = demo.folder.documents / f"{signed.name}.pdf"
    checked = await demo.client.verify(file, draft.found.data, schema=schema)
    missing = [path for path, field in checked.fields.items() if field.status is FieldStatus.UNGROUNDED]
    held = sum(field.status is FieldStatus.FOUND for field in checked.fields.values())
    print_heading(f"`verify`: values of {draft.name} that stand in {signed.name}: {held} of {held + len(missing)}")
    table = plain_table("FIELD", draft.name.upper(), signed.name.upper())
    for path in missing:
        name = path.removeprefix("/")
        add_row(table, name, *(_cell(each.found.data.get(name)) for each in (draft, signed)))
    wide_console().print(table)
    print_heading("Words that differ")
    table = plain_table("IN THE TEXT", draft.name.upper(), signed.name.upper())
    for change in changes(draft.markdown, signed.markdown):
        add_row(table, f"{change.before} ... {change.after}", change.first, change.second)
    wide_console().print(table)


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def _print_next_steps(demo: RunningDemo) -> None:
    folder = demo.folder
    documents, schema = folder.said("documents"), folder.said(SCHEMA)
    signed = folder.said("documents", f"{SIGNED}.pdf")
    values = folder.said("results", f"{DRAFT}.values.json")
    print_heading("What to try next")
    wide_console().print(f"  See the fields on the pages: {demo.url}/#jobs", soft_wrap=True)
    print_commands(
        f"inkgate read {documents} -o contracts -f pdf,markdown",
        f"inkgate extract {documents} --schema {schema} -f csv",
        f"inkgate verify {signed} {values} --schema {schema}",
        f"curl -F file=@{signed} -F schema=@{schema} -F 'data=<{values}' {demo.url}/verify",
        f"inkgate serve --config {folder.said('inkgate.toml')}   # the same service",
    )
    print_removal(folder)
