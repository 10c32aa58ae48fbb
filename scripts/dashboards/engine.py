"""The dashboard of the engine: GPUs, batches of the embedded engine, model servers, processes."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.board import AnyPanel, board
from dashboards.panels import HERE, PAGES, WINDOW, bars, dial, heat, lines, yes_or_no
from inkgate.doctor.conditions import LIMITS

_ENGINE = f'{HERE}, engine=~"$engine"'


def engine() -> Dashboard:
    return board(
        "inkgate-engine",
        "inkgate: engine and GPU",
        "Utilization and state of GPUs, batches, model servers and processes.",
        {
            "GPU": _gpu(),
            "Embedded engine": _batches(),
            "Model servers": _servers(),
            "Tokens": _tokens(),
            "Processes": _processes(),
        },
    )


def _gpu() -> list[AnyPanel]:
    return [
        dial(
            "GPU utilization",
            "Share of the time in which the GPU computes. If it is low while pages wait, see `Time by stage`.",
            "percent",
            (f"avg by (gpu_id) (gpu_utilization_percent{{{HERE}}})", "GPU {{gpu_id}}"),
            [(70, "orange"), (95, "red")],
        ),
        bars(
            "GPU memory",
            "Used share of each GPU's memory. vLLM reserves its share at the start and keeps it.",
            "percentunit",
            (
                f"inkgate_gpu_memory_used_bytes{{{HERE}}} / inkgate_gpu_memory_total_bytes{{{HERE}}}",
                "{{instance}} GPU {{gpu_id}}",
            ),
            [(0.92, "orange"), (LIMITS.gpu_memory_share, "red")],
        ),
        lines(
            "GPU memory over time",
            "Used memory of each GPU in MiB, as nvidia-smi shows it.",
            "decmbytes",
            (f"gpu_memory_used_mb{{{HERE}}}", "{{instance}} GPU {{gpu_id}}"),
        ).span(12),
        lines(
            "GPU utilization over time",
            "Share of the time in which each GPU computes.",
            "percent",
            (f"gpu_utilization_percent{{{HERE}}}", "{{instance}} GPU {{gpu_id}}"),
        )
        .max(100)
        .span(6),
        lines(
            "Temperature",
            f"An alert fires over {LIMITS.gpu_hot_c:g} °C.",
            "celsius",
            (f"inkgate_gpu_temperature_celsius{{{HERE}}}", "{{instance}} GPU {{gpu_id}}"),
            steps=[(LIMITS.gpu_hot_c, "red")],
        ).span(6),
        lines(
            "Power",
            "Power draw of each GPU.",
            "watt",
            (f"inkgate_gpu_power_watts{{{HERE}}}", "{{instance}} GPU {{gpu_id}}"),
        ).span(4),
        lines(
            "Clock",
            "Clock of each GPU's processors.",
            "hertz",
            (f"inkgate_gpu_clock_hertz{{{HERE}}}", "{{instance}} GPU {{gpu_id}}"),
        ).span(4),
        lines(
            "Throttling",
            "1 while the driver reduces the clocks. `power`: a busy GPU at its power limit; `thermal`: too hot.",
            "bool",
            (f"inkgate_gpu_throttled{{{HERE}}}", "{{instance}} GPU {{gpu_id}} {{reason}}"),
        ).span(4),
    ]


def _batches() -> list[AnyPanel]:
    return [
        heat(
            "Batch size",
            "Calls by number of items. If they are small under load, raise `engine.ppocr.batching.max_wait_ms`.",
            "short",
            "inkgate_batch_size",
            HERE,
        ),
        lines(
            "Mean batch size",
            "Items per call.",
            "short",
            (
                (
                    f"sum by (model) (rate(inkgate_batch_items_total{{{HERE}}}[{WINDOW}])) / "
                    f"sum by (model) (rate(inkgate_batch_size_count{{{HERE}}}[{WINDOW}]))"
                ),
                "{{model}}",
            ),
        ),
        lines(
            "Padding",
            "Share of the computed pixels that pad shorter lines to the longest of their call.",
            "percentunit",
            (
                (
                    f'sum by (model) (rate(inkgate_batch_pixels_total{{{HERE}, kind="padding"}}[{WINDOW}])) / '
                    f"sum by (model) (rate(inkgate_batch_pixels_total{{{HERE}}}[{WINDOW}]))"
                ),
                "{{model}}",
            ),
        ),
        lines(
            "Batching wait",
            "Average time that an item waits for its call.",
            "s",
            (
                (
                    f"sum by (model) (rate(inkgate_batch_wait_seconds_total{{{HERE}}}[{WINDOW}])) / "
                    f"sum by (model) (rate(inkgate_batch_items_total{{{HERE}}}[{WINDOW}]))"
                ),
                "{{model}}",
            ),
        ),
        lines(
            "Concurrent calls",
            "Average number of concurrent calls of each model.",
            "short",
            (f"sum by (model) (rate(inkgate_batch_busy_seconds_total{{{HERE}}}[{WINDOW}]))", "{{model}}"),
        ),
        lines(
            "Dropped and retried items",
            "Items whose client left before their call, and items retried alone after their call failed.",
            "cps",
            (f"sum by (model) (rate(inkgate_batch_dropped_total{{{HERE}}}[{WINDOW}]))", "{{model}} dropped"),
            (f"sum by (model) (rate(inkgate_batch_retried_total{{{HERE}}}[{WINDOW}]))", "{{model}} retried"),
        ),
    ]


def _servers() -> list[AnyPanel]:
    return [
        yes_or_no(
            "Model servers",
            "Whether each model server gets requests.",
            (f"max by (replica) (inkgate_replica_up{{{HERE}}})", "{{replica}}"),
            yes="in",
            no="out",
        )
        .span(8)
        .height(8),
        lines(
            "Requests at model servers",
            "Calls from inkgate; requests that the server reports as running and as waiting; and how many servers the "
            "arriving work keeps busy, refused work included.",
            "short",
            (f"sum by (replica) (inkgate_replica_in_flight{{{HERE}}})", "{{replica}} from inkgate"),
            (f"max by (replica) (inkgate_replica_running{{{HERE}}})", "{{replica}} running"),
            (f"max by (replica) (inkgate_replica_waiting{{{HERE}}})", "{{replica}} waiting"),
            (f"sum(inkgate_load_servers{{{HERE}}})", "servers that the work keeps busy"),
        ),
        lines(
            "KV cache",
            "Used share of each KV cache.",
            "percentunit",
            (f"max by (replica) (inkgate_replica_kv_usage_ratio{{{HERE}}})", "{{replica}}"),
            steps=[(LIMITS.kv_usage, "red")],
        ),
        lines(
            "Pressure",
            "Highest ratio of a load signal to its target. At 1 and more, inkgate lowers the limit.",
            "short",
            (f"max by (replica) (inkgate_replica_pressure{{{HERE}}})", "{{replica}}"),
            steps=[(1, "red")],
        ).span(6),
        lines(
            "Queue at model servers",
            "Mean wait in the server's own queue, and of images to be prepared.",
            "s",
            (f"max by (replica) (inkgate_replica_queue_seconds{{{HERE}}})", "{{replica}}"),
            (f"max by (replica) (inkgate_replica_render_seconds{{{HERE}}})", "{{replica}} images"),
        ).span(6),
        lines(
            "Preemptions",
            "Requests per second that vLLM preempted because the KV cache was full.",
            "reqps",
            (f"sum by (replica) (rate(inkgate_replica_preemptions_total{{{HERE}}}[{WINDOW}]))", "{{replica}}"),
        ).span(6),
        lines(
            "State of model servers",
            "1 for the current state; how often each server was taken out of service within the last hour.",
            "short",
            (f"sum by (replica) (increase(inkgate_replica_taken_out_total{{{HERE}}}[1h]))", "{{replica}} taken out"),
            (f"max by (replica, state) (inkgate_replica_state{{{HERE}}})", "{{replica}} {{state}}"),
        ).span(6),
    ]


def _tokens() -> list[AnyPanel]:
    return [
        lines(
            "Tokens generated",
            "Tokens per second, as each model server counts them.",
            "short",
            (
                f"sum by (replica) (rate(inkgate_replica_generation_tokens_total{{{HERE}}}[{WINDOW}]))",
                "{{replica}}",
            ),
        ).span(8),
        lines(
            "Tokens in and out",
            "Input and output tokens per second.",
            "short",
            (f"sum by (direction) (rate(inkgate_tokens_total{{{_ENGINE}}}[{WINDOW}]))", "{{direction}}"),
        ).span(8),
        lines(
            "Repetition stops and retries",
            "Outputs per second that inkgate stopped because they repeated themselves; retries by reason.",
            "cps",
            (f"sum by (engine) (rate(inkgate_runaway_stops_total{{{_ENGINE}}}[{WINDOW}]))", "{{engine}} stopped"),
            (f"sum by (reason) (rate(inkgate_retries_total{{{_ENGINE}}}[{WINDOW}]))", "retried: {{reason}}"),
        ).span(8),
    ]


def _processes() -> list[AnyPanel]:
    return [
        lines(
            "Memory",
            "Resident memory by kind of process.",
            "bytes",
            (f"sum by (kind) (inkgate_process_resident_bytes{{{HERE}}})", "{{kind}}"),
            stacked=True,
        ).span(6),
        lines(
            "CPU",
            "Cores used, by kind of process.",
            "short",
            (f"sum by (kind) (rate(inkgate_process_cpu_seconds_total{{{HERE}}}[{WINDOW}]))", "{{kind}}"),
            stacked=True,
        ).span(6),
        lines(
            "Processes and restarts",
            "Processes by kind; restarts of processes and background tasks within the last hour.",
            "short",
            (f"sum by (kind) (inkgate_processes{{{HERE}}})", "{{kind}}"),
            (f"sum by (kind) (increase(inkgate_process_restarts_total{{{HERE}}}[1h]))", "{{kind}} restarted"),
            (
                f"sum by (task) (increase(inkgate_background_failures_total{{{HERE}}}[1h]))",
                "task {{task}} restarted",
            ),
        ).span(6),
        lines(
            "Event loop",
            f"Highest lag of the gateway's event loop. An alert fires over {LIMITS.loop_lag_s:g} s.",
            "s",
            (f"max by (instance) (inkgate_event_loop_lag_seconds{{{HERE}}})", "{{instance}}"),
            steps=[(LIMITS.loop_lag_s, "red")],
        ).span(6),
        lines(
            "Failed pages",
            "Pages per second that failed, wholly or in part, by error code (docs/reference/errors.md).",
            "pages/s",
            (f"sum by (engine, code) (rate(inkgate_page_errors_total{{{_ENGINE}}}[{WINDOW}]))", "{{engine}} {{code}}"),
            stacked=True,
        ).span(12),
        lines(
            "Pages to review",
            "Pages per second that a person should look at, by reason (docs/guides/accuracy.md).",
            "pages/s",
            (
                f"sum by (engine, reason) (rate(inkgate_pages_to_review_total{{{_ENGINE}}}[{WINDOW}]))",
                "{{engine}} {{reason}}",
            ),
        ).span(12),
        lines(
            "Pages by model",
            "Pages per second by engine; a fallback shows here.",
            "pages/s",
            (
                f"sum by (engine, model_version, inference_engine) (rate(inkgate_pages_total{{{PAGES}}}[{WINDOW}]))",
                "{{engine}} {{model_version}} on {{inference_engine}}",
            ),
            stacked=True,
        ).span(12),
    ]
