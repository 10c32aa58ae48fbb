"""Results as Markdown for docs/contributing/benchmarks.md and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from benchmarks.engines.closed import Pass, median_rate, median_ratio, page_latencies
from benchmarks.engines.race import ENGINE, HTTP, TOGETHER, Race, lines_a_call, padding_waste
from benchmarks.engines.sample import mean_f1, pooled_cer
from benchmarks.engines.targets import Target
from benchmarks.figures import quantile, table
from inkgate_bench.accuracy.manifest import Entry

RAPIDOCR, ON_OPENVINO = "rapidocr", "rapidocr-openvino"


def race_tables(found: Race, documents: Sequence[Entry]) -> str:
    rows = []
    for name, by_clients in found.passes.items():
        for clients, passes in by_clients.items():
            times = list(page_latencies(passes).values())
            rates = [each.rate for each in passes]
            rows.append(
                (
                    name,
                    clients,
                    f"{median_rate(passes):.2f} ({min(rates):.2f} to {max(rates):.2f})",
                    _ratio(passes, _only(found, RAPIDOCR)),
                    _ratio(passes, _only(found, ON_OPENVINO)),
                    f"{quantile(times, 0.5):.2f}, {quantile(times, 0.95):.2f}",
                    f"{pooled_cer(documents, passes[0].texts):.2f}",
                    f"{mean_f1(documents, passes[0].texts):.2f}",
                )
            )
    head = ("reads", "clients", "pages/s", "to rapidocr", "to rapidocr on OpenVINO", "p50, p95 s", "CER %", "F1 %")
    batches = [
        (
            clients,
            f"{median(map(lines_a_call, figures)):.1f}",
            f"{100 * median(map(padding_waste, figures)):.1f}",
            f"{1000 * median(each.wait_s / max(1, each.items) for each in figures):.0f}",
        )
        for clients, figures in found.figures.items()
    ]
    memory = ", ".join(f"{name} {megabytes:.0f}" for name, megabytes in found.memory_mb.items())
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    return (
        f"{table(head, rows)}\n\n{versions}. Peak of memory, MB: {memory or 'not measured'}.\n\n"
        f"Lines that are read together (the engine alone, {found.runtime}):\n\n"
        f"{table(('clients', 'lines a call', 'padding %', 'wait of a line ms'), batches)}"
    )


def _only(found: Race, name: str) -> list[Pass]:
    return next(iter(found.passes.get(name, {}).values()), [])


def _ratio(one: Sequence[Pass], other: Sequence[Pass]) -> str:
    return f"{median_ratio(one, other):.2f}" if other else ""


def race_targets(found: Race) -> list[Target]:
    own, http = found.passes[ENGINE], found.passes[HTTP]
    best = max(own, key=lambda clients: median_rate(own[clients]))
    targets = []
    for peer, least in ((RAPIDOCR, 4.0), (ON_OPENVINO, 1.6)):
        if others := _only(found, peer):
            ratio = median_ratio(own[best], others)
            targets.append(Target(f"pages/s of the engine, {best} clients, to {peer}", ratio, least=least))
    if 1 in own and (others := _only(found, RAPIDOCR)):
        ours, theirs = page_latencies(own[1]), page_latencies(others)
        for name, share in (("median", 0.5), ("95 % of pages", 0.95)):
            ratio = quantile(theirs.values(), share) / quantile(ours.values(), share)
            targets.append(Target(f"single page, {RAPIDOCR}'s latency to ours, {name}", ratio, least=2.5))
        each = median(theirs[path] / ours[path] for path in ours)
        targets.append(Target(f"single page, {RAPIDOCR}'s latency to ours, page by page", each, least=2.5))
    if TOGETHER in own:
        ratio = 100 * median_ratio(http[TOGETHER], own[TOGETHER])
        targets.append(Target("pages/s over HTTP to the engine alone, 8 clients", ratio, " %", least=90, digits=1))
        figures = found.figures[TOGETHER]
        batch, waste = median(map(lines_a_call, figures)), median(map(padding_waste, figures))
        targets.append(Target("lines in a call of the recogniser, 8 clients", batch, least=4, digits=1))
        targets.append(Target("padding of its input, 8 clients", 100 * waste, " %", most=10, digits=1))
    return targets


def race_json(found: Race, documents: Sequence[Entry]) -> dict[str, Any]:
    return {
        "runtime": found.runtime,
        "versions": found.versions,
        "memory_mb": found.memory_mb,
        "passes": [
            {
                "name": name,
                "clients": clients,
                "pages_per_s": [round(each.rate, 4) for each in passes],
                "latency_s": {path: round(value, 4) for path, value in page_latencies(passes).items()},
                "cer": pooled_cer(documents, passes[0].texts),
                "f1": mean_f1(documents, passes[0].texts),
            }
            for name, by_clients in found.passes.items()
            for clients, passes in by_clients.items()
        ],
        "batches": {
            # asdict would copy counters as counters
            clients: [asdict(each) | {"sizes": dict(each.sizes)} for each in figures]
            for clients, figures in found.figures.items()
        },
    }
