"""Results as objects."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from inkgate.errors import EngineFailed, InputRejected
from inkgate.jobs.job import Job, JobSource
from inkgate.jobs.sinks.base import DeliverLater, DeliverNever
from inkgate.jobs.sinks.objects import ObjectNames, ObjectsSink
from inkgate.settings import ObjectsSinkSettings, PipelineSettings, StorageSettings
from inkgate.storage.objects import Objects
from inkgate_client.block_image import BlockImage
from inkgate_client.format_names import FileFormat
from inkgate_client.types import Block, BlockType, DocumentResult, PageResult
from support.jobs import delivery, document, job

pytestmark = pytest.mark.anyio

ONE = {"receipts": PipelineSettings(sources=("s3://scans/in/",), sinks=("out",))}
TWO = {**ONE, "letters": PipelineSettings(sources=("s3://scans/in/vip/", "https://host/files/"), sinks=("out",))}
PAGE = PageResult(0, 10, 10, text="Total 3.50", markdown="# Total", engine="ppocr")


class Written:
    def __init__(self, error: Exception | None = None) -> None:
        self.objects: dict[str, tuple[bytes, str]] = {}
        self.error = error

    async def put(self, url: str, data: bytes, media_type: str = "") -> bool:
        if self.error is not None:
            raise self.error
        self.objects[url] = data, media_type
        return True


async def made_file(job: Job, result: DocumentResult, kind: FileFormat) -> bytes:
    if kind is FileFormat.PDF:
        raise InputRejected("job_expired", "The document is no longer kept.")
    return f"{kind} of {result.name}".encode()


def sink(written: Written, *formats: str) -> ObjectsSink:
    settings = ObjectsSinkSettings.model_validate({"kind": "objects", "url": "s3://scans/out", "formats": formats})
    return ObjectsSink("out", settings, ObjectNames("out", ONE), written, made_file)


async def test_each_format_is_an_object_named_after_the_input() -> None:
    written = Written()
    async with sink(written, "json", "markdown", "text") as out:
        for _ in range(2):
            await out.deliver(delivery(document(PAGE)))
    assert sorted(written.objects) == [f"s3://scans/out/2026/receipt.png.{suffix}" for suffix in ("json", "md", "txt")]
    data, media_type = written.objects["s3://scans/out/2026/receipt.png.json"]
    assert json.loads(data)["pages"][0]["text"] == "Total 3.50"
    assert media_type == "application/json"


async def test_markdown_has_the_images_of_figures_inside() -> None:
    written = Written()
    image = BlockImage("page-1-1.png", "image/png", 1, 1, "AAAA")
    figure = Block(BlockType.FIGURE, (0, 0, 1, 1), (), "", "", image=image)
    page = replace(PAGE, blocks=(figure,), markdown="![Figure](images/page-1-1.png)")
    async with sink(written, "markdown") as out:
        await out.deliver(delivery(document(page)))
    assert [data for data, _ in written.objects.values()] == [b"![Figure](data:image/png;base64,AAAA)\n"]


async def test_files_are_made_and_what_can_not_be_made_is_not_tried_again() -> None:
    written = Written()
    async with sink(written, "xlsx") as out:
        await out.deliver(delivery(document(PAGE)))
    assert [url.rpartition("/")[2] for url in written.objects] == ["receipt.png.xlsx"]
    async with sink(written, "pdf") as out:
        with pytest.raises(DeliverNever, match="no longer kept"):
            await out.deliver(delivery(document(PAGE)))


async def test_job_without_a_result_has_no_object() -> None:
    written = Written()
    async with sink(written, "json") as out:
        await out.deliver(delivery(None))
    assert not written.objects


async def test_store_that_is_away_is_tried_again_and_a_name_that_can_not_be_is_not() -> None:
    async with sink(Written(EngineFailed("source_unreachable", "It did not answer.")), "json") as out:
        with pytest.raises(DeliverLater, match="did not answer"):
            await out.deliver(delivery(document(PAGE)))
    async with sink(Written(InputRejected("source_forbidden", "Keys with `..` can't be used.")), "json") as out:
        with pytest.raises(DeliverNever, match="can't be used"):
            await out.deliver(delivery(document(PAGE)))


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "", "a/b\\c\0d", "x" * 1000])
async def test_name_of_an_upload_stays_in_the_folder(name: str) -> None:
    objects = Objects(StorageSettings())
    settings = ObjectsSinkSettings.model_validate({"kind": "objects", "url": "memory://out/"})
    async with ObjectsSink("out", settings, ObjectNames("out", ONE), objects, made_file) as out:
        await out.deliver(delivery(document(PAGE), name=name, source=JobSource(upload="0" * 64)))
    (found,) = [each.url async for each in objects.list("memory://out/")]
    assert found.startswith("memory://out/_jobs/job_01/")
    assert found.count("/") == 5


@pytest.mark.parametrize("pipelines", [ONE, TWO])
def test_different_inputs_have_different_names(pipelines: dict[str, PipelineSettings]) -> None:
    names = ObjectNames("out", pipelines)
    urls = [
        *(
            f"s3://scans/in/{name}"
            for name in ("a.png", "a.pdf", "x/a.png", "y/a.png", "vip/a.png", "a?b.png", "a#b.png")
        ),
        "s3://other/in/a.png",
        *(f"https://host/files/{name}" for name in ("a.png", "a.png?v=1", "a.png?v=2")),
    ]
    made = [names.name_of(job(id=f"job_{n}", source=JobSource(url=url))) for n, url in enumerate(urls)]
    assert len(set(made)) == len(urls)
    assert made == [names.name_of(job(id=f"job_{n}", source=JobSource(url=url))) for n, url in enumerate(urls)]
    if pipelines is ONE:
        assert made[:3] == ["a.png", "a.pdf", "x/a.png"]
    else:
        assert made[4] == "scans/in/vip/a.png"
        assert made[8] == "host/files/a.png"
        assert "v=1" not in made[9]
