"""What a repair mends and what it keeps out, shown by faults that were planted (facts, section 7).

Facts that questions are known to be recalled by are taken out of the graph, or parted from their concepts; every
question is then repaired as usual. And the facts that were taken out are offered to verification and execution alone:
of those that get in again, edits with one fault each are made and offered, too. So a gate that passes nothing earns
nothing by keeping out all harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from memory.conversation import Question
from memory.repair.graft import Asked, Exploration, Graft
from memory.repair.harm import Material, harmful, last_word, speakers_of, true_edit
from memory.repair.log import EditOutcome, Repair
from memory.repair.protocol import GraphEditing

What = Literal["facts", "edges"]
TRUE = "none"
"""The harm of an edit without a fault."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault: an evidence turn of a question that no fact stands on any more, or no fact with a concept.

    Attributes:
        question: The question's id.
        turn: The turn.
        facts: How many facts stood on it, and were taken out or parted from their concepts.
        state: Where the repair of its question ended.
        repaired: Of facts, whether an added fact that stands on the turn is recalled for the question; of edges,
            whether one of the parted facts is joined to a concept again.
    """

    question: str
    turn: str
    facts: int
    state: str
    repaired: bool


@dataclass(frozen=True, slots=True)
class Offered:
    """An edit that was offered alone.

    Attributes:
        harm: Its fault, one of `memory.repair.harm.HARMS`, or `TRUE` for a fact that was taken out.
        question: Id of the question for which it was offered.
        outcome: What became of it.
    """

    harm: str
    question: str
    outcome: EditOutcome


@dataclass(frozen=True, slots=True)
class Recalled:
    """The share of a question's evidence turns that the facts of its small budget stand on.

    Attributes:
        before: In the graph as it was.
        damaged: With the planted faults.
        again: The same once more, without an edit between: what differs is noise.
        after: After all repairs.
    """

    before: float
    damaged: float
    again: float
    after: float


@dataclass(frozen=True, slots=True)
class Planted:
    """What a repair made of planted faults.

    Attributes:
        candidates: Questions that a fault could be planted for.
        faults: The planted faults, with what became of them.
        repairs: Of every question with evidence, in order.
        offered: Edits that were offered alone.
        recalled: By question with evidence.
    """

    candidates: int
    faults: tuple[Fault, ...]
    repairs: tuple[Repair, ...]
    offered: tuple[Offered, ...]
    recalled: Mapping[str, Recalled]


@dataclass(frozen=True, slots=True)
class _Standing:
    """Which facts and episodes stand on which turn."""

    facts: Mapping[str, tuple[str, ...]]
    episodes: Mapping[str, str]
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A fault before it is planted: the question, its turn, and the facts to be taken out."""

    question: Question
    turn: str
    facts: tuple[str, ...]


def plant_and_repair(
    graft: Graft, questions: Sequence[Question], k: int, seed: int, what: What = "facts"
) -> Planted:
    """Plant faults for `k` questions, offer edits, and repair every question; the graph is changed by all of it.

    Args:
        graft: With the graph of one history, which should be a copy.
        questions: Of that history; those without evidence are passed over.
        k: How many faults; fewer where there are fewer candidates.
        seed: Of all choices.
        what: `facts` takes out the facts that stand on an evidence turn, `edges` parts them from their concepts. Edits
            are offered alone with `facts` only.

    Raises:
        CallFailed: As `Graft.repair`, or if a question has no vector.
        CallRefused: As `Graft.repair`.
    """
    asked = [question for question in questions if question.evidence]
    random = np.random.default_rng(seed)
    standing = _standing(graft.memory)
    candidates = _candidates(graft, asked, standing)
    chosen = [candidates[place] for place in sorted(random.permutation(len(candidates))[:k])]
    before = _recalled(graft, asked)
    _damage(graft.memory, [id for each in chosen for id in each.facts], what)
    damaged, again = _recalled(graft, asked), _recalled(graft, asked)
    faults = chosen if what == "facts" else ()
    offered = tuple(each for fault in faults for each in _offered(graft, fault, standing, random))
    repairs = tuple(graft.repair(Asked(question.id, question.history, question.text)) for question in asked)
    after = _recalled(graft, asked)
    states = {repair.question: repair.state for repair in repairs}
    mended = _stands_again if what == "facts" else _joined_again
    added = {edit.item for repair in repairs for edit in repair.edits if edit.fate == "executed"}
    return Planted(
        candidates=len(candidates),
        faults=tuple(
            Fault(
                each.question.id,
                each.turn,
                len(each.facts),
                states[each.question.id],
                mended(graft, each, added),
            )
            for each in chosen
        ),
        repairs=repairs,
        offered=offered,
        recalled={id: Recalled(before[id], damaged[id], again[id], after[id]) for id in before},
    )


