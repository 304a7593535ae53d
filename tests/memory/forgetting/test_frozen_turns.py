"""Under a mask frozen turns are ranked as a vector index ranks them once the others are really removed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from memory.forgetting import frozen_turns
from memory.forgetting.frozen_turns import FrozenTurns
from memory.forgetting.ragged import Ragged
from memory.vectors import VectorIndex

DIMENSIONS = 3
# Few directions: many equal vectors, so that ties are met; zeros are turns without a vector.
directions = st.tuples(*[st.integers(-1, 1)] * DIMENSIONS)
quick = budget(max_examples=100, deadline=None)


def units(rows):
    wide = np.array(rows, np.float64).reshape(-1, DIMENSIONS)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.divide(wide, norms, out=np.zeros_like(wide), where=norms > 0).astype(np.float32)


def ranked_by_removal(vectors, allowed, query, ranked):
    """Turn numbers by rank, from an index in which only the allowed turns are left."""
    index, turns = VectorIndex(DIMENSIONS), []
    for turn, vector in enumerate(vectors):
        if vector.any():
            index.add(vector)
            turns.append(turn)
    index.remove([row for row, turn in enumerate(turns) if not allowed[turn]])
    return [turns[row] for row in index.nearest(query, ranked)[0]] if query.any() else []


@quick
@given(st.lists(directions, min_size=1, max_size=20), st.lists(directions, min_size=1, max_size=4), st.data())
def test_a_mask_ranks_turns_as_removing_the_others_would(rows, asked, data):
    vectors, queries = units(rows), units(asked)
    everything = [*range(len(vectors)), -1]
    evidence = Ragged.of([everything] * len(queries))
    namespaces = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows))))
    of_question = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(asked), max_size=len(asked))))
    ranked = data.draw(st.sampled_from([1, 3, 50]))
    apart = data.draw(st.booleans())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frozen_turns, "BLOCK", data.draw(st.sampled_from([1, 4, 8_192])))
        own = {"namespaces": namespaces, "asked": of_question} if apart else {}
        frozen = FrozenTurns.of(vectors, queries, evidence, **own, ranked=ranked)
    for _ in range(3):
        live = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
        ranks = frozen.ranks(live)
        for i, query in enumerate(queries):
            allowed = live & (namespaces == of_question[i]) if apart else live
            order = ranked_by_removal(vectors, allowed, query, ranked)
            places = {turn: rank for rank, turn in enumerate(order, start=1)}
            assert ranks[evidence.starts[i] : evidence.starts[i + 1]].tolist() == [
                places.get(turn, 0) for turn in everything
            ]
        assert frozen.survives(live).tolist() == [*live, False] * len(queries)


def test_forgetting_what_stands_before_it_moves_a_turn_up():
    vectors = units([(1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 1, 0)])
    frozen = FrozenTurns.of(vectors, units([(1, 0, 0)]), Ragged.of([[2, 3]]))
    assert frozen.ranks(np.ones(4, bool)).tolist() == [3, 4]
    assert frozen.ranks(np.array([False, True, True, True])).tolist() == [2, 3]
    assert frozen.ranks(np.array([True, True, False, True])).tolist() == [0, 3]


def test_a_mask_of_another_length_and_a_lone_namespace_are_refused():
    vectors = units([(1, 0, 0)])
    frozen = FrozenTurns.of(vectors, vectors, Ragged.of([[0]]))
    with pytest.raises(ValueError, match="over 1 turns"):
        frozen.ranks(np.ones(2, bool))
    with pytest.raises(ValueError, match="go together"):
        FrozenTurns.of(vectors, vectors, Ragged.of([[0]]), asked=np.zeros(1, np.int64))
