"""The dashboard of jobs: the queue, the work, events in and results out.

Numbers of the database are the same in every process that shares it, so the queries take their maximum. Counters are of
one process each, so the queries sum them.
"""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.board import AnyPanel, board
from dashboards.panels import HERE, PAGES, WINDOW, lines, number, yes_or_no
from inkgate.doctor.conditions import LIMITS


def jobs() -> Dashboard:
    return board(
        "inkgate-jobs",
        "inkgate: jobs",
        "The queue of jobs, the work of its processes, events in and results out.",
        {"Now": _now(), "Queue": _queue(), "Work": _work(), "Events and results": _joined()},
    )


def _now() -> list[AnyPanel]:
    return [
        yes_or_no(
            "Database",
            "Whether the database of jobs responds to all selected instances.",
            (f"min(inkgate_jobs_store_up{{{HERE}}})", "database"),
            yes="up",
            no="away",
        ),
        number(
            "Backlog",
            "Time to read all pages of queued and running jobs at the current rate. No value: no page was saved in the "
            "last five minutes.",
            "s",
            f"max(inkgate_jobs_backlog_seconds{{{HERE}}})",
            [(LIMITS.backlog_s, "red")],
        ),
        number(
            "Pages to read",
            "Pages of queued and running jobs. A document that was not opened yet counts as one.",
            "short",
            f"max(inkgate_jobs_backlog_pages{{{HERE}}})",
        ),
        number(
            "Oldest queued job",
            "How long the oldest queued job has been due.",
            "s",
            f"max(inkgate_jobs_oldest_queued_seconds{{{HERE}}})",
            [(LIMITS.job_wait_s, "red")],
        ),
        number(
            "Job pages",
            "Pages of jobs saved per second.",
            "pages/s",
            f"sum(rate(inkgate_job_pages_total{{{HERE}}}[{WINDOW}]))",
        ),
        number(
            "Leases lost in the last hour",
            "Jobs that were taken over from processes that were alive.",
            "short",
            f"sum(increase(inkgate_job_leases_lost_total{{{HERE}}}[1h]))",
            [(LIMITS.flaps, "red")],
        ),
        number(
            "Deliveries waiting",
            "Deliveries of results to make, or to try again.",
            "short",
            f"max(inkgate_outbox_waiting{{{HERE}}})",
        ),
        number(
            "Dead letters",
            "Deliveries that were given up. `inkgate jobs redeliver` tries them again.",
            "short",
            f"max(inkgate_outbox_dead{{{HERE}}})",
            [(1, "red")],
        ),
    ]


def _queue() -> list[AnyPanel]:
    return [
        lines(
            "Backlog over time",
            "Time to read all pages of queued and running jobs, and how long the oldest queued job has been due.",
            "s",
            (f"max(inkgate_jobs_backlog_seconds{{{HERE}}})", "backlog"),
            (f"max(inkgate_jobs_oldest_queued_seconds{{{HERE}}})", "oldest job"),
        ),
        lines(
            "Jobs by state",
            "Queued and running jobs. Abandoned: their worker is gone, and no other has taken them over yet.",
            "short",
            (f'max by (state) (inkgate_jobs{{{HERE}, state=~"queued|running|cancelling"}})', "{{state}}"),
            (f"max(inkgate_jobs_abandoned{{{HERE}}})", "abandoned"),
        ),
        lines(
            "Ended jobs",
            "Jobs that ended, per second.",
            "short",
            (f"sum by (state) (rate(inkgate_jobs_ended_total{{{HERE}}}[{WINDOW}]))", "{{state}}"),
            stacked=True,
        ),
    ]


def _work() -> list[AnyPanel]:
    return [
        lines(
            "Job pages by outcome",
            "Pages of jobs that were saved, per second.",
            "pages/s",
            (f"sum by (outcome) (rate(inkgate_job_pages_total{{{HERE}}}[{WINDOW}]))", "{{outcome}}"),
            stacked=True,
        ).span(6),
        lines(
            "Running jobs",
            "Jobs that each process runs.",
            "short",
            (f"sum by (instance) (inkgate_jobs_running{{{HERE}}})", "{{instance}}"),
            stacked=True,
        ).span(6),
        lines(
            "Claims of jobs",
            "Jobs that processes began in five minutes: fresh ones, and those whose worker was gone. Lost: jobs that "
            "were taken over from a process that was alive.",
            "short",
            (f"sum by (kind) (increase(inkgate_job_claims_total{{{HERE}}}[5m]))", "{{kind}}"),
            (f"sum(increase(inkgate_job_leases_lost_total{{{HERE}}}[5m]))", "lost"),
        ).span(6),
        lines(
            "Pages of all ways in",
            "Pages read per second, by engine: of jobs and of requests.",
            "pages/s",
            (f"sum by (engine) (rate(inkgate_pages_total{{{PAGES}}}[{WINDOW}]))", "{{engine}}"),
            stacked=True,
        ).span(6),
    ]


def _joined() -> list[AnyPanel]:
    return [
        lines(
            "Events",
            "Objects named by events, per second. dead: events that can't be used.",
            "short",
            (
                f"sum by (source, outcome) (rate(inkgate_intake_events_total{{{HERE}}}[{WINDOW}]))",
                "{{source}} {{outcome}}",
            ),
            stacked=True,
        ).span(6),
        lines(
            "Paused intake",
            "Processes whose intake waits until the queue of jobs has room. The events stay in the broker.",
            "short",
            (f"sum by (source) (inkgate_intake_paused{{{HERE}}})", "{{source}}"),
        ).span(6),
        lines(
            "Deliveries",
            "Attempts to deliver a result, per second. retried: failed for now. dead: given up.",
            "short",
            (
                f"sum by (sink, outcome) (rate(inkgate_deliveries_total{{{HERE}}}[{WINDOW}]))",
                "{{sink}} {{outcome}}",
            ),
            stacked=True,
        ).span(6),
        lines(
            "Outbox",
            "How long the first delivery that is due has been due. More than a few seconds: none delivers.",
            "s",
            (f"max(inkgate_outbox_oldest_seconds{{{HERE}}})", "due for"),
            steps=[(LIMITS.outbox_s, "red")],
        ).span(6),
    ]
