"""Where documents of jobs may come from: from below the prefixes of the settings only, whatever the spelling."""

from __future__ import annotations

import posixpath
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from inkgate.errors import EngineFailed, InputRejected
from inkgate.jobs.documents import JobDocuments
from inkgate.jobs.job import JobSource
from inkgate.settings import FetchSettings, StorageSettings
from inkgate.storage.fetch import Check, Fetcher, UrlUnreachable, web_url
from inkgate.storage.objects import Objects, file_url
from inkgate.storage.uploads import Uploads
from support.jobs import job

pytestmark = pytest.mark.anyio

SOURCES = ("s3://scans/in/", "az://all/", "file:///data/in/", "https://files.example/in/", "http://files.example:8080/")


class ScriptedFetcher(Fetcher):
    """Answers every URL that the check lets through with `answer`."""

    def __init__(self, answer: bytes | Exception = b"fetched", redirect: str = "") -> None:
        super().__init__(FetchSettings(), 1000)
        self.fetched: list[tuple[str, str]] = []
        self._answer = answer
        self._redirect = redirect

    async def fetch(self, url: str, check: Check | None = None, if_match: str = "") -> bytes:
        assert check is not None
        for each in filter(None, (url, self._redirect)):
            check(each)
        self.fetched.append((url, if_match))
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def documents(
    sources: tuple[str, ...] = SOURCES, fetcher: Fetcher | None = None, objects: Objects | None = None
) -> JobDocuments:
    objects = objects or Objects(StorageSettings())
    uploads = Uploads(objects, "memory://kept/uploads/")
    pipelines = {"receipts": ("memory://scans/receipts/",)}
    return JobDocuments(objects, uploads, fetcher or ScriptedFetcher(), sources, 100, pipelines)


def allowed(url: str) -> bool:
    try:
        documents().check(url)
    except InputRejected as error:
        return error.code != "source_forbidden"
    return True


async def code_of(store: JobDocuments, source: JobSource, pipeline: str = "") -> str:
    with pytest.raises((InputRejected, EngineFailed)) as raised:
        await store.load(job(source=source, pipeline=pipeline))
    return raised.value.code


def test_urls_below_a_prefix_are_allowed() -> None:
    urls = [
        "s3://scans/in/a.pdf", "s3://scans/in/b/c d+1%20.pdf", "s3://scans/in/%2e%2e/literal",
        "s3://scans/in/no#1?.pdf", "az://all/a", "az://all/a/b", "file:///data/in/a b.pdf",
        "https://files.example/in/a.pdf", "HTTPS://Files.Example/in/a.pdf", "https://files.example:443/in/a",
        "https://files.example/%69n/a", "https://files.example/in/a.pdf?page=1&to=../x",
        "https://files.example/in/100%25.pdf", "https://files.example/in/a%20b%2B.pdf",
        "http://files.example:8080/anything", "https://files.example/in/x/../a",
    ]  # fmt: skip
    assert [url for url in urls if not allowed(url)] == []


def test_all_other_urls_are_refused() -> None:
    urls = [
        "", "a.pdf", "/data/in/a.pdf", "s3://scans/in", "s3://scans/in/", "s3://scans/inn/a", "s3://scans/out/a",
        "s3://scans-2/in/a", "s3://scans/in/../out/a", "s3://scans/in/./a", "s3://scans/in//a", "s3://scans//in/a",
        "S3://scans/in/a", "s3://Scans/in/a", "s3://key:secret@scans/in/a", "s3://scans/in/a\nb", "gs://scans/in/a",
        "az://all-of-others/a", "memory://scans/in/a", "file:///data/in/../secret", "file:///etc/passwd",
        "file://data/in/a", "file://host/data/in/a", "file:/data/in/a", "http://files.example/in/a",
        "https://files.example/out/a", "https://files.example/in", "https://files.example:444/in/a",
        "https://files.example.evil.example/in/a", "https://files.example@evil.example/in/a",
        "https://evil.example/in/a", "https://user:password@files.example/in/a", "https://files.example/in/../out/a",
        "https://files.example/in/%2e%2e/out/a", "https://files.example/in/.%2E/out/a",
        "https://files.example/in/%252e%252e/out/a", "https://files.example/in/..%2fout/a",
        "https://files.example/in/a%2f..%2f..%2fout", "https://files.example/in/a%252fb",
        "https://files.example/in/..;/out/a", "https://files.example/in/..%3Bx=1/out",
        "https://files.example/in/..\\out\\a", "https://files.example/in/..%5cout%5ca",
        "https://files.example/in/%25252525252e%25252525252e/out", "https://files.example\\@evil.example/in/a",
        "https://xn--a/in/a", "https://files.example:99999/in/a", "https:///in/a", "ftp://files.example/in/a",
        "data:,x",
    ]  # fmt: skip
    assert [url for url in urls if allowed(url)] == []


