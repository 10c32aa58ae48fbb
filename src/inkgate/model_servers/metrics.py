"""vLLM's metrics from /metrics, in Prometheus' text format, with the names of vLLM 0.24 to 0.33."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_QUOTED = r"\"(?:[^\"\\]|\\.)*\""
_SAMPLE = re.compile(
    r"^vllm:(?P<name>\w+)"
    rf"(?:\{{(?P<labels>(?:[^\"}}]|{_QUOTED})*)\}})?"
    r"[ \t]+(?P<value>[^ \t]+)(?:[ \t]+-?\d+)?[ \t]*$"
)
_LABEL = re.compile(r"(\w+)=\"((?:[^\"\\]|\\.)*)\"")
_WHOLE = re.compile(r"[0-9]{1,12}")
_MAX_VALUE = 1e18
"""Larger values are rejected: no real count or sum of seconds comes near it, and sums of samples stay finite."""


@dataclass(frozen=True, slots=True)
class HistogramTotal:
    """A histogram's sum and count since the server started; two of them give the mean over the time between."""

    sum: float = 0.0
    count: float = 0.0

    def mean_since(self, before: HistogramTotal) -> float | None:
        """The mean of the observations after `before`; None if there were none."""
        more = self.count - before.count
        return (self.sum - before.sum) / more if more > 0 else None


@dataclass(frozen=True, slots=True)
class ServerReading:
    """One scrape of a server. Counters and totals run since its start; several engines of one server are summed.

    Attributes:
        running, waiting: requests in the batch, and queued. Images in preprocessing are in neither.
        kv_usage: 0 to 1, of the fullest engine; None if not reported.
        kv_tokens: capacity of the KV cache; None if not reported.
        preemptions, prompt_tokens, generation_tokens, requests: counters; requests are finished ones.
        queue_s, inter_token_s, first_token_s, request_s: times in seconds.
    """

    running: int = 0
    waiting: int = 0
    kv_usage: float | None = None
    kv_tokens: int | None = None
    preemptions: float = 0.0
    prompt_tokens: float = 0.0
    generation_tokens: float = 0.0
    requests: float = 0.0
    queue_s: HistogramTotal = HistogramTotal()
    inter_token_s: HistogramTotal = HistogramTotal()
    first_token_s: HistogramTotal = HistogramTotal()
    request_s: HistogramTotal = HistogramTotal()


def parse_metrics(text: str) -> ServerReading | None:
    """The reading in `text`; None if it is not vLLM's, or lacks what every vLLM reports.

    Invalid lines and values that are not numbers are skipped: /metrics is another program's output.
    """
    sums: dict[str, float] = {}
    usage: float | None = None
    kv_tokens = 0
    for name, labels, value in _samples(text):
        if name == "kv_cache_usage_perc":
            usage = max(usage or 0.0, min(1.0, max(0.0, value)))
        elif name == "cache_config_info":
            reported = {name: int(value) for name, value in _LABEL.findall(labels) if _WHOLE.fullmatch(value)}
            kv_tokens += _kv_tokens(reported)
        else:
            sums[name] = sums.get(name, 0.0) + value
    if not {"num_requests_running", "num_requests_waiting", "generation_tokens_total"} <= sums.keys():
        return None
    return ServerReading(
        running=round(sums["num_requests_running"]),
        waiting=round(sums["num_requests_waiting"]),
        kv_usage=usage,
        kv_tokens=kv_tokens or None,
        preemptions=sums.get("num_preemptions_total", 0.0),
        prompt_tokens=sums.get("prompt_tokens_total", 0.0),
        generation_tokens=sums["generation_tokens_total"],
        requests=sums.get("request_success_total", 0.0),
        queue_s=_total(sums, "request_queue_time_seconds"),
        inter_token_s=_total(sums, "inter_token_latency_seconds"),
        first_token_s=_total(sums, "time_to_first_token_seconds"),
        request_s=_total(sums, "e2e_request_latency_seconds"),
    )


def _samples(text: str) -> Iterator[tuple[str, str, float]]:
    """Name, labels as written, and value of each valid sample of vLLM's, without buckets."""
    for line in text.splitlines():
        if not line.startswith("vllm:") or "_bucket{" in line:
            continue
        found = _SAMPLE.match(line)
        if found is None:
            continue
        try:
            value = float(found["value"])
        except ValueError:
            continue
        if 0 <= value <= _MAX_VALUE:
            yield found["name"], found["labels"] or "", value


def _kv_tokens(reported: Mapping[str, int]) -> int:
    """Capacity of one engine's KV cache: as reported (0.32), else blocks times tokens per block; 0 if that is missing,
    too.

    The product is too high for models whose layers keep caches of different sizes.
    """
    return reported.get("kv_cache_size_tokens") or reported.get("num_gpu_blocks", 0) * reported.get("block_size", 0)


def _total(sums: dict[str, float], name: str) -> HistogramTotal:
    return HistogramTotal(sums.get(f"{name}_sum", 0.0), sums.get(f"{name}_count", 0.0))
