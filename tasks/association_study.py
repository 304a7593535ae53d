"""The association study as data: GAAMA, its variants and its baselines under one answer prompt and one word budget."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from memory.gaama.settings import ASKING_FIELDS, GAAMA_PROFILES, GaamaSettings
from tasks.prompts.judge import Judge
from tasks.study import Condition, Study

RAG = "rag"
PUBLISHED = "gaama"
IMPROVED = "gaama-improved"
GRAFT = "gaama-graft"
SEMANTIC = "gaama-semantic"
OBSERVATIONS = "offline:locomo-observations"
"""The extractor that takes LoCoMo's own facts; a large model wrote them with the whole conversation in view."""


def _gaama(name: str, **settings: Any) -> Condition:
    return Condition(system="gaama", name=name, settings=settings, answer_prompt="detailed")


CONDITIONS = (
    Condition(system="flat", profile="tuned", name=RAG, answer_prompt="detailed"),
    Condition(system="bm25", profile="tuned", name="bm25", answer_prompt="detailed"),
    _gaama(PUBLISHED),
    Condition(system="gaama", profile="improved", name=IMPROVED, answer_prompt="detailed"),
    _gaama(SEMANTIC, mode="semantic"),
    _gaama("gaama-ppr-none", ppr_weight=0.0),
    _gaama("gaama-ppr-half", ppr_weight=0.5),
    _gaama("gaama-ppr-full", ppr_weight=1.0),
    _gaama("gaama-no-concepts", concepts=False),
    _gaama("gaama-no-reflections", reflections=False),
)
"""`gaama` is its published profile, with a PPR weight of 0.1."""


class AssociationStudy(Study):
    """GAAMA's evaluation, with evidence by words, a twin of entities, and what each quirk is worth."""

    study: Literal["association"] = "association"  # type: ignore[assignment]  # each kind of study names itself
    conditions: tuple[Condition, ...] = Field(CONDITIONS, description="The arms of the study.", min_length=1)
    runner: Literal["threads", "processes", "dask", "ray"] = Field(
        "processes", description="Where works are done; here they reckon more than they wait."
    )
    judge: Judge = Field(
        "key_facts", description="Share of the reference's key facts; an abstention is right or wrong."
    )
    words: tuple[int, ...] = Field(
        (250, 500, 1000, 2000),
        description="Sizes of context, in words, at which evidence is looked for.",
        min_length=1,
    )
    planted: int = Field(
        50, ge=0, description="Faults that are planted to see what the repair mends, over all conversations."
    )
    repair: bool = Field(
        False,
        description="Also repair GAAMA's published memory with GRAFT, and answer the unedited one again, for noise.",
    )
    graft: Literal["published", "improved"] = Field("published", description="GRAFT's profile.")
    graft_sees_references: bool = Field(
        False, description="Whether GRAFT is shown reference answers, and leaves alone what had its reward."
    )
    noise_runs: int = Field(2, ge=1, le=10, description="How often the unedited memory is answered again.")

    @field_validator("words")
    @classmethod
    def _rising(cls, words: tuple[int, ...]) -> tuple[int, ...]:
        if any(size < 1 for size in words) or list(words) != sorted(set(words)):
            raise ValueError("give positive numbers of words in rising order, none twice")
        return words

    @model_validator(mode="after")
    def _observations(self) -> AssociationStudy:
        # Offline, LoCoMo's own facts are the better extractor; whoever wants clauses names another.
        if self.benchmark.startswith("locomo") and self.models.extractor == "offline:noun-phrases":
            models = self.models.model_copy(update={"extractor": OBSERVATIONS})
            object.__setattr__(self, "models", models)
        return self

    def repair_arms(self) -> tuple[tuple[Condition, int], ...]:
        """The repaired memory, and the unedited one again, each with the repeat of its answers."""
        own = next(c for c in self.conditions if c.name == PUBLISHED)
        again = (
            own.model_copy(update={"name": f"{PUBLISHED}-again-{n}"}) for n in range(1, self.noise_runs + 1)
        )
        repaired = own.model_copy(update={"name": GRAFT})
        return ((repaired, 0), *((condition, n) for n, condition in enumerate(again, 1)))

    @model_validator(mode="after")
    def _repairs_the_published(self) -> AssociationStudy:
        if self.repair and PUBLISHED not in [condition.name for condition in self.conditions]:
            raise ValueError(
                f"repair: GRAFT mends the condition {PUBLISHED!r}, which the study does not have"
            )
        return self

    def quirks(self) -> tuple[Condition, ...]:
        """GAAMA's published profile with one switch mended, and the improved one with one switch as published.

        They are recalled and not answered. What asks the builder otherwise is left out, unless it is free, and so is
        what mends a profile that the study does not have.
        """
        there = {condition.name for condition in self.conditions}
        free = self.models.extractor.startswith("offline:")
        published, improved = (GaamaSettings(**GAAMA_PROFILES[name]) for name in ("published", "improved"))
        arms = []
        for field in GAAMA_PROFILES["published"]:
            old, new = getattr(published, field), getattr(improved, field)
            if old == new or field == "concept_ids" or (field in ASKING_FIELDS and not free):
                continue
            name = field.replace("_", "-")
            if PUBLISHED in there:
                arms.append(_gaama(f"published-but-{name}", **{field: new}))
            if IMPROVED in there:
                arm = f"improved-but-{name}"
                arms.append(Condition(system="gaama", profile="improved", name=arm, settings={field: old}))
        return tuple(arms)
