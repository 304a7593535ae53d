"""The system `taggraph`: what it asks, how its arms rank turns, and what it does when replies fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory.conversation import Query, Session, Turn
from memory.errors import BadInput, CallFailed, CallRefused
from memory.models import ChatRequest, Reply
from memory.prompts.five_ws import SLOTS
from memory.protocol import Models
from memory.systems.taggraph import TagGraphMemory
from memory.taggraph.settings import TAGGRAPH_PROFILES, TagGraphSettings
from tests.memory.fake_models import MAY, FakeHashEmbedder, session
from tests.memory.taggraph.fakes import reply

ARMS = ("localized", "chronological", "ppr", "adaptive", "notes_bm25", "improved")

NOTES = {
    "We moved the piano on Friday.": reply(who=["Ann"], what=["piano"], when=["on Friday"]),
    "Good that it left the cellar.": reply(what=["piano", "cellar"]),
    "My sister bakes rye bread.": reply(who=["sister"], what=["rye bread"]),
    "In Trier?": reply(where=["Trier"]),
}
TEXTS = tuple(NOTES)


class Tagger:
    """A model that has a reply for each text, and for others none that is usable."""

    name = "fake:tagger"

    def __init__(self, replies: dict[str, str | CallFailed]) -> None:
        self.replies = replies
        self.requests: list[ChatRequest] = []

    def ask(self, request: ChatRequest, read: Callable[[str], Any]) -> Reply[Any]:
        self.requests.append(request)
        found = self.replies.get(request.inputs["text"], CallFailed("unusable", final=True))
        if isinstance(found, CallFailed):
            raise found
        return Reply(read(found), found, "call", 0, False, self.name)

    def ask_many(self, requests: Any, read: Callable[[str], Any]) -> list[Any]:
        found = []
        for request in requests:
            try:
                found.append(self.ask(request, read))
            except CallFailed as failed:
                found.append(failed)
        return found


def memory(profile: str = "localized", builder: Tagger | None = None, **changes: Any) -> TagGraphMemory:
    settings = TagGraphSettings(**{**TAGGRAPH_PROFILES[profile], **changes})
    chat = Tagger({"Where is the piano?": reply(what=["piano"]), "And in March?": reply(when=["in March"])})
    made = TagGraphMemory(settings, Models(chat, FakeHashEmbedder(), builder or Tagger(dict(NOTES))))
    made.remember(session(*TEXTS), {})
    return made


def asked(text: str = "Where is the piano?", date: datetime | None = None) -> Query:
    return Query("q", "h", text, date)


def ranked(made: TagGraphMemory, query: Query | None = None) -> list[str]:
    return [source.turn for source in made.recall(query or asked()).provenance]


def test_a_turn_is_asked_about_once_with_its_speaker_and_words_alone() -> None:
    builder = Tagger(dict(NOTES))
    memory(builder=builder)
    assert [dict(request.inputs) for request in builder.requests] == [
        {"speaker": ("Ann", "Bob")[place % 2], "text": text} for place, text in enumerate(TEXTS)
    ]


def test_all_arms_put_the_same_requests_so_that_none_is_bought_twice() -> None:
    requests = []
    for arm in ARMS:
        builder = Tagger(dict(NOTES))
        memory(arm, builder, drop=0.4, normalisation="none")
        requests.append(builder.requests)
    assert all(each == requests[0] for each in requests)


def test_blank_turns_are_not_asked_about_and_an_image_alone_says_something() -> None:
    builder = Tagger({})
    turns = (Turn("h#0.0", "user", "Ann", " "), Turn("h#0.1", "user", "Ann", "", caption="a red kite"))
    made = TagGraphMemory(TagGraphSettings(), Models(Tagger({}), FakeHashEmbedder(), builder))
    made.remember(Session("s", "h", 0, MAY, turns), {})
    assert ["a red kite" in request.inputs["text"] for request in builder.requests] == [True]
    assert [note.status for note in made.notes] == ["blank", "failed"]


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_ranks_all_turns_those_of_the_question_first(arm: str) -> None:
    made = memory(arm)
    recall = made.recall(asked())
    assert sorted(ranked(made)) == [f"h#0.{place}" for place in range(4)]
    assert set(ranked(made)[:2]) == {"h#0.0", "h#0.1"}
    scores = [source.score for source in recall.provenance]
    assert scores == sorted(scores, reverse=True)
    assert memory(arm, ranked=1, k=1).recall(asked()).items == 1


def test_bm25_asks_for_no_tags_of_the_question_and_the_graph_does_once() -> None:
    for arm, count in (("notes_bm25", 0), ("adaptive", 1)):
        made = memory(arm)
        made.recall(asked())
        assert isinstance(made.models.chat, Tagger)
        assert len(made.models.chat.requests) == count


def test_without_tags_of_the_question_its_words_are_matched() -> None:
    recall = memory().recall(asked("What of rye bread?"))
    assert recall.provenance[0].turn == "h#0.2"
    assert recall.flags == ("query_failed",)


def test_a_time_that_is_asked_for_is_resolved_on_the_day_of_the_question() -> None:
    builder = Tagger({"a": reply(when=["on 3 March"]), "b": reply(when=["on 3 April"])})
    whole = TagGraphSettings(least_overlap=1.0)  # else "March" alone finds "3 March", of whatever year
    made = TagGraphMemory(whole, Models(memory().models.chat, FakeHashEmbedder(), builder))
    made.remember(session("b", "a"), {})
    recall = made.recall(asked("And in March?", datetime(2023, 6, 1, tzinfo=UTC)))
    assert recall.provenance[0].turn == "h#0.1" and recall.provenance[1].score == 0
    assert made.recall(asked("And in March?", datetime(2022, 6, 1, tzinfo=UTC))).flags == ("no_seeds",)


def test_what_nothing_matches_is_flagged_and_ranked_in_the_order_of_the_memory() -> None:
    made = memory()
    recall = made.recall(asked("Submarines?"))
    assert "no_seeds" in recall.flags
    assert ranked(made, asked("Submarines?")) == [f"h#0.{place}" for place in range(4)]


def test_a_note_without_a_usable_reply_is_empty_and_flagged() -> None:
    made = memory(builder=Tagger({TEXTS[0]: NOTES[TEXTS[0]]}))
    recall = made.recall(asked())
    assert [note.status for note in made.notes] == ["ok", "failed", "failed", "failed"]
    assert recall.provenance[0].turn == "h#0.0" and recall.flags == ("notes_failed",)


def test_a_fault_of_transport_keeps_memory_or_question_back() -> None:
    down = CallFailed("no route", final=False)
    with pytest.raises(CallFailed):
        memory(builder=Tagger({**NOTES, TEXTS[1]: down}))
    made = memory()
    made.models = Models(Tagger({"Where is the piano?": down}), FakeHashEmbedder(), Tagger({}))
    with pytest.raises(CallFailed):
        made.recall(asked())


def test_a_refusal_is_not_caught() -> None:
    class Refusing(Tagger):
        def ask(self, request: ChatRequest, read: Callable[[str], Any]) -> Reply[Any]:
            raise CallRefused("the budget is spent")

    with pytest.raises(CallRefused):
        memory(builder=Refusing({}))
    made = memory()
    made.models = Models(Refusing({}), FakeHashEmbedder(), Tagger({}))
    with pytest.raises(CallRefused):
        made.recall(asked())


def test_an_arm_whose_slots_are_hardly_filled_says_so() -> None:
    assert "slots_under_20" in memory(slots=["why"]).recall(asked()).flags
    assert "slots_under_20" not in memory(slots=["why", "where"]).recall(asked()).flags  # one note of four


def test_dropping_all_tags_leaves_nothing_to_match_and_what_was_extracted_is_kept() -> None:
    for arm in ARMS:
        made = memory(arm, drop=1.0)
        assert "no_seeds" in made.recall(asked()).flags
        assert made.notes == memory(arm).notes


@pytest.mark.parametrize("arm", ARMS)
def test_arms_come_back_from_one_anothers_tables_and_rank_as_if_they_had_built_them(arm: str) -> None:
    built = memory("localized")
    own = memory(arm)
    back = TagGraphMemory.from_tables(built.tables(), own.settings, own.models)
    for _ in range(2):
        assert back.recall(asked()) == own.recall(asked())
        assert back.size() == own.size()
        later = session("We moved the piano on Friday.", position=1, date=MAY + timedelta(days=2))
        back.remember(later, {})
        own.remember(later, {})
    assert {note.session for note in back.notes} == {0, 1, 2}


def test_a_table_without_notes_is_refused() -> None:
    made = memory()
    tables = {"notes": made.tables()["notes"].drop_columns(["why"])}
    with pytest.raises(BadInput, match="lacks the column why; build it again"):
        TagGraphMemory.from_tables(tables, made.settings, made.models)


def test_tags_from_the_conversation_are_data_whatever_they_hold() -> None:
    hostile = json.dumps(
        {slot: ["{0.__class__}", "a|b|c", "<script>", "\ud800", "%s", "../../x"] for slot in SLOTS}
    )
    for arm in ARMS:
        made = memory(arm, Tagger(dict.fromkeys(TEXTS, hostile)))
        back = TagGraphMemory.from_tables(made.tables(), made.settings, made.models)
        assert back.recall(asked()) == made.recall(asked())
