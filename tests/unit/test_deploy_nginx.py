"""The text of the configurations of nginx and Caddy. tests/e2e/test_nginx_tier.py and test_caddy_tier.py run them."""

from __future__ import annotations

import re
from pathlib import Path

from inkgate.api.app import ROUTES
from inkgate.api.http.costs import (
    CONTROL,
    CORRECTION,
    DOWNLOAD,
    FILE,
    JOB,
    PICTURE,
    RESULT,
    STREAM,
    WRITTEN,
    route_costs,
)

DEPLOY = Path(__file__).parents[2] / "deploy"
OF_JOBS_AND_FILES = (JOB, FILE, CONTROL, CORRECTION, RESULT, WRITTEN, STREAM, DOWNLOAD, PICTURE)


def pattern_of_nginx() -> str:
    text = (DEPLOY / "nginx" / "inkgate.conf").read_text(encoding="utf-8")
    [(pattern, block)] = re.findall(r"location ~ (\S+) \{(.*?)\n    \}", text, re.DOTALL)
    assert "proxy_next_upstream error;" in block
    assert "proxy_pass http://inkgate_by_client;" in block
    return str(pattern)


def test_what_makes_or_shows_a_job_or_a_file_goes_to_one_gateway_and_is_not_repeated() -> None:
    pattern = pattern_of_nginx()
    routes = route_costs(route for routes in ROUTES for route in routes.router.routes)
    found = {each.path for each in routes if each.cost in OF_JOBS_AND_FILES}
    # An event that comes twice makes one job, and chunks are refused.
    found -= {"/v1/events", "/v1/chunk/{path:path}"}
    assert len(found) > 15
    assert [path for path in sorted(found) if not re.match(pattern, path)] == []
    assert [path for path in ("/v1/extract", "/v1/ocr", "/ocr", "/file_parse") if re.match(pattern, path)] == []


def test_caddy_keeps_the_same_at_one_gateway_and_the_web_page() -> None:
    text = (DEPLOY / "caddy" / "Caddyfile").read_text(encoding="utf-8")
    [pattern] = re.findall(r"@kept path_regexp (\S+)", text)
    assert pattern == pattern_of_nginx().replace(")(/|$)", "|ui)(/|$)")
