"""One's own conversations: what a line means, what is refused and in which words, and that nothing is lost."""

import gzip
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import BadInput
from tasks.benchmarks import files_of, find, load
from tasks.benchmarks.limits import limit
from tasks.benchmarks.own import OwnQuestion, OwnTurn
from tasks.benchmarks.validate import validate

ANN = [
    {"text": "I moved to Ghent.", "speaker": "Ann", "date": "2024-05-01T23:30-02:00", "id": "moved"},
    {"text": "Nice!", "speaker": "Bob", "date": "2024-05-02"},
    {"text": "", "speaker": "Ann", "date": "2024-05-02"},
    {"text": "Look", "speaker": "Cy", "date": "2024-05-03", "caption": "a dog"},
]


@pytest.fixture
def folder(tmp_path):
    """Writes the files of a folder of conversations."""

    def write(turns, questions=None):
        for name, lines in (("turns", turns), ("questions", questions)):
            if lines is not None:
                text = "".join(json.dumps(line) + "\n" for line in lines)
                (tmp_path / f"{name}.jsonl").write_text(text)
        return tmp_path

    return write


def refused(folder):
    with pytest.raises(BadInput) as fault:
        load("own", folder)
    assert "\n" not in str(fault.value)
    return str(fault.value).removeprefix(f"{folder}/")


def test_lines_become_turns_of_sessions_of_histories(folder):
    found = load("own", folder([*ANN, {"text": "Hi", "role": "assistant", "history": "other"}]))
    assert list(found.histories) == ["own", "other"]
    first, second = found.histories["own"].sessions
    assert (first.id, first.date) == ("2024-05-02", datetime(2024, 5, 2, 1, 30, tzinfo=UTC))
    assert [(turn.id, turn.role, turn.speaker, turn.text) for turn in first.turns] == [
        ("own#0.0", "user", "Ann", "I moved to Ghent."),
        ("own#0.1", "assistant", "Bob", "Nice!"),
        ("own#0.2", "user", "Ann", ""),
    ]
    assert [(turn.id, turn.role, turn.caption) for turn in second.turns] == [
        ("own#1.0", "assistant", "a dog")
    ]
    (lonely,) = found.histories["other"].sessions
    assert (lonely.id, lonely.date, lonely.turns[0].speaker) == ("1", None, "assistant")
    assert found.variant == "own conversations, without questions"
    assert found.notes == ("blank turns: 1",)


