"""Settings of models on vLLM, ours or another's."""

from __future__ import annotations

from enum import StrEnum
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt, Url


class Reading(StrEnum):
    """How a vision-language model gets a page."""

    AUTO = "auto"
    PAGE = "page"
    ELEMENTS = "elements"


class ManagedSettings(Branch):
    python: str = Field(
        "", description="Python of vLLM's environment. Empty: `.venv-vllm` here, else of `vllm` on PATH."
    )
    model: str = Field("", description="Folder of the weights, or name on the hub. Empty: as the preset says.")
    port: int = Field(0, ge=0, le=65535, description="Port of vLLM on 127.0.0.1. 0: a free one.")
    max_num_seqs: int = Field(0, ge=0, description="Pages that vLLM works on at once. 0: as the preset says (16).")
    gpu_memory_utilization: float = Field(
        0.0, ge=0, le=1, description="Part of the GPU's memory that vLLM takes. 0: as the preset says (0.9)."
    )
    max_num_batched_tokens: int = Field(
        0, ge=0, description="Most tokens that vLLM works on in one step. 0: as the preset says."
    )
    max_model_len: int = Field(0, ge=0, description="Most tokens of a page and its answer. 0: as the preset says.")
    api_server_count: PositiveInt = Field(
        1, description="Processes of vLLM that take requests and prepare images. More than 1 needs the command `vllm`."
    )
    tensor_parallel_size: PositiveInt = Field(1, description="GPUs that one model is spread over.")
    quantization: str = Field("", description="How weights are quantized, such as `fp8`. Empty: as they come.")
    extra_flags: tuple[str, ...] = Field((), description="Further flags of vLLM's server, one word an item.")
    environment: dict[str, str] = Field({}, description="Further environment variables of vLLM, by name.")
    start_s: PositiveFloat = Field(900.0, description="How long vLLM may take until it answers.")
    stop_s: PositiveFloat = Field(10.0, description="Time for vLLM to stop by itself before it is killed.")
    restart_pause_s: PositiveFloat = Field(1.0, description="Pause before the first restart; doubled for each more.")
    restart_pause_most_s: PositiveFloat = Field(60.0, description="Longest pause before a restart.")
    recover_s: PositiveFloat = Field(300.0, description="How long a request waits for a vLLM that is restarted.")
    stable_s: PositiveFloat = Field(300.0, description="Good service after which pauses begin anew.")

    @field_validator("extra_flags")
    @classmethod
    def _not_ours(cls, flags: tuple[str, ...]) -> tuple[str, ...]:
        ours = {flag.partition("=")[0].replace("_", "-") for flag in flags} & _FLAGS_WITH_A_SETTING.keys()
        if ours:
            raise ValueError(
                "; ".join(f"instead of {flag} there is {_FLAGS_WITH_A_SETTING[flag]}" for flag in sorted(ours))
            )
        return flags


_FLAGS_WITH_A_SETTING = {
    "--host": "no other address than 127.0.0.1",
    "--port": "engine.vllm.managed.port",
    "--model": "engine.vllm.managed.model",
    "--max-num-seqs": "engine.vllm.managed.max_num_seqs",
    "--max-num-batched-tokens": "engine.vllm.managed.max_num_batched_tokens",
    "--api-server-count": "engine.vllm.managed.api_server_count",
    "--served-model-name": "engine.vllm.model",
    "--api-key": "engine.vllm.api_key",
}
"""Flags of vLLM that are for us to choose, or must not be seen on a command line."""


class VllmSettings(Branch):
    urls: tuple[Url, ...] = Field(
        (), description="Addresses of the model servers (replicas), such as `http://127.0.0.1:8000/v1`."
    )
    model: str = Field("", description="Name of the model on the server. Empty: the preset's, else the only one.")
    preset: str = Field("", description="The model's preset, where `engine.name` is `vllm`.")
    preset_folder: str = Field("", description="Folder of your own presets, run as Python. Empty: none.")
    api_key: SecretStr = Field(SecretStr(""), description="Key of the model server. Empty: it asks for none.")
    reading: Reading = Field(
        Reading.AUTO, description="`page`: as one image; `elements`: block by block; `auto`: as the model reads best."
    )
    layout_longest_side: PositiveInt = Field(
        2600, description="Longest side at which a page is cut into blocks, where it is read block by block."
    )
    concurrent_pages: PositiveInt = Field(16, description="Pages that are with the engine at once.")
    concurrent_requests: int = Field(
        0, ge=0, description="Requests at each model server at once. 0: as many as it turns out to bear."
    )
    max_tokens: int = Field(0, ge=0, description="Most tokens of an answer; 0: as the preset says.")
    max_pixels: int = Field(
        0,
        ge=0,
        description="Most pixels of an image that the model gets; 0, or more than it takes: as the preset says.",
    )
    start_s: PositiveFloat = Field(60.0, description="How long the server is waited for at start.")
    connect_s: PositiveFloat = Field(5.0, description="Time to connect.")
    first_token_s: PositiveFloat = Field(120.0, description="Time to the first token, the server's queue included.")
    progress_s: PositiveFloat = Field(30.0, description="Longest pause between tokens.")
    stalled_s: PositiveFloat = Field(60.0, description="A server silent to all its requests for so long is taken out.")
    recover_s: PositiveFloat = Field(30.0, description="How long a request waits for a server to be there again.")
    logprobs: bool = Field(default=True, description="Ask for log-probabilities: the confidence of words and pages.")
    jpeg_quality: int = Field(95, ge=0, le=100, description="Of the images that are sent; 0: PNG, without loss.")
    encoding_threads: PositiveInt = Field(2, description="Pages shrunk and encoded at once.")
    fallback: bool = Field(default=True, description="Read pages that the model runs in circles on with `ppocr`.")
    repetition_count: int = Field(
        200, ge=0, description="Repeats of a pattern after which vLLM itself ends an answer; under 2: never."
    )
    managed: ManagedSettings = ManagedSettings()

    @model_validator(mode="after")
    def _one_way_to_log_in(self) -> Self:
        if self.api_key.get_secret_value() and any("@" in urlsplit(url).netloc for url in self.urls):
            raise ValueError(
                "engine.vllm.api_key and a user and password in engine.vllm.urls are both sent as the header "
                "Authorization: give one of them"
            )
        return self
