"""The use-time study as data: systems at equal token budgets, RD-Forget's ablations, and forgetting in storage beside.

A budget is a setting of a system, as is what it forgets in storage. So every point of the study is an arm like any
other: `<condition>-b<tokens>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from memory.errors import BadInput
from memory.forgetting.policies import POLICIES
from memory.rdforget.settings import RD_FORGET_PROFILES
from memory.systems import find
from tasks.benchmarks import BENCHMARKS
from tasks.study import Condition, Study

FULL = "rd_forget"
ABLATIONS: Mapping[str, str] = {
    "-FORGET": "no_forget",
    "-RESCUE": "no_rescue",
    "-SLOT": "no_slot",
    "-CLOSURE": "no_closure",
    "-QC": "no_qc",
}
"""The profile of each ablation, by the paper's name."""
OPEN: Mapping[str, Mapping[str, Any]] = {
    "labels-off": {"intent": "lexical"},
    "entry-0": {"entry_tokens": 0},
    "entry-32": {"entry_tokens": 32},
    "bonus-0": {"active_bonus": 0.0},
    "across-supersede": {"across_chunks": "supersede"},
}
"""What the paper leaves open, or leaks: each is turned alone. Without labels a question is curated anew; the others put
at most other requests to the selector."""
FRAMES = "offline:frames"
CHAIN = "offline:chain"
UNCHUNKED = 1_000_000
"""Tokens of a chunk for a curator that is a rule, and has no context window."""
JOINT_SELECTIONS = ("flat", "bm25", FULL)
JOINT_BENCHMARKS = ("lme-ku", "longmemeval-oracle")
KEPT = (0.5, 0.25, 0.1)
MAIN_CAP = 256
INTENT_CAP = 2_048
_INTENT_BENCHMARKS = ("beam", "personamem")


def _arm(system: str, profile: str = "published", name: str = "", **settings: Any) -> Condition:
    fields = {"system": system, "profile": profile, "name": name, "settings": settings}
    return Condition.model_validate({**fields, "answer_prompt": "improved"})


WIDE: Mapping[str, Any] = {"max_nodes": 200, "max_edges": None}
"""Of a graph: its own bounds on nodes and edges would bind before a budget of tokens does."""
PRUNED = "graph-pruned"
CONDITIONS = (
    _arm("oracle", "improved", "oracle"),
    _arm("full_context", "improved", "full_context"),
    _arm("bm25", "improved", "bm25"),
    _arm("flat", "improved", "flat"),
    _arm("graph", "improved", "graph", **WIDE),
    _arm("graph", "improved", PRUNED, **WIDE, retention="importance", kept=0.5),
    _arm("ace", name="ace"),
    _arm("reasoning_bank", name="reasoning_bank"),
    _arm(FULL, name=FULL),
    _arm(FULL, "improved", "rd_forget-improved"),
)
"""Every arm shows dates, and its answerer the question's: the paper's suites give both to all of them."""
_INTENT_FULL = _arm(FULL, "query_intent", FULL)
"""RD-Forget's protocol for query intent, in the place of its main one."""
NEEDS_MODEL = ("ace", "reasoning_bank")
"""Systems whose builder no rule stands in for."""
WITHOUT_EVIDENCE = "mab-fc"
"""Benchmarks that name no evidence, which an oracle would have to be shown."""


@dataclass(frozen=True, slots=True)
class Point:
    """An arm of the study, and what it is one of.

    Attributes:
        arm: The condition that is asked.
        condition: The condition of the study that it belongs to.
        tokens: Its budget; none for a system that shows nothing.
        part: `system`, `ablation`, `open` or `joint`.
        variant: The ablation, or what is turned; empty otherwise.
        retention: The policy that forgets in storage; empty where none does.
        kept: The share of the bytes that is stored.
    """

    arm: Condition
    condition: str
    tokens: int | None
    part: Literal["system", "ablation", "open", "joint"] = "system"
    variant: str = ""
    retention: str = ""
    kept: float = 1.0


def against_full(points: Sequence[Point]) -> list[tuple[str, str]]:
    """RD-Forget minus every other system, at each budget."""
    full = _full(points)
    others = [p for p in points if p.part == "system" and p.condition != FULL and p.tokens in full]
    return [(full[p.tokens], p.arm.name) for p in others]


