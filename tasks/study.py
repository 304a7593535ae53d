"""A study as data: the same object is a TOML file, a command line and the form that the Prefect UI draws."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticSerializationError

from memory.calibration import Thresholds, calibrated
from memory.errors import BadInput
from memory.systems import find, names, profiles
from tasks.benchmarks import BENCHMARKS
from tasks.models.budget import Budget
from tasks.models.catalogue import BUNDLES, Bundle, ModelChoice, bundled
from tasks.models.keys import misplaced
from tasks.models.pace import Ceilings
from tasks.models.prices import Prices
from tasks.prompts.answer import Profile
from tasks.prompts.judge import Judge
from tasks.shared import checked_url
from tasks.thresholds import ProbedThresholds

NAMED_SPEAKERS = ("locomo", "locomo-adversarial", "amb-text", "own")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

DEFAULT_SYSTEMS = (
    "none",
    "oracle",
    "full_context",
    "bm25",
    "flat",
    "flat:improved",
    "graph",
    "graph:improved",
)

STEP_SYSTEMS = ("none", "full_context", "bm25:tuned", "flat:tuned", "gaama:arena")
"""The default systems of a benchmark whose questions are steps."""


def _offer(choices: Callable[[], Iterable[str]]) -> Callable[[dict[str, Any]], None]:
    """What makes a text a choice in the Prefect UI's form, among names that are looked up when the form is made."""

    def extend(schema: dict[str, Any]) -> None:
        schema["enum"] = list(choices())

    return extend


AS_BENCHMARK = "as the benchmark has it"
"""What a form sends for a judge that nobody chose."""


def _as_benchmark(schema: dict[str, Any]) -> None:
    """Offer, and fill in, the judge of the benchmark."""
    schema["enum"] = [AS_BENCHMARK, *schema["enum"]]
    schema["default"] = AS_BENCHMARK


