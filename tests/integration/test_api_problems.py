"""Every error of the API, as the client sees it."""

import json

import pytest

from inkgate.errors import CODES, from_page_error
from inkgate_client.types import PageError
from support.api_client import b64, png, running_api, tiff
from support.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio

MEMBERS = {"type", "title", "status", "detail", "code", "remedy", "request_id"}
JSON = {"content-type": "application/json"}
FORM = {"content-type": "multipart/form-data; boundary=B"}


def part(name: str, value: bytes, more: str = "") -> bytes:
    head = f'--B\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'
    return head.encode() + value + b"\r\n"


END = b"--B--\r\n"


WRONG_BODIES: list[tuple[bytes, dict[str, str], str]] = [
    (b"{", JSON, "json_invalid"),
    (b"", JSON, "json_invalid"),
    (b'{"image": NaN}', JSON, "json_invalid"),
    (b'{"image": "\xff"}', JSON, "json_invalid"),
    (b"[" * 100_000, JSON, "json_invalid"),
    (b"[]", JSON, "request_malformed"),
    (b'"text"', JSON, "request_malformed"),
    (b"null", JSON, "request_malformed"),
    (b"{}", JSON, "file_missing"),
    (b'{"image": 5}', JSON, "options_invalid"),
    (b'{"image": null}', JSON, "options_invalid"),
    (b'{"image": {"a": 1}}', JSON, "options_invalid"),
    (b'{"image": ""}', JSON, "document_empty"),
    (b'{"image": "a"}', JSON, "base64_invalid"),
    ('{"image": "ÄÖÜ="}'.encode(), JSON, "base64_invalid"),
    (b'{"image": "aGVsbG8gd29ybGQ="}', JSON, "type_unsupported"),
    (b'{"image": "https://example.com/a.png"}', JSON, "url_forbidden"),
    (b"x", {}, "type_unsupported"),
    (b"x", {"content-type": "text/plain"}, "media_type_unsupported"),
    (b"{}", {**JSON, "content-encoding": "gzip"}, "media_type_unsupported"),
    (b"x=1", {"content-type": "application/x-www-form-urlencoded"}, "file_missing"),
    (b"\xff\xfe=1", {"content-type": "application/x-www-form-urlencoded"}, "request_malformed"),
    (b"a=1&" * 200, {"content-type": "application/x-www-form-urlencoded"}, "request_malformed"),
    (b"", FORM, "request_malformed"),
    (b"no boundary anywhere", FORM, "request_malformed"),
    (part("file", b"x"), FORM, "request_malformed"),
    (END, FORM, "file_missing"),
    (b"x", {"content-type": "multipart/form-data"}, "request_malformed"),
    (b"x", {"content-type": f"multipart/form-data; boundary={'b' * 2000}"}, "request_malformed"),
    (part("other", b"x") + END, FORM, "file_missing"),
    (part("file", b"") + END, FORM, "file_missing"),
    (part("file", b"", '; filename="a.png"') + END, FORM, "document_empty"),
    (part("file", b"x", '; filename="a"') * 2 + END, FORM, "request_malformed"),
    (part("pages", b"\xff") + END, FORM, "file_missing"),
    (part("", b"x") + END, FORM, "file_missing"),
    (b"".join(part(f"n{i}", b"") for i in range(101)) + END, FORM, "request_malformed"),
    (b"--B\r\nX: y\r\n\r\n1\r\n" + END, FORM, "request_malformed"),
]


async def test_a_wrong_body_is_told_apart() -> None:
    wrong = []
    async with running_api() as api:
        for content, headers, code in WRONG_BODIES:
            answer = await api.client.post("/ocr", content=content, headers=headers)
            told = (answer.json()["code"], answer.status_code, answer.headers["content-type"])
            if told != (code, CODES[code].status, "application/problem+json") or answer.json().keys() != MEMBERS:
                wrong.append((content[:100], headers, code, answer.text))
    assert wrong == []
    assert api.limiter.in_flight == 0
    assert api.engine.tasks == []


WRONG_OPTIONS = [
    ("pages=0", "pages_invalid"),
    ("pages=1-x", "pages_invalid"),
    ("pages=9", "pages_invalid"),
    ("format=odt", "not_acceptable"),
    ("task=sing", "options_invalid"),
    ("blocks=perhaps", "options_invalid"),
    ("pdf_text=maybe", "options_invalid"),
]


async def test_a_wrong_option_is_told() -> None:
    wrong = []
    async with running_api() as api:
        for query, code in WRONG_OPTIONS:
            answer = await api.client.post(f"/ocr?{query}", files={"file": png()})
            if (answer.json()["code"], answer.status_code) != (code, CODES[code].status):
                wrong.append((query, code, answer.text))
    assert wrong == []


async def test_a_list_of_pages_of_wrong_types_is_refused() -> None:
    async with running_api() as api:
        for pages in ([True], [1.5], ["1"], {"a": 1}, [10**30]):
            answer = await api.client.post("/ocr", json={"image": b64(png()), "pages": pages})
            assert answer.status_code in {400, 422}


