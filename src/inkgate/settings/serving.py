"""Settings of the policies between admission and the engine."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt


class GpuMonitoring(StrEnum):
    """Whether GPUs are monitored."""

    AUTO = "auto"
    NEVER = "never"


class SchedulingSettings(Branch):
    max_waiting: PositiveInt = Field(20_000, description="Maximum pages in the queue. More get 503.")
    max_waiting_tokens: int = Field(0, ge=0, description="Maximum tokens in the queue. 0: no limit.")
    age_s: PositiveFloat = Field(30.0, description="Waiting time after which a page moves up one class.")
    overtake_s: float = Field(
        2.0, ge=0, description="How long smaller pages may overtake a large one that does not fit yet."
    )
    weights: dict[str, PositiveFloat] = Field({}, description="Weight of a tenant's share. Default: 1.")
    priorities: dict[str, Literal["interactive", "normal", "batch"]] = Field(
        {}, description="Highest class that a tenant, such as `key:0123456789ab`, may use. Others may use any."
    )
    wait_share: float = Field(
        0.3, gt=0, le=1, description="Maximum expected wait, as a share of a request's time limit. Longer: 503 at once."
    )
    retry_after_s: PositiveFloat = Field(2.0, description="Minimum Retry-After, also used while no rate is known.")
    retry_after_most_s: PositiveFloat = Field(120.0, description="Maximum Retry-After, before up to 30 % of jitter.")


class AdmissionSettings(Branch):
    max_bytes_mb: PositiveFloat = Field(1024.0, description="Maximum memory for request bodies. More get 503.")
    reserve: float = Field(
        0.125,
        ge=0,
        lt=1,
        description="Share of the capacity that tenants over their own share can't use while others are active.",
    )
    chat_wait_s: float = Field(
        0.0,
        ge=0,
        description="How long chat requests wait for admission instead of a refusal. `X-Inkgate-Wait` overrides it.",
    )
    waiting_chats: int = Field(
        2000, ge=0, description="Maximum chat requests that wait for admission. More are refused."
    )
    remember_s: PositiveFloat = Field(30.0, description="How long a refused tenant counts as active.")
    body_patience_s: PositiveFloat = Field(
        5.0,
        description="When the service is full, time to receive a body before a tenant with fewer requests may"
        " take the slot.",
    )


class AdaptiveSettings(Branch):
    initial: PositiveInt = Field(16, description="Concurrent requests at each model server at the start.")
    least: PositiveInt = Field(1, description="Minimum of the limit.")
    most: PositiveInt = Field(256, description="Maximum of the limit.")
    interval_s: PositiveFloat = Field(
        1.0, description="Minimum time between two changes; or half a page's time, if longer."
    )
    stale_s: PositiveFloat = Field(5.0, description="Maximum age of the model server's metrics.")


class DegradationSettings(Branch):
    enabled: bool = Field(default=True, description="Lower the quality under sustained load, level by level.")
    target_wait_s: PositiveFloat = Field(10.0, description="Expected wait that counts as overload.")
    up_s: PositiveFloat = Field(5.0, description="Duration of overload before the next level.")
    down_s: PositiveFloat = Field(
        10.0, description="Time with less than half of the expected wait before a level is undone."
    )
    image_scale: float = Field(0.75, gt=0, le=1, description="Level `image`: factor of the sides of an image.")
    max_output_tokens: PositiveInt = Field(2048, description="Level `output`: maximum tokens of a response.")


class GpuSettings(Branch):
    enabled: GpuMonitoring = Field(
        GpuMonitoring.AUTO,
        description="`auto`: with `inkgate[gpu]`, watch the GPUs of this machine, and stop calls to model "
        "servers on it while a GPU is in trouble. `never`: don't.",
    )
    gpus: tuple[int, ...] = Field((), description="GPUs to watch, by the driver's number. Empty: all.")
    temperature_c: PositiveFloat = Field(90.0, description="Temperature in °C at which calls stop.")
    throttled_s: PositiveFloat = Field(10.0, description="How long heat may throttle the GPU before calls stop.")
    memory: float = Field(
        0.98, gt=0, le=1, description="Used share of GPU memory at which calls to a managed vLLM pause. 1: never."
    )


class ServingSettings(Branch):
    scheduling: SchedulingSettings = SchedulingSettings()
    admission: AdmissionSettings = AdmissionSettings()
    adaptive: AdaptiveSettings = AdaptiveSettings()
    degradation: DegradationSettings = DegradationSettings()
    gpu: GpuSettings = GpuSettings()
