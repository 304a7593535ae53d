from collections import Counter
from datetime import UTC, datetime

import pytest

from memory.errors import BadInput
from tasks.benchmarks import load
from tasks.benchmarks.locomo import load as load_file


def asked(category=4, evidence=("D1:1",), **other):
    return {"question": "Where?", "category": category, "evidence": list(evidence)} | other


def test_sessions_turns_speakers_and_captions_are_read(conversation, written):
    loaded = load_file(written([conversation()]), "locomo")
    first, second = loaded.histories["conv-1"].sessions
    assert (first.id, first.position, second.id) == ("session_1", 0, "session_2")
    assert first.date == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert [turn.id for turn in second.turns] == ["conv-1#1.0", "conv-1#1.1"]
    assert [(turn.role, turn.speaker) for turn in second.turns] == [("assistant", "Bo"), ("user", "Ann")]
    assert first.turns[0].caption is None
    assert first.turns[1].spoken == "Bo: Look! [a red boat]"
    assert "session dates without a session: 1" in loaded.notes


def test_sessions_follow_their_numbers_not_the_order_of_keys(conversation, written):
    row = conversation()
    talk = row["conversation"]
    late = {"session_10": talk.pop("session_2"), "session_10_date_time": talk["session_2_date_time"]}
    row["conversation"] = late | talk
    loaded = load_file(written([row]), "locomo")
    assert [session.id for session in loaded.histories["conv-1"].sessions] == ["session_1", "session_10"]


@pytest.mark.parametrize(
    ("category", "name"), [(1, "multi-hop"), (2, "temporal"), (3, "open-domain"), (4, "single-hop")]
)
def test_category_numbers_have_fixed_names(conversation, written, category, name):
    (question,) = load_file(written([conversation(qa=[asked(category, answer="x")])]), "locomo").questions
    assert question.type == name


def test_adversarial_questions_are_asked_only_on_request_and_never_expect_the_distractor(
    conversation, written
):
    path = written(
        [
            conversation(
                qa=[
                    asked(5, adversarial_answer="Norway"),
                    asked(5, adversarial_answer="Yes", answer="No"),
                    asked(answer=2022),
                ]
            )
        ]
    )
    answerable, adversarial = load_file(path, "locomo"), load_file(path, "locomo-adversarial")
    assert [question.id for question in answerable.questions] == ["conv-1:2"]
    assert (answerable.questions[0].reference, answerable.questions[0].reference_kind) == ("2022", "int")
    assert "adversarial questions left out: 2" in answerable.notes
    assert [question.id for question in adversarial.questions] == ["conv-1:0", "conv-1:1"]
    assert all(question.abstention and question.reference == "" for question in adversarial.questions)
    assert {question.reference_kind for question in adversarial.questions} == {"none"}
    assert "Norway" not in repr(adversarial)


def test_questions_without_an_answer_are_left_out_and_counted(conversation, written):
    qa = [asked(answer="x"), asked(answer="  "), asked()]
    loaded = load_file(written([conversation(qa=qa)]), "locomo")
    assert [question.id for question in loaded.questions] == ["conv-1:0"]
    assert "questions without an answer left out: 2" in loaded.notes


@pytest.mark.parametrize(
    ("references", "turns", "unresolved"),
    [
        (["D1:1"], ["0.0"], []),
        (["D2:1", "D1:1", "D2:1"], ["0.0", "1.0"], []),
        (["D1:2; D2:1"], ["0.1", "1.0"], []),
        (["D1:2 D2:1 D2:2"], ["0.1", "1.0", "1.1"], []),
        (["D2:01"], ["1.0"], []),
        (["D:2:2"], ["1.1"], []),
        (["D"], [], ["D"]),
        (["D1:1", "D", "D1:9"], ["0.0"], ["D", "D1:9"]),
        (["D1:1 D7:1"], ["0.0"], ["D1:1 D7:1"]),
        ([""], [], [""]),
        (["D1:1:2", "1:1", "D-1:1"], [], ["D1:1:2", "1:1", "D-1:1"]),
        ([], [], []),
    ],
)
def test_evidence_is_resolved_where_one_reading_is_possible(
    conversation, written, references, turns, unresolved
):
    qa = [asked(evidence=references, answer="x")]
    (question,) = load_file(written([conversation(qa=qa)]), "locomo").questions
    assert question.evidence == tuple(f"conv-1#{turn}" for turn in turns)
    assert question.unresolved_evidence == tuple(unresolved)
    assert question.evidence_sessions == tuple(sorted({int(turn[0]) for turn in turns}))