async def test_an_accept_header_that_nothing_fits_is_406() -> None:
    async with running_api() as api:
        for accept in ("image/png", "application/json;q=0", "nonsense"):
            answer = await api.client.post("/ocr", files={"file": png()}, headers={"accept": accept})
            assert (answer.status_code, answer.json()["code"]) == (406, "not_acceptable"), accept


PAGE_CODES = sorted(
    code
    for code in CODES
    if code.startswith(
        (
            "page_b",
            "page_t",
            "page_m",
            "image_",
            "pdf_",
            "engine_failed",
            "engine_output",
            "engine_unav",
            "task_",
            "dead",
        )
    )
)


async def test_what_an_engine_raises_becomes_the_answer() -> None:
    wrong = []
    async with running_api(engine := FakeEngine()) as api:
        for code in PAGE_CODES:
            engine.failing = {0: from_page_error(PageError(code, "So.", ""))}
            answer = await api.client.post("/ocr", files={"file": png()})
            problem = answer.json()
            if (answer.status_code, problem["code"], problem["detail"]) != (CODES[code].status, code, "So."):
                wrong.append((code, answer.text))
    assert wrong == []


async def test_an_unexpected_error_shows_nothing_of_its_inside() -> None:
    class Broken:
        name = "broken"

    async with running_api() as api:
        object.__setattr__(api.context.service.gateway, "reader", Broken())
        answer = await api.client.post("/ocr", files={"file": png()})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "Broken" not in answer.text
    assert api.limiter.ended == {"failed": 1}


async def test_an_engine_that_breaks_fails_its_page_only() -> None:
    async with running_api(FakeEngine(failing={1: RuntimeError("secret")})) as api:
        answer = await api.client.post("/ocr", files={"file": tiff(3)})
    assert answer.json()["pages"][1]["error"]["code"] == "engine_failed"
    assert "secret" not in answer.text


WRONG_ADDRESSES = [
    ("GET", "/nothing", 404, "route_unknown"),
    ("GET", "/ocr", 405, "method_not_allowed"),
    ("PUT", "/v1/ocr", 405, "method_not_allowed"),
    ("DELETE", "/health", 405, "method_not_allowed"),
]


async def test_wrong_addresses_and_methods_are_problems() -> None:
    wrong = []
    async with running_api() as api:
        for method, path, status, code in WRONG_ADDRESSES:
            answer = await api.client.request(method, path)
            told = (answer.status_code, answer.json()["code"], answer.headers["content-type"])
            if told != (status, code, "application/problem+json") or ("allow" in answer.headers) != (status == 405):
                wrong.append((method, path, answer.headers, answer.text))
    assert wrong == []


async def test_all_methods_of_an_address_are_named() -> None:
    async with running_api() as api:
        answer = await api.client.put("/v1/files/x")
    assert answer.headers["allow"] == "DELETE, GET"


async def test_a_wrong_query_of_the_frameworks_own_is_a_problem() -> None:
    async with running_api() as api:
        answer = await api.client.get("/v1/files/x/url?expiry=soon")
    assert (answer.status_code, answer.json()["code"]) == (422, "options_invalid")
    assert answer.json().keys() == MEMBERS | {"error"}


async def test_a_text_in_any_language_comes_back_whole() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", files={"file": ("名前\u202e.png", png())})
    assert json.loads(answer.content)["text"].strip().endswith("世界")


REQUEST_IDS = [
    ("abc-123", True),
    ("!" * 128, True),
    ("x" * 129, False),
    ("a b", False),
    ("", False),
    ("a\tb", False),
    ("é", False),
]


async def test_request_ids_are_kept_when_they_are_harmless() -> None:
    wrong = []
    async with running_api() as api:
        for sent, kept in REQUEST_IDS:
            headers = [(b"x-request-id", sent.encode("latin-1")), (b"content-type", b"application/json")]
            answer = await api.client.post("/ocr", content=b"{", headers=headers)
            returned = answer.headers["x-request-id"]
            in_body = answer.json()["request_id"]
            if (returned == sent) is not kept or in_body != returned or not returned.isprintable():
                wrong.append((sent, returned, in_body))
    assert wrong == []


async def test_openai_s_clients_read_errors_of_addresses_below_v1_in_their_own_form() -> None:
    wrong = []
    async with running_api() as api:
        for method, path, status, code in (
            ("POST", "/v1/embeddings", 404, "route_unknown"),
            ("GET", "/v1/", 404, "route_unknown"),
            ("POST", "/v1/files2", 404, "route_unknown"),
            ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
            ("GET", "/v1/models/none", 404, "model_not_found"),
            ("GET", f"/v1/models/{'x' * 301}", 422, "options_invalid"),
        ):
            answer = await api.client.request(method, path)
            error = answer.json().get("error", {})
            if (answer.status_code, error.get("code"), bool(error.get("message"))) != (status, code, True):
                wrong.append((method, path, answer.status_code, answer.text))
        for path in ("/v1/files/none", "/v1/files/none/pages/0"):
            answer = await api.client.get(path)
            if answer.headers["content-type"] != "application/problem+json":
                wrong.append(("GET", path, answer.status_code, answer.text))
    assert not wrong
