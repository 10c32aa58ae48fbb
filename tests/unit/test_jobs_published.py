"""Published jobs."""

import json

import pytest

from inkgate.jobs.job import JobFailure, JobOptions, JobSource, JobState
from inkgate.jobs.published import job_to_dict, public_url
from support.jobs import job


def test_job_is_published_with_times_as_rfc_3339() -> None:
    assert job_to_dict(job()) == {
        "id": "job_01",
        "state": "succeeded",
        "name": "receipt.png",
        "created": "2027-01-15T08:00:00.000Z",
        "started": "2027-01-15T08:00:01.500Z",
        "ended": "2027-01-15T08:00:03.250Z",
        "deadline": None,
        "pages": {"total": 1, "saved": 1, "failed": 0},
        "attempts": 0,
        "priority": "batch",
        "pipeline": "receipts",
        "review": None,
        "source": {"upload": None, "url": "s3://scans/in/2026/receipt.png", "etag": "5d41402a", "version": None},
        "error": None,
    }


def test_published_job_holds_no_secret() -> None:
    secret = job(
        source=JobSource(url="https://user:s3cret@host/a%20b.pdf?X-Signature=s3cret#s3cret"),
        options=JobOptions(password="s3cret"),  # noqa: S106 - not one
        webhook="https://hooks.example/s3cret?token=s3cret",
    )
    assert "s3cret" not in json.dumps(job_to_dict(secret))
    assert job_to_dict(secret)["source"]["url"] == "https://host/a%20b.pdf"


@pytest.mark.parametrize("code", ["document_quarantined", "internal", "code_of_a_later_version"])
def test_failure_has_code_detail_and_remedy(code: str) -> None:
    failed = job(state=JobState.FAILED, failure=JobFailure(code, "It has no pages\ud800."), pages=None, started=None)
    published = job_to_dict(failed)
    assert published["error"]["code"] == code
    assert published["error"]["detail"] == "It has no pages\ufffd."
    assert published["error"]["remedy"]
    assert published["pages"]["total"] is None


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("s3://bucket/a@b/c?d#e.pdf", "s3://bucket/a@b/c?d#e.pdf"),
        ("abfss://scans@account.dfs.core.windows.net/a.pdf", "abfss://scans@account.dfs.core.windows.net/a.pdf"),
        ("https://u@h", "https://h"),
        ("https://h?x=1", "https://h"),
        ("no url", "no url"),
    ],
)
def test_public_url_keeps_the_place(url: str, public: str) -> None:
    assert public_url(url) == public
