"""`palimpsest`: the hybrid, verbatim turns under search by words and meaning, with a graph of entities beside them."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Query, Session
from memory.extraction import Extraction
from memory.hybrid import additions, asking, scoring, tables
from memory.hybrid.asking import Asked
from memory.hybrid.graph import EntityGraph, Ints
from memory.hybrid.retention import Holdings, chosen
from memory.hybrid.settings import PALIMPSEST_PROFILES, PalimpsestSettings
from memory.hybrid.vectors import PlaneVectors
from memory.lexical import LexicalIndex
from memory.protocol import Models, Recall, Size, Source
from memory.ranking import best_first, best_of_groups, min_max
from memory.systems.searching import TurnSearcher
from memory.systems.turns import RULE, StoredTurn, stored, text_bytes
from memory.vectors import Doubles, Mask, Rows

_AROUND = 2
"""Best turns whose neighbours in time are shown, if so many are shown themselves."""
_TURN = 16
"""Bytes of what is noted of a turn: day, speaker, kind and uses."""


class Palimpsest(TurnSearcher[PalimpsestSettings]):
    """The turns that are best in words, in meaning and in time, a session counting as its best turn does.

    Sessions are ranked by what they score together, and turns stand behind the best of their session by their own
    scores (`memory.hybrid.settings`). No model but the embedder is asked.
    """

    Settings: ClassVar[type[BaseModel]] = PalimpsestSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = PALIMPSEST_PROFILES
    asks: ClassVar[frozenset[str]] = frozenset({"embedder"})

    def __init__(self, settings: PalimpsestSettings, models: Models) -> None:
        super().__init__(settings, models)
        self.index = LexicalIndex(stem=settings.stem, stop_words=settings.stop_words)
        self.vectors = PlaneVectors(models.embedder)
        self.graph = EntityGraph()
        self.forgotten = 0  # bytes, of all that was ever heard
        self._people = array("b")
        self._days = array("i")
        self._speakers: dict[str, int] = {}
        self._speaker_of = array("i")
        self._uses = array("i")

    # Hearing

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """The turns, without the dates that only words are searched for, if there is a search by meaning."""
        return [self._meant(held) for held in stored(session)] if self.settings.dense else []

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep the turns of a session, and index their words, vectors and entities.

        Raises:
            CallFailed: If a fault of transport keeps a vector back; the memory is unchanged.
            CallRefused: If no further call may be made; the memory is unchanged.
        """
        texts = self.texts(session, extractions)
        if self.settings.dense:
            self.vectors.add(texts)
        known = len(self.turns)
        super().remember(session, extractions)
        self._note(self.turns[known:])
        if self.settings.entities:
            for held in self.turns[known:]:
                self.graph.add(held.turn.text, stated=_is_person(held))

    def _note(self, turns: Sequence[StoredTurn]) -> None:
        """Index the words of turns, and who said them when."""
        self.index.add(held.text(self.settings.text) for held in turns)
        for held in turns:
            self._people.append(_is_person(held))
            self._days.append(held.time.toordinal() if held.time else 0)
            self._speaker_of.append(self._speakers.setdefault(held.turn.speaker, len(self._speakers)))
            self._uses.append(0)

    def _meant(self, held: StoredTurn) -> str:
        return held.text("spoken" if self.settings.text == "dated" else self.settings.text)

    # Scoring

    def scored(self, asked: Asked) -> tuple[Doubles, tuple[str, ...]]:
        """The score of every turn, and flags.

        Raises:
            CallFailed: If the question has no vector.
        """
        sittings, people = self.sittings.of_turns, self.people
        words = self.index.scores(asked.words).astype(np.float64)
        cosines = self.vectors.cosines(self.vectors.question(asked.text)) if self.settings.dense else None
        own = self._own(asked, words, cosines, sittings, people)
        sessions = self._sessions(asked, words, cosines, sittings, people)
        scores = scoring.in_sessions(sessions, own, sittings, self.settings.gap)
        if self.settings.feedback:
            sessions = sessions + self.settings.feedback * self._fed_back(scores, sittings)
        if self.settings.graph:
            sessions = sessions + self.settings.graph * min_max(
                best_of_groups(self.walked(asked, scores, self.settings.graph_turns), sittings)
            )
        if self.settings.feedback or self.settings.graph:
            scores = scoring.in_sessions(sessions, own, sittings, self.settings.gap)
        lacking = self.settings.dense and not self.vectors.complete
        return scores, ("turns_without_vector",) if lacking else ()

    def _sessions(
        self, asked: Asked, words: Doubles, cosines: Doubles | None, sittings: Rows, people: Mask
    ) -> Doubles:
        """What each session scores."""
        settings = self.settings
        found = np.zeros(int(sittings.max()) + 1)
        if settings.lexical_session:
            found += settings.lexical_session * min_max(self.index.scores(asked.words, sittings))
        if settings.lexical_user:
            found += settings.lexical_user * min_max(scoring.best_of_people(words, sittings, people))
        if settings.dense_session and cosines is not None:
            found += settings.dense_session * min_max(best_of_groups(cosines, sittings))
        if asked.window is not None:
            days = best_of_groups(self.days.astype(np.float64), sittings)
            found += settings.dates * scoring.in_window(asked.window, days.astype(np.int32))
        return found

    def _own(
        self, asked: Asked, words: Doubles, cosines: Doubles | None, sittings: Rows, people: Mask
    ) -> Doubles:
        """What each turn scores by itself."""
        settings = self.settings
        found = settings.lexical_turn * min_max(words)
        if cosines is not None:
            found += settings.dense_turn * min_max(cosines)
        if settings.neighbours:
            found = scoring.lent(found, sittings, people, settings.neighbours)
        return min_max(found) + settings.speaker * self._meant_speaker(asked)

    def _meant_speaker(self, asked: Asked) -> Mask:
        """Which turns are by a speaker that the question means; see `PalimpsestSettings.speaker`."""
        named = np.array([asking.names(asked.text, name) for name in self._speakers], np.bool_)
        by_name = named[np.frombuffer(self._speaker_of, np.int32)]
        if by_name.any():
            return by_name
        return ~self.people if asked.kind == "assistant" else self.people

    def _fed_back(self, scores: Doubles, sittings: Rows) -> Doubles:
        """Of each session, how near its best turn is to the best turns of different sessions."""
        bests: dict[int, int] = {}
        for turn in best_first(scores, 10 * self.settings.feedback_turns).tolist():
            bests.setdefault(int(sittings[turn]), turn)
        mean = self.vectors.mean(np.array(list(bests.values())[: self.settings.feedback_turns], np.intp))
        if mean is None:
            return np.zeros(int(sittings.max()) + 1)
        return min_max(best_of_groups(self.vectors.cosines(mean), sittings))

    def walked(self, asked: Asked, scores: Doubles, turns: int | None) -> Doubles:
        """Personalized PageRank of every turn, from the best turns and what the question names; see `EntityGraph`."""
        order = best_first(scores, self.settings.graph_seeds + 1)
        seeds = order[: self.settings.graph_seeds]
        weights = scores[seeds] - (scores[order[-1]] if len(order) > len(seeds) else 0.0)
        return self.graph.walk(
            seeds,
            np.maximum(weights, 0.0),
            self.graph.asked(asked.words),
            self.sittings.of_turns,
            damping=self.settings.damping,
            hub_limit=self.settings.hub_limit,
            turns=turns,
        )

    # Recalling

    def read(self, query: Query) -> Asked:
        """A question as this memory reads it."""
        return asking.read(
            query.text, query.date.date() if query.date else None, dates=bool(self.settings.dates)
        )

    def recall(self, query: Query) -> Recall:
        """The best turns, best first, and what the question's kind adds; the turns shown count as used.

        Raises:
            CallFailed: If the question has no vector.
        """
        recall, shown = self._recalls(query, [self.settings.max_words])[0]
        for turn in shown:
            self._uses[turn] += 1
        return recall

    def recall_within(self, query: Query, sizes: Sequence[int | None]) -> list[Recall]:
        """As `recall`, for each number of words; none shows `k` turns. It leaves no trace of use."""
        return [recall for recall, _ in self._recalls(query, sizes)]

    def _recalls(self, query: Query, sizes: Sequence[int | None]) -> list[tuple[Recall, list[int]]]:
        """A recall for each size, and the turns that it shows."""
        if not self.turns:
            return [(Recall("", (), 0), []) for _ in sizes]
        asked = self.read(query)
        scores, flags = self.scored(asked)
        settings = self.settings
        least = max(settings.k, settings.ranked)
        whole = set(sizes) != {None} or settings.budget_tokens is not None
        order = best_first(scores, len(scores) if whole else least + settings.pool).tolist()
        best = order[: settings.k]
        added = [turn for turn in self._added(asked, order[: settings.pool]) if turn not in best]
        placed = list(dict.fromkeys([*best, *added, *order]))
        return [self._shown(asked, scores, placed, len(added), words, flags) for words in sizes]

    def _added(self, asked: Asked, pool: list[int]) -> list[int]:
        """Distinct turns that the kind of question asks for beside the best, in the order they are added."""
        settings = self.settings
        if asked.kind == "update" and settings.versions:
            return additions.versions(self.graph, asked.text, pool, self.days)
        if asked.kind == "time" and settings.chronology:
            best = pool[: min(_AROUND, settings.k)]
            return additions.around(best, self.sittings.of_turns, self.people)
        if asked.kind == "assistant" and settings.assistant_turns:
            return additions.first_of_assistant(pool, self.people)
        return []

    def _shown(
        self,
        asked: Asked,
        scores: Doubles,
        placed: list[int],
        added: int,
        words: int | None,
        flags: tuple[str, ...],
    ) -> tuple[Recall, list[int]]:
        """A ranking as a context, with at least as many turns in the provenance as are to be ranked."""
        shown = self._fitting(placed, self.settings.k + added, words)
        by_time = asked.kind == "time" and self.settings.chronology
        texts = self.shown(
            [self.turns[t] for t in (additions.in_order_of_time(shown, self.days) if by_time else shown)]
        )
        ranked = list(dict.fromkeys([*shown, *placed]))
        ranked = ranked[: max(self.settings.k, self.settings.ranked, len(shown))]
        provenance = tuple(Source(self.turns[turn].turn.id, float(scores[turn])) for turn in ranked)
        stands_on = tuple(self.turns[turn].turn.id for turn in shown)
        return Recall(RULE.join(texts), provenance, len(shown), shown=stands_on, flags=flags), shown

    def _fitting(self, placed: list[int], k: int, words: int | None) -> list[int]:
        """The turns that a context shows: `k`, or as many as a number of words or of tokens holds."""
        turns = [self.turns[turn] for turn in placed]
        if words is not None:
            return placed[: len(self._within(turns, words))]
        if self.settings.budget_tokens is None:
            return placed[:k]
        place = dict(zip((held.turn.id for held in turns), placed, strict=True))
        return [place[held.turn.id] for held in self.fitted(turns, self.settings.budget_tokens)]

    # Forgetting

    def finish(self) -> None:
        """All was heard: forget down to the share of bytes that is kept."""
        self.forget(self.settings.kept)

    def forget(self, share: float) -> None:
        """Forget until at most a share of all bytes ever heard is held: entities first, then vectors, turns last."""
        now = self.size().bytes
        excess = now - int(share * (now + self.forgotten))
        if excess <= 0 or not self.turns:
            return
        kept = chosen(self.holdings(), excess)
        uses = np.array(self._uses, np.int32)[kept.turns]
        turns = [held for held, stays in zip(self.turns, kept.turns.tolist(), strict=True) if stays]
        self.graph = self.graph.keep(kept.turns, kept.entities) if self.settings.entities else EntityGraph()
        if self.settings.dense:
            self.vectors.keep(kept.turns, kept.vectors)
        self._hold(turns)
        self._uses = array("i", uses.tobytes())
        self.forgotten += now - self.size().bytes

    def _hold(self, turns: list[StoredTurn]) -> None:
        """Hold these turns and no others; words are indexed anew."""
        self.turns = turns
        self.index = LexicalIndex(stem=self.settings.stem, stop_words=self.settings.stop_words)
        self.sittings = type(self.sittings)()
        self.sittings.add(turns)
        self._speakers = {}
        self._people, self._days, self._speaker_of, self._uses = (
            array("b"),
            array("i"),
            array("i"),
            array("i"),
        )
        self._note(turns)

    def holdings(self) -> Holdings:
        """What is held, as retention weighs it."""
        uses = np.array(self._uses, np.intp)
        texts = [text_bytes([held]) + _TURN for held in self.turns]
        own = np.array(texts, np.intp) + self.index.document_bytes()
        having = self.vectors.having() if self.settings.dense else np.zeros(len(own), np.bool_)
        degrees = self.graph.degrees()
        turns, entities = self.graph.mentions()
        linking = (degrees > 1) & (degrees < self.settings.hub_limit)
        return Holdings(
            entities=self.graph.entity_bytes(),
            entity_uses=np.bincount(entities, weights=uses[turns], minlength=len(degrees)).astype(np.intp),
            mentions=degrees,
            vectors=having * self.vectors.row_bytes,
            turns=own,
            uses=uses,
            links=np.bincount(turns[linking[entities]], minlength=len(own)).astype(np.intp),
        )

    # Holding

    @property
    def people(self) -> Mask:
        """Which turns a person said, not an assistant."""
        return np.array(self._people, np.bool_)

    @property
    def days(self) -> Ints:
        """The day of each turn's session as an ordinal; 0 for none."""
        return np.array(self._days, np.int32)

    def size(self) -> Size:
        """Turns and entities, mentions, and the bytes of texts, words, vectors and entities."""
        size = super().size()
        nbytes = size.bytes + self.index.nbytes + self.vectors.nbytes + self.graph.nbytes + _TURN * size.items
        return Size(size.items + len(self.graph.numbers), self.graph.edges, nbytes)

    def tables(self) -> dict[str, pa.Table]:
        """The tables `turns`, `uses`, `vectors`, `mentions` and `entities`."""
        return {
            **super().tables(),
            "uses": tables.uses(self._uses, self.forgotten),
            "vectors": self.vectors.table(),
            **tables.of_graph(self.graph),
        }

    @classmethod
    def from_tables(cls, kept: Mapping[str, pa.Table], settings: PalimpsestSettings, models: Models) -> Self:
        """The memory of its tables; the index of words is made anew.

        Raises:
            BadInput: If they do not fit one another.
        """
        system = super().from_tables(kept, settings, models)
        system._note(system.turns)
        system._uses, system.forgotten = tables.read_uses(kept["uses"], len(system.turns))
        if settings.dense:
            system.vectors.restore(kept["vectors"], len(system.turns))
        if settings.entities:
            system.graph = tables.read_graph(kept, len(system.turns))
        return system


def _is_person(held: StoredTurn) -> bool:
    """Whether a person said it: anyone with a name of their own, or else whoever is not the assistant."""
    return held.turn.role != "assistant" or held.turn.speaker != held.turn.role
