"""Noun phrases and names as nodes, co-occurrence in a clause as edges: extraction without a language model.

This is how LazyGraphRAG and its like build their graphs, where GraphRAG (Edge et al. 2024) asks a language
model. A node stands for a phrase and carries the clause that it was found in; what the phrase cannot say, the
clause does. Labels are guessed from word lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memory.extraction import LABELS
from memory.prompts.extraction import EdgeReply, ExtractionReply, NodeReply
from memory.prompts.query_entities import EntitiesReply, EntityReply
from tasks.models.offline.chunker import TIME, Phrase, Word, clauses, phrases, words
from tasks.models.offline.lexicon import (
    FIRST_PERSON,
    FUNCTION_WORDS,
    INTENDING,
    LABEL_CUES,
    LIKING,
    VERBS,
)

# Nodes of a turn beside the speaker's: two, and one more for every 50 words, up to six.
_LEAST_NODES = 2
_WORDS_A_NODE = 50
_MOST_NODES = 6
_PHRASES_A_CLAUSE = 3
_MOST_ENTITIES = 5
_VERB_WORDS = 4
_DETAIL_WORDS = 12

_SECOND_PERSON = frozenset({"you", "your", "you're", "you've", "yours"})


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause with its words, its noun phrases and its time expression."""

    text: str
    words: list[Word]
    phrases: list[Phrase]
    time: str | None

    @property
    def asks(self) -> bool:
        """Whether it is a question: those request, and hold few facts."""
        return self.text.endswith("?")

    def speaks_as(self, pronouns: frozenset[str]) -> bool:
        """Whether one of the pronouns is in it."""
        return any(word.lower in pronouns for word in self.words)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A phrase that becomes a node; its key is the node's."""

    key: str
    phrase: Phrase
    clause: _Clause


def extract_turn(inputs: Mapping[str, str]) -> str:
    """The reply to a request of the task `extract`."""
    return extract(inputs["role"], inputs["text"])


def extract_all(inputs: Mapping[str, str]) -> str:
    """As `extract_turn`, with every clause's phrases: open information extraction, as HippoRAG 2 wants it."""
    return extract(inputs["role"], inputs["text"], every_phrase=True)


def entities_of(inputs: Mapping[str, str]) -> str:
    """The reply to a request of the task `query_entities`."""
    return query_entities(inputs["question"])


