"""The command lines and environments that vLLM is started with."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from inkgate.engines.vlm.presets import find_preset
from inkgate.errors import InputRejected
from inkgate.model_servers.launch import Launch
from inkgate.model_servers.managed.command import free_port, server_command, server_commands, server_environment
from inkgate.settings import ManagedSettings, TracingSettings, VllmSettings

PADDLE = find_preset("paddleocr-vl")


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    """A file that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def python(tmp_path: Path) -> str:
    return str(program(tmp_path / "env" / "bin" / "python"))


def test_a_preset_s_flags_and_the_safe_defaults(python: str) -> None:
    command = server_command(PADDLE, VllmSettings(managed=ManagedSettings(python=python, port=8123)))
    assert command.url == "http://127.0.0.1:8123/v1"
    assert command.arguments(16) == [
        *(python, "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", "PaddlePaddle/PaddleOCR-VL-1.6", "--served-model-name", "PaddleOCR-VL-1.6-0.9B"),
        *("--host", "127.0.0.1", "--port", "8123", "--disable-uvicorn-access-log"),
        *("--allowed-media-domains", "none.invalid"),
        *("--trust-remote-code", "--max-num-batched-tokens", "16384", "--no-enable-prefix-caching"),
        *("--mm-processor-cache-gb", "0", "--trust-request-mm-kwargs", "--max-model-len", "16384"),
        *("--gpu-memory-utilization", "0.9", "--max-num-seqs", "16"),
    ]


def test_settings_come_before_the_preset_s_and_further_flags_last(python: str) -> None:
    managed = ManagedSettings(
        python=python,
        model="/srv/weights",
        max_num_seqs=4,
        gpu_memory_utilization=0.5,
        max_model_len=2048,
        tensor_parallel_size=2,
        quantization="fp8",
        extra_flags=("--enforce-eager",),
    )
    command = server_command(PADDLE, VllmSettings(model="my-model", managed=managed))
    line = " ".join(command.arguments(3))
    assert "--model /srv/weights --served-model-name my-model" in line
    assert line.endswith(
        "--max-model-len 2048 --gpu-memory-utilization 0.5 --max-num-seqs 3 "
        "--tensor-parallel-size 2 --quantization fp8 --enforce-eager"
    )
    assert command.launch.max_num_seqs == 4


def test_more_tokens_a_step_than_the_preset_s_come_after_them(python: str) -> None:
    managed = ManagedSettings(python=python, max_num_batched_tokens=4096)
    words = server_command(PADDLE, VllmSettings(managed=managed)).arguments(16)
    given = [words[place + 1] for place, word in enumerate(words) if word == "--max-num-batched-tokens"]
    assert given == ["16384", "4096"]


def test_several_api_servers_are_started_by_the_command_which_alone_can(python: str) -> None:
    managed = ManagedSettings(python=python, api_server_count=2)
    words = server_command(PADDLE, VllmSettings(managed=managed)).arguments(16)
    assert words[1:5] == ["-m", "vllm.entrypoints.cli.main", "serve", "--model"]
    assert words[-2:] == ["--api-server-count", "2"]


def test_speculative_decoding_takes_the_draft_of_the_model(python: str, tmp_path: Path) -> None:
    def words(name: str, **managed: object) -> list[str]:
        settings = VllmSettings(
            managed=ManagedSettings.model_validate({"python": python, "speculative": True, **managed})
        )
        return server_command(find_preset(name), settings).arguments(16)

    hunyuan = words("hunyuanocr", model=str(tmp_path))
    draft = f'{{"method":"dflash","model":"{tmp_path}/dflash","num_speculative_tokens":15}}'
    assert hunyuan[-2:] == ["--speculative-config", draft]
    assert hunyuan[hunyuan.index("--gpu-memory-utilization") + 1] == "0.85"
    assert '"model":"/srv/draft"' in words("hunyuanocr", draft_model="/srv/draft")[-1]
    assert words("glm-ocr")[-1] == '{"method":"mtp","num_speculative_tokens":3}'
    assert "0.6" in words("hunyuanocr", draft_model="/srv/draft", gpu_memory_utilization=0.6)
    for name, message in (("hunyuanocr", "in the folder `dflash`"), ("paddleocr-vl", "has no draft")):
        with pytest.raises(InputRejected, match=message) as refused:
            words(name)
        assert refused.value.code == "engine_incomplete"


