import hashlib
import json
from collections import Counter
from datetime import UTC, datetime

import pytest

from memory.errors import BadInput
from tasks.benchmarks import load
from tasks.benchmarks.longmemeval import load as load_file


@pytest.mark.parametrize("name", ["rows.json", "rows.json.gz", "rows.jsonl", "rows.jsonl.gz"])
def test_all_four_kinds_of_file_load_alike(row, written, name):
    loaded = load_file(written([row("q1"), row("q2_abs", answer=3)], name))
    assert [question.id for question in loaded.questions] == ["q1", "q2_abs"]
    assert list(loaded.histories) == ["q1", "q2_abs"]
    history = loaded.histories["q1"]
    assert [turn.id for turn in history.turns] == ["q1#0.0", "q1#0.1", "q1#1.0"]
    assert [turn.text for turn in history.turns] == ["My dog Rex is ill.", "I am sorry.", "It rains."]
    assert [turn.speaker for turn in history.turns] == ["user", "assistant", "user"]
    assert history.sessions[0].date == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)
    assert loaded.benchmark == "longmemeval-s"


def test_the_hash_is_of_the_uncompressed_bytes(row, written):
    rows = [row()]
    expected = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    assert load_file(written(rows, "a.json")).sha256 == expected
    assert load_file(written(rows, "a.json.gz")).sha256 == expected


def test_evidence_is_the_turns_that_have_the_answer_and_their_sessions(row, written):
    (question,) = load_file(written([row()])).questions
    assert question.evidence == ("q1#0.0",)
    assert question.evidence_sessions == (0,)
    assert question.unresolved_evidence == ()
    assert question.date == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert not question.abstention


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl"])
@pytest.mark.parametrize(
    ("answer", "expected"), [("Rex", ("Rex", "str")), (3, ("3", "int")), (2.5, ("2.5", "float"))]
)
def test_a_reference_is_text_and_its_kind_is_kept(row, written, answer, expected, name):
    (question,) = load_file(written([row(answer=answer)], name)).questions
    assert (question.reference, question.reference_kind) == expected


def test_an_id_that_ends_in_abs_expects_abstention(row, written):
    assert [q.abstention for q in load_file(written([row("q1_abs"), row("abs_q2")])).questions] == [
        True,
        False,
    ]


def test_a_session_twice_in_one_history_is_kept_twice_with_its_own_dates(row, written):
    again = row(haystack_session_ids=["gold", "gold"])
    loaded = load_file(written([again], "longmemeval_oracle.json"))
    first, second = loaded.histories["q1"].sessions
    assert first.id == second.id and first.date != second.date
    assert loaded.questions[0].evidence_sessions == (0, 1)
    assert "histories that hold a session twice: 1" in loaded.notes


def test_turns_of_other_roles_are_left_out_and_counted_and_positions_stay(row, written):
    sessions = row()["haystack_sessions"]
    sessions[0].insert(0, {"role": "system", "content": "Be kind.", "has_answer": True})
    loaded = load_file(written([row(haystack_sessions=sessions)]))
    assert [turn.id for turn in loaded.histories["q1"].turns] == ["q1#0.1", "q1#0.2", "q1#1.0"]
    assert loaded.questions[0].evidence == ("q1#0.1",)
    assert loaded.questions[0].unresolved_evidence == ("q1#0.0",)
    assert "turns of role 'system' left out: 1" in loaded.notes


def test_blank_turns_are_kept_and_counted(row, written):
    sessions = row()["haystack_sessions"]
    sessions[1][0]["content"] = " \n"
    loaded = load_file(written([row(haystack_sessions=sessions)]))
    assert loaded.histories["q1"].turns[2].text == " \n"
    assert "blank turns: 1" in loaded.notes


def test_an_answer_session_that_is_missing_is_unresolved(row, written):
    (question,) = load_file(written([row(answer_session_ids=["gold", "lost"])])).questions
    assert question.evidence_sessions == (0,)
    assert question.unresolved_evidence == ("lost",)


def test_equal_texts_are_one_object(row, written):
    loaded = load_file(written([row("q1"), row("q2")]))
    one, two = (loaded.histories[name].turns[0].text for name in ("q1", "q2"))
    assert one is two