def test_questions_name_their_evidence_by_the_turns_own_ids_or_by_those_of_the_tables(folder):
    questions = [
        {"question": "Where?", "reference": "Ghent", "evidence": ["own#1.0", "moved"], "date": "2024-06-01"},
        {"question": "How many?", "reference": 3, "type": "count", "id": 7},
        {"question": "Why?"},
    ]
    where, many, why = load("own", folder(ANN, questions)).questions
    assert (where.id, where.history, where.type, where.reference) == ("1", "own", "own", "Ghent")
    assert (where.evidence, where.evidence_sessions) == (("own#0.0", "own#1.0"), (0, 1))
    assert where.date == datetime(2024, 6, 1, tzinfo=UTC)
    assert (many.id, many.type, many.reference, many.reference_kind) == ("7", "count", "3", "int")
    assert (why.id, why.reference, why.reference_kind, why.can_be_judged) == ("3", "", "none", False)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({"text": "a"}, "turns.jsonl: line 2: neither speaker nor role; say who speaks"),
        ({"text": 1, "role": "user"}, "turns.jsonl: line 2: text: Input should be a valid string, found 1"),
        ({"role": "user"}, "turns.jsonl: line 2: text: Field required"),
        ({"text": "a", "role": "system"}, "turns.jsonl: line 2: role: Input should be 'user' or 'assistant'"),
        ({"text": "a", "speaker": " "}, "turns.jsonl: line 2: speaker: String should match pattern"),
        ({"text": "a", "speaker": True}, "turns.jsonl: line 2: speaker: Input should be a valid string"),
        ({"text": "a", "role": "user", "history": "h" * 201}, "turns.jsonl: line 2: history: String should have at"),
        ({"text": "a", "role": "user", "capt": "b"}, "turns.jsonl: line 2: 'capt': no such field; there are text, sp"),
        ({"text": "a", "role": "user", "date": "1 May"}, "turns.jsonl: line 2: date: '1 May' is not a date (a date l"),
        ({"text": "a", "role": "user", "date": "2024-02-30"}, "turns.jsonl: line 2: date: '2024-02-30' is not a date"),
        ({"text": "a", "role": "user", "date": "0001-01-01T00:00+14:00"}, "turns.jsonl: line 2: date: '0001-01-01T00"),
        ({"text": "a", "role": "user", "date": "9999-01-01"}, "turns.jsonl: line 2: date: '9999-01-01' is not a date"),
        ({"text": "a", "role": "user", "id": "moved"}, "turns.jsonl: line 2: id 'moved' recurs in its history"),
        (["a"], "turns.jsonl: line 2: the row: Input should be a valid dictionary"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_used_is_told_with_file_line_and_field(folder, line, fault):
    assert refused(folder([ANN[0], line])).startswith(fault)


@pytest.mark.parametrize(
    ("question", "fault"),
    [
        ({"question": " "}, "questions.jsonl: line 1: question: String should match pattern"),
        ({"question": "a", "history": "x"}, "questions.jsonl: line 1: history: there is none called 'x'"),
        ({"question": "a", "evidence": ["own#0.9"]}, "questions.jsonl: line 1: evidence: 'own#0.9' is no turn of"),
        ({"question": "a", "evidence": "moved"}, "questions.jsonl: line 1: evidence: Input should be"),
        ({"question": "a", "reference": ""}, "questions.jsonl: line 1: reference.constrained-str: String should match"),
        ({"question": "a", "answer": "b"}, "questions.jsonl: line 1: 'answer': no such field; there are question"),
        ({"question": "a", "date": "May"}, "questions.jsonl: line 1: date: 'May' is not a date"),
    ],
)  # fmt: skip
def test_a_question_that_cannot_be_used_is_told_likewise(folder, question, fault):
    assert refused(folder(ANN, [question])).startswith(fault)


def test_ids_of_questions_differ_and_name_their_history_where_there_are_several(folder):
    assert "line 2: id '2' recurs" in refused(folder(ANN, [{"question": "a", "id": 2}, {"question": "b"}]))
    two = [{"text": "a", "role": "user", "history": name} for name in "ab"]
    assert "line 1: history: needed, because there are 2 histories" in refused(
        folder(two, [{"question": "a"}])
    )


def test_a_session_that_goes_on_after_another_began_is_refused(folder):
    lines = [{"text": "a", "role": "user", "session": name} for name in ("s", "t", "s")]
    assert refused(folder(lines)).startswith(
        "turns.jsonl: line 3: session 's' goes on after another of its history"
    )


def test_a_turn_without_a_date_is_of_the_session_of_the_turn_before(folder):
    dates = (None, "2024-05-01", None, "2024-05-01", "2024-05-02", None)
    lines = [{"text": "a", "role": "user", **({"date": date} if date else {})} for date in dates]
    (history,) = load("own", folder(lines)).histories.values()
    assert [(s.id, len(s.turns)) for s in history.sessions] == [
        ("1", 1),
        ("2024-05-01", 3),
        ("2024-05-02", 2),
    ]


def test_lines_of_several_histories_may_alternate(folder):
    lines = [
        {"text": text, "role": "user", "history": name} for text, name in zip("abcd", "xyxy", strict=True)
    ]
    found = load("own", folder(lines)).histories
    assert {name: [turn.text for turn in history.turns] for name, history in found.items()} == {
        "x": ["a", "c"],
        "y": ["b", "d"],
    }


@pytest.mark.parametrize("content", ["", "\n \n", "text\n", "\ufefftext", "[]"])
def test_a_file_without_lines_is_refused_with_a_remedy(tmp_path, content):
    (tmp_path / "turns.jsonl").write_text(content)
    assert "palimpsest convert makes them" in refused(tmp_path)


def test_what_is_no_json_and_what_is_no_utf8_is_told_with_its_line(tmp_path):
    (tmp_path / "turns.jsonl").write_text('{"text": "a", "role": "user"}\n{"text": \n')
    assert refused(tmp_path).startswith("turns.jsonl: line 2: not JSON")
    (tmp_path / "turns.jsonl").write_bytes(b'{"text": "\xff", "role": "user"}\n')
    assert refused(tmp_path).startswith("turns.jsonl: line 1: not JSON")


def test_a_byte_order_mark_other_line_ends_and_gzip_change_nothing(folder, tmp_path):
    plain = load("own", folder(ANN))
    text = (tmp_path / "turns.jsonl").read_text()
    other = tmp_path / "other"
    other.mkdir()
    for name, data in (
        ("turns.jsonl", b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()),
        ("turns.jsonl.gz", gzip.compress(text.encode())),
    ):
        (other / name).write_bytes(data)
        assert load("own", other).histories == plain.histories
        (other / name).unlink()


def test_a_line_of_megabytes_is_a_turn(folder):
    (turn,) = load("own", folder([{"text": "x" * 5_000_000, "role": "user"}])).histories["own"].turns
    assert len(turn.text) == 5_000_000


def test_either_file_changes_the_hash_and_both_are_watched(folder):
    turns = folder(ANN)
    without = load("own", turns)
    assert files_of("own", turns) == [turns / "turns.jsonl"]
    with_questions = load("own", folder(ANN, [{"question": "Where?"}]))
    assert files_of("own", turns) == [turns / "turns.jsonl", turns / "questions.jsonl"]
    others = load("own", folder(ANN, [{"question": "Who?"}]))
    assert len({without.sha256, with_questions.sha256, others.sha256}) == 3


def test_dates_that_give_no_order_are_noted(folder):
    lines = [
        {"text": "a", "role": "user", "session": "s", "date": "2024-05-02"},
        {"text": "b", "role": "user", "session": "s", "date": "2024-05-03"},
        {"text": "c", "role": "user", "session": "t", "date": "2024-05-01"},
        {"text": "d", "role": "user", "session": "u"},
    ]
    assert load("own", folder(lines)).notes == (
        "histories of which some sessions have no date: heard in file order: 1",
        "histories not in order of time: 1",
        "sessions over several days: dated by their first turn: 1",
    )


def test_a_folder_or_a_file_of_turns_is_validated(folder):
    path = folder(ANN, [{"question": "Where?"}])
    report = validate(path)
    assert (report.benchmark, report.turns, report.questions) == ("own", 4, {"own": 1})
    assert validate(path / "turns.jsonl") == report
    (path / "questions.jsonl").unlink()
    assert "questions   0: none" in str(validate(path))


def test_a_sample_of_no_questions_is_refused(folder):
    with pytest.raises(BadInput, match="the conversations have none; leave the limit out"):
        limit(load("own", folder(ANN)), 3, 0)


def test_without_data_there_is_nothing_to_fetch(tmp_path):
    with pytest.raises(BadInput, match=r"give --data FILE_OR_DIR$"):
        find("own", None)
    with pytest.raises(BadInput, match=r"no file of benchmark own; looked for turns.jsonl"):
        find("own", tmp_path)


any_text = st.text(max_size=30)  # no half characters: no file can hold them
ids = st.text(min_size=1, max_size=12).filter(str.strip)
histories = st.dictionaries(
    ids,
    st.dictionaries(ids, st.lists(st.tuples(ids, any_text), min_size=1, max_size=3), min_size=1, max_size=3),
    min_size=1,
    max_size=3,
)


@settings(max_examples=40, deadline=None)
@given(told=histories)
def test_whatever_is_said_by_whomever_comes_back_as_it_was(tmp_path_factory, told):
    folder = tmp_path_factory.mktemp("own")
    lines = [
        OwnTurn(history=history, session=session, speaker=speaker, text=text)
        for history, sessions in told.items()
        for session, turns in sessions.items()
        for speaker, text in turns
    ]
    (folder / "turns.jsonl").write_text("".join(line.model_dump_json() + "\n" for line in lines), "utf-8")
    question = OwnQuestion(question="?", history=next(iter(told)))
    (folder / "questions.jsonl").write_text(question.model_dump_json(), "utf-8")
    found = load("own", folder)
    assert {
        name: {s.id: [(turn.speaker, turn.text) for turn in s.turns] for s in history.sessions}
        for name, history in found.histories.items()
    } == told
    turns = [turn.id for history in found.histories.values() for turn in history.turns]
    assert len(set(turns)) == len(lines)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=5,
)
fields = st.sampled_from([*OwnTurn.model_fields, "other"])


@settings(max_examples=100, deadline=None)
@given(line=st.dictionaries(fields, json_values, max_size=6) | json_values)
def test_any_line_is_read_or_refused_in_one_line(tmp_path_factory, line):
    path = tmp_path_factory.mktemp("own") / "turns.jsonl"
    path.write_text(json.dumps(line))
    try:
        assert len(load("own", path).histories) == 1
    except BadInput as fault:
        assert str(fault).startswith(str(path))
        assert "\n" not in str(fault)
