"""Reviewed jobs as a manifest for `inkgate eval`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from inkgate.bootstrap.jobs import job_service
from inkgate.cli.jobs_truth import write_truth
from inkgate.jobs.job import JobDocument, JobFields, JobSource, JobState, NewJob
from inkgate.jobs.store import FieldCorrection, FoundFields, JobEnd
from inkgate.settings import Settings
from inkgate_bench.accuracy.manifest import load_fields, load_manifest
from inkgate_client.types import PageResult
from support.api_client import png

pytestmark = pytest.mark.anyio


async def test_corrected_fields_become_ground_truth(tmp_path: Path) -> None:
    settings = Settings.model_validate({"jobs": {"folder": str(tmp_path / "jobs")}})
    service, _, _ = job_service(settings)
    data = {"total": "30.20", "date": None, "paid": True, "items": [{"amount": "1"}]}
    found = FoundFields(json.dumps({"document_type": "receipt", "data": data}), needs_review=True)
    async with service.store.running():
        for name in ("a.png", "b.../x", "c.png"):
            job = NewJob("t", JobSource(), name, fields=JobFields("receipt"))
            kept = replace(await service.keep(job, png()), name=name)
            (added,) = await service.add([kept])
            (claim,) = await service.store.claim(1)
            end = JobEnd(JobState.SUCCEEDED, fields=found)
            await service.store.save(claim, [PageResult(0)], (JobDocument("image/png", 1, 1, "x"), 1), end)
            if name != "c.png":
                correction = FieldCorrection({"/date": "2018-03-04"}, "anna", 1.0)
                await service.store.correct(added.id, None, correction, reviewed=True)
        assert await write_truth(service, "other", tmp_path / "none") == 0
        assert await write_truth(service, "t", tmp_path / "out") == 2
    entries = load_manifest(tmp_path / "out" / "manifest.json")
    assert [(entry.file.suffix, entry.document_type) for entry in entries] == [(".png", "receipt"), ("", "receipt")]
    assert entries[0].file.read_bytes() == png()
    assert entries[0].fields is not None
    assert load_fields(entries[0].fields) == {"total": "30.20", "date": "2018-03-04", "paid": "true"}
