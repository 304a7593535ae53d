"""Table 3 of the Selective Forgetting paper for any study: its free parameters, their values, and what each stands on.

The paper's values are those of its text and code (facts, section 20), its bases the words of appendix A.2: of the
table itself only the caption has come down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memory.calibration import PAPER
from tasks.forgetting_study import ForgettingStudy
from tasks.study import Condition, Study, thresholds_of

THRESHOLDS = ("dedup_threshold", "retrieval_floor")
BY_STUDY = "set by the study"

_A_PRIORI = "fixed a priori, not tuned: access should outweigh structure and age"
_RETRIEVAL = {
    "dedup_threshold": (0.92, "probe of appendix A.5, false merges weighed more than missed ones"),
    "retrieval_floor": (0.75, "nomic-embed-text finds unrelated short texts alike; not load-bearing"),
    "roots": (5, "as many as the chunks of the flat baseline"),
    "hops": (2, "the smallest depth that serves relations; a third runs through hubs"),
    "max_nodes": (15, "given without a basis of its own"),
}
_FURTHER = ("max_edges", "max_context_characters")
_FORGETTING = {
    "recency": (0.35, _A_PRIORI),
    "frequency": (0.25, _A_PRIORI),
    "centrality": (0.20, _A_PRIORI),
    "turns": (0.20, _A_PRIORI),
    "half_life_days": (90.0, "the time that the histories span"),
    "half_life_turns": (1_000.0, "the same for the order of the turns"),
}
_THRESHOLD = (0.10, "careful: only the tail of the scores")
_INTERVAL = (400, "seldom, because scoring takes in the whole graph; long enough to tell what is dormant")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A row of Table 3.

    Attributes:
        condition: Whose it is.
        profile: The condition's profile; none for what the study sets for all.
        parameter: As the setting is called.
        value: In the study.
        basis: What the value stands on: the paper, pairs that calibrated it, the profile, or the study itself.
        paper_value: The paper's; none where it has no such parameter.
        paper_basis: Why the paper has that value.
    """

    condition: str
    profile: str | None
    parameter: str
    value: float
    basis: str
    paper_value: float | None = None
    paper_basis: str | None = None


def parameters(study: Study) -> list[Parameter]:
    """The free parameters of each condition that has thresholds, then those of forgetting, if the study forgets."""
    found: list[Parameter] = []
    for condition in study.conditions:
        settings = study.arm(condition)["settings"]
        if "dedup_threshold" in settings:
            found += _of_condition(study, condition, settings)
    if isinstance(study, ForgettingStudy):
        found += _of_forgetting(study)
    return found


def _of_condition(study: Study, condition: Condition, settings: dict[str, Any]) -> Iterator[Parameter]:
    for name in (*_RETRIEVAL, *_FURTHER):
        value = settings.get(name)
        if value is None:  # a cap that is not there
            continue
        paper_value, paper_basis = _RETRIEVAL.get(name, (None, None))
        if condition.settings.get(name) is not None:
            basis = BY_STUDY
        elif name in THRESHOLDS:
            basis = thresholds_of(study.models.embedder, study.thresholds).basis
        else:
            basis = PAPER if value == paper_value else f"profile {condition.profile}"
        yield Parameter(
            condition.name, condition.profile, name, float(value), basis, paper_value, paper_basis
        )


def _of_forgetting(study: ForgettingStudy) -> Iterator[Parameter]:
    graph = study.conditions[0].name
    rows = [(name, getattr(study.importance, name), *paper) for name, paper in _FORGETTING.items()]
    rows.append(("threshold", study.threshold, *_THRESHOLD))
    rows += [("interval", interval, *_INTERVAL) for interval in study.intervals]
    for name, value, paper_value, paper_basis in rows:
        basis = PAPER if value == paper_value else BY_STUDY
        yield Parameter(graph, None, name, float(value), basis, float(paper_value), paper_basis)
