"""Results as Markdown for docs/contributing/benchmarks.md and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from benchmarks.engines.bound import Bound, mean_stages
from benchmarks.engines.closed import Pass, median_rate, median_ratio, page_latencies, quantile
from benchmarks.engines.own import DEFAULT
from benchmarks.engines.race import HTTP, Race, lines_a_call, padding_waste
from benchmarks.engines.sample import pooled_cer
from benchmarks.engines.steps import TOGETHER, Accuracy, StepResult
from benchmarks.engines.targets import Target, table
from inkgate_bench.accuracy.manifest import Entry

RAPIDOCR, ON_OPENVINO = "rapidocr", "rapidocr-openvino"


def race_tables(found: Race, documents: Sequence[Entry]) -> str:
    rows = []
    for name, by_clients in found.passes.items():
        for clients, passes in by_clients.items():
            times = list(page_latencies(passes).values())
            rows.append(
                (
                    name,
                    clients,
                    f"{median_rate(passes):.2f}",
                    _ratio(passes, _only(found, RAPIDOCR)),
                    _ratio(passes, _only(found, ON_OPENVINO)),
                    f"{quantile(times, 0.5):.2f}, {quantile(times, 0.95):.2f}",
                    f"{pooled_cer(documents, passes[0].texts):.1f}",
                )
            )
    head = ("reads", "clients", "pages/s", "to rapidocr", "to rapidocr on OpenVINO", "p50, p95 s", "CER %")
    batches = [
        (
            clients,
            f"{median(map(lines_a_call, figures)):.1f}",
            f"{100 * median(map(padding_waste, figures)):.1f}",
            f"{1000 * median(each.wait_s / max(1, each.items) for each in figures):.0f}",
        )
        for clients, figures in found.figures.items()
    ]
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    return (
        f"{table(head, rows)}\n\n{versions}.\n\nLines that are read together (the engine alone, {found.runtime}):\n\n"
        f"{table(('clients', 'lines a call', 'padding %', 'wait of a line ms'), batches)}"
    )


def _only(found: Race, name: str) -> list[Pass]:
    return next(iter(found.passes.get(name, {}).values()), [])


def _ratio(one: Sequence[Pass], other: Sequence[Pass]) -> str:
    return f"{median_ratio(one, other):.2f}" if other else ""


def race_targets(found: Race) -> list[Target]:
    own, http = found.passes[DEFAULT.name], found.passes[HTTP]
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


def steps_table(found: Sequence[StepResult], documents: Sequence[Entry]) -> str:
    rows = []
    for stepped in found:
        times = list(page_latencies(stepped.alone).values())
        rows.append(
            (
                stepped.step.name,
                stepped.runtime,
                f"{quantile(times, 0.5):.2f}, {quantile(times, 0.95):.2f}",
                f"{median_rate(stepped.alone):.2f}",
                f"{median_rate(stepped.together):.2f}",
                f"{median_ratio(stepped.together, found[0].together):.2f}",
                f"{pooled_cer(documents, stepped.together[0].texts):.2f}",
            )
        )
    head = ("step", "computed by", "single page p50, p95 s", "pages/s, 1 client", "8 clients", "to the first", "CER %")
    return table(head, rows)


def accuracy_table(found: Sequence[Accuracy]) -> str:
    rows = [(each.step, f"{each.cer:.2f}", f"{each.cer_folded:.2f}", each.differing) for each in found]
    return table(("step", "CER %", "CER whatever the case %", "texts unlike the first's"), rows)


def accuracy_targets(found: Sequence[Accuracy]) -> list[Target]:
    first = found[0]
    return [
        Target(f"CER, {each.step} less {first.step}", each.cer - first.cer, " points", most=0.1) for each in found[1:]
    ]


def bound_tables(found: Bound) -> str:
    alone, together = mean_stages(found.alone), mean_stages(found.together)
    stages = [(name, f"{alone.get(name, 0):.0f}", f"{together[name]:.0f}") for name in together]
    pages = len(found.alone.reads)
    models = [
        (
            name,
            f"{calls.calls / pages:.1f}",
            f"{calls.flops / pages / 1e9:.1f}",
            f"{1000 * calls.seconds / pages:.0f}",
            f"{calls.flops / calls.seconds / 1e9:.0f}",
            f"{100 * calls.flops / calls.seconds / found.peak:.0f}",
        )
        for name, calls in found.models.items()
        if calls.calls
    ]
    peaks = ", ".join(f"{precision} {peak / 1e9:.0f} GFLOP/s" for precision, peak in found.peaks.items())
    return (
        f"Milliseconds of a page by stage ({found.runtime}):\n\n"
        f"{table(('stage', '1 client', f'{TOGETHER} clients'), stages)}\n\n"
        "Models, one client:\n\n"
        f"{table(('model', 'calls a page', 'GFLOP a page', 'ms a page', 'GFLOP/s', '% of the peak'), models)}\n\n"
        f"Matrix peak, {peaks}. The whole engine with {TOGETHER} clients, all its work included: "
        f"{found.flops_together / found.together.seconds / 1e9:.0f} GFLOP/s, {100 * found.reached:.0f} % of it."
    )


def race_json(found: Race, documents: Sequence[Entry]) -> dict[str, Any]:
    return {
        "runtime": found.runtime,
        "versions": found.versions,
        "passes": [
            {
                "name": name,
                "clients": clients,
                "pages_per_s": [round(each.rate, 4) for each in passes],
                "latency_s": {path: round(value, 4) for path, value in page_latencies(passes).items()},
                "cer": pooled_cer(documents, passes[0].texts),
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


def steps_json(found: Sequence[StepResult], documents: Sequence[Entry]) -> list[dict[str, Any]]:
    return [
        {
            "name": stepped.step.name,
            "settings": stepped.step.settings,
            "runtime": stepped.runtime,
            "alone_pages_per_s": [round(each.rate, 4) for each in stepped.alone],
            "together_pages_per_s": [round(each.rate, 4) for each in stepped.together],
            "cer": pooled_cer(documents, stepped.together[0].texts),
        }
        for stepped in found
    ]


def bound_json(found: Bound) -> dict[str, Any]:
    return {
        "runtime": found.runtime,
        "peaks": found.peaks,
        "stages_ms": {"alone": mean_stages(found.alone), "together": mean_stages(found.together)},
        "models": {name: asdict(calls) for name, calls in found.models.items()},
        "reached": found.reached,
    }
