"""Mistral's own client, with nothing changed but its address."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from mistralai.client import Mistral
from mistralai.client.errors import SDKError
from mistralai.client.models import BaseModelCard, DocumentURLChunkTypedDict
from PIL import Image

from support.images import encoded
from support.ppocr import drawn
from support.server import Server

PAGE = Image.fromarray(drawn(["Invoice number 20417"]))
PNG = encoded(PAGE, "PNG")
PDF = encoded(PAGE.convert("L"), "PDF")


def data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


@pytest.fixture
def client(gateway: Server) -> Iterator[Mistral]:
    with Mistral(api_key="any", server_url=gateway.url) as opened:
        yield opened


def test_an_image_in_a_data_url(client: Mistral) -> None:
    answer = client.ocr.process(
        model="mistral-ocr-latest",
        document={"type": "image_url", "image_url": data_url("image/png", PNG)},
        include_image_base64=False,
        confidence_scores_granularity="page",
    )
    (page,) = answer.pages
    assert (page.index, page.markdown) == (0, "# Invoice number 20417")
    assert page.dimensions is not None
    assert (page.dimensions.width, page.dimensions.height) == PAGE.size
    assert answer.usage_info.pages_processed == 1
    assert answer.model == "paddleocr-vl-1.6"


def test_the_models_are_listed_and_described(client: Mistral) -> None:
    listed = client.models.list().data or []
    assert {model.type for model in listed} == {"base"}
    assert len({model.id for model in listed if isinstance(model, BaseModelCard)}) == len(listed)
    described = client.models.retrieve(model_id="mistral-ocr-latest")
    assert isinstance(described, BaseModelCard)
    assert described.id == "mistral-ocr-latest"
    assert described.capabilities.ocr


def test_a_pdf_in_a_data_url(client: Mistral) -> None:
    document: DocumentURLChunkTypedDict = {
        "type": "document_url",
        "document_url": data_url("application/pdf", PDF),
        "document_name": "a.pdf",
    }
    answer = client.ocr.process(model="mistral-ocr-latest", document=document, pages=[0])
    assert [page.markdown for page in answer.pages] == ["# Invoice number 20417"]


def test_an_uploaded_file_by_its_signed_url_and_by_its_id(client: Mistral) -> None:
    uploaded = client.files.upload(file={"file_name": "scan.pdf", "content": PDF}, purpose="ocr")
    signed = client.files.get_signed_url(file_id=uploaded.id, expiry=1)
    by_url = client.ocr.process(
        model="mistral-ocr-latest", document={"type": "document_url", "document_url": signed.url}
    )
    by_id = client.ocr.process(model="mistral-ocr-latest", document={"type": "file", "file_id": uploaded.id})
    listed = client.files.list()
    kept = client.files.retrieve(file_id=uploaded.id)
    deleted = client.files.delete(file_id=uploaded.id)
    assert by_url.pages[0].markdown == by_id.pages[0].markdown == "# Invoice number 20417"
    assert uploaded.id in {file.id for file in listed.data or ()}
    assert (kept.filename, kept.size_bytes, deleted.deleted) == ("scan.pdf", len(PDF), True)


@pytest.mark.anyio
async def test_without_waiting(gateway: Server) -> None:
    async with Mistral(api_key="any", server_url=gateway.url) as client:
        answer = await client.ocr.process_async(
            model="mistral-ocr-latest", document={"type": "image_url", "image_url": data_url("image/png", PNG)}
        )
    assert answer.pages[0].markdown == "# Invoice number 20417"


def test_a_refusal_is_the_clients_own_exception(client: Mistral) -> None:
    with pytest.raises(SDKError) as caught:
        client.ocr.process(
            model="mistral-ocr-latest",
            document={"type": "document_url", "document_url": data_url("application/pdf", b"%PDF-nothing")},
        )
    assert caught.value.status_code == 422
    assert "pdf_corrupt" in caught.value.body