def _standing(memory: GraphEditing) -> _Standing:
    facts: dict[str, tuple[str, ...]] = {}
    for fact in memory.all_of("fact"):
        for turn in memory.turns_of(fact.id):
            facts[turn] = (*facts.get(turn, ()), fact.id)
    episodes = memory.all_of("episode")
    return _Standing(
        facts,
        {turn: episode.id for episode in episodes for turn in memory.turns_of(episode.id)},
        {item.id: item.text for item in (*memory.all_of("fact"), *episodes)},
    )


def _damage(memory: GraphEditing, facts: Sequence[str], what: What) -> None:
    for id in dict.fromkeys(facts):
        if what == "facts":
            memory.remove(id)
            continue
        for edge in memory.concept_edges([id]):
            memory.part(edge.source, edge.target)


def _candidates(graft: Graft, asked: Sequence[Question], standing: _Standing) -> list[_Chosen]:
    """Of each question, the first evidence turn that a fact of its small budget stands on; each turn once."""
    found: dict[str, _Chosen] = {}
    for question in asked:
        turns = _turns(graft, question)
        turn = next((turn for turn in question.evidence if turn in turns and turn not in found), None)
        if turn is not None:
            found[turn] = _Chosen(question, turn, standing.facts[turn])
    return list(found.values())


def _turns(graft: Graft, question: Question) -> set[str]:
    """The turns that the facts of a question's small budget stand on."""
    items = graft.recalled(question.text).items
    return {turn for item in items if item.kind == "fact" for turn in graft.memory.turns_of(item.id)}


def _recalled(graft: Graft, asked: Sequence[Question]) -> dict[str, float]:
    found = {}
    for question in asked:
        turns = _turns(graft, question)
        found[question.id] = sum(turn in turns for turn in question.evidence) / len(question.evidence)
    return found


def _stands_again(graft: Graft, fault: _Chosen, added: set[str | None]) -> bool:
    items = graft.recalled(fault.question.text).items
    return any(item.id in added and fault.turn in graft.memory.turns_of(item.id) for item in items)


def _joined_again(graft: Graft, fault: _Chosen, added: set[str | None]) -> bool:
    """Whether a fact has an edge to a concept; as all were parted, a repair has made it."""
    return bool(graft.memory.concept_edges(fault.facts))


# Edits that are offered


def _offered(
    graft: Graft, fault: _Chosen, standing: _Standing, random: np.random.Generator
) -> Iterator[Offered]:
    """Offer the first fact that was taken out and what is made of it, one by one; what gets in is taken out again."""
    fact = standing.texts[fault.facts[0]]
    first = graft.recalled(fault.question.text)
    explored = graft.explored(first, [fact])
    episode = standing.episodes.get(fault.turn)
    if episode not in explored.items:
        return  # what its verification does not show cannot be cited
    answer = graft.answer(fault.question.text, first.context)
    material = _material(graft.memory, fact, (episode,), explored, standing, random)
    for harm, edit in ((TRUE, true_edit(material)), *harmful(material)):
        [outcome] = graft.offer(fault.question.text, answer, explored, [edit])
        if outcome.item is not None:
            graft.memory.remove(outcome.item)
        yield Offered(harm, fault.question.id, outcome)
        if harm == TRUE and outcome.fate != "executed":
            return  # what keeps the true fact out would keep out whatever is made of it


def _material(
    memory: GraphEditing,
    fact: str,
    sources: tuple[str, ...],
    explored: Exploration,
    standing: _Standing,
    random: np.random.Generator,
) -> Material:
    """A known fact is one that is shown with an episode that it stands on."""
    shown = list(explored.items.values())
    known = None
    for item in shown:
        turns = memory.turns_of(item.id) if item.kind == "fact" else ()
        cited = tuple(id for turn in turns if (id := standing.episodes.get(turn)) in explored.items)
        if known is None and cited:
            known = (item.text, cited)
    strange = [item.id for item in shown if item.kind == "episode" and item.id not in sources]
    spoken = [standing.texts[id] for id in standing.episodes.values()]
    others = [standing.texts[item.id] for item in memory.all_of("fact")]
    return Material(
        fact=fact,
        sources=sources,
        known=known,
        strange=strange[int(random.integers(len(strange)))] if strange else None,
        speakers=speakers_of(spoken),
        word=last_word(others[int(random.integers(len(others)))]) if others else None,
    )
