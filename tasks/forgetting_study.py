"""The forgetting study as data: one persistent store, what may be forgotten of it, and how the loss is measured."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from memory.errors import BadInput
from memory.forgetting.importance import TERMS, ImportanceSettings
from memory.forgetting.policies import POLICIES, policy
from tasks.study import Condition, Study

CONTEXT_CUT = 80_000  # characters; the published code cuts in Experiment 2 alone (facts, section 8)

OF_IMPORTANCE = frozenset({"importance", *TERMS, *(f"without_{term}" for term in TERMS)})
"""The policies whose settings are those of importance."""
DEFAULT_POLICIES = tuple(name for name in POLICIES if not name.startswith("random"))


class PolicyChoice(BaseModel):
    """A retention policy with its settings, as one line of the frontier."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    policy: str = Field(description="Name of a retention policy, as `palimpsest list policies` shows it.")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Settings that differ from its defaults."
    )
    name: str = Field("", description="What the tables call it; by default the policy.")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        return {**data, "name": data.get("name") or data.get("policy")} if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _usable(self) -> PolicyChoice:
        try:
            policy(self.policy, self.settings)
        except BadInput as error:
            raise ValueError(str(error)) from error
        return self


def _sweep() -> tuple[PolicyChoice, ...]:
    """The paper's importance with one setting moved at a time (its appendix A.2 says that none was swept)."""
    moved: dict[str, dict[str, Any]] = {
        f"importance_halflife_{days}d": {"half_life_days": float(days)} for days in (30, 365)
    }
    moved |= {f"importance_halflife_{n}t": {"half_life_turns": float(n)} for n in (250, 4_000)}
    moved |= {
        "importance_equal_weights": dict.fromkeys(("recency", "frequency", "centrality", "turns"), 0.25)
    }
    moved |= {"importance_turns_since_creation": {"turns_since": "creation"}}
    return tuple(
        PolicyChoice(policy="importance", settings=settings, name=name) for name, settings in moved.items()
    )


class ForgettingStudy(Study):
    """Experiment 2 of the Selective Forgetting paper, and the compression-quality frontier around it."""

    study: Literal["forgetting"] = "forgetting"  # type: ignore[assignment]  # each kind of study names itself
    conditions: tuple[Condition, ...] = Field(
        (
            Condition(system="graph", settings={"max_context_characters": CONTEXT_CUT}, name="graph"),
            Condition(system="flat", name="flat"),
        ),
        description="The graph that is pruned, and flat turns beside it.",
        min_length=2,
        max_length=2,
    )
    order: Literal["file", "time"] = Field(
        "file",
        description="In which order histories enter the one store: as published, or by their sessions' dates.",
    )
    importance: ImportanceSettings = Field(
        default_factory=ImportanceSettings, description="The paper's score: weights, half-lives, readings."
    )
    threshold: float = Field(0.10, gt=0, lt=1, description="Below this score a node is forgotten.")
    clock: Literal["last_turn", "latest"] = Field(
        "last_turn",
        description="Date of the final pass: of the turn merged last, as published, or the latest date.",
    )
    intervals: tuple[int, ...] = Field(
        (50, 400),
        description="Also forget periodically, every so many turns; each interval is ingested anew.",
    )
    budgets: tuple[int, ...] = Field(
        (), description="Also forget whenever the store has more nodes than that, down to 90 % of it."
    )
    matched: float = Field(
        0.098, gt=0, lt=1, description="Share forgotten in the arm that is matched to the paper."
    )
    levels: tuple[float, ...] = Field(
        (0.02, 0.05, 0.098, 0.2, 0.35, 0.5, 0.7, 0.9), description="Shares forgotten, the frontier's points."
    )
    policies: tuple[PolicyChoice, ...] = Field(
        (*(PolicyChoice(policy=name) for name in DEFAULT_POLICIES), *_sweep()),
        description="Retention policies of the frontier, beside random draws.",
    )
    draws: int = Field(20, ge=2, le=1_000, description="Random draws at each level.")
    margin: float = Field(
        0.03, gt=0, lt=1, description="Largest loss that still counts as none (non-inferiority)."
    )
    access_updates: Literal["none", "per_question", "cumulative"] = Field(
        "none",
        description="Whether answering counts as access: not at all, within a question, or for all that follow.",
    )

    @field_validator("levels", "intervals", "budgets")
    @classmethod
    def _rising(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if any(value <= 0 for value in values) or list(values) != sorted(set(values)):
            raise ValueError("give positive values in rising order, none twice")
        return values

    @field_validator("levels")
    @classmethod
    def _shares(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if not values or values[-1] >= 1:
            raise ValueError("a level is a share below 1")
        return values

    @model_validator(mode="after")
    def _graph_and_flat(self) -> ForgettingStudy:
        if [condition.system for condition in self.conditions] != ["graph", "flat"]:
            raise ValueError(
                "conditions: the forgetting study takes a graph and a flat condition, in this order"
            )
        names = [choice.name for choice in self.policies]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"policies: two are called {min(twice)!r}: give one another name")
        return self
