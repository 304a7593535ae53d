"""How fast a provider is asked."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Ceilings(BaseModel):
    """The fastest that a provider may be asked; the limiter stays below what it can bear by itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_concurrency: int = Field(16, ge=1, le=256, description="Requests under way at once.")
    rpm: int | None = Field(None, ge=1, description="Requests a minute.")
    tpm: int | None = Field(None, ge=1, description="Tokens a minute, of prompts and replies at their worst.")
