"""The text of nginx's configuration. tests/e2e/test_nginx_tier.py runs it."""

from __future__ import annotations

import re
from pathlib import Path

from fastapi import APIRouter
from fastapi.routing import APIRoute

from inkgate.api import docling, document_intelligence, files, mineru
from inkgate.api.jobs import route as jobs
from inkgate.api.mistral_batch import route as mistral_batch

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "nginx" / "inkgate.conf"


def paths(*routers: APIRouter) -> set[str]:
    return {route.path for router in routers for route in router.routes if isinstance(route, APIRoute)}


def test_what_makes_or_shows_a_job_or_a_file_goes_to_one_gateway_and_is_not_repeated() -> None:
    text = CONFIGURATION.read_text(encoding="utf-8")
    [(pattern, block)] = re.findall(r"location ~ (\S+) \{(.*?)\n    \}", text, re.DOTALL)
    assert "proxy_next_upstream error;" in block
    assert "proxy_pass http://inkgate_by_client;" in block
    found = paths(
        docling.router, document_intelligence.router, files.router, mineru.router, jobs.router, mistral_batch.router
    )
    found.discard("/file_parse")  # makes no job: its response is the document
    assert len(found) > 15
    assert [path for path in sorted(found) if not re.match(pattern, path)] == []
    assert not re.match(pattern, "/v1/extract")
