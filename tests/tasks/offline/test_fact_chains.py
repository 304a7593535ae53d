"""Chains of facts: what the curator keeps, what the selector puts first, and what the answerer makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory import tokens
from memory.prompts import rd_curate, rd_select
from memory.prompts.rd_curate import Asked, CurationReply
from memory.prompts.rd_select import Candidate
from memory.protocol import Recall
from tasks.models.offline.chat import OfflineChat
from tasks.prompts import answer as answering
from tests.memory.fake_models import session
from tests.memory.rdforget.fakes import FakeCurator, ask, system

FACTS = (
    "Mira Olsen is employed by Acme Works.",
    "Acme Works is located in the city of Lund.",
    "Jo Ek is employed by Beryl Mills.",
    "Mira Olsen is married to Jo Ek.",
    "The mayor of Lund is Bo Dahl.",
    "Beryl Mills is located in the city of Vey.",
    "Mira Olsen is employed by Beryl Mills.",
    "Beryl Mills is located in the city of Brae.",
    "The mayor of Brae is Ada Lind.",
)
WHERE = "In which city is the employer of Mira Olsen located?"
frames = OfflineChat("frames")
chain = OfflineChat("chain")


def numbered(*facts: str) -> list[str]:
    return [f"{number}. {fact}" for number, fact in enumerate(facts)]


def curated(lines: list[str], question: str | None, **changes: Any) -> CurationReply:
    asked = None if question is None else Asked(question)
    request = rd_curate.request(
        [(f"L{place}", line) for place, line in enumerate(lines, 1)], asked, **changes
    )
    return rd_curate.read(frames.complete(request.task, request.inputs))


def said(facts: list[rd_curate.FactReply]) -> list[str]:
    return [fact.source for fact in facts]


def told(question: str, context: str) -> str:
    request = answering.request(question, context, profile="published", question_date=None)
    return chain.complete(request.task, request.inputs)


def offline(request: Any) -> str:
    return frames.complete(request.task, request.inputs)


def recalled(profile: str, question: str, *facts: str, **changes: Any) -> Recall:
    memory = system(FakeCurator(offline, offline), profile, **changes)
    memory.remember(session(*numbered(*facts), date=None), {})
    return memory.recall(ask(question))


def test_the_chain_is_the_newest_fact_of_each_hop_beside_what_it_replaced() -> None:
    found = curated(numbered(*FACTS), WHERE)
    assert said(found.active) == ["L7", "L8"]
    assert said(found.replaced) == ["L1", "L6"]
    assert [fact.slot for fact in found.active] == [
        "mira olsen|_ is employed by _|",
        "beryl mills|_ is located in the city of _|",
    ]
    assert [fact.slot for fact in found.replaced] == [fact.slot for fact in found.active]
    assert found.active[0].statement == "Mira Olsen is employed by Beryl Mills."


def test_the_employer_s_city_is_another_slot_and_stays_when_the_employer_changes() -> None:
    found = curated(numbered(*FACTS), "In which city is Acme Works located?")
    assert (said(found.active), said(found.replaced)) == (["L2"], [])


def test_a_larger_number_is_newer_wherever_its_line_stands() -> None:
    lines = ["5. Mira is employed by Beryl Mills.", "2. Mira is employed by Acme Works."]
    found = curated(lines, "Who is Mira employed by?")
    assert (said(found.active), said(found.replaced)) == (["L1"], ["L2"])


def test_the_same_value_again_replaces_nothing() -> None:
    found = curated(
        numbered("Jo lives in Vey.", "Jo lives in Brae.", "Jo lives in Brae."), "Where does Jo live?"
    )
    assert (said(found.active), said(found.replaced)) == (["L3"], ["L1"])


@pytest.mark.parametrize(
    ("question", "sources"),
    [
        ("Who is the spouse of Mira Olsen?", ["L4"]),
        ("Which company does the husband of Mira Olsen work for?", ["L3", "L4"]),
        (
            "Who is the mayor of the city where the company that employs Mira Olsen is located?",
            ["L7", "L8", "L9"],
        ),
        ("In what city does the partner of Mira Olsen have their employer?", ["L3", "L4", "L8"]),
    ],
)
def test_a_question_is_followed_hop_by_hop_in_other_words_than_the_facts_have(
    question: str, sources: list[str]
) -> None:
    assert said(curated(numbered(*FACTS), question).active) == sources


def test_a_hop_that_the_question_leaves_out_is_taken() -> None:
    facts = (
        "Vey Rovers is associated with the sport of bandy.",
        "bandy was created in the country of Sorrel.",
    )
    found = curated(numbered(*facts), "From which country does Vey Rovers originate?")
    assert said(found.active) == ["L1", "L2"]


def test_direct_evidence_is_what_the_question_names_without_the_rest_of_its_chain() -> None:
    found = curated(numbered(*FACTS), WHERE, closure=False)
    assert (said(found.active), said(found.replaced)) == (["L7"], ["L1"])


def test_without_a_question_every_slot_is_kept() -> None:
    found = curated(numbered(*FACTS), None, max_tokens=8_192)
    assert said(found.active) == ["L2", "L3", "L4", "L5", "L7", "L8", "L9"]
    assert said(found.replaced) == ["L1", "L6"]


@pytest.mark.parametrize("cap", [40, 100, 200, 300])
def test_a_reply_keeps_its_cap_and_without_a_question_leaves_out_the_oldest(cap: int) -> None:
    request = rd_curate.request(
        [(f"L{n}", line) for n, line in enumerate(numbered(*FACTS))], None, max_tokens=cap
    )
    reply = offline(request)
    assert tokens.count(reply) <= cap
    kept = said(rd_curate.read(reply).active)
    whole = ["L1", "L2", "L3", "L4", "L6", "L7", "L8"]
    assert kept == whole[len(whole) - len(kept) :]


def test_a_fact_that_no_frame_fits_stays_in_a_slot_of_its_own() -> None:
    found = curated(numbered("Rain again", "Jo lives in Vey.", "Snow again"), None)
    assert said(found.active) == ["L1", "L2", "L3"]
    assert len({fact.slot for fact in found.active}) == 3


def test_of_a_subject_that_no_relation_of_the_question_fits_all_is_kept() -> None:
    found = curated(numbered(*FACTS), "Jo Ek?")
    assert said(found.active) == ["L3"]
    assert curated(numbered(*FACTS), "Who is Nobody Known?") == CurationReply()


def test_the_selector_puts_the_chain_first_hop_by_hop_then_what_it_replaced_then_shared_words() -> None:
    entries = [
        Candidate("e1", "active", "", "Mira Olsen owns a boat."),
        Candidate("e2", "active", "", "Beryl Mills is located in the city of Brae."),
        Candidate("e3", "active", "", "Mira Olsen is employed by Beryl Mills."),
        Candidate("e4", "superseded", "", "Mira Olsen is employed by Acme Works.", "e3"),
        Candidate("e5", "active", "", "Rain falls on Vey."),
    ]
    request = rd_select.request(entries, Asked(WHERE))
    assert rd_select.read(offline(request)) == ["e3", "e2", "e4", "e1"]


def test_where_active_entries_disagree_the_selector_keeps_all_and_follows_each() -> None:
    entries = [
        Candidate("e1", "active", "", "Mira Olsen is employed by Beryl Mills."),
        Candidate("e2", "active", "", "Mira Olsen is employed by Acme Works."),
        Candidate("e3", "active", "", "Acme Works is located in the city of Lund."),
        Candidate("e4", "active", "", "Beryl Mills is located in the city of Brae."),
    ]
    assert rd_select.read(offline(rd_select.request(entries, Asked(WHERE)))) == ["e1", "e2", "e4", "e3"]


def test_a_selection_keeps_its_cap() -> None:
    entries = [Candidate(f"e{n}", "active", "", f"Mira owns boat {n}.") for n in range(200)]
    reply = offline(rd_select.request(entries, Asked("Which boats does Mira own?"), max_tokens=256))
    assert tokens.count(reply) <= 256
    assert rd_select.read(reply)[:3] == ["e0", "e1", "e2"]


def test_of_numbered_facts_the_highest_number_shown_holds_and_the_one_below_it_did_before() -> None:
    shown = "\n\n---\n\n".join(reversed(numbered(*FACTS)))
    assert told(WHERE, shown) == "Brae"
    assert told("Who is Mira Olsen employed by?", shown) == "Beryl Mills"
    assert told("Who was Mira Olsen employed by before?", shown) == "Acme Works"


def test_a_memory_s_superseded_entries_answer_only_what_is_asked_of_the_past() -> None:
    shown = "\n".join(
        [
            "[e2 superseded] Mira Olsen is employed by Acme Works.",
            "[e1 active] Mira Olsen is employed by Beryl Mills.",
        ]
    )
    assert told("Who is Mira Olsen employed by?", shown) == "Beryl Mills"
    assert told("Who was Mira Olsen employed by before?", shown) == "Acme Works"


def test_between_active_entries_that_disagree_the_answerer_draws_without_regard_to_their_order() -> None:
    answers = []
    for n in range(200):
        entries = [
            f"[e1 active] Mira {n} is employed by Acme.",
            f"[e2 active] Mira {n} is employed by Beryl.",
        ]
        question = f"Who is Mira {n} employed by?"
        answers.append(told(question, "\n".join(entries)))
        assert told(question, "\n".join(reversed(entries))) == answers[-1]
    assert 75 <= answers.count("Acme") <= 125  # a fair coin is out of this once in 3,000 times


@pytest.mark.parametrize(
    "context",
    [
        "",
        "Mira: I adopted a grey parrot named Bosun. It is loud.",
        "[e1 active] Mira: I adopted a grey parrot named Bosun.",
        "1. I adopted a parrot.\n\n---\n\n1. Which parrot is it?",
        "[e1 active] Nothing that a frame fits",
    ],
)
def test_what_is_no_list_of_facts_is_answered_as_the_extractive_model_answers(context: str) -> None:
    request = answering.request(
        "What is Mira's parrot called?", context, profile="improved", question_date=None
    )
    extractive = OfflineChat("extractive").complete(request.task, request.inputs)
    assert chain.complete(request.task, request.inputs) == extractive


def test_in_rd_forget_a_question_about_the_past_rescues_the_former_employer() -> None:
    question = "Which company was Mira Olsen employed by before?"
    full, without = (recalled(profile, question, *FACTS) for profile in ("published", "no_rescue"))
    assert "[e2 superseded] Mira Olsen is employed by Acme Works." in full.context
    assert told(question, full.context) == "Acme Works"
    assert full.flags.count("archive_rescue") == 1
    assert told(question, without.context) == "Beryl Mills"


def test_in_rd_forget_a_question_about_a_change_shows_both_states() -> None:
    found = recalled("published", "How has the employer of Mira Olsen changed?", *FACTS)
    assert "Beryl Mills." in found.context
    assert "Acme Works." in found.context


def test_without_forgetting_or_slots_the_former_fact_is_shown_as_if_it_held() -> None:
    for profile in ("no_forget", "no_slot"):
        shown = recalled(profile, WHERE, *FACTS).context
        assert "active] Mira Olsen is employed by Acme Works." in shown
    assert "Acme Works" not in recalled("published", WHERE, *FACTS).context


def test_a_chain_is_lost_where_it_crosses_chunks_that_no_curator_sees_together() -> None:
    assert told(WHERE, recalled("published", WHERE, *FACTS).context) == "Brae"
    assert "Brae" not in recalled("published", WHERE, *FACTS, chunk_tokens=1).context


def test_an_offline_model_that_cannot_curate_names_the_one_that_can() -> None:
    with pytest.raises(
        ValueError, match="noun-phrases does not do the task rd_curate; choose offline:frames or a"
    ):
        OfflineChat("noun-phrases").complete("rd_curate", {})


said_lines = st.one_of(
    st.text(max_size=60),
    st.just("|" * 1_000),
    st.builds(
        lambda name, text: f"{name}: {text}", st.sampled_from(["Ann", "", "[2023-05-08] Bob"]), st.text()
    ),
)
numbers = st.one_of(st.integers(0, 20), st.integers(0, 10**30))
stated = st.one_of(st.sampled_from([*FACTS, "", "|", "||||"]), st.text(max_size=30))
listed = st.dictionaries(numbers, stated, max_size=12).map(
    lambda facts: [f"{n}. {t}" for n, t in facts.items()]
)
sources = st.one_of(st.lists(said_lines, max_size=12), listed)
questions = st.one_of(st.none(), st.text(max_size=60), st.sampled_from([WHERE, "Where does Jo Ek work?"]))


@example(["0. "], None, True, 100)
@given(sources, questions, st.booleans(), st.sampled_from([16, 100, 4_096]))
def test_whatever_is_curated_the_reply_is_read_names_given_lines_alone_and_keeps_its_cap(
    texts: list[str], question: str | None, closure: bool, cap: int
) -> None:
    given_lines = [(f"L{place}", text) for place, text in enumerate(texts, 1)]
    asked = None if question is None else Asked(question)
    reply = offline(rd_curate.request(given_lines, asked, closure=closure, max_tokens=cap))
    found = rd_curate.read(reply)
    names = {name for name, _ in given_lines}
    assert all(fact.source in names and fact.statement for fact in (*found.active, *found.replaced))
    assert {fact.slot for fact in found.replaced} <= {fact.slot for fact in found.active}
    assert tokens.count(reply) <= cap


@given(st.lists(st.text(max_size=40), max_size=8), st.text(max_size=40))
def test_whatever_is_shown_the_selector_names_given_entries_and_the_answerer_answers(
    statements: list[str], question: str
) -> None:
    entries = [Candidate(f"e{place}", "active", "", text) for place, text in enumerate(statements)]
    chosen = rd_select.read(offline(rd_select.request(entries, Asked(question))))
    assert set(chosen) <= {entry.id for entry in entries}
    assert answering.read(told(question or "?", "\n".join(entry.line() for entry in entries)))