def turned(points: Sequence[Point]) -> list[tuple[str, str]]:
    """Every variant of RD-Forget minus RD-Forget, at its budget."""
    full = _full(points)
    return [(p.arm.name, full[p.tokens]) for p in points if p.part in ("ablation", "open")]


def _full(points: Sequence[Point]) -> dict[int | None, str]:
    """RD-Forget's arms as its paper has it, by budget."""
    return {p.tokens: p.arm.name for p in points if p.condition == FULL and p.part == "system"}


class UseTimeStudy(Study):
    """Forgetting at use time against forgetting in storage, at equal token budgets."""

    study: Literal["use-time"] = "use-time"  # type: ignore[assignment]  # each kind of study names itself
    conditions: tuple[Condition, ...] = Field(CONDITIONS, description="The arms of the study.", min_length=1)
    budgets: tuple[int, ...] = Field(
        (250, 500, 1000, 2000, 5000, 10_000),
        description="Tokens that the shown entries may cost, for every system alike.",
        min_length=1,
    )
    ablation_budget: int = Field(
        2000, description="The budget at which ablations and open constants are compared."
    )
    ablations: bool = Field(
        True, description="Also run RD-Forget's five ablations, and what its paper leaves open."
    )
    kept: tuple[float, ...] | None = Field(
        None,
        description="Shares of the bytes that forgetting in storage leaves, beside all; by default 0.5, 0.25 and 0.1 "
        "where a question's age is known (lme-ku, longmemeval-oracle), and none elsewhere.",
    )
    retention: tuple[str, ...] = Field(
        ("importance", "random"),
        description="Retention policies of the storage, as `palimpsest list policies` has them.",
    )
    joint_budgets: tuple[int, ...] = Field(
        (250, 1000, 5000), description="Budgets at which storage is forgotten, too."
    )

    @field_validator("budgets", "joint_budgets")
    @classmethod
    def _rising(cls, budgets: tuple[int, ...]) -> tuple[int, ...]:
        if any(tokens < 1 for tokens in budgets) or list(budgets) != sorted(set(budgets)):
            raise ValueError("give positive numbers of tokens in rising order, none twice")
        return budgets

    @field_validator("kept")
    @classmethod
    def _shares(cls, kept: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if kept is not None and (any(not 0 < share < 1 for share in kept) or len(set(kept)) < len(kept)):
            raise ValueError("give shares above 0 and below 1, none twice; all of it is always there")
        return kept

    @field_validator("retention")
    @classmethod
    def _policies(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := set(names) - set(POLICIES):
            raise ValueError(f"no retention policy is named {min(unknown)}; there are: {', '.join(POLICIES)}")
        return names

    @model_validator(mode="after")
    def _at_a_budget(self) -> UseTimeStudy:
        if self.ablation_budget not in self.budgets and self.ablations:
            raise ValueError(f"ablation_budget: {self.ablation_budget} is none of the budgets")
        if missing := set(self.joint_budgets if self.shares else ()) - set(self.budgets):
            raise ValueError(f"joint_budgets: {min(missing)} is none of the budgets")
        return self

    @model_validator(mode="after")
    def _by_rules(self) -> UseTimeStudy:
        """What is not said otherwise is as the paper's protocol of the benchmark has it, and as the models can.

        Offline, a rule curates and another follows its chains. Arms that could say nothing are left out: what only a
        language model can build, an oracle where no evidence is named, and a graph that is pruned after its last
        session where questions come before that.
        """
        models = self.models
        intent = self.benchmark.startswith(_INTENT_BENCHMARKS)
        if self.conditions == CONDITIONS:
            left_out = NEEDS_MODEL if models.extractor.startswith("offline:") else ()
            left_out = (*left_out, "oracle") if self.benchmark.startswith(WITHOUT_EVIDENCE) else left_out
            left_out = (*left_out, PRUNED) if BENCHMARKS[self.benchmark].in_between else left_out
            arms = [_INTENT_FULL if intent and c.name == FULL else c for c in self.conditions]
            kept = tuple(c for c in arms if not {c.system, c.name} & {*left_out})
            object.__setattr__(self, "conditions", kept)
        if models.query == "offline:noun-phrases":
            models = models.model_copy(update={"query": FRAMES})
        if models.answerer == "offline:extractive":
            models = models.model_copy(update={"answerer": CHAIN})
        if models.answer_cap is None:
            models = models.model_copy(update={"answer_cap": INTENT_CAP if intent else MAIN_CAP})
        object.__setattr__(self, "models", models)
        return self

    @property
    def shares(self) -> tuple[float, ...]:
        """What forgetting in storage leaves, beside all of it."""
        if self.kept is not None:
            return self.kept
        return KEPT if self.benchmark in JOINT_BENCHMARKS else ()

    def points(self) -> tuple[Point, ...]:
        """Every arm of the study, those that ask a model something new first.

        Raises:
            BadInput: If a condition cannot be held to a budget, or two arms have one name.
        """
        made = (*self._systems(), *self._ablated(), *self._stored())
        arms = [point.arm.name for point in made]
        if twice := {name for name in arms if arms.count(name) > 1}:
            raise BadInput(
                f"two arms are called {min(twice)}: give its condition another name, or shares of `kept` that differ "
                "by a percent at least"
            )
        return made

    def arms(self) -> tuple[Condition, ...]:
        """The arms of all points.

        Raises:
            BadInput: As `points`.
        """
        return tuple(point.arm for point in self.points())

    def _systems(self) -> Iterator[Point]:
        for condition in self.conditions:
            if condition.system == "none":
                yield Point(condition, condition.name, None)
                continue
            if "budget_tokens" not in find(condition.system).Settings.model_fields:
                raise BadInput(
                    f"condition {condition.name}: system {condition.system} has no setting budget_tokens, so that it "
                    "cannot be held to a budget; leave it out"
                )
            own = self.arm(condition)["settings"]
            stored = {"retention": own.get("retention", ""), "kept": own.get("kept", 1.0)}
            for tokens in self.budgets:
                yield Point(self._at(condition, tokens), condition.name, tokens, **stored)

    def _ablated(self) -> Iterator[Point]:
        full = next((c for c in self.conditions if c.name == FULL and c.system == FULL), None)
        if full is None or not self.ablations:
            return
        turned: dict[str, tuple[Literal["ablation", "open"], Mapping[str, Any]]] = {
            **{name: ("ablation", _switched(profile)) for name, profile in ABLATIONS.items()},
            **{name: ("open", settings) for name, settings in OPEN.items()},
        }
        for variant, (part, settings) in turned.items():
            if self._settings(full) == self._settings(full, settings):
                continue
            name = f"{FULL}-{variant.lstrip('-').lower()}"
            arm = self._at(full, self.ablation_budget, name, **settings)
            yield Point(arm, FULL, self.ablation_budget, part, variant)

    def _stored(self) -> Iterator[Point]:
        for condition in self.conditions:
            if condition.name not in JOINT_SELECTIONS:
                continue
            for policy in self.retention:
                for share in self.shares:
                    name = f"{condition.name}-{policy.replace('_', '-')}-{round(100 * share)}"
                    for tokens in self.joint_budgets:
                        arm = self._at(condition, tokens, name, retention=policy, kept=share)
                        yield Point(arm, condition.name, tokens, "joint", retention=policy, kept=share)

    def _at(self, condition: Condition, tokens: int, name: str = "", **settings: Any) -> Condition:
        """A condition at a budget, with further settings."""
        unchunked = condition.system == FULL and self.models.query == FRAMES
        own = {"chunk_tokens": UNCHUNKED} if unchunked else {}
        return condition.model_copy(
            update={
                "name": f"{name or condition.name}-b{tokens}",
                "settings": {**own, **condition.settings, **settings, "budget_tokens": tokens},
            }
        )

    def _settings(self, full: Condition, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
        turned = full.model_copy(update={"settings": {**full.settings, **(settings or {})}})
        return turned.resolved(self.benchmark, self.models.embedder, self.thresholds)


def _switched(profile: str) -> dict[str, Any]:
    """What an ablation's profile sets otherwise than the published one."""
    published = RD_FORGET_PROFILES["published"]
    return {
        name: value for name, value in RD_FORGET_PROFILES[profile].items() if published.get(name) != value
    }