def test_a_file_of_the_other_part_is_refused(row, written):
    oracle = row(
        haystack_dates=["2023/05/20 (Sat) 02:21"],
        haystack_session_ids=["gold"],
        haystack_sessions=row()["haystack_sessions"][:1],
    )
    with pytest.raises(BadInput, match="longmemeval-s, not of longmemeval-oracle"):
        load("longmemeval-oracle", written([row()]))
    with pytest.raises(BadInput, match="longmemeval-oracle, not of longmemeval-s"):
        load("longmemeval-s", written([oracle]))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"haystack_dates": ["2023/05/20 (Sat) 02:21"]}, "2 session ids, 1 dates, 2 sessions"),
        ({"haystack_sessions": [[]]}, "2 session ids, 2 dates, 1 sessions"),
        ({"haystack_dates": ["2023/05/20 (Sat) 02:21", "soon"]}, "haystack_dates.1: 'soon' is not a date"),
        ({"question_date": ""}, "question_date: '' is not a date"),
        ({"question_date": "2023/05/30 (Mon) 23:40"}, "that day is a Tue"),
        ({"question_type": "riddle"}, "question_type: .*found 'riddle'"),
        ({"answer": None}, "answer.*found None"),
        ({"answer": True}, "answer.*found True"),
        ({"answer": " "}, "answer.*found ' '"),
        (
            {"haystack_sessions": [[{"role": "user", "content": 5}], []]},
            "haystack_sessions.0.0.content.*found 5",
        ),
        ({"haystack_sessions": {}}, "haystack_sessions: .*list"),
        ({"haystack_sessions": [], "haystack_dates": [], "haystack_session_ids": []}, "haystack_sessions"),
    ],
)
@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl"])
def test_a_faulty_row_is_named_with_file_place_question_and_value(row, written, changed, message, name):
    path = written([row("good"), row("bad", **changed)], name)
    with pytest.raises(BadInput, match=message) as caught:
        load_file(path)
    place = "line 2" if name == "rows.jsonl" else "row 2"
    assert str(caught.value).startswith(f"{path}: {place} (question 'bad')")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "key", ["question_id", "question", "answer", "haystack_sessions", "answer_session_ids"]
)
def test_a_missing_key_is_named(row, written, key):
    broken = row()
    del broken[key]
    with pytest.raises(BadInput, match=f"{key}.*[Ff]ield required"):
        load_file(written([broken]))


def test_a_question_id_twice_is_refused(row, written):
    with pytest.raises(BadInput, match=r"row 3 .*'q1'.*twice"):
        load_file(written([row("q1"), row("q2"), row("q1")]))


def test_the_real_oracle_file_holds_what_is_published(data):
    loaded = load("longmemeval-oracle", data)
    sessions = [session for history in loaded.histories.values() for session in history.sessions]
    assert loaded.variant == "LongMemEval oracle, cleaned release"
    assert len(loaded.questions) == len(loaded.histories) == 500
    assert len(sessions) == 948
    assert len({session.id for session in sessions}) == 940
    assert sum(len(session.turns) for session in sessions) == 10_960
    assert sum(len(question.evidence) for question in loaded.questions) == 896
    assert Counter(question.type for question in loaded.questions) == {
        "temporal-reasoning": 133,
        "multi-session": 133,
        "knowledge-update": 78,
        "single-session-user": 70,
        "single-session-assistant": 56,
        "single-session-preference": 30,
    }
    assert Counter(question.reference_kind for question in loaded.questions) == {"str": 468, "int": 32}
    assert sum(question.abstention for question in loaded.questions) == 30
    assert all(question.abstention for question in loaded.questions if not question.evidence)
    assert max(len(turn.text) for session in sessions for turn in session.turns) == 5_425
    assert loaded.notes == (
        "histories not in order of time: 34",
        "questions without an evidence turn: 21",
        "reference answers that are not text: 32",
    )


def test_the_real_s_file_holds_what_is_published(data):
    loaded = load("longmemeval-s", data)
    sessions = [session for history in loaded.histories.values() for session in history.sessions]
    assert loaded.variant == "LongMemEval S, cleaned release, without gpt4_7a0daae1"
    assert len(loaded.questions) == 499
    assert "gpt4_7a0daae1" not in loaded.histories
    assert len(sessions) == 23_806
    assert len({session.id for session in sessions}) == 19_167
    assert sum(len(session.turns) for session in sessions) == 246_189
    assert max(len(turn.text) for session in sessions for turn in session.turns) == 76_560
    twice = [session for session in loaded.histories["58bf7951"].sessions if session.id == "07b7a667_1"]
    assert len(twice) == 2 and twice[0].date != twice[1].date
    assert [turn.text for turn in twice[0].turns] == [turn.text for turn in twice[1].turns]
    assert loaded.notes == (
        "histories that hold a session twice: 13",
        "histories not in order of time: 210",
        "blank turns: 12",
        "questions without an evidence turn: 21",
        "reference answers that are not text: 32",
    )