def extract(role: str, text: str, *, every_phrase: bool = False) -> str:
    """The nodes and edges of a turn, as JSON in the shape of `ExtractionReply`; empty if it names nothing.

    Args:
        role: `user` or `assistant`, or the speaker's name, which then titles the speaker's node.
        text: The turn.
        every_phrase: Whether the three best phrases of every clause become nodes, or a few of the turn's.
    """
    speaker = "User" if role in {"user", "assistant"} else role
    pronouns = _SECOND_PERSON if role == "assistant" else FIRST_PERSON
    read = [_read(clause) for clause in clauses(text)]
    size = sum(len(clause.words) for clause in read)
    few = min(_MOST_NODES, _LEAST_NODES + size // _WORDS_A_NODE)
    chosen = _choose(read, pronouns, _PHRASES_A_CLAUSE * len(read) if every_phrase else few)
    if not chosen:
        return ExtractionReply().model_dump_json()
    who = "the user" if speaker == "User" else "a speaker of the conversation"
    nodes = {"speaker": NodeReply(label="Person", title=speaker, content=who)}
    told: set[str] = set()
    for node in chosen:
        # Once for each clause: two descriptors that share a whole clause would look like one entity.
        content = node.clause.text if node.clause.text not in told else None
        told.add(node.clause.text)
        nodes[node.key] = NodeReply(label=_label(node), title=node.phrase.text, content=content)
    edges = {f"e{number}": edge for number, edge in enumerate(_edges(chosen, pronouns), 1)}
    if not any("speaker" in (edge.source, edge.target) for edge in edges.values()):
        del nodes["speaker"]
    return ExtractionReply(nodes=nodes, edges=edges).model_dump_json()


def query_entities(question: str) -> str:
    """The phrases that a question is about, as JSON in the shape of `EntitiesReply`."""
    read = [_read(clause) for clause in clauses(question)]
    found = [_Chosen("", phrase, clause) for clause in read for phrase in clause.phrases]
    # Names first: they single out what was meant, and only the first few are looked up.
    found.sort(key=lambda node: not node.phrase.proper)
    distinct = {node.phrase.text.lower(): node for node in reversed(found)}
    kept = [node for node in found if distinct[node.phrase.text.lower()] is node][:_MOST_ENTITIES]
    entities = [
        EntityReply(label=_label(node), title=node.phrase.text, content=node.clause.text) for node in kept
    ]
    return EntitiesReply(entities=entities).model_dump_json()


def _read(text: str) -> _Clause:
    tokens = words(text)
    time = TIME.search(text)
    return _Clause(text, tokens, phrases(text, tokens), time.group() if time else None)


def _choose(read: list[_Clause], pronouns: frozenset[str], wanted: int) -> list[_Chosen]:
    """The phrases that become nodes, in reading order: each clause's best before any clause's second best."""
    ranked: list[tuple[int, float, int, Phrase, _Clause]] = []
    for place, clause in enumerate(read):
        worth = _worth(clause, pronouns)
        best = sorted(clause.phrases, key=lambda phrase: (-_specific(phrase), phrase.first))
        ranked += [
            (nth, -worth, place, phrase, clause) for nth, phrase in enumerate(best[:_PHRASES_A_CLAUSE])
        ]
    ranked.sort(key=lambda entry: entry[:3])
    picked: dict[str, tuple[int, Phrase, _Clause]] = {}
    for _, _, place, phrase, clause in ranked:
        if len(picked) == wanted:
            break
        picked.setdefault(phrase.text.lower(), (place, phrase, clause))
    ordered = sorted(picked.values(), key=lambda entry: (entry[0], entry[1].first))
    return [_Chosen(f"n{number}", phrase, clause) for number, (_, phrase, clause) in enumerate(ordered, 1)]


def _worth(clause: _Clause, pronouns: frozenset[str]) -> float:
    """How much a clause tells: statements about the speaker, names, numbers and times; not requests."""
    names = sum(phrase.proper for phrase in clause.phrases)
    numbers = sum(word.text[-1].isdigit() or word.text[0].isdigit() for word in clause.words[1:])
    worth = min(names, 3) + min(numbers, 3) + 2.0 * (clause.time is not None)
    worth += 2.0 * clause.speaks_as(pronouns) + min(len(clause.words), 30) / 15
    return worth - 4.0 * clause.asks


def _specific(phrase: Phrase) -> float:
    """How much a phrase singles out: names, then longer phrases."""
    return 2.0 * phrase.proper + min(phrase.last - phrase.first, 2)


def _label(node: _Chosen) -> str:
    """One of the nine labels, from the phrase's words, then from how its clause introduces it."""
    own = [word.lower for word in node.clause.words[node.phrase.first : node.phrase.last + 1]]
    for word in reversed(own):
        for label in LABELS:
            if word in LABEL_CUES.get(label, frozenset()):
                return label
    before = [word.lower for word in node.clause.words[max(0, node.phrase.first - 3) : node.phrase.first]]
    if node.phrase.proper:
        return "Location" if before[-1:] == ["in"] or before[-2:] == ["in", "the"] else "Artifact"
    if LIKING.intersection(before):
        return "Preference"
    return "Goal" if INTENDING.intersection(before) else "Concept"


def _edges(chosen: list[_Chosen], pronouns: frozenset[str]) -> Iterator[EdgeReply]:
    """Each node's edges: from the speaker where its clause is about them, and from the node before it.

    Nodes of one clause are joined by the verb that stands between them; a node that would stay alone is
    joined to the first node of the turn, and a first node that would stay alone, to the speaker.
    """
    joined: set[str] = set()
    for number, node in enumerate(chosen):
        if node.clause.speaks_as(pronouns) and not node.clause.asks:
            yield _edge("speaker", _verb_from(node, pronouns) or "mentioned", node)
            joined.add(node.key)
        previous = chosen[number - 1] if number else None
        if previous is not None and previous.clause is node.clause:
            yield _edge(previous.key, _verb_between(previous, node) or "occurs with", node)
            joined |= {previous.key, node.key}
    for node in chosen[1:]:
        if node.key not in joined:
            yield _edge(chosen[0].key, "occurs with", node)
            joined |= {chosen[0].key, node.key}
    if chosen[0].key not in joined:
        yield _edge("speaker", "talked about", chosen[0])


def _edge(source: str, relationship: str, target: _Chosen) -> EdgeReply:
    """An edge to a node, with the words that follow the node's phrase, and the time that its clause gives."""
    following = target.clause.words[target.phrase.last + 1 :][:_DETAIL_WORDS]
    detail = target.clause.text[following[0].start : following[-1].end] if following else ""
    attributes = {"detail": detail} if detail else {}
    if target.clause.time is not None:
        attributes["raw_date"] = target.clause.time
    return EdgeReply(source=source, target=target.key, relationship=relationship, attributes=dict(attributes))


def _verb_from(node: _Chosen, pronouns: frozenset[str]) -> str:
    """The verb phrase between the nearest pronoun of the speaker and the node's phrase."""
    before = node.clause.words[: node.phrase.first]
    starts = [place for place, word in enumerate(before) if word.lower in pronouns]
    return _verb_phrase(before[starts[-1] + 1 :]) if starts else ""


def _verb_between(source: _Chosen, target: _Chosen) -> str:
    """The verb phrase between two phrases of a clause."""
    return _verb_phrase(target.clause.words[source.phrase.last + 1 : target.phrase.first])


def _verb_phrase(between: list[Word]) -> str:
    """Up to four words from the first verb on, without a closing determiner; empty if there is no verb."""
    first = next((place for place, word in enumerate(between) if _is_verb(word)), None)
    if first is None:
        return ""
    kept = [word.lower for word in between[first : first + _VERB_WORDS]]
    while len(kept) > 1 and kept[-1] in {
        "a",
        "an",
        "the",
        "my",
        "your",
        "our",
        "his",
        "her",
        "their",
        "some",
    }:
        kept.pop()
    return " ".join(kept)


def _is_verb(word: Word) -> bool:
    """Whether a word reads as a verb where no phrase claims it."""
    return word.lower in VERBS or (word.lower.endswith(("ed", "ing")) and word.lower not in FUNCTION_WORDS)
