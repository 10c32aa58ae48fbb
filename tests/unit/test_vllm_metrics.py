"""What is understood of vLLM's /metrics."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from inkgate.model_servers.metrics import HistogramTotal, ServerReading, parse_metrics

RECORDED = (Path(__file__).parents[1] / "data" / "vllm-0.32-metrics.txt").read_text(encoding="utf-8")
LEAST = "vllm:num_requests_running 3.0\nvllm:num_requests_waiting 2.0\nvllm:generation_tokens_total 5.0\n"


def parsed(more: str) -> ServerReading:
    reading = parse_metrics(LEAST + more)
    assert reading is not None
    return reading


def test_what_a_real_vllm_says_is_read() -> None:
    reading = parse_metrics(RECORDED)
    assert reading == ServerReading(
        kv_usage=0.0,
        kv_tokens=1_048_576,
        prompt_tokens=128.0,
        generation_tokens=5.0,
        requests=4.0,
        queue_s=HistogramTotal(0.00015760399401187897, 4.0),
        inter_token_s=HistogramTotal(0.004256117998011177, 1.0),
        first_token_s=HistogramTotal(0.04915618896484375, 4.0),
        request_s=HistogramTotal(0.0532679557800293, 4.0),
    )


def test_engines_of_one_server_are_summed_and_the_fullest_counts() -> None:
    reading = parse_metrics(
        'vllm:num_requests_running{engine="0"} 3.0\nvllm:num_requests_running{engine="1"} 4.0\n'
        'vllm:num_requests_waiting{engine="0"} 0.0\nvllm:num_requests_waiting{engine="1"} 2.0\n'
        'vllm:generation_tokens_total{engine="0"} 10.0\nvllm:generation_tokens_total{engine="1"} 1e+06\n'
        'vllm:kv_cache_usage_perc{engine="0"} 0.9\nvllm:kv_cache_usage_perc{engine="1"} 0.2\n'
        'vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="100"} 1.0\n'
        'vllm:cache_config_info{block_size="16",engine="1",num_gpu_blocks="100"} 1.0\n'
    )
    assert reading == ServerReading(7, 2, 0.9, 3200, generation_tokens=1_000_010.0)


def test_waiting_by_reason_is_not_counted_twice() -> None:
    assert parsed('vllm:num_requests_waiting_by_reason{reason="capacity"} 2.0\n').waiting == 2


def test_labels_may_hold_any_character() -> None:
    info = r'vllm:cache_config_info{a="} 7 \" {",block_size="16",num_gpu_blocks="10"} 1.0' + "\n"
    assert parsed(info).kv_tokens == 160


def test_a_cache_that_is_not_there_yet_has_no_size() -> None:
    assert parsed('vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1.0\n').kv_tokens is None


def test_values_that_can_not_be_are_left_out() -> None:
    reading = parsed(
        "vllm:kv_cache_usage_perc NaN\nvllm:num_preemptions_total +Inf\nvllm:num_preemptions_total -4\n"
        "vllm:prompt_tokens_total 1e300\nvllm:request_success_total x\nvllm:num_preemptions_total\n"
    )
    assert reading == parsed("")


def test_a_time_behind_the_value_is_no_part_of_it() -> None:
    assert parsed("vllm:num_preemptions_total 4.0 1795245848466\n").preemptions == 4


def test_another_servers_metrics_are_no_reading() -> None:
    assert parse_metrics("") is None
    assert parse_metrics("<html>404</html>") is None
    assert parse_metrics("sglang:num_running_reqs 3.0\n") is None
    assert parse_metrics(RECORDED.replace("vllm:generation_tokens_total", "vllm:other")) is None


def test_old_names_are_not_taken_for_an_empty_cache() -> None:
    assert parsed("vllm:gpu_cache_usage_perc 0.5\n").kv_usage is None


def test_a_mean_is_of_what_came_since() -> None:
    assert HistogramTotal(10.0, 5.0).mean_since(HistogramTotal(4.0, 3.0)) == 3.0
    assert HistogramTotal(4.0, 3.0).mean_since(HistogramTotal(4.0, 3.0)) is None
    assert HistogramTotal(0.0, 0.0).mean_since(HistogramTotal(4.0, 3.0)) is None


@given(st.lists(st.sampled_from(RECORDED.splitlines())), st.text(), st.integers(0, len(RECORDED)))
def test_damaged_metrics_are_read_as_far_as_they_go(lines: list[str], odd: str, cut: int) -> None:
    for text in ("\n".join([*lines, odd]), RECORDED[:cut] + odd + RECORDED[cut:], LEAST + odd):
        reading = parse_metrics(text)
        assert reading is None or reading.running >= 0


@given(st.text(alphabet='vllm:cache_config_info{}="\\, 019e\n', max_size=200))
def test_odd_labels_do_no_harm(odd: str) -> None:
    text = LEAST + 'vllm:cache_config_info{block_size="' + odd
    reading = parse_metrics(text)
    assert reading is not None
    assert reading.kv_tokens is None or reading.kv_tokens > 0
