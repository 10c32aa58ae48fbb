"""Folders of objects in the settings: one spelling, and none that could mean another place."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from inkgate.settings import JobSettings
from inkgate.settings.jobs import ObjectsSinkSettings


def test_folders_end_with_one_slash() -> None:
    cases = {
        "s3://scans": "s3://scans/",
        "s3://scans/": "s3://scans/",
        "s3://scans/in": "s3://scans/in/",
        "s3://scans/in//": "s3://scans/in/",
        "gs://scans/100%": "gs://scans/100%/",
        "abfss://files@account.dfs.core.windows.net/in": "abfss://files@account.dfs.core.windows.net/in/",
        "https://files.example:8443/in": "https://files.example:8443/in/",
        "file:///data/in": "file:///data/in/",
        "file:///": "file:///",
        "memory://bucket/in": "memory://bucket/in/",
    }
    assert dict(zip(cases, JobSettings(sources=tuple(cases)).sources, strict=True)) == cases


def test_other_urls_are_refused() -> None:
    urls = (
        "scans", "s3:", "s3://", "s3:///in", "S3://scans", "ftp://host/in", "file:", "file://", "file://host/in",
        "/data/in", "s3://scans/in?x", "s3://scans/in#x", "s3://scans/a b", "s3://key:secret@scans/in", "https://user@host/in",
        "s3://scans/a//b", "s3://scans/../in", "s3://scans/in/..", "s3://scans/./in", "file:///data/../in",
        "abfss://host/in",
    )  # fmt: skip
    accepted = []
    for url in urls:
        try:
            JobSettings(sources=(url,))
        except ValidationError:
            continue
        accepted.append(url)
    assert accepted == []


def test_web_servers_are_not_written_to() -> None:
    with pytest.raises(ValidationError):
        JobSettings(uploads="https://files.example/uploads/")
    with pytest.raises(ValidationError):
        ObjectsSinkSettings(kind="objects", url="https://files.example/out/")
    assert JobSettings(uploads="s3://scans/uploads").uploads == "s3://scans/uploads/"
    assert JobSettings().uploads == ""
