"""Fields by the Python client, at the API itself."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import httpx
import pytest
from pydantic import BaseModel

from inkgate_client import AsyncInkgateClient, ReadOptions, ServiceError
from inkgate_client.fields.values import FieldStatus
from support.api_client import Api, png, running_api
from support.receipt_engine import ReceiptEngine

pytestmark = pytest.mark.anyio


class Receipt(BaseModel):
    """What a program wants of a receipt."""

    total: Decimal
    cashier: str
    ward: str | None = None


class Dated(BaseModel):
    """Wants what no receipt has."""

    total: Decimal
    due: date


def client_of(api: Api) -> AsyncInkgateClient:
    return AsyncInkgateClient("http://inkgate.localhost", transport=httpx.ASGITransport(api.app))


@pytest.mark.smoke
async def test_a_model_class_gives_an_instance_and_each_value_its_place() -> None:
    async with running_api(engine=ReceiptEngine()) as api, client_of(api) as client:
        found = await client.extract(png(), schema=Receipt, name="r.png")
        assert (found.data, found.errors) == (Receipt(total=Decimal("30.20"), cashier="AMY"), ())
        assert (await client.extract(png(), Receipt, name="r.png")).data == found.data
        with pytest.raises(ValueError, match="once"):
            await client.extract(png(), "receipt", fields=["total"])
        total = found.fields["/total"]
        assert (total.status, total.text) == (FieldStatus.FOUND, "30.20")
        assert len(total.sources[0].box) == 4
        assert found.fields["/ward"].status is FieldStatus.NOT_FOUND


async def test_values_that_do_not_fit_the_class_give_none_and_reasons_without_values() -> None:
    async with running_api(engine=ReceiptEngine()) as api, client_of(api) as client:
        found = await client.extract(png(), schema=Dated)
        assert found.data is None
        assert [error.split(":")[0] for error in found.errors] == ["/due"]
        assert found.extraction.data["total"] is not None
        assert "30.20" not in " ".join(found.errors)


async def test_types_names_and_schemas_are_asked_for_and_values_verified() -> None:
    async with running_api(engine=ReceiptEngine()) as api, client_of(api) as client:
        typed = await client.extract(png(), type="receipt", read_as=ReadOptions(pages="1", priority="batch"))
        assert (typed.data["total"], typed.needs_review) == ("30.20", True)
        assert all(check.passed for check in typed.extraction.checks)
        named = await client.extract(png(), fields=["Grand total", "Nothing"])
        assert named.data == {"Grand total": "30.20", "Nothing": None}
        plain = await client.extract(png(), schema=Receipt.model_json_schema())
        assert isinstance(plain.data, dict)
        checked = await client.verify(png(), {"total": "30.20", "other": "99.99"})
        assert checked.data == {"total": "30.20", "other": None}
        assert "/total" in (await client.document_types())["receipt"]
        with pytest.raises(ServiceError) as refused:
            await client.extract(png(), type="nonsense")
        assert refused.value.code == "type_unknown"