def test_evidence_is_looked_up_in_its_own_conversation(conversation, written):
    other = conversation("conv-2", session_1=[{"speaker": "Bo", "dia_id": "D1:7", "text": "Hi"}])
    loaded = load_file(written([conversation(), other]), "locomo")
    assert [question.evidence for question in loaded.questions] == [("conv-1#0.0",), ()]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"session_2_date_time": "last week"}, "session_2_date_time: 'last week' is not a date"),
        ({"session_4": []}, "session_4: date_time.*found None"),
        ({"session_1": "gone"}, "session_1: turns.*found 'gone'"),
        ({"session_1": [{"speaker": "Cy", "dia_id": "D1:1", "text": ""}]}, "session_1.0: 'Cy' is no speaker"),
        (
            {"session_1": [{"speaker": "Bo", "dia_id": "D2:1", "text": ""}]},
            "session_2.0: dia_id 'D2:1' recurs",
        ),
        ({"session_1": [{"speaker": "Bo", "dia_id": "D1:1"}]}, "session_1: turns.0.text: Field required"),
        ({"speaker_a": None}, "speaker_a.*found None"),
    ],
)
def test_a_faulty_conversation_is_named_with_file_place_and_value(conversation, written, changed, message):
    path = written([conversation(), conversation("conv-2", **changed)])
    with pytest.raises(BadInput, match=message) as caught:
        load_file(path, "locomo")
    assert str(caught.value).startswith(f"{path}: row 2 ('conv-2')")


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (asked(6, answer="x"), "qa.0.category.*found 6"),
        (asked("4", answer="x"), "qa.0.category.*found '4'"),
        (asked(answer=["x"]), "qa.0.answer"),
        ({"category": 4, "answer": "x"}, "qa.0.question: Field required"),
        (asked(evidence=[3], answer="x"), "qa.0.evidence.0.*found 3"),
    ],
)
def test_a_faulty_question_is_named(conversation, written, question, message):
    with pytest.raises(BadInput, match=message):
        load_file(written([conversation(qa=[question])]), "locomo")


def test_files_without_sessions_or_questions_or_with_a_conversation_twice_are_refused(conversation, written):
    with pytest.raises(BadInput, match="no key session_1"):
        load_file(written([{"sample_id": "x", "conversation": {}, "qa": []}]), "locomo")
    with pytest.raises(BadInput, match="no question of the benchmark locomo"):
        load_file(written([conversation(qa=[])]), "locomo")
    with pytest.raises(BadInput, match=r"row 2 .*twice"):
        load_file(written([conversation(), conversation()]), "locomo")


def test_the_real_file_holds_what_is_published(data):
    loaded = load("locomo", data)
    turns = [turn for history in loaded.histories.values() for turn in history.turns]
    assert loaded.variant == "LoCoMo, locomo10.json, categories 1 to 4"
    assert len(loaded.histories) == 10
    assert sum(len(history.sessions) for history in loaded.histories.values()) == 272
    assert len(turns) == 5_882
    assert sum(turn.caption is not None for turn in turns) == 1_226
    assert Counter(question.type for question in loaded.questions) == {
        "multi-hop": 282,
        "temporal": 321,
        "open-domain": 96,
        "single-hop": 841,
    }
    assert Counter(question.reference_kind for question in loaded.questions) == {"str": 1_534, "int": 6}
    assert len(loaded.histories["conv-26"].sessions) == 19
    assert all(history.by_date() == history.sessions for history in loaded.histories.values())
    assert len({question.id for question in loaded.questions}) == 1_540


def test_of_the_nine_real_references_that_match_no_turn_six_are_repaired_and_three_stay_unresolved(data):
    loaded = load("locomo", data)
    assert "evidence references that match a turn only after repair: 6" in loaded.notes
    assert "evidence references that match no turn: 3" in loaded.notes
    assert "questions that name no evidence: 4" in loaded.notes
    unresolved = {q.id: q.unresolved_evidence for q in loaded.questions if q.unresolved_evidence}
    # D10 and D4 of these conversations have fewer turns; a bare D names none.
    assert unresolved == {"conv-42:58": ("D10:19",), "conv-42:88": ("D",), "conv-47:38": ("D4:36",)}
    evidence = {question.id: question.evidence for question in loaded.questions}
    assert evidence["conv-26:37"] == ("conv-26#7.5", "conv-26#8.16")
    assert "conv-43#10.25" in evidence["conv-43:18"]
    assert evidence["conv-50:69"] == ("conv-50#29.4",)
    assert evidence["conv-49:31"] == ("conv-49#3.3", "conv-49#3.5", "conv-49#8.0")
    assert sum(bool(turns) for turns in evidence.values()) == 1_536


def test_the_real_adversarial_questions_all_expect_abstention(data):
    loaded = load("locomo-adversarial", data)
    assert len(loaded.questions) == 446
    assert all(question.abstention and not question.reference for question in loaded.questions)
