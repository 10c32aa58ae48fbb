"""What clients of Mistral's OCR send and get."""

import json

import pytest

from inkgate.errors import EngineFailed
from support.api_client import b64, png, running_api, tiff
from support.fake_engine import TABLE, FakeEngine

pytestmark = pytest.mark.anyio

IMAGE = "![img-0.jpeg](img-0.jpeg)"


def data_url(data: bytes, mime_type: str = "image/png") -> str:
    return f"data:{mime_type};base64,{b64(data)}"


def request(data: bytes | None = None, **options: object) -> dict[str, object]:
    document = {"type": "image_url", "image_url": data_url(png() if data is None else data)}
    return {"model": "mistral-ocr-latest", "document": document, **options}


@pytest.mark.smoke
async def test_the_answer_has_the_keys_their_client_needs() -> None:
    async with running_api() as api:
        answer = await api.client.post("/v1/ocr", json=request())
    body = answer.json()
    assert answer.status_code == 200
    assert body["model"] == "fake"
    assert body["usage_info"] == {"pages_processed": 1, "doc_size_bytes": len(png())}
    assert body["document_annotation"] is None
    [page] = body["pages"]
    assert page["index"] == 0
    assert page["dimensions"] == {"dpi": 72, "height": 130, "width": 200}
    assert page["markdown"] == f"Head\n\n# Hello page 0\n\n{TABLE}\n\n{IMAGE}\n\nGrüße 世界\n\nFoot"
    assert page["images"] == [
        {
            "id": "img-0.jpeg",
            "top_left_x": 10,
            "top_left_y": 70,
            "bottom_right_x": 50,
            "bottom_right_y": 100,
            "image_base64": None,
            "image_annotation": None,
        }
    ]
    assert (page["tables"], page["hyperlinks"], page["blocks"], page["confidence_scores"]) == ([], [], None, None)
    assert (page["header"], page["footer"]) == (None, None)


async def test_null_options_mean_not_given() -> None:
    names = (
        "pages include_image_base64 image_limit image_min_size bbox_annotation_format document_annotation_format "
        "document_annotation_prompt table_format confidence_scores_granularity"
    )
    async with running_api() as api:
        answer = await api.client.post("/v1/ocr", json=request(**dict.fromkeys(names.split()), id="x"))
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "document",
    [
        {"type": "document_url", "document_url": data_url(png())},
        {"type": "document_url", "document_url": data_url(png(), "application/pdf"), "document_name": "a.pdf"},
        {"type": "image_url", "image_url": {"url": data_url(png()), "detail": None}},
        {"document_url": data_url(png())},
    ],
)
async def test_documents_are_found_under_every_key(document: dict[str, object]) -> None:
    async with running_api() as api:
        answer = await api.client.post("/v1/ocr", json={"model": None, "document": document})
    assert answer.status_code == 200


@pytest.mark.parametrize("pages", [[1, 3], "1,3", "3,1"])
async def test_pages_count_from_zero(pages: object) -> None:
    async with running_api() as api:
        answer = await api.client.post("/v1/ocr", json=request(tiff(4), pages=pages))
    assert sorted(page["index"] for page in answer.json()["pages"]) == [1, 3]


async def test_header_and_footer_are_extracted_or_stay_in_the_markdown() -> None:
    async with running_api() as api:
        answer = await api.client.post("/v1/ocr", json=request(extract_header=True, extract_footer=True))
    page = answer.json()["pages"][0]
    assert (page["header"], page["footer"]) == ("Head", "Foot")
    assert page["markdown"].startswith("# Hello")
    assert page["markdown"].endswith("世界")


@pytest.mark.parametrize(
    ("table_format", "name", "content"),
    [
        ("markdown", "tbl-0.md", TABLE),
        (
            "html",
            "tbl-0.html",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>",
        ),
    ],
)
async def test_tables_are_taken_out_when_a_format_is_named(table_format: str, name: str, content: str) -> None:
    async with running_api() as api:
        answer = await api.client.post("/v1/ocr", json=request(table_format=table_format, include_blocks=True))
    page = answer.json()["pages"][0]
    assert page["tables"] == [{"id": name, "content": content, "format": table_format, "word_confidence_scores": None}]
    assert f"[{name}]({name})" in page["markdown"]
    assert TABLE not in page["markdown"]
    assert [block.get("table_id") for block in page["blocks"]] == [None, name, None, None]


async def test_blocks_have_their_types_and_whole_numbers() -> None:
    async with running_api() as api:
        answer = await api.client.post("/v1/ocr", json=request(include_blocks=True))
    blocks = answer.json()["pages"][0]["blocks"]
    assert [block["type"] for block in blocks] == ["title", "table", "image", "footer"]
    assert blocks[0] == {
        "type": "title",
        "content": "# Hello page 0",
        "top_left_x": 10,
        "top_left_y": 10,
        "bottom_right_x": 130,
        "bottom_right_y": 30,
    }
    assert blocks[2]["image_id"] == "img-0.jpeg"


