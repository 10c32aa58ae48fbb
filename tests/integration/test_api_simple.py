"""The simple forms of /ocr, their options and formats, and streams."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from inkgate.errors import EngineFailed, InputRejected
from inkgate_client.types import TaskKind
from support.api_client import b64, pdf, png, running_api, tiff
from support.fake_engine import FakeEngine
from support.jobs_api import jobs_api

pytestmark = pytest.mark.anyio

FIRST_PAGE = "Hello page 0\nGrüße 世界"


def lines_of(answer: httpx.Response) -> list[dict[str, object]]:
    return [json.loads(text) for text in answer.text.splitlines()]


@pytest.mark.smoke
async def test_base64_in_json_is_answered_with_the_text_and_the_document() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", json={"image": b64(png())})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-inkgate-status"] == "complete"
    body = answer.json()
    assert body["text"].strip() == FIRST_PAGE
    assert body["status"] == "complete"
    assert body["mime_type"] == "image/png"
    assert [page["index"] for page in body["pages"]] == [0]
    assert body["pages"][0]["lines"][1]["text"] == "Grüße 世界"


@pytest.mark.parametrize(
    "spelled",
    [
        lambda text: "\n".join(text[i : i + 76] for i in range(0, len(text), 76)),
        lambda text: text.rstrip("="),
        lambda text: text.replace("+", "-").replace("/", "_"),
        lambda text: "data:image/png;base64," + text,
        lambda text: "DATA:;BASE64," + text,
        lambda text: text.replace("+", " "),
    ],
    ids=["wrapped", "unpadded", "urlsafe", "data-url", "data-url-capitals", "plus-as-space"],
)
async def test_base64_is_taken_as_clients_write_it(spelled: Callable[[str], str]) -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", json={"image": spelled(b64(png()))})
    assert answer.status_code == 200


@pytest.mark.smoke
async def test_multipart_file_is_answered_with_the_text_once_and_the_document() -> None:
    file = {"file": ("Übung 1.png", png(), "image/png")}
    async with running_api() as api:
        answer, by_infer = [await api.client.post(path, files=file) for path in ("/ocr", "/infer")]
    body = answer.json()
    assert [name for name, value in body.items() if str(value).strip() == FIRST_PAGE] == ["text"]
    assert by_infer.json()["result"] == body["text"]
    assert body["name"] == "Übung 1.png"


async def test_file_part_without_filename_is_taken_when_its_type_says_so() -> None:
    raw = (
        b'--B\r\nContent-Disposition: form-data; name="file"\r\nContent-Type: image/png\r\n\r\n'
        + png()
        + b"\r\n--B--\r\n"
    )
    async with running_api() as api:
        answer = await api.client.post("/ocr", content=raw, headers={"content-type": "multipart/form-data; boundary=B"})
    assert answer.status_code == 200


async def test_json_that_curl_calls_a_form_is_understood() -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    async with running_api() as api:
        answer = await api.client.post("/ocr", content=json.dumps({"image": b64(png())}), headers=headers)
    assert answer.json()["text"].strip() == FIRST_PAGE


@pytest.mark.parametrize("where", ["query", "form", "json"])
async def test_pages_count_from_one_wherever_they_are_said(where: str) -> None:
    async with running_api() as api:
        if where == "query":
            answer = await api.client.post("/ocr?pages=2-3", files={"file": tiff(4)})
        elif where == "form":
            answer = await api.client.post("/ocr", files={"file": tiff(4)}, data={"pages": "2-3"})
        else:
            answer = await api.client.post("/ocr", json={"image": b64(tiff(4)), "pages": [2, 3]})
    assert [page["index"] for page in answer.json()["pages"]] == [1, 2]


async def test_the_body_wins_over_the_query() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr?pages=1", json={"image": b64(tiff(2)), "pages": "2"})
    assert [page["index"] for page in answer.json()["pages"]] == [1]


@pytest.mark.parametrize("option", [{"task": "parse"}, {"blocks": True}, {"format": "markdown"}])
async def test_blocks_and_markdown_are_made_when_asked_for(option: dict[str, object]) -> None:
    async with running_api() as api:
        await api.client.post("/ocr", json={"image": b64(png()), **option})
        await api.client.post("/ocr", json={"image": b64(png())})
    assert [task.kind for task in api.engine.tasks] == [TaskKind.PARSE, TaskKind.TEXT]


@pytest.mark.parametrize(
    ("accept", "media_type", "part"),
    [
        ("text/plain", "text/plain", "Hello page 0"),
        ("text/markdown", "text/markdown", "# Hello page 0"),
        ("text/vnd.hocr+html", "text/html", "ocr_line"),
        ("application/alto+xml", "application/xml", "<alto"),
        ("application/json;q=0.5, text/plain", "text/plain", "Hello page 0"),
        ("text/html, application/xml;q=0.9, */*;q=0.8", "application/json", '"schema_version"'),
    ],
)
async def test_the_accept_header_chooses_the_format(accept: str, media_type: str, part: str) -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", files={"file": png()}, headers={"accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == media_type
    assert part in answer.text


@pytest.mark.smoke
@pytest.mark.parametrize("name", ["text", "markdown", "json", "hocr", "alto", "ndjson"])
async def test_the_format_option_wins_over_the_accept_header(name: str) -> None:
    async with running_api() as api:
        answer = await api.client.post(
            f"/ocr?format={name}", files={"file": png()}, headers={"accept": "application/json"}
        )
    assert answer.status_code == 200
    if name == "json":
        assert "schema_version" in answer.json()
        assert "text" not in answer.json()


@pytest.mark.parametrize(
    ("name", "media_type"), [("md", "text/markdown"), ("HTML", "text/html"), (".txt", "text/plain")]
)
async def test_formats_have_the_names_that_people_try(name: str, media_type: str) -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", params={"format": name}, files={"file": png()})
    assert answer.headers["content-type"].startswith(media_type), answer.text


@pytest.mark.smoke
async def test_unknown_options_are_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:

        async def detail(path: str, **options: str) -> str:
            in_form = await api.client.post(path, files={"file": png()}, data=options)
            in_query = await api.client.post(path, files={"file": png()}, params=options)
            assert [each.json()["code"] for each in (in_form, in_query)] == ["options_invalid"] * 2
            assert in_form.json()["detail"] == in_query.json()["detail"]
            return str(in_form.json()["detail"])

        for path in ("/ocr", "/extract", "/v1/jobs"):
            assert "no option `pagse`. Did you mean `pages`?" in await detail(path, pagse="9")
            assert "Did you mean `language`? For `translate`" in await detail(path, lang="en")
        assert "Options: pages, pdf_text" in await detail("/ocr", colour="red")
        listed = await api.client.get("/v1/jobs?stat=failed")
        assert listed.json()["detail"].startswith("There is no option `stat`. Did you mean `state`? Only jobs in")
        assert (await api.client.get("/v1/jobs?state=failed&state=queued")).status_code == 200
        assert "Did you mean `schema`?" in await detail("/extract", json_schema="{}")
        assert "no option of this name" in await detail("/ocr", **{"x" * 50: "1"})
        refused = await api.client.post("/ocr", json={"image": b64(png()), "formats": "text"})
        assert "Did you mean `format`?" in refused.json()["detail"]
        refused = await api.client.post("/extract?fields=total", files={"file": png()})
        assert refused.json()["detail"] == "`fields` must be in the body, because URLs are logged."
        assert api.engine.tasks == []


async def test_clients_of_other_protocols_may_send_options_that_inkgate_does_not_have() -> None:
    async with running_api() as api:
        answers = [
            await api.client.post("/ocr?lang=en", files={"image_file": png()}, data={"text_score": "0.5"}),
            await api.client.post("/ocr", json={"file": b64(png()), "fileType": 1, "lang": "en"}),
            await api.client.post("/layout-parsing", json={"file": b64(png()), "fileType": 1, "lang": "en"}),
        ]
    assert [answer.status_code for answer in answers] == [200, 200, 200]


async def test_a_missing_file_names_what_was_sent_in_its_place() -> None:
    async with running_api() as api:
        form = await api.client.post("/ocr", files={"files": png()}, data={"pages": "1"})
        body = await api.client.post("/ocr", json={"url": "https://example.org/a.png"})
    assert form.json()["detail"] == "The form has no part `file`, but `files`."
    assert body.json()["detail"].startswith("The JSON has no key `image`, but `url`. It has base64, or a URL")


async def test_common_mistakes_with_files_are_named() -> None:
    async with running_api() as api:
        for path in ("/ocr", "/extract"):
            name = await api.client.post(path, data={"file": "scan of May.pdf"})
            assert "curl -F file=@page.png" in name.json()["detail"]
        headers = {"content-type": "multipart/form-data"}
        bare = await api.client.post("/ocr", content=b"--x", headers=headers)
        assert "Leave this header to your client" in bare.json()["detail"]


async def test_coordinates_are_those_that_were_asked_for_in_every_format() -> None:
    async with running_api() as api:
        for name, default in (("", "upright"), ("json", "upright"), ("ndjson", "upright")):
            for asked in (None, "upright", "sent"):
                query = {"format": name} | ({"coordinates": asked} if asked else {})
                answer = await api.client.post("/ocr", params=query, files={"file": png()})
                [page] = [lines_of(answer)[0]] if name == "ndjson" else answer.json()["pages"]
                assert page["coordinates"] == (asked or default)
        refused = await api.client.post("/ocr?coordinates=up", files={"file": png()})
    assert refused.json()["code"] == "options_invalid"


async def test_pages_beyond_the_document_are_left_out_with_a_note() -> None:
    async with running_api() as api:
        for kind in ("json", "ndjson"):
            answer = await api.client.post(f"/ocr?pages=1-3&format={kind}", files={"file": tiff(2)})
            last = lines_of(answer)[-1] if kind == "ndjson" else answer.json()
            assert last["notes"] == ["'1-3' goes beyond the last page: the document has pages 1 to 2."]
        refused = await api.client.post("/ocr?pages=3-4", files={"file": tiff(2)})
    assert refused.json()["code"] == "pages_invalid"


@pytest.mark.smoke
async def test_stream_gives_pages_in_order_and_a_summary() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", files={"file": tiff(6)}, headers={"accept": "application/x-ndjson"})
    assert answer.headers["content-type"] == "application/x-ndjson"
    *pages, last = lines_of(answer)
    assert [page["index"] for page in pages] == [0, 1, 2, 3, 4, 5]
    assert last["status"] == "complete"
    assert (last["pages_answered"], last["pages_failed"], last["page_count"]) == (6, 0, 6)


async def test_a_failed_page_makes_the_document_partial_visibly() -> None:
    engine = FakeEngine(failing={1: EngineFailed("engine_failed", "No luck.")})
    async with running_api(engine) as api:
        whole = await api.client.post("/ocr", files={"file": tiff(3)})
        stream = await api.client.post("/ocr?format=ndjson", files={"file": tiff(3)})
    assert whole.status_code == 200
    assert whole.headers["x-inkgate-status"] == "partial"
    assert whole.json()["status"] == "partial"
    assert whole.json()["pages"][1]["error"]["code"] == "engine_failed"
    assert lines_of(stream)[1]["error"]
    assert lines_of(stream)[-1]["status"] == "partial"


async def test_when_every_page_failed_the_first_error_is_the_answer() -> None:
    failing = {0: InputRejected("page_broken", "Torn."), 1: EngineFailed("engine_failed", "No luck.")}
    async with running_api(FakeEngine(failing=failing)) as api:
        answer = await api.client.post("/ocr", files={"file": tiff(2)})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "page_broken"
    assert api.limiter.ended == {"rejected": 1}


async def test_stream_whose_pages_all_failed_says_so_in_its_last_line() -> None:
    failing = dict.fromkeys(range(2), EngineFailed("engine_failed", "No luck."))
    async with running_api(FakeEngine(failing=failing)) as api:
        answer = await api.client.post("/ocr?format=ndjson", files={"file": tiff(2)})
    assert answer.status_code == 200
    assert lines_of(answer)[-1]["status"] == "failed"
    assert api.limiter.ended == {"failed": 1}


async def test_stream_of_one_page_that_failed_is_a_problem() -> None:
    async with running_api(FakeEngine(failing={0: EngineFailed("engine_failed", "No luck.")})) as api:
        answer = await api.client.post("/ocr?format=ndjson", files={"file": png()})
    assert answer.status_code == 502
    assert answer.json()["code"] == "engine_failed"


async def test_a_pdf_is_read_by_page() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr?pages=2-", files={"file": ("scan.pdf", pdf(3), "application/pdf")})
    body = answer.json()
    assert body["mime_type"] == "application/pdf"
    assert [page["index"] for page in body["pages"]] == [1, 2]
    assert body["page_count"] == 3


async def test_infer_is_another_name_for_ocr() -> None:
    async with running_api() as api:
        answers = [await api.client.post(path, json={"image": b64(png())}) for path in ("/ocr", "/infer")]
    assert answers[0].status_code == 200
    assert answers[0].json() == answers[1].json()
