"""What all branches of the settings are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

PositiveInt = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
Url = Annotated[str, Field(pattern="^https?://")]


class Branch(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
