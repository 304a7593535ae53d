"""Facts and concepts without a language model: what a benchmark states, or else what clauses state.

`locomo-observations` takes the facts that LoCoMo's own file holds. A large model wrote them, with the whole
conversation in view: they say how well good facts are searched, and nothing of how well facts are extracted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from memory.prompts.concept_facts import ConceptFactsReply, ConceptReply, FactReply
from memory.prompts.reflections import ReflectionsReply
from tasks.models.offline.chunker import Phrase, clauses, phrases, words
from tasks.models.offline.lexicon import VAGUE

_SPEAKER = re.compile(r"^(?:\[[^\]]*\] )?([^:\n]{1,60}): ")
_CONCEPTS_A_FACT = 3
_LEAST_WORDS = 4  # of a clause that is worth keeping as a fact

Entries = Sequence[tuple[str, str]]


def observed(inputs: Mapping[str, str]) -> str:
    """The benchmark's own facts of a chunk, with concepts named after their noun phrases, as `ConceptFactsReply`."""
    episodes: Entries = json.loads(inputs["episodes"])
    facts = [(text, list(ids)) for text, ids in json.loads(inputs["observed"])]
    return _reply(episodes, facts)


def stated(inputs: Mapping[str, str]) -> str:
    """The clauses of a chunk that state something, each with its speaker, as `ConceptFactsReply`."""
    episodes: Entries = json.loads(inputs["episodes"])
    facts = [
        (f"{speaker}: {clause}", [id])
        for id, text in episodes
        for speaker, said in [_spoken(text)]
        for clause in clauses(said)
        if not clause.endswith("?") and len(clause.split()) >= _LEAST_WORDS
    ]
    return _reply(episodes, facts)


def no_reflections(inputs: Mapping[str, str]) -> str:
    """No reflections, as `ReflectionsReply`: to draw one takes a language model."""
    return ReflectionsReply().model_dump_json()


def _reply(episodes: Entries, facts: Iterable[tuple[str, list[str]]]) -> str:
    speakers = {speaker.lower() for _, text in episodes for speaker, _ in [_spoken(text)]}
    replies: list[FactReply] = []
    sources: dict[str, dict[str, None]] = {}
    for text, ids in facts:
        labels = _labels(text, speakers)
        replies.append(FactReply(fact_text=text, source_episode_ids=ids, concepts=labels))
        for label in labels:
            sources.setdefault(label, {}).update(dict.fromkeys(ids))
    said = [(id, f" {' '.join(word.lower for word in words(text))} ") for id, text in episodes]
    for label, ids_of_label in sources.items():
        named = f" {label.replace('_', ' ')} "
        ids_of_label.update((id, None) for id, text in said if named in text)
    concepts = [ConceptReply(concept_label=label, episode_ids=list(ids)) for label, ids in sources.items()]
    return ConceptFactsReply(facts=replies, concepts=concepts).model_dump_json()


def _spoken(text: str) -> tuple[str, str]:
    """Speaker and words of an episode."""
    found = _SPEAKER.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def _labels(fact: str, speakers: set[str]) -> list[str]:
    """Up to three concepts of a fact: its noun phrases in snake_case, longer ones first, speakers' names apart."""
    found: dict[str, None] = {}
    for clause in clauses(fact):
        for phrase in sorted(phrases(clause, words(clause)), key=_length, reverse=True):
            kept = [
                word
                for word in (w.lower for w in words(phrase.text))
                if word.removesuffix("'s") not in speakers
            ]
            if kept and not set(kept) <= VAGUE:
                found["_".join(kept)] = None
    return list(found)[:_CONCEPTS_A_FACT]


def _length(phrase: Phrase) -> int:
    return phrase.last - phrase.first
