"""The common base graph of notes and tags, and the two ways in which a question is answered over it.

Nodes are notes and tags; a tag is a value of a slot. An edge joins a note to each of its tags, and, where the settings
say so, to the note after it. The graph is made of the notes when it is needed and never changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import block_array, csr_array

from memory.diffusion import Diffusion, Doubles
from memory.ranking import best_first
from memory.taggraph.notes import Note
from memory.taggraph.settings import TagGraphSettings
from memory.taggraph.vocabulary import Vocabulary, Words

Tag = tuple[str, Words]
"""A slot, and the words of a value."""
Matrix = csr_array[np.float64]


class TagGraph:
    """The graph of some notes.

    Attributes:
        tags: Row of each tag.
    """

    def __init__(self, notes: Sequence[Note], settings: TagGraphSettings, vocabulary: Vocabulary) -> None:
        self._settings = settings
        self.tags: dict[Tag, int] = {}
        tagged = self._tag_edges(notes, vocabulary)
        self._to_tags = _matrix(tagged, (len(notes), len(self.tags)))
        self._to_notes: Matrix = csr_array(self._to_tags.T)
        self._next = _matrix(self._chronological_edges(notes), (len(notes), len(notes)))
        self._by_word: dict[str, list[int]] = {}
        for (_, words), row in self.tags.items():
            for word in set(words):
                self._by_word.setdefault(word, []).append(row)
        self._slot_of = [slot for slot, _ in self.tags]
        self._length = np.array([len(set(words)) for _, words in self.tags], np.float64)
        self._rarity = _rarity(len(notes), np.diff(self._to_notes.indptr))
        self._word_rarity = self._word_rarities(len(notes))
        self._note_total = _sums(self._to_tags) + _sums(self._next)
        self._tag_total = _sums(self._to_notes)
        self._diffusion: Diffusion | None = None

    def _tag_edges(self, notes: Sequence[Note], vocabulary: Vocabulary) -> dict[tuple[int, int], float]:
        edges: dict[tuple[int, int], float] = {}
        for position, note in enumerate(notes):
            for slot in self._settings.slots:
                weight = self._settings.slot_weights.get(slot, 1.0)
                for value in note.values(slot):
                    if words := vocabulary.words(value):
                        tag = self.tags.setdefault((slot, words), len(self.tags))
                        edges[position, tag] = weight
        return edges

    def _chronological_edges(self, notes: Sequence[Note]) -> dict[tuple[int, int], float]:
        """Both directions of each edge between a note and the next."""
        how, weight = self._settings.chronological, self._settings.chronological_weight
        edges: dict[tuple[int, int], float] = {}
        if how != "none":
            for here, (note, after) in enumerate(pairwise(notes)):
                if how == "history" or note.session == after.session:
                    edges[here, here + 1] = edges[here + 1, here] = weight
        return edges

    def _word_rarities(self, notes: int) -> dict[str, float]:
        """How rare each word is, by the notes that have it in any tag."""
        if self._settings.rarity == "tag":
            return {}
        bounds, holding = self._to_notes.indptr, self._to_notes.indices
        found = {}
        for word, rows in self._by_word.items():
            count = len(set().union(*(holding[bounds[row] : bounds[row + 1]].tolist() for row in rows)))
            found[word] = float(_rarity(notes, np.array(count)))
        return found

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return int(self._to_tags.nnz + self._next.nnz // 2)

    def seeds(self, asked: Mapping[str, frozenset[str]]) -> Doubles:
        """`(tags,)`: how well each tag is matched by a question, times how rare what is matched is.

        Args:
            asked: The question's words for tags of each slot. A tag is matched by the share of its words that are
                among them, from `least_overlap` on.
        """
        held = np.zeros(len(self.tags))
        worth = np.zeros(len(self.tags))
        for word in sorted(frozenset().union(*asked.values())):
            rows = [row for row in self._by_word.get(word, ()) if word in asked.get(self._slot_of[row], ())]
            held[rows] += 1.0
            worth[rows] += self._word_rarity.get(word, 0.0)
        share = held / self._length
        share[share < self._settings.least_overlap] = 0.0
        return share * (self._rarity if self._settings.rarity == "tag" else worth)

    def scores(self, seeds: Doubles) -> Doubles:
        """`(notes,)`: traversal and diffusion from the seeds, in the shares that the settings say."""
        share = self._settings.ppr_share
        if not seeds.any():
            return np.zeros(len(self._note_total))
        found = (1.0 - share) * _scaled(self.traversed(seeds)) if share < 1.0 else 0.0
        return np.asarray(found + share * _scaled(self.diffused(seeds)) if share else found, np.float64)

    def traversed(self, seeds: Doubles) -> Doubles:
        """`(notes,)`: what reaches each note in the settings' hops.

        In the first hop a note gets the seeds of its tags. In each further one, the best notes of the hop before part
        what they got among their edges by weight, and each tag passes its part on to its notes likewise; what comes of
        it counts `decay` times as much as the hop before.
        """
        found = _product(self._to_tags, seeds)
        total = found
        for hop in range(1, self._settings.hops):
            best = best_first(found, self._settings.frontier)
            best = best[found[best] > 0]
            parted = np.zeros_like(found)
            parted[best] = found[best] / self._note_total[best]
            at_tags = _product(self._to_notes, parted) / self._tag_total
            found = _product(self._to_tags, at_tags) + _product(self._next, parted)
            total = total + self._settings.decay**hop * found
        return total

    def diffused(self, seeds: Doubles) -> Doubles:
        """`(notes,)`: Personalized PageRank of the notes, with the seeds as places to start again."""
        notes = len(self._note_total)
        if self._diffusion is None:
            self._diffusion = _diffusion(self._to_tags, self._to_notes, self._next)
        start = np.concatenate([np.zeros(notes), seeds])
        settings = self._settings
        ranks = self._diffusion.rank(start, damping=settings.damping, tolerance=settings.tolerance)
        return ranks[:notes]


def _rarity(notes: int, having: npt.NDArray[np.integer]) -> Doubles:
    """How rare it is that a note has something: log 2 for what all have, and more for what fewer have."""
    return np.asarray(np.log(1.0 + notes / np.maximum(having, 1)), np.float64)


def _matrix(edges: Mapping[tuple[int, int], float], shape: tuple[int, int]) -> Matrix:
    ends = np.array(list(edges), np.int64).reshape(-1, 2).T
    weights = np.fromiter(edges.values(), np.float64, len(edges))
    return csr_array((weights, (ends[0], ends[1])), shape=shape)


def _diffusion(to_tags: Matrix, to_notes: Matrix, after: Matrix) -> Diffusion:
    return Diffusion(csr_array(block_array([[after, to_tags], [to_notes, None]], format="csr")))


def _product(matrix: Matrix, vector: Doubles) -> Doubles:
    return np.asarray(matrix @ vector, np.float64)


def _sums(matrix: Matrix) -> Doubles:
    return np.asarray(matrix.sum(axis=1), np.float64).ravel()


def _scaled(values: npt.NDArray[np.float64]) -> Doubles:
    greatest = float(values.max(initial=0.0))
    return values / greatest if greatest else values
