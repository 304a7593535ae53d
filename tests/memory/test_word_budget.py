"""How many words a context of turns may have: best first, ended before the first turn that does not fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.conversation import Query
from memory.systems import find
from tests.memory.fake_models import MAY, models, session

QUERY = Query("q", "h", "kayak", None)
RULE = "---"


def heard(system: str, *texts: str, **changes: object):
    made = find(system)
    memory = made(made.Settings(**{**made.profiles["tuned"], **changes}), models())
    memory.remember(session(*texts), {})
    return memory


def shown(memory, words: int | None) -> list[str]:
    [recall] = memory.recall_within(QUERY, [words])
    parts = [part.strip() for part in recall.context.split(RULE)] if recall.context else []
    assert len(parts) == recall.items
    return parts


@pytest.mark.parametrize("system", ["bm25", "flat"])
def test_the_tuned_profile_shows_a_thousand_words_of_dated_turns(system: str) -> None:
    memory = heard(system, *(f"kayak {number} " + "row " * 96 for number in range(15)))
    [recall] = [memory.recall(QUERY)]
    parts = recall.context.split(RULE)
    sizes = {len(part.split()) for part in parts}
    assert len(sizes) == 1, "all turns are equally long here"
    assert len(parts) == 1000 // sizes.pop()
    assert all(f"[{MAY.date().isoformat()}]" in part for part in parts)


def test_a_turn_that_does_not_fit_ends_the_context_though_a_later_one_would_fit() -> None:
    # BM25 ranks short turns with the word before longer ones.
    memory = heard(
        "bm25", "kayak", "kayak one two", "kayak " + "filler " * 30, "kayak " + "more " * 40, "tent"
    )
    ranked = shown(memory, None)[:4]
    sizes = [len(part.split()) for part in ranked]
    assert sizes == sorted(sizes)
    first_two = sum(sizes[:2])
    assert shown(memory, first_two) == ranked[:2]
    assert shown(memory, first_two + sizes[2] - 1) == ranked[:2], "the short turn without the word would fit"
    assert shown(memory, first_two + sizes[2]) == ranked[:3]


def test_where_the_best_turn_does_not_fit_nothing_is_shown() -> None:
    memory = heard("bm25", "kayak " + "filler " * 30, "tent")
    assert shown(memory, 10) == []
    [recall] = memory.recall_within(QUERY, [10])
    assert recall.stands_on == ()
    assert len(recall.provenance) == 2


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.integers(1, 120))
def test_a_context_is_the_longest_run_of_the_ranking_that_fits(sizes: list[int], words: int) -> None:
    for system in ("bm25", "flat"):
        memory = heard(
            system, *(f"kayak{number} kayak " + "row " * size for number, size in enumerate(sizes)), k=99
        )
        everything = shown(memory, None)
        kept = shown(memory, words)
        assert kept == everything[: len(kept)]
        assert sum(len(part.split()) for part in kept) <= words
        if len(kept) < len(everything):
            assert sum(len(part.split()) for part in everything[: len(kept) + 1]) > words
