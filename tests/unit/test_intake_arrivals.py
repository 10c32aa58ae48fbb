"""Objects become jobs of the pipeline with the longest prefix, once for each version of an object."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.caller import Priority
from inkgate.errors import InputRejected, Overloaded
from inkgate.jobs.intake.arrivals import Intake, IntakeOutcome
from inkgate.jobs.intake.base import ObjectCreated
from inkgate.jobs.job import JobFields
from inkgate.settings import PipelineSettings
from inkgate_client.types import TaskKind
from support.adder import MemoryAdder

pytestmark = pytest.mark.anyio

PIPELINES = {
    "scans": PipelineSettings(sources=("s3://scans/in/", "https://shop.example/in/"), pages="1-3"),
    "receipts": PipelineSettings(
        sources=("s3://scans/in/receipts/", "gs://receipts"),
        task="extract",
        fields=("total", "date"),
        priority="normal",
        tenant="key:0123456789ab",
    ),
}


@pytest.fixture
def adder() -> MemoryAdder:
    return MemoryAdder()


@pytest.fixture
def intake(adder: MemoryAdder) -> Intake:
    return Intake(adder, PIPELINES)


async def test_the_longest_prefix_decides_the_pipeline(adder: MemoryAdder, intake: Intake) -> None:
    taken = await intake.take(
        [ObjectCreated("s3://scans/in/a b.pdf", "e1"), ObjectCreated("s3://scans/in/receipts/7.jpg", "e2", "v2")]
    )
    assert (taken.added, taken.duplicates, taken.refused, len(taken.jobs)) == (2, 0, (), 2)
    scan, receipt = adder.jobs.values()
    assert (scan.pipeline, scan.tenant, scan.name, scan.priority) == ("scans", "scans", "a b.pdf", Priority.BATCH)
    assert (scan.options.task.kind, scan.options.pages) == (TaskKind.PARSE, "1-3")
    assert (scan.source.url, scan.source.etag) == ("s3://scans/in/a b.pdf", "e1")
    assert (receipt.pipeline, receipt.tenant, receipt.priority) == ("receipts", "key:0123456789ab", Priority.NORMAL)
    assert (receipt.options.task.kind, receipt.options.task.fields) == (TaskKind.EXTRACT, ("total", "date"))
    assert (receipt.source.etag, receipt.source.version) == ("e2", "v2")


async def test_all_objects_are_added_in_one_call(adder: MemoryAdder, intake: Intake) -> None:
    await intake.take([ObjectCreated(f"s3://scans/in/{number}.pdf", "e") for number in range(100)])
    assert adder.calls == [100]


async def test_the_same_version_makes_one_job(adder: MemoryAdder, intake: Intake) -> None:
    same = ObjectCreated("s3://scans/in/a.pdf", "e1")
    first = await intake.take([same, same])
    second = await intake.take([same], "kafka")
    assert (first.added, first.duplicates, second.added, second.duplicates) == (1, 1, 0, 1)
    assert len({*first.jobs, *second.jobs}) == len(adder.jobs) == 1
    assert intake.counts["http", IntakeOutcome.ADDED] == 1
    assert intake.counts["kafka", IntakeOutcome.DUPLICATE] == 1


async def test_another_version_etag_or_event_makes_another_job(adder: MemoryAdder, intake: Intake) -> None:
    url = "s3://scans/in/a.pdf"
    found = [
        ObjectCreated(url),
        ObjectCreated(url, event="1"),
        ObjectCreated(url, event="2"),
        ObjectCreated(url, "e1", event="1"),
        ObjectCreated(url, "e2", event="1"),
        ObjectCreated(url, "e2", "v1"),
    ]
    assert (await intake.take(found)).added == len(found)
    assert (await intake.take([ObjectCreated(url, "e1", event="3")])).duplicates == 1


async def test_objects_of_no_pipeline_are_refused_one_by_one(adder: MemoryAdder, intake: Intake) -> None:
    urls = [
        "s3://scans/in/good.pdf",
        "s3://scans/input/a.pdf",
        "s3://scans/in",
        "s3://scans/in/../secret.pdf",
        "https://shop.example/in/%2e%2E/secret.pdf",
        "https://shop.example/in/a/..\\b.pdf",
        "S3://scans/in/a.pdf",
        "file:///etc/passwd",
        "",
    ]
    taken = await intake.take([ObjectCreated(url) for url in urls])
    assert taken.added == 1
    assert [refused.index for refused in taken.refused] == list(range(1, len(urls)))
    assert {refused.error.code for refused in taken.refused} == {"source_forbidden"}
    assert intake.counts["http", IntakeOutcome.REFUSED] == len(urls) - 1


async def test_a_full_queue_is_the_callers_to_wait_for(adder: MemoryAdder, intake: Intake) -> None:
    adder.full = 1
    with pytest.raises(Overloaded, match="jobs_full"):
        await intake.take([ObjectCreated("s3://scans/in/a.pdf")])
    assert not intake.counts
    assert (await intake.take([ObjectCreated("s3://scans/in/a.pdf")])).added == 1


async def test_a_job_of_older_settings_is_a_duplicate(adder: MemoryAdder, intake: Intake) -> None:
    old = [ObjectCreated("s3://scans/in/old.pdf")]
    await intake.take(old)
    adder.reused = {job.key for job in adder.jobs.values()}
    taken = await intake.take([*old, ObjectCreated("s3://scans/in/new.pdf")])
    assert (taken.added, taken.duplicates, len(taken.jobs)) == (1, 1, 1)


async def test_nothing_taken_calls_nothing(adder: MemoryAdder, intake: Intake) -> None:
    assert (await intake.take([])).jobs == ()
    assert not adder.calls


@given(
    url=st.text(max_size=60),
    prefix=st.sampled_from(["", "s3://scans/in/", "gs://receipts/", "https://shop.example/in/"]),
)
async def test_only_urls_below_a_prefix_make_jobs(url: str, prefix: str) -> None:
    adder = MemoryAdder()
    taken = await Intake(adder, PIPELINES).take([ObjectCreated(prefix + url)])
    assert taken.added + len(taken.refused) == 1
    for job in adder.jobs.values():
        assert job.source.url.startswith(("s3://scans/in/", "gs://receipts/", "https://shop.example/in/"))
        assert ".." not in job.source.url.split("/")
        assert job.name


async def test_jobs_of_a_pipeline_find_its_fields(tmp_path: Path) -> None:
    schema = tmp_path / "slip.json"
    schema.write_text('{"type": "object", "properties": {"ward": {"type": "string"}}}')
    wanted: dict[str, tuple[dict[str, object], JobFields | None]] = {
        "typed": ({"extract_type": "receipt"}, JobFields("receipt")),
        "auto": ({"extract_type": "auto"}, JobFields()),
        "named": ({"extract_fields": ("a",)}, JobFields(names=("a",))),
        "schema": ({"extract_schema": str(schema)}, JobFields(schema=schema.read_text())),
        "plain": ({}, None),
    }
    pipelines = {
        name: PipelineSettings.model_validate({"sources": [f"s3://{name}/"], **settings})
        for name, (settings, _) in wanted.items()
    }
    adder = MemoryAdder()
    intake = Intake(adder, pipelines)
    await intake.take([ObjectCreated(f"s3://{name}/a.png") for name in wanted])
    assert [job.fields for job in adder.jobs.values()] == [fields for _, fields in wanted.values()]
    for bad in ("{", '{"type": "object"}'):
        schema.write_text(bad)
        with pytest.raises(InputRejected, match="schema_invalid"):
            Intake(MemoryAdder(), {"a": pipelines["schema"]})
    with pytest.raises(InputRejected, match="feature_unavailable"):
        Intake(MemoryAdder(), {"a": pipelines["schema"].model_copy(update={"extract_schema": str(tmp_path / "none")})})
