"""The dashboard to open first: readiness, traffic, latency, capacity."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.board import AnyPanel, board
from dashboards.instances import instances
from dashboards.panels import HERE, NO_PROBES, PAGES, WINDOW, heat, lines, number, quantile, share, yes_or_no
from inkgate.doctor.conditions import LIMITS

_REQUESTS = f"sum(rate(http_requests_total{{{HERE}, {NO_PROBES}}}[{WINDOW}]))"
_FAILED = f'sum(rate(http_requests_total{{{HERE}, {NO_PROBES}, status=~"5..", status!="503"}}[{WINDOW}]))'
_REFUSED = f'sum(rate(inkgate_refusals_total{{{HERE}, reason!~"rate_limited|draining"}}[{WINDOW}]))'
_PAGE_S = "inkgate_page_duration_seconds"


def overview() -> Dashboard:
    return board(
        "inkgate-overview",
        "inkgate: overview",
        "Readiness, traffic, latency and capacity.",
        {
            "Now": _now(),
            "Traffic": _traffic(),
            "Latency": _latency(),
            "Capacity": _capacity(),
            "Instances": [instances()],
        },
    )


def _now() -> list[AnyPanel]:
    return [
        yes_or_no(
            "Ready",
            "Whether all selected instances can read pages. /readyz lists the reasons if not.",
            (f"min(inkgate_ready{{{HERE}}})", "ready"),
            yes="ready",
            no="not ready",
        ),
        number(
            "Requests",
            "Requests per second in the last 10 s, without probes.",
            "reqps",
            f"sum(qps{{{HERE}, {NO_PROBES}}})",
        ),
        number("Pages", "Pages per second.", "pages/s", f"sum(rate(inkgate_pages_total{{{PAGES}}}[{WINDOW}]))"),
        number(
            "Page time, p95",
            "95% of pages finish within this time, including their wait.",
            "s",
            quantile(0.95, _PAGE_S, PAGES),
            [(5, "orange"), (10, "red")],
        ),
        number(
            "Errors",
            "Share of requests that failed because of the service (5xx without 503).",
            "percentunit",
            share(_FAILED, _REQUESTS),
            [(0.01, "orange"), (0.06, "red")],
        ),
        number(
            "Refused",
            "Share of requests refused because the service is overloaded.",
            "percentunit",
            share(_REFUSED, _REQUESTS),
            [(0.01, "orange"), (LIMITS.refused_share, "red")],
        ),
        number(
            "Waiting",
            "Pages and calls that wait for a slot.",
            "short",
            f"sum(inkgate_waiting{{{HERE}}})",
        ),
        number(
            "Alerts",
            "Alerts that fire now, for all instances.",
            "short",
            'count(ALERTS{alertstate="firing", job="inkgate"}) or vector(0)',
            [(1, "red")],
        ),
    ]


def _traffic() -> list[AnyPanel]:
    return [
        lines(
            "QPS",
            "Requests per second by endpoint. An alert fires under the floor (inkgate:qps_floor).",
            "reqps",
            (f"sum by (endpoint) (qps{{{HERE}, {NO_PROBES}}})", "{{endpoint}}"),
            ("inkgate:qps_floor", "floor"),
        ),
        lines(
            "Responses by status",
            "Requests per second by status. 429 and 503 are refusals; 499: the client left.",
            "reqps",
            (f"sum by (status) (rate(http_requests_total{{{HERE}, {NO_PROBES}}}[{WINDOW}]))", "{{status}}"),
            stacked=True,
        ),
        lines(
            "Pages by outcome",
            "degraded: read at reduced quality, which the result says. rejected: an unreadable page, or overload. "
            "failed: an engine error.",
            "pages/s",
            (f"sum by (outcome) (rate(inkgate_pages_total{{{PAGES}}}[{WINDOW}]))", "{{outcome}}"),
            stacked=True,
        ),
    ]


def _latency() -> list[AnyPanel]:
    return [
        lines(
            "Page time",
            "Time from a page's submission to its result, including its wait. The line is the latency target.",
            "s",
            *((quantile(q, _PAGE_S, PAGES), f"p{round(100 * q)}") for q in (0.5, 0.95, 0.99)),
            steps=[(10, "red")],
        ),
        heat("Distribution of page times", "Pages by duration.", "s", _PAGE_S, PAGES),
        heat(
            "Distribution of request times",
            "Requests by duration, from the request headers to the end of the response. Long documents take long.",
            "s",
            "inkgate_http_request_duration_seconds",
            f"{HERE}, {NO_PROBES}",
        ),
        lines(
            "Time by stage",
            "Seconds spent in each stage, per second: 3 means that three pages are in it on average. `engine` includes "
            "its stages detect, recognize and batch.",
            "short",
            (
                f'sum by (stage) (rate(inkgate_stage_duration_seconds_sum{{{HERE}, engine=~"$engine"}}[{WINDOW}]))',
                "{{stage}}",
            ),
        ).span(12),
        lines(
            "Time by stage, p95",
            "95% of the time, a stage finishes within this time.",
            "s",
            (
                (
                    f"histogram_quantile(0.95, sum by (le, stage) (rate(inkgate_stage_duration_seconds_bucket{{{HERE}, "
                    f'engine=~"$engine"}}[{WINDOW}])))'
                ),
                "{{stage}}",
            ),
        ).span(12),
    ]


def _capacity() -> list[AnyPanel]:
    return [
        lines(
            "Limit and in flight",
            "Pages or calls at the engine, their current limit, and its maximum.",
            "short",
            (f"sum by (queue) (inkgate_in_flight{{{HERE}}})", "{{queue}} in flight"),
            (f"sum by (queue) (inkgate_limit{{{HERE}}})", "{{queue}} limit"),
            (f"sum by (queue) (inkgate_limit_max{{{HERE}}})", "{{queue}} maximum"),
        ),
        lines(
            "Waiting by queue",
            "Pages and calls that wait for a slot, by priority.",
            "short",
            (f"sum by (queue, priority) (inkgate_waiting{{{HERE}}})", "{{queue}} {{priority}}"),
            stacked=True,
        ),
        lines(
            "Longest wait and backlog",
            "The longest current wait, and the time until everything that waits has a slot.",
            "s",
            (f"max by (queue) (inkgate_longest_wait_seconds{{{HERE}}})", "{{queue}} longest wait"),
            (f"max by (queue) (inkgate_backlog_seconds{{{HERE}}})", "{{queue}} backlog"),
        ),
        lines(
            "Documents",
            "Documents in flight and their limit.",
            "short",
            (f"sum(inkgate_documents{{{HERE}}})", "documents"),
            (f"sum(inkgate_documents_limit{{{HERE}}})", "limit"),
        ).span(6),
        lines(
            "Results being sent",
            "Results of jobs and files that are being sent, and their limit.",
            "short",
            (f"sum(inkgate_results{{{HERE}}})", "results"),
            (f"sum(inkgate_results_limit{{{HERE}}})", "limit"),
        ).span(6),
        lines(
            "Memory of results",
            "What the results that are being sent keep in memory, and its limit.",
            "bytes",
            (f"sum(inkgate_result_bytes{{{HERE}}})", "results"),
            (f"sum(inkgate_result_bytes_limit{{{HERE}}})", "limit"),
        ).span(6),
        lines(
            "Slow readers",
            "Connections closed per second because the client read less than `server.min_send_kb_s`.",
            "cps",
            (f"sum(rate(inkgate_slow_readers_total{{{HERE}}}[{WINDOW}]))", "closed"),
        ).span(6),
        lines(
            "Refusals",
            "Requests refused per second, by error code (docs/reference/errors.md).",
            "reqps",
            (f"sum by (reason) (rate(inkgate_refusals_total{{{HERE}}}[{WINDOW}]))", "{{reason}}"),
            stacked=True,
        ).span(6),
        lines(
            "Degradation and breakers",
            "Degradation steps in use (0: none), and 1 for each open circuit breaker.",
            "short",
            (f"max(inkgate_degradation_step{{{HERE}}})", "step"),
            (f"max by (name) (inkgate_breaker_open{{{HERE}}})", "{{name}} open"),
        ).span(6),
        lines(
            "Cache",
            "Pages per second that were read (run), came from the cache (kept), or shared a concurrent read (joined).",
            "pages/s",
            (f"sum by (source) (rate(inkgate_cache_results_total{{{HERE}}}[{WINDOW}]))", "{{source}}"),
            stacked=True,
        ).span(6),
    ]
