"""The dashboard of clients: their requests, responses and refusals."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.board import AnyPanel, board
from dashboards.panels import HERE, NO_PROBES, PAGES, WINDOW, heat, lines, number, quantile

_REFUSALS = "inkgate_refusals_total"


def tenants() -> Dashboard:
    return board(
        "inkgate-tenants",
        "inkgate: tenants",
        "Requests, responses and refusals by client class. For single API keys, see the log.",
        {"Now": _now(), "Requests": _requests(), "Responses": _responses()},
    )


def _now() -> list[AnyPanel]:
    return [
        number(
            "Tenants",
            "API keys or addresses with documents in flight.",
            "short",
            f"sum(inkgate_tenants{{{HERE}}})",
        ).span(6),
        number(
            "Documents",
            "Documents in flight.",
            "short",
            f"sum(inkgate_documents{{{HERE}}})",
        ).span(6),
        number(
            "Request bodies",
            "Used share of the memory for request bodies.",
            "percentunit",
            f"sum(inkgate_body_bytes{{{HERE}}}) / sum(inkgate_body_bytes_limit{{{HERE}}})",
            [(0.8, "orange"), (0.95, "red")],
        ).span(6),
        number(
            "Refused in the last hour",
            "All refusals: rate limit, share, or overload.",
            "short",
            f"sum(increase({_REFUSALS}{{{HERE}}}[1h])) or vector(0)",
            [(1, "orange")],
        ).span(6),
    ]


def _requests() -> list[AnyPanel]:
    return [
        lines(
            "Requests by endpoint",
            "Requests per second; each endpoint is for a kind of client (docs/reference/http.md).",
            "reqps",
            (
                f"sum by (method, endpoint) (rate(http_requests_total{{{HERE}, {NO_PROBES}}}[{WINDOW}]))",
                "{{method}} {{endpoint}}",
            ),
            stacked=True,
        ),
        heat("Size of uploads", "Documents and chat requests by size.", "bytes", "inkgate_upload_bytes", HERE),
        lines(
            "Pages by task",
            "Pages per second by task.",
            "pages/s",
            (f"sum by (task_type) (rate(inkgate_pages_total{{{PAGES}}}[{WINDOW}]))", "{{task_type}}"),
            stacked=True,
        ),
        lines(
            "Waiting by priority",
            "Pages and calls that wait for a slot.",
            "short",
            (f"sum by (priority) (inkgate_waiting{{{HERE}}})", "{{priority}}"),
            stacked=True,
        ).span(12),
        lines(
            "Wait for a slot",
            "Time that pages and calls wait for a slot.",
            "s",
            *(
                (quantile(q, "inkgate_stage_duration_seconds", f'{HERE}, stage="wait"'), f"p{round(100 * q)}")
                for q in (0.5, 0.95)
            ),
        ).span(12),
    ]


def _responses() -> list[AnyPanel]:
    return [
        lines(
            "Documents by outcome",
            "Accepted documents per second.",
            "cps",
            (f"sum by (outcome) (rate(inkgate_documents_ended_total{{{HERE}}}[{WINDOW}]))", "{{outcome}}"),
            stacked=True,
        ),
        lines(
            "Refusals by class",
            "Refusals per second by error code, and whether the client had a key.",
            "reqps",
            (f"sum by (reason, tenant_class) (rate({_REFUSALS}{{{HERE}}}[{WINDOW}]))", "{{reason}} {{tenant_class}}"),
            stacked=True,
        ),
        lines(
            "Client errors",
            "Requests per second with 4xx responses: an invalid request, or too many.",
            "reqps",
            (
                f'sum by (endpoint, status) (rate(http_requests_total{{{HERE}, status=~"4.."}}[{WINDOW}]))',
                "{{endpoint}} {{status}}",
            ),
            stacked=True,
        ),
        lines(
            "Request time by endpoint, p95",
            "95% of requests finish within this time. Long documents take long.",
            "s",
            (
                (
                    "histogram_quantile(0.95, sum by (le, endpoint) "
                    f"(rate(inkgate_http_request_duration_seconds_bucket{{{HERE}, {NO_PROBES}}}[{WINDOW}])))"
                ),
                "{{endpoint}}",
            ),
        ).span(12),
        lines(
            "Page time by task, p95",
            "95% of pages finish within this time, including their wait.",
            "s",
            (
                (
                    "histogram_quantile(0.95, sum by (le, task_type) "
                    f"(rate(inkgate_page_duration_seconds_bucket{{{PAGES}}}[{WINDOW}])))"
                ),
                "{{task_type}}",
            ),
        ).span(12),
    ]
