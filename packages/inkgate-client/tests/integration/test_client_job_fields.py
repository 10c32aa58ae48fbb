"""Fields of jobs by the client."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from pydantic import BaseModel

from inkgate_client import AsyncInkgateClient, InkgateClient, JobAs, ServiceError, WantedFields
from support.api_client import png
from support.jobs_api import jobs_api
from support.receipt_engine import ReceiptEngine

pytestmark = pytest.mark.anyio


class Invoice(BaseModel):
    """What a program wants."""

    total: Decimal
    date: date


async def test_fields_of_a_job_are_corrected_once(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, ReceiptEngine()) as api:
        transport = httpx.ASGITransport(api.app)
        client = AsyncInkgateClient("http://inkgate.localhost", transport=transport)
        job = await client.jobs.submit(png(), job_as=JobAs(extract=WantedFields(schema=Invoice)))
        status = await job.wait(30)
        assert (status.state, status.review) == ("succeeded", "needs_review")
        assert [each.id for each in (await client.jobs.to_review()).jobs] == [job.id]
        found = await job.fields(Invoice)
        assert found.data == Invoice(total=Decimal("30.20"), date=date(2018, 4, 3))
        assert found.fields["/total"].sources[0].page == 0
        corrected = await job.correct({"/date": date(2018, 3, 4)}, found.version, "anna")
        assert (corrected.data["date"], corrected.needs_review) == ("2018-03-04", False)
        assert corrected.corrections[0].by == "anna"
        with pytest.raises(ServiceError) as late:
            await job.correct({"/date": "2018-03-05"}, found.version)
        assert (late.value.status, late.value.code) == (412, "fields_changed")
        assert not (await client.jobs.to_review()).jobs
        assert (await job.result()).pages[0].lines
        async with httpx.AsyncClient(transport=transport, base_url="http://inkgate.localhost") as http:
            paths = (f"/v1/jobs/{job.id}", f"/v1/jobs/{job.id}/fields")
            answers = {path: (await http.get(path)).content for path in paths}

    def handle(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=answers[request.url.path])

    with InkgateClient("http://inkgate.localhost", transport=httpx.MockTransport(handle)) as blocking:
        typed = blocking.jobs.get(job.id).fields(Invoice)
        assert typed.data is not None
        assert typed.data.date == date(2018, 3, 4)
