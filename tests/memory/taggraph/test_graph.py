"""The graph of notes and tags: what a question reaches in it, computed by hand."""

from __future__ import annotations

from datetime import date
from math import log

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.prompts.five_ws import SLOTS
from memory.taggraph.notes import Note
from memory.taggraph.settings import OPEN, TAGGRAPH_PROFILES, TagGraphSettings, sweep
from tests.memory.taggraph.fakes import by_tag, graph, note, words

# The chain piano - n0 - ilse - n1 - cellar - n2 - trier.
CHAIN = (
    note(0, who=["Ilse"], what=["piano"]),
    note(1, who=["Ilse"], what=["cellar"]),
    note(0, session=1, what=["cellar"], where=["Trier"]),
)
PIANO = log(1 + 3 / 1)
"""What the seed `piano` weighs: one of three notes has it."""


def of_chain(**changes: object) -> list[float]:
    made = graph(CHAIN, **changes)
    return list(made.traversed(made.seeds(words("piano"))))


def test_the_first_hop_gives_a_note_the_seeds_of_its_tags() -> None:
    assert of_chain(hops=1) == pytest.approx([PIANO, 0, 0])


def test_a_further_hop_parts_a_note_among_its_tags_and_a_tag_among_its_notes() -> None:
    # n0 gives half to piano, which has no other note, and half to ilse, which gives half of that to n0 and n1 each.
    second = np.array([1 / 2 + 1 / 4, 1 / 4, 0])
    assert of_chain(hops=2, decay=0.5) == pytest.approx(PIANO * (np.array([1, 0, 0]) + second / 2))
    # piano returns 3/8 to n0; ilse holds 3/8 + 1/8 and parts it; cellar holds 1/8 and parts it between n1 and n2.
    third = np.array([3 / 8 + 1 / 4, 1 / 4 + 1 / 16, 1 / 16])
    expected = PIANO * (np.array([1, 0, 0]) + second / 2 + third / 4)
    assert of_chain(hops=3, decay=0.5) == pytest.approx(expected)


def test_a_chronological_edge_takes_its_share_of_a_note_to_the_next_of_the_session() -> None:
    # n0 has three edges of weight 1: to piano, to ilse, to n1.
    second = np.array([1 / 3 + 1 / 6, 1 / 6 + 1 / 3, 0])
    found = of_chain(hops=2, decay=0.5, chronological="session", chronological_weight=1.0)
    assert found == pytest.approx(PIANO * (np.array([1, 0, 0]) + second / 2))


def test_edges_of_the_history_join_sessions_as_well() -> None:
    counts = [graph(CHAIN, chronological=how).edges for how in ("none", "session", "history")]
    assert counts == [6, 7, 8]


def test_only_the_best_notes_of_a_hop_are_walked_on_from() -> None:
    notes = (
        note(0, what=["piano", "organ"], who=["Ilse"]),
        note(1, what=["piano"], where=["Trier"]),
        note(2, who=["Ilse"]),
        note(3, where=["Trier"]),
    )
    made = graph(notes, hops=2, frontier=1)
    found = made.traversed(made.seeds(words("piano", "organ")))
    assert found[2] > 0 and found[3] == 0
    wider = graph(notes, hops=2, frontier=2)
    assert wider.traversed(wider.seeds(words("piano", "organ")))[3] > 0


def test_personalized_pagerank_of_the_chain_with_damping_one_half() -> None:
    # Solved from the far end: trier 1, n2 4, cellar 14, n1 52, ilse 194, n0 724, piano 1351, of 2340.
    made = graph(CHAIN, damping=0.5, tolerance=1e-14)
    found = made.diffused(made.seeds(words("piano")))
    assert found == pytest.approx(np.array([724, 52, 4]) / 2340, abs=1e-12)


def test_a_score_is_traversal_and_diffusion_each_with_one_as_its_greatest() -> None:
    made = graph(CHAIN, hops=1, ppr_share=0.25, tolerance=1e-14)
    found = made.scores(made.seeds(words("piano")))
    assert found == pytest.approx([1.0, 0.25 * 52 / 724, 0.25 * 4 / 724])


def test_diffusion_over_chronological_edges_is_that_of_networkx() -> None:
    made = graph(CHAIN, chronological="history", chronological_weight=0.3, damping=0.7, tolerance=1e-13)
    same = nx.Graph()
    for place, held in enumerate(CHAIN):
        for slot, tags in held.tags.items():
            same.add_edges_from((place, (slot, tag.lower())) for tag in tags)
    nx.set_edge_attributes(same, 1.0, "weight")
    same.add_weighted_edges_from([(0, 1, 0.3), (1, 2, 0.3)])
    start = {("what", "piano"): 1.0}
    ranks = nx.pagerank(same, alpha=0.7, personalization=start, tol=1e-13, max_iter=1000)
    found = made.diffused(made.seeds(words("piano")))
    assert found == pytest.approx([ranks[0], ranks[1], ranks[2]], abs=1e-10)


