"""What all branches of the settings are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

PositiveInt = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
Url = Annotated[str, Field(pattern="^https?://")]

MOST = {"_s": 365 * 24 * 3600.0, "_ms": 3_600_000.0, "_mb": 100_000_000.0, "_bytes": 1e14}
"""The largest values by the end of a setting's name: a year, an hour, 100 TB. Larger ones are mistakes, and some would
end in overflows far from here."""
MOST_OTHERWISE = 1_000_000_000.0


class Branch(BaseModel):
    """Numbers are finite, and none is absurd."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _is_possible(cls, value: object, info: ValidationInfo) -> object:
        """Raises ValueError for a number that no service could mean."""
        if isinstance(value, int | float):
            name = info.field_name or ""
            most = next((most for end, most in MOST.items() if name.endswith(end)), MOST_OTHERWISE)
            if abs(value) > most:
                raise ValueError(f"{most:,.0f} is the most that can be set")
        return value
