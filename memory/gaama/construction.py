"""From chunks of events to episodes, facts, concepts and reflections (facts, section 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from memory.conversation import Observation
from memory.errors import CallFailed
from memory.gaama.chunks import Event
from memory.gaama.graph import ConceptGraph, EdgeType, Item, Kind, episode_id, similarity, text_id
from memory.gaama.settings import GaamaSettings
from memory.models import ChatModel, Embedder, Vectors
from memory.prompts import concept_facts, reflections
from memory.prompts.concept_facts import ConceptReply, FactReply
from memory.prompts.material import Section, fitted
from memory.prompts.reflections import ReflectionReply

NEAR_EPISODES = 10
"""How many items near to a new episode are looked at for older episodes."""
NEAR = 5
"""How many items near to a new episode are looked at for concepts, and near to a new fact for facts."""

T = TypeVar("T")


class Builder:
    """Works chunks into a graph, one after another: each sees what the former have stored.

    Attributes:
        failed: Calls of which there is no usable reply; their chunk has its episodes all the same.
        unembedded: Texts that have no vector and are not stored.
    """

    def __init__(
        self, graph: ConceptGraph, settings: GaamaSettings, chat: ChatModel, embedder: Embedder
    ) -> None:
        self.graph = graph
        self.settings = settings
        self.chat = chat
        self.embedder = embedder
        self.failed = 0
        self.unembedded = 0

    def work_in(self, chunk: Sequence[Event], observed: Sequence[Observation]) -> None:
        """Store a chunk's episodes, then its facts and concepts, then reflections on them.

        Args:
            chunk: Events in order.
            observed: What the benchmark itself says of them; see `memory.prompts.concept_facts.request`.

        Raises:
            CallFailed: If a fault of transport keeps a reply or a vector back.
            CallRefused: If no further call may be made.
        """
        episodes = self._store_episodes(chunk)
        known = self._known_concepts(episodes)
        request = concept_facts.request(self._context(episodes, known), self._observed(observed))
        reply = self._asked(lambda: self.chat.ask(request, concept_facts.read).value)
        if reply is None:
            return
        own = {item.id for item in episodes}
        concepts = self._store_concepts(reply.concepts, own, known)
        facts = self._store_facts(reply.facts, own, concepts)
        if facts:
            asked = reflections.request(self._fact_context(facts))
            found = self._asked(lambda: self.chat.ask(asked, reflections.read).value)
            self._store_reflections(found or [], {item.id for item in facts})

    def _asked(self, ask: Callable[[], T]) -> T | None:
        """A reply, or none where replies stayed unusable: the code, too, goes on without (facts, section 3)."""
        try:
            return ask()
        except CallFailed as failure:
            if not failure.final:
                raise
            self.failed += 1
            return None

    # Episodes

    def _store_episodes(self, chunk: Sequence[Event]) -> list[Item]:
        """Keep the events verbatim, each joined to the one before it."""
        stored = []
        for event, vector in zip(chunk, self._embedded([event.text for event in chunk]), strict=True):
            if event.first and self.settings.next_edges == "session":
                self.graph.last_episode = None
            if vector is None:
                continue
            item = Item(
                episode_id(event.turn), -1, "episode", event.text, self.graph.next_number(),
                turn=event.turn, session=event.session, time=event.time,
            )  # fmt: skip
            stored.append(self.graph.add(item, vector))
            if self.graph.last_episode is not None:
                self.graph.join("NEXT", self.graph.last_episode, item.id)
            self.graph.last_episode = item.id
        return stored

    # What the extractor is shown

    def _context(self, episodes: Sequence[Item], known: Mapping[str, Item]) -> list[Section]:
        """New episodes, related older ones, the facts of these, and concepts (facts, section 4.2)."""
        related = self._near(episodes, NEAR_EPISODES, "episode")
        facts = dict.fromkeys(
            fact for item in related for fact in self.graph.origins("DERIVED_FROM", item.id)
        )
        sections = [
            _section("episodes", "New episodes", episodes, 0.35),
            _section("related", "Related older episodes", related, 0.25),
            _section("facts", "Known facts", [self.graph.items[id] for id in facts], 0.25),
            Section("concepts", "Known concepts", tuple(("", item.text) for item in known.values()), 0.15),
        ]
        return fitted(sections, self.settings.prompt_words)

    def _known_concepts(self, episodes: Sequence[Item]) -> dict[str, Item]:
        """Stored concepts near to new episodes, by the id of their label; a turn is hardly ever near to a label."""
        return {text_id(item.text): item for item in self._near(episodes, NEAR, "concept")}

    def _fact_context(self, facts: Sequence[Item]) -> list[Section]:
        """New facts, related ones, and what was drawn from either (facts, section 4.3)."""
        related = self._near(facts, NEAR, "fact")
        drawn = dict.fromkeys(
            id for item in (*facts, *related) for id in self.graph.origins("DERIVED_FROM_FACT", item.id)
        )
        sections = [
            _section("facts", "New facts", facts, 0.4),
            _section("related", "Related facts", related, 0.3),
            _section("reflections", "Known reflections", [self.graph.items[id] for id in drawn], 0.3),
        ]
        return fitted(sections, self.settings.prompt_words)

    def _near(self, items: Sequence[Item], count: int, kind: Kind) -> list[Item]:
        """Stored items of a kind that are related to some items and not among them; each once, as they are met."""
        found: dict[str, Item] = {}
        own = {item.id for item in items}
        for item in items:
            rows, cosines = self.graph.vectors.nearest(self.graph.vectors.matrix[item.row], count)
            for row in rows[similarity(cosines) >= self.settings.related_similarity]:
                near = self.graph.at(int(row))
                if near.kind == kind and near.id not in own:
                    found[near.id] = near
        return list(found.values())

    def _observed(self, observed: Sequence[Observation]) -> list[tuple[str, list[str]]]:
        return [(found.text, [episode_id(turn) for turn in found.turns]) for found in observed]

    # What it replies

    def _store_concepts(
        self, replies: Sequence[ConceptReply], own: set[str], known: Mapping[str, Item]
    ) -> dict[str, Item]:
        """Join episodes to concepts, new or known; returns the concepts that facts may name, by `text_id`."""
        labels = [reply.concept_label.lower() for reply in replies]
        new = self._stored("concept", [(label, 1.0) for label in labels if text_id(label) not in known])
        named = {**known, **{item.id: item for item in new}}
        for reply in replies:
            if (concept := named.get(text_id(reply.concept_label))) is not None:
                self._join_all("HAS_CONCEPT", _among(reply.episode_ids, own), [concept.id])
        return named

    def _store_facts(
        self, replies: Sequence[FactReply], own: set[str], concepts: Mapping[str, Item]
    ) -> list[Item]:
        """Store facts with the episodes that they were read in and the concepts that they are about."""
        facts = self._stored("fact", [(reply.fact_text, reply.belief) for reply in replies])
        by_id = {item.id: item for item in facts}
        for reply in replies:
            if (fact := by_id.get(text_id(reply.fact_text))) is None:
                continue
            self._join_all("DERIVED_FROM", [fact.id], _among(reply.source_episode_ids, own))
            labels = dict.fromkeys(text_id(label) for label in reply.concepts)
            self._join_all("ABOUT_CONCEPT", [fact.id], [concepts[id].id for id in labels if id in concepts])
        return facts

    def _store_reflections(self, replies: Sequence[ReflectionReply], facts: set[str]) -> None:
        stored = self._stored("reflection", [(reply.reflection_text, reply.belief) for reply in replies])
        by_id = {item.id: item for item in stored}
        for reply in replies:
            if (found := by_id.get(text_id(reply.reflection_text))) is not None:
                self._join_all("DERIVED_FROM_FACT", [found.id], _among(reply.source_fact_ids, facts))

    def _stored(self, kind: Kind, said: Sequence[tuple[str, float]]) -> list[Item]:
        """Store texts as items of a kind, each once; blank ones and such as have no vector are left out."""
        texts = [(text.strip(), belief) for text, belief in said if text.strip()]
        distinct = {text_id(text): (text, belief) for text, belief in texts}
        vectors = self._embedded([text for text, _ in distinct.values()])
        return [
            self.graph.add(Item(id, -1, kind, text, self.graph.next_number(), belief=belief), vector)
            for (id, (text, belief)), vector in zip(distinct.items(), vectors, strict=True)
            if vector is not None
        ]

    def _join_all(self, type: EdgeType, sources: Iterable[str], targets: Sequence[str]) -> None:
        for source in sources:
            for target in targets:
                self.graph.join(type, source, target)

    def _embedded(self, texts: Sequence[str]) -> list[Vectors | None]:
        """A vector for each text, or none where there is none."""
        if not texts:
            return []
        embedded = self.embedder.embed(texts)
        self.unembedded += len(embedded.failures)
        return [None if row in embedded.failures else embedded.vectors[row] for row in range(len(texts))]


def _section(name: str, heading: str, items: Sequence[Item], share: float) -> Section:
    return Section(name, heading, tuple((item.id, item.text) for item in items), share)


def _among(ids: Sequence[str], allowed: set[str]) -> list[str]:
    """The ids that may be named, each once: what a model makes up or remembers from elsewhere is passed over."""
    return [id for id in dict.fromkeys(ids) if id in allowed]
