"""Settings of models on vLLM, managed or external."""

from __future__ import annotations

from enum import StrEnum
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt, ServerUrl


class ReadingMode(StrEnum):
    """How a page is sent to a vision-language model."""

    AUTO = "auto"
    PAGE = "page"
    ELEMENTS = "elements"


class ManagedSettings(Branch):
    python: str = Field(
        "",
        description="Python of vLLM's environment. Empty: `.venv-vllm` in the working directory, else that of"
        " the command `vllm`.",
    )
    model: str = Field("", description="Folder of the weights, or name on the model hub. Empty: as the preset says.")
    port: int = Field(
        0, ge=0, le=65535, description="Port of vLLM on 127.0.0.1; replicas have the next ones. 0: free ones."
    )
    max_num_seqs: int = Field(
        0, ge=0, description="Maximum sequences that vLLM runs at once. 0: as the preset says (16)."
    )
    gpu_memory_utilization: float = Field(
        0.0, ge=0, le=1, description="Share of the GPU's memory for vLLM. 0: as the preset says (0.9)."
    )
    max_num_batched_tokens: int = Field(
        0, ge=0, description="Maximum tokens in one step of vLLM. 0: as the preset says."
    )
    max_model_len: int = Field(
        0, ge=0, description="Maximum tokens of a request and its response. 0: as the preset says."
    )
    api_server_count: PositiveInt = Field(
        1, description="vLLM's API server processes, which prepare images. More than 1 needs the command `vllm`."
    )
    tensor_parallel_size: PositiveInt = Field(1, description="Number of GPUs for one model.")
    replicas: PositiveInt = Field(
        1, description="Number of vLLM servers, each on GPUs of its own, in the order of CUDA_VISIBLE_DEVICES."
    )
    quantization: str = Field("", description="Quantization of the weights, such as `fp8`. Empty: none.")
    speculative: bool = Field(
        default=False, description="Speculative decoding with the model's own draft: faster, the same text."
    )
    draft_model: str = Field(
        "",
        description="Folder of the draft for `speculative`. Empty: where the preset says, inside the weights' folder.",
    )
    extra_flags: tuple[str, ...] = Field((), description="More flags for vLLM, one word an item.")
    environment: dict[str, str] = Field({}, description="More environment variables for vLLM.")
    start_s: PositiveFloat = Field(900.0, description="How long vLLM may take to start.")
    stop_s: PositiveFloat = Field(10.0, description="Time for vLLM to stop by itself before it is killed.")
    restart_pause_s: PositiveFloat = Field(1.0, description="Pause before the first restart. It doubles each time.")
    restart_pause_most_s: PositiveFloat = Field(60.0, description="Maximum pause before a restart.")
    recover_s: PositiveFloat = Field(300.0, description="How long a request waits while vLLM restarts.")
    stable_s: PositiveFloat = Field(300.0, description="Uptime after which the pause is reset.")

    @field_validator("extra_flags")
    @classmethod
    def _not_ours(cls, flags: tuple[str, ...]) -> tuple[str, ...]:
        ours = {flag.partition("=")[0].replace("_", "-") for flag in flags} & _FLAGS_WITH_A_SETTING.keys()
        if ours:
            raise ValueError("; ".join(f"{flag} is set by {_FLAGS_WITH_A_SETTING[flag]}" for flag in sorted(ours)))
        return flags


_FLAGS_WITH_A_SETTING = {
    "--host": "inkgate to 127.0.0.1",
    "--port": "engine.vllm.managed.port",
    "--model": "engine.vllm.managed.model",
    "--max-num-seqs": "engine.vllm.managed.max_num_seqs",
    "--max-num-batched-tokens": "engine.vllm.managed.max_num_batched_tokens",
    "--api-server-count": "engine.vllm.managed.api_server_count",
    "--served-model-name": "engine.vllm.model",
    "--api-key": "engine.vllm.api_key",
}
"""Flags of vLLM that inkgate sets itself, or that must not appear on a command line."""


class VllmSettings(Branch):
    urls: tuple[ServerUrl, ...] = Field(
        (),
        description="Addresses of the model servers, such as `http://127.0.0.1:8000/v1`. `dns+http://vllm:8000/v1`: a"
        " server at each address of the host. Empty: inkgate starts vLLM.",
    )
    dns_interval_s: PositiveFloat = Field(5.0, description="How often the hosts of `dns+http` are looked up.")
    max_servers: PositiveInt = Field(64, description="Maximum servers found by `dns+http`; more are ignored.")
    model: str = Field(
        "", description="Name of the model on the server. Empty: a name of the preset, else the only model."
    )
    preset: str = Field("", description="The model's preset, if `engine.name` is `vllm`.")
    preset_folder: str = Field(
        "", description="Folder with your own presets. inkgate runs the files as Python. Empty: none."
    )
    api_key: SecretStr = Field(SecretStr(""), description="API key of the model server. Empty: none.")
    reading: ReadingMode = Field(
        ReadingMode.AUTO,
        description="`page`: read a page as one image; `elements`: block by block; `auto`: as suits the model.",
    )
    layout_longest_side: PositiveInt = Field(2600, description="Maximum side of a page that is read block by block.")
    concurrent_pages: PositiveInt = Field(
        16, description="Maximum pages at the engine at once for each server in service."
    )
    concurrent_requests: int = Field(0, ge=0, description="Concurrent requests at each model server. 0: adaptive.")
    max_tokens: int = Field(0, ge=0, description="Maximum tokens of a response. 0: as the preset says.")
    max_pixels: int = Field(
        0,
        ge=0,
        description="Maximum pixels of an image for the model. 0: as the preset says.",
    )
    start_s: PositiveFloat = Field(60.0, description="How long to wait for the server at start.")
    listen_after_s: PositiveFloat = Field(
        5.0,
        description="How long `inkgate serve` waits for a model server before it listens without one. Pages are then"
        " read by `ppocr` (with `fallback`) or get 503 `starting`.",
    )
    connect_s: PositiveFloat = Field(5.0, description="Time limit to connect.")
    first_token_s: PositiveFloat = Field(
        120.0, description="Time limit to the first token, including the server's queue."
    )
    progress_s: PositiveFloat = Field(30.0, description="Maximum pause between tokens.")
    stalled_s: PositiveFloat = Field(
        60.0, description="A server that sends no token of any request for this long is tested and taken out."
    )
    recover_s: PositiveFloat = Field(30.0, description="How long a request waits if no server is up.")
    structured_fields: bool = Field(
        default=True,
        description="Have the server force answers about fields into a JSON schema. A server that refuses is asked"
        " without.",
    )
    logprobs: bool = Field(default=True, description="Request log-probabilities, from which confidence is computed.")
    jpeg_quality: int = Field(95, ge=0, le=100, description="JPEG quality of images for the model. 0: PNG.")
    encoding_threads: PositiveInt = Field(2, description="Threads that resize and encode pages.")
    fallback: bool = Field(
        default=True,
        description="Read a page with `ppocr` if the model keeps repeating itself, or if no model server reads it.",
    )
    repetition_count: int = Field(
        200, ge=0, description="Repetitions of a pattern after which vLLM itself stops. Under 2: never."
    )
    managed: ManagedSettings = ManagedSettings()

    @model_validator(mode="after")
    def _one_way_to_log_in(self) -> Self:
        if self.api_key.get_secret_value() and any("@" in urlsplit(url).netloc for url in self.urls):
            raise ValueError(
                "engine.vllm.api_key and the user and password in engine.vllm.urls both set the Authorization header; "
                "remove one of them"
            )
        return self
