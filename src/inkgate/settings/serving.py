"""Settings of the policies between the front door and the engine."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt


class Watching(StrEnum):
    """Whether GPUs are watched."""

    AUTO = "auto"
    NEVER = "never"


class SchedulingSettings(Branch):
    max_waiting: PositiveInt = Field(20_000, description="Pages that wait for the engine; more get 503.")
    max_waiting_tokens: int = Field(0, ge=0, description="What they may cost together; 0: as much as comes.")
    age_s: PositiveFloat = Field(30.0, description="Waiting time after which a page counts as of the next class up.")
    overtake_s: float = Field(
        2.0, ge=0, description="How long smaller pages may go before a large one that does not fit yet."
    )
    weights: dict[str, PositiveFloat] = Field({}, description="Shares of the engine by tenant; 1 where not named.")
    priorities: dict[str, Literal["interactive", "normal", "batch"]] = Field(
        {}, description="The most urgent class of a tenant, such as `key:0123456789ab`. Others may name any class."
    )
    wait_share: float = Field(
        0.3, gt=0, le=1, description="Part of the time a request has that it may be expected to wait; else 503 at once."
    )
    retry_after_s: PositiveFloat = Field(2.0, description="Least Retry-After; what is said while no rate is known.")
    retry_after_most_s: PositiveFloat = Field(120.0, description="Longest Retry-After, before up to 30 % of jitter.")


class AdmissionSettings(Branch):
    max_bytes_mb: PositiveFloat = Field(1024.0, description="Request bodies held at once; more get 503.")
    reserve: float = Field(
        0.125, ge=0, lt=1, description="Part of the house kept from tenants over their share while others are there."
    )
    chat_wait_s: float = Field(
        0.0,
        ge=0,
        description="How long chat requests wait for room before they are refused; `X-Inkgate-Wait` overrides it.",
    )
    waiting_chats: int = Field(2000, ge=0, description="Chat requests that wait for room at once; more are refused.")
    remember_s: PositiveFloat = Field(30.0, description="How long a tenant that was refused counts as there.")
    body_patience_s: PositiveFloat = Field(
        5.0, description="How long a body may arrive before a full house gives its place to tenants who hold less."
    )


class AdaptiveSettings(Branch):
    initial: PositiveInt = Field(16, description="Requests at each model server at once, at the start.")
    least: PositiveInt = Field(1, description="Fewest pages at once, however hard it is pressed.")
    most: PositiveInt = Field(256, description="Most pages at once, however much room there seems to be.")
    interval_s: PositiveFloat = Field(1.0, description="Least time between two steps; else half a page's time.")
    stale_s: PositiveFloat = Field(5.0, description="Age from which a reading of the model server is not used.")


class DegradationSettings(Branch):
    enabled: bool = Field(default=True, description="Under sustained pressure give up care, step by step.")
    target_wait_s: PositiveFloat = Field(10.0, description="Expected wait from which there is too much to do.")
    up_s: PositiveFloat = Field(5.0, description="How long that lasts before the next step is taken.")
    down_s: PositiveFloat = Field(10.0, description="How long the wait is under half of it before a step is undone.")
    image_scale: float = Field(0.75, gt=0, le=1, description="Step `image`: sides of a page, of what they would be.")
    max_output_tokens: PositiveInt = Field(2048, description="Step `output`: most tokens of an answer.")


class GpuSettings(Branch):
    enabled: Watching = Field(
        Watching.AUTO,
        description="`auto`: with `inkgate[gpu]`, GPUs of this machine are read for metrics and `/state`, and calls to "
        "model servers on it are stopped while they are in trouble. `never`: neither.",
    )
    gpus: tuple[int, ...] = Field((), description="Those that count, by the driver's number; empty: all of them.")
    temperature_c: PositiveFloat = Field(90.0, description="Temperature from which the engine is left alone, in °C.")
    throttled_s: PositiveFloat = Field(10.0, description="How long heat may hold the clocks down before it is, too.")
    memory: float = Field(
        0.98, gt=0, le=1, description="Used part of the memory of a managed vLLM's GPU that makes it pause. 1: none."
    )


class ServingSettings(Branch):
    scheduling: SchedulingSettings = SchedulingSettings()
    admission: AdmissionSettings = AdmissionSettings()
    adaptive: AdaptiveSettings = AdaptiveSettings()
    degradation: DegradationSettings = DegradationSettings()
    gpu: GpuSettings = GpuSettings()
