"""The ranking study as data: how well memories rank a question's evidence, with no answer and no verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from memory.systems import find
from tasks.models.catalogue import BUNDLES, STATIC, embed_settings
from tasks.study import NAMED_SPEAKERS, Condition, Study

ALL = 1_000_000
"""As many turns as are ranked of a store of its own: all."""
OF_ONE_STORE = 1_000
"""As many turns as are ranked of one store of all histories; evidence further down counts as not found."""
BASELINES = (
    {"system": "bm25", "name": "bm25"},
    {"system": "bm25", "name": "bm25-sessions", "settings": {"unit": "session"}},
    {"system": "flat", "name": "flat"},
    {"system": "fusion", "name": "fusion", "settings": {"dense_unit": "session"}},
    {"system": "openclaw", "name": "openclaw"},
    {"system": "palimpsest", "name": "palimpsest"},
)
"""The default conditions: those that need no extraction. Fusion ranks sessions, as BM25 over sessions does."""
_DATED = frozenset({"bm25", "fusion", "openclaw", "palimpsest"})
_LARGE = "longmemeval-s"


@dataclass(frozen=True, slots=True)
class Noisy:
    """An arm over worse notes.

    Attributes:
        condition: The arm.
        of: The name of the condition that it is made of.
        change: `drop` or `corrupt`.
        share: Of the tags.
    """

    condition: Condition
    of: str
    change: str
    share: float


class RankingStudy(Study):
    """Evidence turns and sessions as memories rank them, by type, age and size of the store."""

    study: Literal["ranking"] = "ranking"  # type: ignore[assignment]  # each kind of study names itself
    conditions: tuple[Condition, ...] = Field(
        tuple(Condition.model_validate(fields) for fields in BASELINES),
        description="The arms of the study.",
        min_length=1,
    )
    runner: Literal["threads", "processes", "dask", "ray"] = Field(
        "processes", description="Where works are done; here they reckon more than they wait."
    )
    store: Literal["histories", "together"] = Field(
        "histories",
        description="Whether each history has its own memory, or one holds all distinct sessions of all histories.",
    )
    side: Literal["all", "development"] = Field(
        "all", description="Which questions are asked: whoever tunes looks at those for development alone."
    )
    sizes: tuple[int, ...] = Field(
        (10, 20, 50, 100, 200, 500),
        description="Turns of smaller stores, in which a question's evidence sessions stand among others by lot.",
    )
    sized_questions: int = Field(
        100, ge=0, description="Of how many questions, by lot and type, such stores are made."
    )
    tag_noise: tuple[float, ...] = Field(
        (),
        description="Shares of the 5W tags that are dropped, and likewise corrupted: a curve for every taggraph arm.",
    )
    beside: str = Field(
        "",
        description="Another embedder, as provider:model: systems without extraction are ranked with it, too, so that "
        "what it loses or wins is seen.",
    )

    @model_validator(mode="before")
    @classmethod
    def _with_a_table_of_vectors(cls, fields: Any) -> Any:
        """All of LongMemEval-S is embedded by the static table, unless the study names its models.

        A sample is embedded by both, so that the table's loss stands beside its figures.
        """
        given = dict(fields) if isinstance(fields, dict) else {}
        if given.get("benchmark") != _LARGE or "models" in given:
            return fields
        static = f"offline:{STATIC}"
        if given.get("limit") is not None:
            return {"beside": static} | given
        return {**given, "models": {**BUNDLES["offline"].model_dump(), "embedder": static}}

    @field_validator("sizes")
    @classmethod
    def _rising(cls, sizes: tuple[int, ...]) -> tuple[int, ...]:
        if any(size < 1 for size in sizes) or list(sizes) != sorted(set(sizes)):
            raise ValueError("give positive numbers of turns in rising order, none twice")
        return sizes

    @field_validator("tag_noise")
    @classmethod
    def _shares(cls, shares: tuple[float, ...]) -> tuple[float, ...]:
        if any(not 0 < share <= 1 for share in shares) or list(shares) != sorted(set(shares)):
            raise ValueError("give shares above 0 and up to 1 in rising order, none twice; 0 is always there")
        return shares

    @field_validator("beside")
    @classmethod
    def _known_embedder(cls, name: str) -> str:
        alias, _, model = name.partition(":")
        if name and embed_settings(alias, model) is None:
            raise ValueError(
                f"{name}: no embedder whose dimensions are known; write provider:model@dimensions"
            )
        return name

    def twins(self) -> tuple[Condition, ...]:
        """The conditions that are ranked with the other embedder, too, under names that say so."""
        if not self.beside or self.beside == self.models.embedder:
            return ()
        model = re.sub(r"[^a-z0-9_-]+", "-", self.beside.partition(":")[2].lower())
        return tuple(
            condition.model_copy(update={"name": f"{condition.name}-{model}"})
            for condition in self.conditions
            if "embedder" in find(condition.system).asks and not find(condition.system).needs_extractions
        )

    def noisy(self) -> tuple[Noisy, ...]:
        """The arms over worse notes; they share the notes of the arm that they are made of."""
        return tuple(
            Noisy(
                condition.model_copy(
                    update={
                        "name": f"{condition.name}-{change}-{round(100 * share)}",
                        "settings": {**condition.settings, change: share},
                    }
                ),
                condition.name,
                change,
                share,
            )
            for condition in self.conditions
            if condition.system == "taggraph"
            for change in ("drop", "corrupt")
            for share in self.tag_noise
        )

    def arms(self) -> tuple[Condition, ...]:
        """Every arm that is ranked."""
        return (*self.conditions, *self.twins(), *(noisy.condition for noisy in self.noisy()))

    @property
    def ranked(self) -> int:
        """How many turns are ranked, at least."""
        return ALL if self.store == "histories" else OF_ONE_STORE

    def arm(self, condition: Condition) -> dict[str, Any]:
        """As for every study; all turns are ranked, and questions that name people are searched in dated turns."""
        arm = super().arm(condition)
        settings = dict(arm["settings"])
        own = {**find(condition.system).profiles[condition.profile], **condition.settings}
        if "ranked" in settings and "ranked" not in own:
            settings["ranked"] = self.ranked
        by_words = condition.system in _DATED and self.benchmark in NAMED_SPEAKERS
        if by_words and "text" not in own:
            settings["text"] = "dated"
        return {**arm, "settings": settings}
