"""The dashboard of what computes: GPUs, the embedded engine's batches, model servers, processes."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.board import AnyPanel, board
from dashboards.panels import HERE, PAGES, WINDOW, bars, dial, heat, lines, yes_or_no

_ENGINE = f'{HERE}, engine=~"$engine"'


def engine() -> Dashboard:
    return board(
        "inkgate-engine",
        "inkgate: engine and GPU",
        "How busy what computes is, how well it is filled, and how it feels.",
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
            "GPU utilisation",
            "Part of the time in which the GPU computes. Low while pages wait: look at `Where the time goes`.",
            "percent",
            (f"avg by (gpu_id) (gpu_utilization_percent{{{HERE}}})", "GPU {{gpu_id}}"),
            [(70, "orange"), (95, "red")],
        ),
        bars(
            "GPU memory",
            "Used part of each card's memory. vLLM takes its share at the start and keeps it.",
            "percentunit",
            (
                f"inkgate_gpu_memory_used_bytes{{{HERE}}} / inkgate_gpu_memory_total_bytes{{{HERE}}}",
                "{{instance}} GPU {{gpu_id}}",
            ),
            [(0.92, "orange"), (0.97, "red")],
        ),
        lines(
            "GPU memory, course",
            "Used memory of each card in MiB, as nvidia-smi shows it.",
            "decmbytes",
            (f"gpu_memory_used_mb{{{HERE}}}", "{{instance}} GPU {{gpu_id}}"),
        ).span(12),
        lines(
            "GPU utilisation, course",
            "Part of the time in which each card computes.",
            "percent",
            (f"gpu_utilization_percent{{{HERE}}}", "{{instance}} GPU {{gpu_id}}"),
        )
        .max(100)
        .span(6),
        lines(
            "Temperature",
            "Over 85 °C an alert is sent.",
            "celsius",
            (f"inkgate_gpu_temperature_celsius{{{HERE}}}", "{{instance}} GPU {{gpu_id}}"),
            steps=[(85, "red")],
        ).span(6),
        lines(
            "Power",
            "What each card draws.",
            "watt",
            (f"inkgate_gpu_power_watts{{{HERE}}}", "{{instance}} GPU {{gpu_id}}"),
        ).span(4),
        lines(
            "Clock",
            "Clock of each card's processors.",
            "hertz",
            (f"inkgate_gpu_clock_hertz{{{HERE}}}", "{{instance}} GPU {{gpu_id}}"),
        ).span(4),
        lines(
            "Held down",
            "1 while the clocks are held down, by reason. `power` is a busy card at its limit; `thermal` is a fault.",
            "bool",
            (f"inkgate_gpu_throttled{{{HERE}}}", "{{instance}} GPU {{gpu_id}} {{reason}}"),
        ).span(4),
    ]


def _batches() -> list[AnyPanel]:
    return [
        heat(
            "Batch size",
            "Calls by the number of items in them. Small ones under load: raise `engine.ppocr.batching.max_wait_ms`.",
            "short",
            "inkgate_batch_size",
            HERE,
        ),
        lines(
            "Mean batch",
            "Items in a call.",
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
            "Part of the computed pixels that fill shorter lines up to the longest of their call.",
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
            "Wait for a call",
            "How long an item waits for its call on average.",
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
            "Calls at once",
            "How many calls of each model are computed at once on average.",
            "short",
            (f"sum by (model) (rate(inkgate_batch_busy_seconds_total{{{HERE}}}[{WINDOW}]))", "{{model}}"),
        ),
        lines(
            "Dropped and tried again",
            "Items whose caller left before their call, and items that were tried alone after their call had failed.",
            "cps",
            (f"sum by (model) (rate(inkgate_batch_dropped_total{{{HERE}}}[{WINDOW}]))", "{{model}} dropped"),
            (f"sum by (model) (rate(inkgate_batch_retried_total{{{HERE}}}[{WINDOW}]))", "{{model}} tried again"),
        ),
    ]


def _servers() -> list[AnyPanel]:
    return [
        yes_or_no(
            "Model servers",
            "Whether each gets work.",
            (f"max by (replica) (inkgate_replica_up{{{HERE}}})", "{{replica}}"),
            yes="in",
            no="out",
        )
        .span(8)
        .height(8),
        lines(
            "Requests at each",
            "Our calls there; what it says that it runs, and that waits in it.",
            "short",
            (f"sum by (replica) (inkgate_replica_in_flight{{{HERE}}})", "{{replica}} ours"),
            (f"max by (replica) (inkgate_replica_running{{{HERE}}})", "{{replica}} running"),
            (f"max by (replica) (inkgate_replica_waiting{{{HERE}}})", "{{replica}} waiting"),
        ),
        lines(
            "KV cache",
            "Used part of each one's KV cache.",
            "percentunit",
            (f"max by (replica) (inkgate_replica_kv_usage_ratio{{{HERE}}})", "{{replica}}"),
            steps=[(0.95, "red")],
        ),
        lines(
            "Pressure",
            "The largest of each one's signals over its target: at 1 and more the limit sinks.",
            "short",
            (f"max by (replica) (inkgate_replica_pressure{{{HERE}}})", "{{replica}}"),
            steps=[(1, "red")],
        ).span(6),
        lines(
            "Queue within",
            "Mean wait in each one's own queue, and of images to be prepared.",
            "s",
            (f"max by (replica) (inkgate_replica_queue_seconds{{{HERE}}})", "{{replica}}"),
            (f"max by (replica) (inkgate_replica_render_seconds{{{HERE}}})", "{{replica}} images"),
        ).span(6),
        lines(
            "Put back",
            "Requests per second that each put back for want of KV cache.",
            "reqps",
            (f"sum by (replica) (rate(inkgate_replica_preemptions_total{{{HERE}}}[{WINDOW}]))", "{{replica}}"),
        ).span(6),
        lines(
            "Taken out, and states",
            "How often each was taken out within the last hour; 1 for the state that it is in.",
            "short",
            (f"sum by (replica) (increase(inkgate_replica_taken_out_total{{{HERE}}}[1h]))", "{{replica}} taken out"),
            (f"max by (replica, state) (inkgate_replica_state{{{HERE}}})", "{{replica}} {{state}}"),
        ).span(6),
    ]


def _tokens() -> list[AnyPanel]:
    return [
        lines(
            "Tokens generated",
            "Per second, as each model server counts them.",
            "short",
            (
                f"sum by (replica) (rate(inkgate_replica_generation_tokens_total{{{HERE}}}[{WINDOW}]))",
                "{{replica}}",
            ),
        ).span(6),
        lines(
            "Tokens in and out",
            "Per second, of the answers that we got.",
            "short",
            (f"sum by (direction) (rate(inkgate_tokens_total{{{_ENGINE}}}[{WINDOW}]))", "{{direction}}"),
        ).span(6),
        lines(
            "KV ledger",
            "Tokens promised to calls in flight, tokens of others, and the capacity that they share.",
            "short",
            (f"sum by (queue, kind) (inkgate_ledger_tokens{{{HERE}}})", "{{queue}} {{kind}}"),
        ).span(6),
        lines(
            "Runaways and second tries",
            "Answers per second that were stopped because they repeated themselves; questions asked again, by reason.",
            "cps",
            (f"sum by (engine) (rate(inkgate_runaway_stops_total{{{_ENGINE}}}[{WINDOW}]))", "{{engine}} stopped"),
            (f"sum by (reason) (rate(inkgate_retries_total{{{_ENGINE}}}[{WINDOW}]))", "again: {{reason}}"),
        ).span(6),
    ]


def _processes() -> list[AnyPanel]:
    return [
        lines(
            "Memory",
            "Resident memory of all processes of a kind.",
            "bytes",
            (f"sum by (kind) (inkgate_process_resident_bytes{{{HERE}}})", "{{kind}}"),
            stacked=True,
        ).span(6),
        lines(
            "Processor",
            "Cores that the processes of a kind use.",
            "short",
            (f"sum by (kind) (rate(inkgate_process_cpu_seconds_total{{{HERE}}}[{WINDOW}]))", "{{kind}}"),
            stacked=True,
        ).span(6),
        lines(
            "Processes, and started again",
            "How many there are of each kind, and processes and background tasks started again within the last hour.",
            "short",
            (f"sum by (kind) (inkgate_processes{{{HERE}}})", "{{kind}}"),
            (f"sum by (kind) (increase(inkgate_process_restarts_total{{{HERE}}}[1h]))", "{{kind}} started again"),
            (
                f"sum by (task) (increase(inkgate_background_failures_total{{{HERE}}}[1h]))",
                "task {{task}} started again",
            ),
        ).span(6),
        lines(
            "Event loop",
            "How late the gateway's event loop was at most. Over 0.25 s for minutes an alert is sent.",
            "s",
            (f"max by (instance) (inkgate_event_loop_lag_seconds{{{HERE}}})", "{{instance}}"),
            steps=[(0.25, "red")],
        ).span(6),
        lines(
            "Failed pages",
            "Pages per second that were not read, or in part, by the code of the error (docs/reference/errors.md).",
            "pages/s",
            (f"sum by (engine, code) (rate(inkgate_page_errors_total{{{_ENGINE}}}[{WINDOW}]))", "{{engine}} {{code}}"),
            stacked=True,
        ).span(12),
        lines(
            "Pages by model",
            "Pages per second by what read them: a fallback shows here.",
            "pages/s",
            (
                f"sum by (engine, model_version, inference_engine) (rate(inkgate_pages_total{{{PAGES}}}[{WINDOW}]))",
                "{{engine}} {{model_version}} on {{inference_engine}}",
            ),
            stacked=True,
        ).span(12),
    ]
