"""The base class and types of all branches of the settings."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

PositiveInt = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
Url = Annotated[str, Field(pattern="^https?://")]


def _with_host(url: str) -> str:
    """The URL, whose scheme is valid. Raises ValueError if it names no host, or a port that can't be."""
    try:
        valid = bool(urlsplit(url).hostname) and urlsplit(url).port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ValueError("write it as http://host:port, such as http://127.0.0.1:8000/v1")
    return url


ServerUrl = Annotated[str, Field(pattern=r"^(https?|dns\+http)://"), AfterValidator(_with_host)]
"""`dns+http`: a server at each address of the host."""

MAX_BY_SUFFIX = {"_s": 365 * 24 * 3600.0, "_ms": 3_600_000.0, "_mb": 100_000_000.0, "_bytes": 1e14}
"""Maximum values by the suffix of a setting's name: a year, an hour, 100 TB. Larger ones are mistakes, and some would
overflow later."""
MAX_OTHERWISE = 1_000_000_000.0


class Branch(BaseModel):
    """Frozen, without unknown names, and with finite numbers up to a plausible maximum."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _is_possible(cls, value: object, info: ValidationInfo) -> object:
        """Raises ValueError for an implausibly large number."""
        if isinstance(value, int | float):
            name = info.field_name or ""
            largest = next((value for end, value in MAX_BY_SUFFIX.items() if name.endswith(end)), MAX_OTHERWISE)
            if abs(value) > largest:
                raise ValueError(f"the maximum is {largest:,.0f}")
        return value
