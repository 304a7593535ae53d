"""What a memory system forgets in storage, as settings of its own."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from memory.errors import BadInput
from memory.forgetting.policies import policy


class RetentionSettings(BaseModel):
    """Settings of every system that can forget: one pass, after the last session (`memory.forgetting.closing`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    holds_vectors: ClassVar[bool] = False
    """Whether the system keeps a vector of each item, which some policies read."""

    forgets: ClassVar[Literal["by_policy", "by_use", "never"]] = "by_policy"
    """Whether a policy says what the system forgets, or the system itself by what was used, or it forgets nothing."""

    retention: str = ""
    """The policy that says what is forgotten first (`memory.forgetting.policies`), with its defaults; none forgets
    nothing."""
    kept: float = Field(1.0, ge=0, le=1)
    """The share of its items' bytes, to the nearest byte, that the memory keeps at most."""
    draw: int = Field(0, ge=0)
    """Which of the independent orders a random policy takes."""

    @model_validator(mode="after")
    def _one_that_it_can_follow(self) -> Self:
        if self.forgets == "never" and (self.retention or self.kept < 1):
            raise ValueError("retention, kept: this system forgets nothing in storage; leave them out")
        if self.forgets == "by_use" and self.retention:
            raise ValueError("retention: this system knows by itself what to forget; give kept alone")
        if not self.retention:
            if self.kept < 1 and self.forgets == "by_policy":
                raise ValueError(f"kept is {self.kept:g}, but retention names no policy: give both")
            return self
        try:
            reads = policy(self.retention).reads
        except BadInput as error:
            raise ValueError(str(error)) from error
        if "vectors" in reads and not self.holds_vectors:
            raise ValueError(f"retention {self.retention} reads vectors, and this system keeps none")
        return self
