"""The graph of phrases and passages: what is stored of it, and the matrix of weights that a question spreads over.

A passage is joined to the phrases of its triples by containment, two phrases by the triples between them and as
synonyms. Items of the matrix are the passages, then the phrases, each in the order they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import coo_array, csr_array, hstack, vstack

from memory.diffusion import Diffusion
from memory.hipporag.located import LocatedVectors, Places
from memory.hipporag.settings import HippoRAGSettings
from memory.hipporag.synonyms import Floats, Synonyms
from memory.hipporag.triples import Triple
from memory.models import Embedded

_LEAST_LETTERS = 3  # of a phrase that looks for synonyms; shorter ones are near to anything


class PhraseGraph:
    """Phrases, facts (distinct triples), which passage states which fact, and which phrases are synonyms.

    Attributes:
        passages: How many there are.
        phrases: Place by phrase.
        facts: Place by triple.
        said: Pairs of a passage and a fact that it states, in order.
    """

    def __init__(self, dimensions: int, settings: HippoRAGSettings) -> None:
        self.settings = settings
        self.passages = 0
        self.phrases: dict[str, int] = {}
        self.facts: dict[Triple, int] = {}
        self.said: list[tuple[int, int]] = []
        self.passage_vectors = LocatedVectors(dimensions)
        self.phrase_vectors = LocatedVectors(dimensions)
        self.fact_vectors = LocatedVectors(dimensions)
        self.synonyms = Synonyms(settings.synonymy)

    def unknown(self, triples: Iterable[Triple]) -> tuple[list[str], list[Triple]]:
        """The phrases and facts among triples that the graph does not have, each once, in order."""
        listed = list(triples)
        phrases = dict.fromkeys(end for triple in listed for end in (triple[0], triple[2]))
        facts = dict.fromkeys(listed)
        return [p for p in phrases if p not in self.phrases], [f for f in facts if f not in self.facts]

    def add(self, triples: Sequence[Sequence[Triple]], embedded: Embedded) -> None:
        """Add passages, each with the triples that it states.

        Args:
            triples: By passage.
            embedded: Vectors of the passages, then of the phrases that are `unknown`, then of the facts that are.
        """
        phrases, facts = self.unknown(triple for passage in triples for triple in passage)
        first, compared = len(triples), len(self.phrase_vectors)
        between, end = first + len(phrases), first + len(phrases) + len(facts)
        self.passage_vectors.extend(self.passages, embedded, range(first))
        self.phrase_vectors.extend(len(self.phrases), embedded, range(first, between))
        self.fact_vectors.extend(len(self.facts), embedded, range(between, end))
        self.phrases |= {phrase: place for place, phrase in enumerate(phrases, len(self.phrases))}
        self.facts |= {fact: place for place, fact in enumerate(facts, len(self.facts))}
        for passage, stated in enumerate(triples, self.passages):
            self.said += [(passage, self.facts[triple]) for triple in stated]
        self.passages += len(triples)
        self.synonyms.extend(self.phrase_vectors, compared)

    def ends(self) -> Places:
        """The places of each fact's subject and object, `(facts, 2)`."""
        ends = [(self.phrases[subject], self.phrases[object_]) for subject, _, object_ in self.facts]
        return np.array(ends, np.intp).reshape(-1, 2)

    def contained(self) -> Floats:
        """Which passage contains which phrase: `(passages, phrases)`, ones."""
        passage, fact = self._statements()
        ends = self.ends()[fact]
        rows = np.concatenate([passage, passage])
        found = coo_array(
            (np.ones(len(rows)), (rows, ends.T.reshape(-1))), shape=(self.passages, len(self.phrases))
        ).tocsr()
        found.data[:] = 1.0
        return csr_array(found)

    def related(self) -> Floats:
        """How many statements relate two phrases, in either direction: `(phrases, phrases)`, symmetric."""
        _, fact = self._statements()
        subject, object_ = self.ends()[fact].T
        two = subject != object_
        subject, object_ = subject[two], object_[two]
        places = (np.concatenate([subject, object_]), np.concatenate([object_, subject]))
        size = len(self.phrases)
        return csr_array(coo_array((np.ones(len(places[0])), places), shape=(size, size)))

    def between_phrases(self) -> Floats:
        """The weights between phrases; see `HippoRAGSettings.edge_weights`."""
        long = [sum(map(str.isalnum, phrase)) >= _LEAST_LETTERS for phrase in self.phrases]
        synonyms = self.synonyms.found(len(self.phrases), self.settings.synonyms, np.array(long, np.bool_))
        related = self.related()
        if self.settings.edge_weights == "added":
            return csr_array(related + synonyms.maximum(synonyms.T))
        taken = related.multiply(synonyms.astype(np.bool_))
        directed = related - taken + synonyms
        weights = csr_array(directed + directed.T)
        weights.eliminate_zeros()
        return weights

    def diffusion(self, contained: Floats) -> Diffusion:
        """The whole graph, ready to be walked; `contained` as above."""
        upper = hstack([csr_array((self.passages, self.passages)), contained])
        lower = hstack([contained.T, self.between_phrases()])
        return Diffusion(csr_array(vstack([upper, lower])))

    def _statements(self) -> tuple[Places, Places]:
        passage, fact = np.array(self.said, np.intp).reshape(-1, 2).T
        return passage, fact