PIECES = (
    "/",
    ".",
    "..",
    "a",
    "out",
    "in",
    "%2e",
    "%2E",
    "%2f",
    "%252e",
    "%252f",
    "%5c",
    "\\",
    ";",
    "%3b",
    "%25",
    "?",
    "#",
    " ",
    "@",
)


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_no_spelling_leads_out_of_the_prefix(pieces: list[str]) -> None:
    url = "https://files.example/in/" + "".join(pieces)
    assume(allowed(url))
    path = web_url(url).raw_path.partition(b"?")[0].decode()
    for _ in range(4):
        parts = [part.partition(";")[0] for part in path.replace("\\", "/").split("/")]
        assert posixpath.normpath("/".join(parts)).startswith("/in"), path
        path = unquote(path)


def test_without_prefixes_nothing_is_allowed() -> None:
    for url in ("s3://scans/in/a", "https://files.example/in/a", "file:///data/in/a"):
        with pytest.raises(InputRejected):
            documents(()).check(url)


async def test_uploads_and_objects_are_loaded() -> None:
    objects = Objects(StorageSettings())
    store = documents(("memory://scans/in/",), objects=objects)
    digest = await Uploads(objects, "memory://kept/uploads/").put(b"uploaded")
    document = await store.load(job(source=JobSource(upload=digest), name="scan.pdf"))
    assert (document.data, document.name) == (b"uploaded", "scan.pdf")
    await objects.put("memory://scans/in/a b", b"object")
    assert (await store.load(job(source=JobSource(url="memory://scans/in/a b")))).data == b"object"
    assert await code_of(store, JobSource(url="memory://scans/in/a b", etag="other")) == "source_replaced"
    assert await code_of(store, JobSource(url="memory://scans/in/none")) == "source_missing"
    assert await code_of(store, JobSource(upload="0" * 64)) == "source_missing"
    await objects.put("memory://scans/in/large", bytes(101))
    assert await code_of(store, JobSource(url="memory://scans/in/large")) == "body_too_large"


async def test_a_job_reads_where_clients_and_its_pipeline_may_read_and_nowhere_else() -> None:
    objects = Objects(StorageSettings())
    store = documents(("memory://scans/in/",), objects=objects)
    url = "memory://scans/receipts/a"
    await objects.put(url, b"object")
    assert (await store.load(job(source=JobSource(url=url), pipeline="receipts"))).data == b"object"
    assert await code_of(store, JobSource(url=url), "other") == "source_forbidden"
    assert await code_of(store, JobSource(url="memory://kept/uploads/a"), "receipts") == "source_forbidden"
    with pytest.raises(InputRejected):
        store.check(url)


async def test_a_link_out_of_the_prefix_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "in" / "link").symlink_to("../secret")
    store = documents((file_url(tmp_path / "in") + "/",))
    url = file_url(tmp_path / "in" / "link")
    store.check(url)
    assert await code_of(store, JobSource(url=url)) == "source_forbidden"


async def test_web_files_are_fetched_though_fetching_is_off_for_requests() -> None:
    fetcher = ScriptedFetcher()
    url = "https://files.example/in/a.pdf"
    document = await documents(fetcher=fetcher).load(job(source=JobSource(url=url, etag='W/"1"\r\nX: y')))
    assert document.data == b"fetched"
    assert fetcher.fetched == [(url, '"1X:y"')]


async def test_redirects_of_web_files_stay_below_the_prefixes() -> None:
    source = JobSource(url="https://files.example/in/a.pdf")
    elsewhere = documents(fetcher=ScriptedFetcher(redirect="https://cdn.example/a.pdf"))
    assert await code_of(elsewhere, source) == "source_forbidden"
    within = documents(fetcher=ScriptedFetcher(redirect="http://files.example:8080/b.pdf"))
    assert (await within.load(job(source=source))).data == b"fetched"


async def test_what_web_servers_answer() -> None:
    source = JobSource(url="https://files.example/in/a.pdf")
    answers: dict[bytes | Exception, str] = {
        UrlUnreachable("", 404): "source_missing",
        UrlUnreachable("", 410): "source_missing",
        UrlUnreachable("", 412): "source_replaced",
        UrlUnreachable("", 403): "source_unreachable",
        UrlUnreachable("", 503): "source_unreachable",
        UrlUnreachable(""): "source_unreachable",
        InputRejected("url_forbidden", ""): "url_forbidden",
        InputRejected("body_too_large", ""): "body_too_large",
        bytes(101): "body_too_large",
    }
    codes = {answer: await code_of(documents(fetcher=ScriptedFetcher(answer)), source) for answer in answers}
    assert codes == answers
