"""The dashboard of who asks: what they send, what they get, who is turned away and why."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.board import AnyPanel, board
from dashboards.panels import HERE, NO_PROBES, PAGES, WINDOW, heat, lines, number, quantile

_REFUSALS = "inkgate_refusals_total"


def tenants() -> Dashboard:
    return board(
        "inkgate-tenants",
        "inkgate: tenants",
        "Who asks, for what, and who is turned away. Single keys are never told apart here: the log does that.",
        {"Now": _now(), "What they send": _sent(), "What they get": _got()},
    )


def _now() -> list[AnyPanel]:
    return [
        number(
            "Tenants",
            "Keys or addresses whose documents are in the house now.",
            "short",
            f"sum(inkgate_tenants{{{HERE}}})",
        ).span(6),
        number(
            "Documents",
            "Documents in the house now.",
            "short",
            f"sum(inkgate_documents{{{HERE}}})",
        ).span(6),
        number(
            "Bodies",
            "Memory that the bodies of these documents take, of what they may.",
            "percentunit",
            f"sum(inkgate_body_bytes{{{HERE}}}) / sum(inkgate_body_bytes_limit{{{HERE}}})",
            [(0.8, "orange"), (0.95, "red")],
        ).span(6),
        number(
            "Refused in the last hour",
            "All refusals: over their own rate, over their share, or for want of room.",
            "short",
            f"sum(increase({_REFUSALS}{{{HERE}}}[1h])) or vector(0)",
            [(1, "orange")],
        ).span(6),
    ]


def _sent() -> list[AnyPanel]:
    return [
        lines(
            "Requests by endpoint",
            "Per second: which kind of client sends them (docs/reference/http.md).",
            "reqps",
            (
                f"sum by (method, endpoint) (rate(http_requests_total{{{HERE}, {NO_PROBES}}}[{WINDOW}]))",
                "{{method}} {{endpoint}}",
            ),
            stacked=True,
        ),
        heat("Size of uploads", "Documents and chat requests by their size.", "bytes", "inkgate_upload_bytes", HERE),
        lines(
            "Pages by task",
            "Pages per second by what was asked for.",
            "pages/s",
            (f"sum by (task_type) (rate(inkgate_pages_total{{{PAGES}}}[{WINDOW}]))", "{{task_type}}"),
            stacked=True,
        ),
        lines(
            "Waiting by priority",
            "Pages and calls that wait for their turn.",
            "short",
            (f"sum by (priority) (inkgate_waiting{{{HERE}}})", "{{priority}}"),
            stacked=True,
        ).span(12),
        lines(
            "Wait for a turn",
            "How long pages and calls wait for their turn.",
            "s",
            *(
                (quantile(q, "inkgate_stage_duration_seconds", f'{HERE}, stage="wait"'), f"p{round(100 * q)}")
                for q in (0.5, 0.95)
            ),
        ).span(12),
    ]


def _got() -> list[AnyPanel]:
    return [
        lines(
            "Documents by how they ended",
            "Documents per second, of those that were let in.",
            "cps",
            (f"sum by (outcome) (rate(inkgate_documents_ended_total{{{HERE}}}[{WINDOW}]))", "{{outcome}}"),
            stacked=True,
        ),
        lines(
            "Refusals by class",
            "Refusals per second by the code of the error, and whether the caller had a key.",
            "reqps",
            (f"sum by (reason, tenant_class) (rate({_REFUSALS}{{{HERE}}}[{WINDOW}]))", "{{reason}} {{tenant_class}}"),
            stacked=True,
        ),
        lines(
            "Errors of callers",
            "Requests per second that were answered with 4xx: something is wrong with them, or there are too many.",
            "reqps",
            (
                f'sum by (endpoint, status) (rate(http_requests_total{{{HERE}, status=~"4.."}}[{WINDOW}]))',
                "{{endpoint}} {{status}}",
            ),
            stacked=True,
        ),
        lines(
            "Request time by endpoint, p95",
            "95 of 100 requests are answered within this time. Long documents take long.",
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
            "95 of 100 pages are read within this time, waiting included.",
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
