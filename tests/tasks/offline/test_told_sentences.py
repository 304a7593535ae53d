"""The offline curator over conversations: which sentences it keeps, and which replaced which."""

from __future__ import annotations

from memory.prompts import rd_curate
from memory.prompts.rd_curate import Asked, CurationReply
from tasks.models.offline.chat import OfflineChat

LINES = (
    ("L1", "[2023-03-04] Ann: My rent is 900 euros a month. The flat is in Norwich."),
    ("L2", "[2023-03-04] Bob: My rent is 700 euros a month. Do you like the flat?"),
    ("L3", "[2023-05-01] Ann: I adopted a parrot. My rent is 950 euros a month."),
    ("L4", "[2023-05-02] Ann: The weather was mild."),
)
RENT = "How much rent does Ann pay a month?"


def curated(question: str | None, *, closure: bool = True) -> CurationReply:
    request = rd_curate.request(LINES, None if question is None else Asked(question), closure=closure)
    return rd_curate.read(OfflineChat("frames").complete(request.task, request.inputs))


def test_a_later_sentence_that_differs_in_its_values_alone_replaces_the_same_speaker_s_earlier_one() -> None:
    found = curated(RENT)
    assert ("Ann: My rent is 950 euros a month.", "2023-05-01") in [
        (fact.statement, fact.validity) for fact in found.active
    ]
    [former] = found.replaced
    assert (former.statement, former.source) == ("Ann: My rent is 900 euros a month.", "L1")
    assert "Bob: My rent is 700 euros a month." in [fact.statement for fact in found.active]


def test_only_sentences_with_words_of_the_question_are_kept_and_questions_tell_nothing() -> None:
    assert [fact.source for fact in curated("Where is the flat?").active] == ["L1"]
    assert curated("What about volcanoes?") == CurationReply()


def test_direct_evidence_leaves_out_what_shares_little_with_the_question() -> None:
    question = "When did Ann adopt the parrot, when she paid a rent?"
    whole, direct = (
        {fact.statement for fact in curated(question, closure=closure).active} for closure in (True, False)
    )
    assert "Ann: I adopted a parrot." in direct
    assert direct < whole


def test_without_a_question_every_sentence_that_tells_something_is_kept_once() -> None:
    found = curated(None)
    assert [fact.source for fact in found.active] == ["L1", "L2", "L3", "L3", "L4"]
    assert [fact.source for fact in found.replaced] == ["L1"]
    assert len({fact.slot for fact in found.active}) == len(found.active)