def test_a_tag_is_seeded_by_the_share_of_its_words_and_by_how_few_notes_have_it() -> None:
    notes = (
        note(0, what=["oak table"]),
        note(1, what=["oak table", "table"]),
        note(2, what=["oak wood stain"]),
    )
    made = graph(notes)
    found = by_tag(made, made.seeds(words("oak")))
    assert found == pytest.approx(
        {("what", "oak table"): 0.5 * log(1 + 3 / 2)}
    )  # one word of three is too few
    made = graph(notes, least_overlap=0.3)
    found = by_tag(made, made.seeds(words("oak")))
    assert found[("what", "oak wood stain")] == pytest.approx(log(1 + 3 / 1) / 3)
    made = graph(notes, least_overlap=1.0)
    assert by_tag(made, made.seeds(words("oak"))) == {}


def test_with_the_rarity_of_words_a_match_of_two_is_worth_both() -> None:
    notes = (note(0, what=["oak table"]), note(1, what=["table"]), note(2, what=["oak wood stain"]))
    made = graph(notes, rarity="words")
    found = by_tag(made, made.seeds(words("oak", "table")))
    each = log(1 + 3 / 2)  # two of three notes have either word
    assert found == pytest.approx({("what", "oak table"): 2 * each, ("what", "table"): each})


def test_tags_of_another_slot_are_matched_only_where_the_question_asks_for_them() -> None:
    made = graph([note(0, who=["May"]), note(1, when=["May"], day=None)])
    assert set(by_tag(made, made.seeds({"when": frozenset({"may"})}))) == {("when", "may")}
    assert len(by_tag(made, made.seeds(words("may")))) == 2


def test_a_time_is_found_as_it_was_said_by_its_day_and_by_its_month() -> None:
    made = graph([note(0, when=["yesterday"]), note(1, when=["last month"])])
    assert {value for _, value in made.tags} == {
        ("yesterday",),
        ("2023-05-19",),
        ("2023-05",),
        ("last", "month"),
        ("2023-04",),
    }


def test_slots_that_are_not_walked_have_no_tags_and_weights_count_in_the_others() -> None:
    assert {slot for slot, _ in graph(CHAIN, slots=("where",)).tags} == {"where"}
    made = graph(CHAIN, slot_weights={"what": 3.0}, hops=1)
    assert made.traversed(made.seeds(words("piano", "trier"))) == pytest.approx([3 * PIANO, 0, PIANO])


def test_what_nothing_matches_scores_nothing_in_any_profile() -> None:
    for profile in TAGGRAPH_PROFILES.values():
        made = graph(CHAIN, **profile)
        assert not made.scores(made.seeds(words("submarine"))).any()


_VALUES = st.lists(st.sampled_from(["a", "b", "c d", "d", "e f g", "|", "last week"]), max_size=4)
_NOTES = st.lists(
    st.builds(
        lambda tags, session: (tags, session),
        st.fixed_dictionaries(dict.fromkeys(SLOTS, _VALUES)),
        st.integers(0, 2),
    ),
    max_size=8,
)


@given(_NOTES, st.sets(st.sampled_from("abcdefg")), st.sampled_from(sorted(TAGGRAPH_PROFILES)))
def test_scores_are_finite_and_never_negative_and_every_note_with_a_matched_tag_has_one(
    drawn: list[tuple[dict[str, list[str]], int]], asked: set[str], profile: str
) -> None:
    notes: list[Note] = [note(place, session, **tags) for place, (tags, session) in enumerate(drawn)]
    made = graph(notes, **{**TAGGRAPH_PROFILES[profile], "normalisation": "casefold"})
    seeds = made.seeds(words(*asked))
    scores = made.scores(seeds)
    assert scores.shape == (len(notes),)
    assert np.isfinite(scores).all() and (scores >= 0).all()
    seeded = {tag for tag, row in made.tags.items() if seeds[row] > 0}
    for place, held in enumerate(notes):
        own = {(slot, tuple(value.split())) for slot in held.tags for value in held.values(slot)}
        if own & seeded:
            assert scores[place] > 0


def test_a_sweep_changes_one_open_constant_at_a_time_and_leaves_out_what_the_profile_has_or_does_not_use() -> (
    None
):
    changes = dict(sweep("adaptive"))
    assert all(len(change) == 1 for change in changes.values())
    for change in changes.values():
        TagGraphSettings(**{**TAGGRAPH_PROFILES["adaptive"], **change})
    assert {field for change in changes.values() for field in change} == set(OPEN)
    assert not {"damping", "chronological", "ppr_share"} & {
        f for c in dict(sweep("localized")).values() for f in c
    }
    assert list(sweep("notes_bm25")) == []


def test_an_undated_note_keeps_its_times_as_they_were_said() -> None:
    assert note(0, when=["yesterday"], day=None).values("when") == ["yesterday"]
    assert note(0, when=["in 2019"], day=date(2023, 1, 1)).values("when") == ["in 2019", "2019"]