async def test_word_confidence_says_where_each_word_is_in_the_markdown() -> None:
    async with running_api() as api:
        answer = await api.client.post("/v1/ocr", json=request(confidence_scores_granularity="word"))
    page = answer.json()["pages"][0]
    scores = page["confidence_scores"]
    assert scores["average_page_confidence_score"] == pytest.approx((3 * 0.9 + 2 * 0.5) / 5)
    assert scores["minimum_page_confidence_score"] == 0.5
    assert [word["text"] for word in scores["word_confidence_scores"]] == ["Hello", "page", "0", "Grüße", "世界"]
    for word in scores["word_confidence_scores"]:
        assert page["markdown"][word["start_index"] :].startswith(word["text"])


async def test_page_confidence_comes_without_words() -> None:
    async with running_api() as api:
        answer = await api.client.post("/v1/ocr", json=request(confidence_scores_granularity="page"))
    assert answer.json()["pages"][0]["confidence_scores"]["word_confidence_scores"] == []


@pytest.mark.parametrize("limit", [{"image_limit": 0}, {"image_min_size": 31}])
async def test_images_are_limited(limit: dict[str, object]) -> None:
    async with running_api() as api:
        answer = await api.client.post("/v1/ocr", json={**request(include_blocks=True), **limit})
    page = answer.json()["pages"][0]
    assert page["images"] == []
    assert page["blocks"][2]["image_id"] == ""


async def test_multipart_takes_the_file_and_options_as_fields() -> None:
    options = {"model": "mistral-ocr-latest", "pages": "[1]", "include_blocks": "true", "table_format": ""}
    async with running_api() as api:
        answer = await api.client.post("/v1/ocr", files={"file": ("scan.tiff", tiff(3))}, data=options)
    [page] = answer.json()["pages"]
    assert page["index"] == 1
    assert page["blocks"]


async def test_a_switch_of_a_form_that_is_neither_true_nor_false_is_refused() -> None:
    async with running_api() as api:
        for name, value in (("include_blocks", "yes"), ("extract_header", "2"), ("image_limit", "-1")):
            answer = await api.client.post("/v1/ocr", files={"file": png()}, data={name: value})
            assert (answer.status_code, answer.json()["code"]) == (422, "options_invalid")
            assert answer.json()["detail"].startswith(f"{name}: ")
        for value in ("0", "False", "true"):
            answer = await api.client.post("/v1/ocr", files={"file": png()}, data={"include_blocks": value})
            assert bool(answer.json()["pages"][0]["blocks"]) == (value == "true")


async def test_multipart_takes_the_document_as_json() -> None:
    document = json.dumps({"type": "image_url", "image_url": data_url(png())})
    async with running_api() as api:
        answer = await api.client.post("/v1/ocr", files={"document": (None, document)})
    assert answer.status_code == 200


async def test_pages_are_streamed_in_their_own_shape() -> None:
    headers = {"accept": "application/x-ndjson"}
    async with running_api(FakeEngine(failing={1: EngineFailed("engine_failed", "No luck.")})) as api:
        answer = await api.client.post("/v1/ocr", json=request(tiff(3)), headers=headers)
    *pages, last = [json.loads(text) for text in answer.text.splitlines()]
    assert [page["index"] for page in pages] == [0, 1, 2]
    assert "dimensions" in pages[0]
    assert pages[1]["error"]["code"] == "engine_failed"
    assert last["status"] == "partial"


WRONG_OPTIONS: list[tuple[dict[str, object], int, str]] = [
    ({"document_annotation_format": {"type": "json_schema"}}, 422, "options_invalid"),
    ({"document_annotation_format": {"type": "json_object"}}, 422, "options_invalid"),
    ({"document_annotation_format": "schema"}, 422, "options_invalid"),
    (
        {"document_annotation_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}},
        422,
        "schema_invalid",
    ),
    ({"bbox_annotation_format": {}}, 422, "options_invalid"),
    ({"document_annotation_prompt": "Total?"}, 501, "feature_unavailable"),
    ({"model": "gpt-4o"}, 404, "engine_unknown"),
    ({"pages": [9]}, 422, "pages_invalid"),
    ({"pages": "x"}, 422, "pages_invalid"),
    ({"pages": [1.5]}, 422, "options_invalid"),
    ({"table_format": "latex"}, 422, "options_invalid"),
    ({"document": None}, 400, "file_missing"),
    ({"document": {"type": "document_url"}}, 400, "file_missing"),
    ({"document": "x"}, 422, "options_invalid"),
    ({"document": {"type": "file", "file_id": "nope"}}, 404, "file_unknown"),
    ({"document": {"type": "document_url", "document_url": "http://10.0.0.1/a"}}, 403, "url_forbidden"),
    ({"document": {"type": "document_url", "document_url": "data:image/png"}}, 400, "base64_invalid"),
]


async def test_what_is_wrong_is_said_by_a_problem() -> None:
    wrong = []
    async with running_api() as api:
        for options, status, code in WRONG_OPTIONS:
            answer = await api.client.post("/v1/ocr", json={**request(), **options})
            told = (answer.status_code, answer.json()["code"], answer.headers["content-type"])
            if told != (status, code, "application/problem+json"):
                wrong.append((options, answer.text))
    assert wrong == []