class Condition(BaseModel):
    """A memory system with its settings, as one arm of a study."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str = Field(
        description="Name of a memory system, as `palimpsest list systems` shows it.",
        json_schema_extra=_offer(names),
    )
    profile: str = Field(
        "published",
        description="Named settings of that system: published or improved.",
        json_schema_extra=_offer(profiles),
    )
    settings: dict[str, Any] = Field(
        default_factory=dict, description="Settings that differ from the profile."
    )
    name: str = Field("", description="What the tables call it; by default the system, with its profile.")
    answer_prompt: Profile = Field(
        "published",
        description="improved shows the question's date and lets the answerer abstain; by default as the profile.",
    )

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data.get("name"):
            profile = data.get("profile") or "published"
            system = str(data.get("system", ""))
            data = {**data, "name": system if profile == "published" else f"{system}-{profile}"}
        if isinstance(data, dict) and not data.get("answer_prompt"):
            data = {**data, "answer_prompt": "improved" if data.get("profile") == "improved" else "published"}
        return data

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        # Names of conditions become file names.
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name: use a-z, 0-9, _ and -")
        return name

    def resolved(
        self, benchmark: str, embedder: str, probed: ProbedThresholds | None = None
    ) -> dict[str, Any]:
        """The system's full settings: the profile, fitted to benchmark and embedder, then what the condition sets.

        Args:
            benchmark: What it reads.
            embedder: Whose thresholds it takes where neither profile nor condition sets them.
            probed: The user's own thresholds of that embedder, instead of the built-in ones.

        Raises:
            BadInput: If the system, the profile or a setting is unknown or out of bounds, or if nobody has calibrated
                the embedder and the condition does not set the thresholds itself.
        """
        system = find(self.system)
        if self.profile not in system.profiles:
            known = ", ".join(system.profiles)
            raise BadInput(f"system {self.system} has no profile {self.profile!r}; it has {known}")
        settings = {**system.profiles[self.profile], **self.settings}
        try:
            made = dict(system.Settings(**settings).model_dump(mode="json"))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "settings"
            known = ", ".join(system.Settings.model_fields)
            fault = (
                f"no such setting; there are {known}" if first["type"] == "extra_forbidden" else first["msg"]
            )
            raise BadInput(f"condition {self.name}: {field}: {fault}") from error
        if benchmark in NAMED_SPEAKERS and made.get("text") == "raw" and "text" not in self.settings:
            made["text"] = "spoken"  # questions name people: a turn without its speaker is half lost
        if "dedup_threshold" in made and None in (made["dedup_threshold"], made["retrieval_floor"]):
            known_for = thresholds_of(embedder, probed)
            made["dedup_threshold"] = made["dedup_threshold"] or known_for.dedup
            if made["retrieval_floor"] is None:
                made["retrieval_floor"] = known_for.floor
        return made


def thresholds_of(embedder: str, probed: ProbedThresholds | None) -> Thresholds:
    """The thresholds of an embedder: the user's own, else the built-in ones.

    Raises:
        BadInput: If nobody has calibrated it.
    """
    return probed.thresholds if probed is not None else calibrated(embedder)


def condition_fields(text: str) -> dict[str, str]:
    """The fields of a condition that is written `system` or `system:profile`."""
    system, _, profile = text.strip().partition(":")
    return {"system": system, "profile": profile or "published"}


NOT_IDENTITY = (
    "retry_failed",
    "repair",
    "budget",
    "pace",
    "batch",
    "prices",
    "thresholds",
    "max_failed",
    "explain",
    "runner",
    "shared",
)
"""Fields of a study that say how it asks, what it may spend and which tables it adds; no other result depends on them.
Thresholds count where they are used: in the settings of the conditions."""


class Study(BaseModel):
    """What is asked, of which memories, with which models."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    study: Literal["representation"] = Field(
        "representation", description="Graph memory against flat retrieval, with the arms that bound them."
    )
    benchmark: str = Field(
        "sample",
        description="Name of a benchmark, as `palimpsest list benchmarks` shows it.",
        json_schema_extra=_offer(lambda: BENCHMARKS),
    )
    limit: int | None = Field(
        None, ge=1, strict=True, description="Take a sample of N questions, with only their histories."
    )
    questions: int | None = Field(None, ge=1, strict=True, description="Ask N questions, of the whole store.")
    seed: int = Field(0, ge=0, strict=True, description="Seed of samples and resampling.")
    models: Annotated[ModelChoice, BeforeValidator(bundled, json_schema_input_type=Bundle | ModelChoice)] = (
        Field(
            BUNDLES["offline"],
            description="Who extracts, answers, judges and embeds: a bundle, or a model for each.",
            json_schema_extra={"title": "Models", "default": "offline"},
        )
    )
    conditions: tuple[Condition, ...] = Field(
        tuple(Condition.model_validate(condition_fields(s)) for s in DEFAULT_SYSTEMS),
        description="The arms of the study.",
        min_length=1,
    )
    extraction_prompt: Literal["role_aware", "plain"] = Field(
        "role_aware", description="Appendix A.3 (knows who speaks) or A.4 of the paper."
    )
    validation: Literal["off", "reject", "repair"] = Field(
        "off",
        description="Of every extraction, before a memory reads it. off: the reference code, faults are only "
        "reported; reject: the paper; repair: drop what is wrong, keep the rest. The graph's profile improved "
        "repairs in any case.",
    )
    judge: Judge = Field(
        "paper",
        json_schema_extra=_as_benchmark,
        description="The paper's single prompt, LongMemEval's judging by question type, GAAMA's share of the "
        "reference's key facts; or a rule without a model: RD-Forget's substrings, the choice among options, or "
        "ATANT's strings. By default as the benchmark has it.",
    )
    repeat: int = Field(
        0,
        ge=0,
        description="Which repeat of the extraction this is: another number buys it anew, to see its variance.",
    )
    resamples: int = Field(10_000, ge=100, le=1_000_000, strict=True, description="Bootstrap resamples.")
    retry_failed: bool = Field(
        False, description="Ask again for replies that stayed unusable after their re-asks."
    )
    repair: bool = Field(False, description="Buy again what was found damaged in the store.")
    budget: Budget = Field(Budget(), description="The most that may be spent, over all attempts of the run.")
    pace: Ceilings = Field(
        Ceilings(),
        description="The fastest that each provider may be asked.",
        json_schema_extra={"title": "Pace"},
    )
    batch: bool = Field(
        False, description="Buy through the provider's batch interface where it has one: cheaper, and slower."
    )
    prices: Prices | None = Field(
        None, description="Prices that replace the list prices.", json_schema_extra={"title": "Prices"}
    )
    thresholds: ProbedThresholds | None = Field(
        None,
        description="Thresholds that `palimpsest calibrate` has found for the embedder, instead of the built-in ones.",
        json_schema_extra={"title": "Thresholds"},
    )
    runner: Literal["threads", "processes", "dask", "ray"] = Field(
        "threads",
        description="Where works are done. Each process keeps the pace for itself; a Prefect limit holds for all.",
    )
    shared: str = Field(
        "",
        description="Location that workers on several machines share, such as s3://bucket/prefix. It holds no key: "
        "credentials come from the environment.",
    )
    max_failed: float = Field(
        0.5, ge=0, le=1, description="A stage of which a larger share of rows fails ends the run."
    )

    explain: bool = Field(
        False,
        description="Also say what each switch, merge rule and setting of the graph is worth, from what the study has "
        "bought.",
    )

    @model_validator(mode="before")
    @classmethod
    def _without_keys(cls, fields: Any) -> Any:
        given = fields if isinstance(fields, dict) else {}
        if place := misplaced({name: value for name, value in given.items() if name != "prices"}):
            raise ValueError(
                f"{place}: a key has no place in a study, which is written down wherever it runs: export "
                "OPENAI_API_KEY, or keep it in a Prefect Secret block"
            )
        return fields

    @model_validator(mode="before")
    @classmethod
    def _naturally_judged(cls, fields: Any) -> Any:
        """What is not said of the judge is as the benchmark has it: some are judged by a rule, or in shares."""
        if not isinstance(fields, dict):
            return fields
        given = {name: value for name, value in fields.items() if (name, value) != ("judge", AS_BENCHMARK)}
        benchmark = BENCHMARKS.get(str(given.get("benchmark")))
        return given if benchmark is None or not benchmark.judge else {"judge": benchmark.judge} | given

    @model_validator(mode="before")
    @classmethod
    def _of_steps(cls, fields: Any) -> Any:
        """Where questions are steps of a task, what is not said is as their study has it: a step's whole result."""
        given = dict(fields) if isinstance(fields, dict) else {}
        benchmark = BENCHMARKS.get(str(given.get("benchmark")))
        other_study = given.get("study", "representation") != "representation"
        if benchmark is None or not benchmark.in_steps or other_study:
            return fields
        arms = given.get("conditions", [condition_fields(system) for system in STEP_SYSTEMS])
        if isinstance(arms, list | tuple):
            given["conditions"] = [
                {"answer_prompt": "step"} | arm if isinstance(arm, dict) else arm for arm in arms
            ]
        return given

    @field_validator("benchmark")
    @classmethod
    def _known_benchmark(cls, name: str) -> str:
        if name not in BENCHMARKS:
            raise ValueError(f"unknown benchmark {name!r}; known: {', '.join(BENCHMARKS)}")
        return name

    @field_validator("shared")
    @classmethod
    def _shared_url(cls, url: str) -> str:
        return checked_url(url) if url else url

    @model_validator(mode="after")
    def _writable(self) -> Study:
        try:
            self.model_dump_json()
        except PydanticSerializationError:
            # JSON can hold half of a surrogate pair, which no file can.
            raise ValueError("a text in it holds half a character (a lone surrogate)") from None
        return self

    @model_validator(mode="after")
    def _of_its_embedder(self) -> Study:
        if self.thresholds is not None and self.thresholds.embedder != self.models.embedder:
            raise ValueError(
                f"the thresholds are of {self.thresholds.embedder}, and the study embeds with "
                f"{self.models.embedder}: run `palimpsest calibrate --embedder {self.models.embedder}`"
            )
        return self

    @model_validator(mode="after")
    def _explains_a_graph(self) -> Study:
        if self.explain and self.study != "representation":
            raise ValueError(f"explain: the {self.study} study does not explain itself; leave it out")
        if self.explain and not any(condition.system == "graph" for condition in self.conditions):
            raise ValueError(
                "explain: it is graphs that are explained, and no condition is one: add system graph"
            )
        return self

    @model_validator(mode="after")
    def _distinct_conditions(self) -> Study:
        names = [condition.name for condition in self.conditions]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"two conditions are called {min(twice)!r}: give one another name")
        return self

    @property
    def title(self) -> str:
        """What a person calls a run of it: the study, the benchmark, and how much of that."""
        parts = [f"{self.study} on {self.benchmark}"]
        if self.limit is not None:
            parts.append(f"limit {self.limit}")
        if self.questions is not None:
            parts.append(f"{self.questions} questions")
        return ", ".join(parts)

    def arms(self) -> tuple[Condition, ...]:
        """All arms that follow from the study: its conditions, unless its kind makes more of them."""
        return self.conditions

    def arm(self, condition: Condition) -> dict[str, Any]:
        """What a stage needs of a condition: name, system and full settings.

        Raises:
            BadInput: As `Condition.resolved`.
        """
        settings = condition.resolved(self.benchmark, self.models.embedder, self.thresholds)
        return {"name": condition.name, "system": condition.system, "settings": settings}

    def run_name(self, data_sha256: str) -> str:
        """The run's folder name: a hash of all that can change a result, the data included."""
        identity = self.model_dump(mode="json", exclude=set(NOT_IDENTITY))
        for cap in ("reply_cap", "answer_cap"):
            if identity["models"][cap] is None:
                del identity["models"][cap]
        identity["arms"] = [self.arm(condition) for condition in self.conditions]
        identity["data"] = data_sha256
        text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
        return f"{self.study}-{self.benchmark}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"