def test_replicas_have_a_port_and_gpus_each(python: str) -> None:
    def fleet(preset: str = "paddleocr-vl", **managed: object) -> list[tuple[int, str]]:
        settings = VllmSettings(managed=ManagedSettings.model_validate({"python": python, **managed}))
        commands = server_commands(find_preset(preset), settings)
        return [(command.port, command.environment.get("CUDA_VISIBLE_DEVICES", "")) for command in commands]

    assert fleet(replicas=2, port=8100) == [(8100, "0"), (8101, "1")]
    visible = {"CUDA_VISIBLE_DEVICES": "3, GPU-7,5,6"}
    assert fleet(replicas=2, port=8100, tensor_parallel_size=2, environment=visible) == [
        (8100, "3,GPU-7"),
        (8101, "5,6"),
    ]
    assert len({port for port, _ in fleet(replicas=4)}) == 4
    assert fleet(port=8100, environment=visible) == [(8100, "3, GPU-7,5,6")]
    with pytest.raises(InputRejected, match="needs 6 GPUs; CUDA_VISIBLE_DEVICES names 4") as refused:
        fleet(replicas=3, tensor_parallel_size=2, environment=visible)
    assert refused.value.code == "engine_incomplete"


def test_vllm_sends_its_part_of_traces_where_ours_go(python: str) -> None:
    headers = {"authorization": SecretStr("Bearer a,b")}
    tracing = TracingSettings(endpoint="http://127.0.0.1:4318/", headers=headers, service_name="ocr")
    managed = ManagedSettings(python=python, extra_flags=("--enforce-eager",))
    command = server_command(PADDLE, VllmSettings(managed=managed), tracing)
    assert command.flags == ("--otlp-traces-endpoint", "http://127.0.0.1:4318/v1/traces", "--enforce-eager")
    assert command.environment["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] == "http/protobuf"
    assert command.environment["OTEL_EXPORTER_OTLP_TRACES_HEADERS"] == "authorization=Bearer%20a%2Cb"
    assert command.environment["OTEL_SERVICE_NAME"] == "ocr-vllm"


@pytest.mark.parametrize("endpoint", ["", "http://user:secret@127.0.0.1:4318", "http://127.0.0.1/v1/traces?key=secret"])
def test_without_an_endpoint_or_with_a_secret_in_it_vllm_sends_none(python: str, endpoint: str) -> None:
    settings = VllmSettings(managed=ManagedSettings(python=python))
    command = server_command(PADDLE, settings, TracingSettings(endpoint=endpoint))
    assert command.flags == ()
    assert not [name for name in command.environment if name.startswith("OTEL_EXPORTER_OTLP_TRACES")]


def test_what_a_preset_says_stands_where_the_settings_say_nothing(python: str) -> None:
    own = replace(PADDLE, launch=Launch("m", max_model_len=512, gpu_memory_utilization=0.4, max_num_seqs=64))
    launch = server_command(own, VllmSettings(managed=ManagedSettings(python=python))).launch
    assert (launch.max_model_len, launch.gpu_memory_utilization, launch.max_num_seqs) == (512, 0.4, 64)


def test_weights_without_a_repository_need_a_folder(python: str) -> None:
    old = find_preset("hunyuanocr-1.0")
    with pytest.raises(InputRejected, match=r"engine_incomplete: .*hunyuanocr-1.0.*engine\.vllm\.managed\.model"):
        server_command(old, VllmSettings(managed=ManagedSettings(python=python)))
    given = VllmSettings(managed=ManagedSettings(python=python, model="/srv/v1.0"))
    assert server_command(old, given).name == "HunyuanOCR-1.0"


def test_the_key_goes_into_the_environment_and_not_onto_the_command_line(python: str) -> None:
    settings = VllmSettings(api_key=SecretStr("hush"), managed=ManagedSettings(python=python, environment={"A": "b"}))
    command = server_command(PADDLE, settings)
    assert (command.environment["VLLM_API_KEY"], command.environment["A"]) == ("hush", "b")
    assert "hush" not in " ".join(command.arguments(1))


def test_the_environment_is_ours_without_our_python_and_settings() -> None:
    ours = {
        "PATH": "/usr/bin",
        "HOME": "/home/me",
        "VIRTUAL_ENV": "/ours",
        "PYTHONPATH": "/ours",
        "INKGATE_AUTH__KEY_HASHES": "[]",
        "VLLM_API_KEY": "of somebody else",
        "DO_NOT_TRACK": "0",
    }
    theirs = server_environment(ours, "/srv/vllm/bin/python", {"CUDA_VISIBLE_DEVICES": ""}, "hush")
    assert theirs == {
        "PATH": f"/srv/vllm/bin{os.pathsep}/usr/bin",
        "HOME": "/home/me",
        "DO_NOT_TRACK": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "PYTHONUNBUFFERED": "1",
        "NO_COLOR": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "VLLM_API_KEY": "hush",
    }


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory; nothing but its `bin` is on the PATH."""
    monkeypatch.chdir(tmp_path)  # where it is looked for is what is tested
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def test_an_environment_beside_us_is_found_first(elsewhere: Path) -> None:
    beside = program(elsewhere / ".venv-vllm" / "bin" / "python")
    program(elsewhere / "bin" / "vllm")
    program(elsewhere / "bin" / "python")
    assert server_command(PADDLE, VllmSettings()).python == str(beside)


def test_the_python_that_the_command_names_is_found(elsewhere: Path) -> None:
    named = program(elsewhere / "tools" / "python3.12")
    program(elsewhere / "bin" / "vllm", f"#!{named}\nimport vllm\n")
    assert server_command(PADDLE, VllmSettings()).python == str(named)


def test_the_python_beside_the_command_is_found(elsewhere: Path) -> None:
    beside = program(elsewhere / "env" / "bin" / "python")
    script = program(elsewhere / "env" / "bin" / "vllm", "#!/bin/sh\n")
    (elsewhere / "bin").mkdir()
    (elsewhere / "bin" / "vllm").symlink_to(script)
    assert server_command(PADDLE, VllmSettings()).python == str(beside)


def test_without_any_vllm_it_is_said_how_to_get_one(elsewhere: Path) -> None:
    with pytest.raises(InputRejected) as rejected:
        server_command(PADDLE, VllmSettings())
    assert rejected.value.code == "engine_incomplete"
    for said in ("pip install vllm", "engine.vllm.managed.python", "--vllm-url http://127.0.0.1:8000/v1"):
        assert said in rejected.value.detail


def test_a_python_that_is_none_is_told_of_at_once(elsewhere: Path) -> None:
    with pytest.raises(InputRejected, match=r"engine_incomplete: .*nix/python is not an executable file"):
        server_command(PADDLE, VllmSettings(managed=ManagedSettings(python="nix/python")))


@pytest.mark.parametrize(
    "flag", ["--port", "--port=1", "--max_num_seqs", "--api-key=x", "--host", "--api-server-count=2"]
)
def test_flags_that_are_for_us_to_choose_are_refused(flag: str) -> None:
    with pytest.raises(ValidationError, match="is set by"):
        ManagedSettings(extra_flags=("--enforce-eager", flag))


def test_a_port_is_free_and_not_one_of_those_for_outgoing_connections() -> None:
    port = free_port()
    assert 20_000 <= port < 32_000
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", port))
