"""The dashboard to look at first: is it up, how much goes through, how long it takes, what holds it back."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.board import AnyPanel, board
from dashboards.instances import instances
from dashboards.panels import HERE, NO_PROBES, PAGES, WINDOW, heat, lines, number, quantile, share, yes_or_no

_REQUESTS = f"sum(rate(http_requests_total{{{HERE}, {NO_PROBES}}}[{WINDOW}]))"
_FAILED = f'sum(rate(http_requests_total{{{HERE}, {NO_PROBES}, status=~"5..", status!="503"}}[{WINDOW}]))'
_REFUSED = f'sum(rate(inkgate_refusals_total{{{HERE}, reason!~"rate_limited|draining"}}[{WINDOW}]))'
_PAGE_S = "inkgate_page_duration_seconds"


def overview() -> Dashboard:
    return board(
        "inkgate-overview",
        "inkgate: overview",
        "Whether it is up, what goes through, how long it takes, and what holds it back.",
        {
            "Now": _now(),
            "Traffic": _traffic(),
            "Latency": _latency(),
            "Room": _room(),
            "Instances": [instances()],
        },
    )


def _now() -> list[AnyPanel]:
    return [
        yes_or_no(
            "Ready",
            "Whether every chosen instance can read. /readyz says why not.",
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
            "95 of 100 pages are read within this time, waiting included.",
            "s",
            quantile(0.95, _PAGE_S, PAGES),
            [(5, "orange"), (10, "red")],
        ),
        number(
            "Errors",
            "Part of the requests that failed by the service's fault (5xx without 503).",
            "percentunit",
            share(_FAILED, _REQUESTS),
            [(0.01, "orange"), (0.06, "red")],
        ),
        number(
            "Refused",
            "Part of the requests that were refused for want of room.",
            "percentunit",
            share(_REFUSED, _REQUESTS),
            [(0.01, "orange"), (0.05, "red")],
        ),
        number(
            "Waiting",
            "Pages and calls that wait for their turn.",
            "short",
            f"sum(inkgate_waiting{{{HERE}}})",
        ),
        number(
            "Alerts",
            "Alerts that fire now, of all instances.",
            "short",
            'count(ALERTS{alertstate="firing", job="inkgate"}) or vector(0)',
            [(1, "red")],
        ),
    ]


def _traffic() -> list[AnyPanel]:
    return [
        lines(
            "QPS",
            "Requests per second by endpoint, and the floor under which an alert is sent (inkgate:qps_floor).",
            "reqps",
            (f"sum by (endpoint) (qps{{{HERE}, {NO_PROBES}}})", "{{endpoint}}"),
            ("inkgate:qps_floor", "floor"),
        ),
        lines(
            "Answers by status",
            "Requests per second by status. 429 and 503 are refusals, 499 is a client that left.",
            "reqps",
            (f"sum by (status) (rate(http_requests_total{{{HERE}, {NO_PROBES}}}[{WINDOW}]))", "{{status}}"),
            stacked=True,
        ),
        lines(
            "Pages by outcome",
            "degraded: read worse than asked for, and said so. rejected: the page or the moment was at fault. "
            "failed: the engine was.",
            "pages/s",
            (f"sum by (outcome) (rate(inkgate_pages_total{{{PAGES}}}[{WINDOW}]))", "{{outcome}}"),
            stacked=True,
        ),
    ]


def _latency() -> list[AnyPanel]:
    return [
        lines(
            "Page time",
            "From a page's turn in its document to its result, waiting included. The dashed line is the objective.",
            "s",
            *((quantile(q, _PAGE_S, PAGES), f"p{round(100 * q)}") for q in (0.5, 0.95, 0.99)),
            steps=[(10, "red")],
        ),
        heat("Page time, all of it", "How many pages took how long.", "s", _PAGE_S, PAGES),
        heat(
            "Request time, all of it",
            "How many requests took how long, from their head to the end of the answer. Long documents take long.",
            "s",
            "inkgate_http_request_duration_seconds",
            f"{HERE}, {NO_PROBES}",
        ),
        lines(
            "Where the time goes",
            "Seconds spent in each stage, per second: at 3, three pages are in it on average. `engine` holds those "
            "within it (detect, recognize, batch).",
            "short",
            (
                f'sum by (stage) (rate(inkgate_stage_duration_seconds_sum{{{HERE}, engine=~"$engine"}}[{WINDOW}]))',
                "{{stage}}",
            ),
        ).span(12),
        lines(
            "Time by stage, p95",
            "95 of 100 times a stage takes no longer.",
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


def _room() -> list[AnyPanel]:
    return [
        lines(
            "Limit against in flight",
            "How many pages or calls are at the engine, how many may be, and how far that may rise.",
            "short",
            (f"sum by (queue) (inkgate_in_flight{{{HERE}}})", "{{queue}} in flight"),
            (f"sum by (queue) (inkgate_limit{{{HERE}}})", "{{queue}} limit"),
            (f"sum by (queue) (inkgate_limit_max{{{HERE}}})", "{{queue}} most"),
        ),
        lines(
            "Who waits",
            "Pages and calls that wait for their turn, by priority.",
            "short",
            (f"sum by (queue, priority) (inkgate_waiting{{{HERE}}})", "{{queue}} {{priority}}"),
            stacked=True,
        ),
        lines(
            "How long",
            "How long who waits longest has waited, and until all who wait have had their turn.",
            "s",
            (f"max by (queue) (inkgate_longest_wait_seconds{{{HERE}}})", "{{queue}} longest wait"),
            (f"max by (queue) (inkgate_backlog_seconds{{{HERE}}})", "{{queue}} backlog"),
        ),
        lines(
            "Documents",
            "Documents in the house, and how many may be.",
            "short",
            (f"sum(inkgate_documents{{{HERE}}})", "documents"),
            (f"sum(inkgate_documents_limit{{{HERE}}})", "limit"),
        ).span(6),
        lines(
            "Refusals",
            "Requests refused per second, by the code of the error (docs/reference/errors.md).",
            "reqps",
            (f"sum by (reason) (rate(inkgate_refusals_total{{{HERE}}}[{WINDOW}]))", "{{reason}}"),
            stacked=True,
        ).span(6),
        lines(
            "Degradation and breakers",
            "Steps of degradation taken (0: none), and for each breaker 1 while it is open.",
            "short",
            (f"max(inkgate_degradation_step{{{HERE}}})", "step"),
            (f"max by (name) (inkgate_breaker_open{{{HERE}}})", "{{name}} open"),
        ).span(6),
        lines(
            "Cache",
            "Pages per second that were read (run), found in the cache (kept), or shared with another (joined).",
            "pages/s",
            (f"sum by (source) (rate(inkgate_cache_results_total{{{HERE}}}[{WINDOW}]))", "{{source}}"),
            stacked=True,
        ).span(6),
    ]
