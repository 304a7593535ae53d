"""The benchmarks that RD-Forget is measured on: small files of their shapes, and the real files' counts."""

from __future__ import annotations

import io
import json
import tarfile
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadInput
from tasks.benchmarks import files_of, load
from tasks.benchmarks.ambtext import QUESTIONS
from tasks.benchmarks.validate import validate
from tasks.load import made, questions_of

CONTEXTS = "32k_context_chunks.json"


def facts(**changed):
    row = {
        "context": "Here is a list of facts:\n0. It rains.\n1. It snows.\n",
        "questions": ["What falls?"],
        "answers": [["snow", "It snows"]],
        "metadata": {"source": "factconsolidation_mh_6k"},
    }
    return row | changed


def option_texts(*texts):
    return json.dumps(list(texts))


def persona_row(**changed):
    return {
        "question_id": "q1",
        "question_type": "suggest_new_ideas",
        "user_question_or_message": "What shall I drink?",
        "correct_answer": "(b)",
        "all_options": option_texts("(a) Tea.", "(b) Milk."),
        "shared_context_id": "c1",
    } | changed


def chunk(number=0, content="[SYSTEM] Name: Ilse\n\n[USER] I like milk.\n\n[ASSISTANT] Good.", context="c1"):
    return {"id": f"{context}_{number}", "user_id": context, "content": content, "timestamp": None}


def chat(*batches):
    return [
        {"batch_number": number, "turns": [batch], "time_anchor": None}
        for number, batch in enumerate(batches, 1)
    ]


def message(number, role="user", **more):
    return {"role": role, "id": number, "content": f"message {number}", **more}


CHAT = chat(
    [message(0, time_anchor="March-15-2024"), message(1, "assistant")], [message(2), message(3, "assistant")]
)
PROBES = {
    "abstention": [{"question": "Why?", "ideal_response": "It is not said."}],
    "knowledge_update": [
        {"question": "When?", "answer": "May", "source_chat_ids": {"old": [0], "new": [[2, 9]]}}
    ],
}


@pytest.fixture
def archive(tmp_path):
    """Writes a tar archive of the files that are given."""

    def write(files, name="beam_100k.tar.gz"):
        path = tmp_path / name
        with tarfile.open(path, "w:gz") as tar:
            for file, content in files.items():
                raw = content if isinstance(content, bytes) else json.dumps(content).encode()
                member = tarfile.TarInfo(file)
                member.size = len(raw)
                tar.addfile(member, io.BytesIO(raw))
        return path

    return write


@pytest.fixture
def personas(written):
    def write(questions, chunks):
        written(chunks, CONTEXTS)
        return written(questions, "32k_questions.jsonl")

    return write


# --- MAB-FC ---


def test_a_numbered_fact_is_a_turn_that_keeps_its_number(written):
    found = load("mab-fc", written([facts()]))
    assert [turn.text for turn in found.histories["mh-6k"].turns] == ["0. It rains.", "1. It snows."]
    (question,) = found.questions
    assert (question.id, question.type, question.reference) == ("mh-6k:0", "multi-hop", "snow")
    assert question.accepted == ("snow", "It snows")


def test_each_source_is_found_by_its_name(written):
    rows = [facts(), facts(metadata={"source": "factconsolidation_sh_32k"}, questions=["And?"])]
    path = written(rows)
    assert load("mab-fc-sh-32k", path).questions[0].text == "And?"
    assert load("mab-fc-mh-6k", path).questions == load("mab-fc", path).questions
    with pytest.raises(
        BadInput, match="no source 'factconsolidation_sh_6k', only 'factconsolidation_mh_6k', "
    ):
        load("mab-fc-sh-6k", path)


def test_facts_stand_in_sessions_of_a_hundred(written):
    lines = "\n".join(f"{number}. Fact {number}." for number in range(250))
    sessions = load("mab-fc", written([facts(context=lines)])).histories["mh-6k"].sessions
    assert [len(session.turns) for session in sessions] == [100, 100, 50]
    assert sessions[2].turns[0].text == "200. Fact 200."


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"context": "Facts:\n0. A.\n2. B."}, "'2. B.' is not fact 1"),
        ({"context": "Facts:\n0. A.\nB."}, "'B.' is not fact 1"),
        ({"context": "Facts:\n"}, "holds no fact"),
        ({"answers": []}, "1 questions, 0 answers"),
        ({"answers": [[]]}, "answers.0"),
        ({"questions": [" "]}, "questions.0"),
    ],
)
def test_faults_of_fact_files_are_told(written, changed, fault):
    with pytest.raises(BadInput, match=fault):
        load("mab-fc", written([facts(**changed)]))


# --- BEAM ---


def test_a_batch_is_a_session_and_evidence_is_found_by_message_ids(archive):
    path = archive(
        {"100K/1/chat.json": CHAT, "100K/1/probing_questions.json": PROBES, "100K/1/topic.json": {}}
    )
    found = load("beam-100k", path)
    first, second = found.histories["beam-1"].sessions
    assert (first.date.isoformat(), second.date) == ("2024-03-15T00:00:00+00:00", None)
    assert [turn.role for turn in second.turns] == ["user", "assistant"]
    why, when = found.questions
    assert (why.id, why.abstention, why.reference) == ("beam-1:abstention:0", True, "It is not said.")
    assert when.evidence == ("beam-1#0.0", "beam-1#1.0")
    assert (when.evidence_sessions, when.unresolved_evidence) == ((0, 1), ("9",))
    assert validate(path).benchmark == "beam-100k"


def test_rd_forgets_part_leaves_out_the_first_ten_of_four_abilities(archive):
    updates = [{"question": f"{number}?", "answer": "yes"} for number in range(6)]
    files = {}
    for number in (10, 2):
        files[f"100K/{number}/chat.json"] = CHAT
        files[f"100K/{number}/probing_questions.json"] = {"knowledge_update": updates, "summarization": []}
    found = load("beam-100k-rd", archive(files))
    assert [q.id for q in found.questions] == ["beam-10:knowledge_update:4", "beam-10:knowledge_update:5"]
    assert "inferred" in found.variant


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({}, "holds no 100K/1/chat.json"),
        ({"../100K/1/chat.json": CHAT}, "holds no 100K/1/chat.json"),
        ({"100K/1/chat.json": CHAT}, "questions: Field required"),
        ({"100K/1/chat.json": b"[" * 100_000}, "chat.json: not JSON"),
        ({"100K/1/chat.json": b"\xff"}, "chat.json: not JSON"),
        (
            {"100K/1/chat.json": CHAT, "100K/1/probing_questions.json": {"magic": []}},
            "100K/1: questions.magic",
        ),
        (
            {
                "100K/1/chat.json": CHAT,
                "100K/1/probing_questions.json": {"abstention": [{"question": "Why?"}]},
            },
            "abstention 0: reference",
        ),
        (
            {"100K/1/chat.json": chat([message(0), message(0)]), "100K/1/probing_questions.json": PROBES},
            "message id 0 recurs",
        ),
        (
            {
                "100K/1/chat.json": chat([message(0, time_anchor="soon")]),
                "100K/1/probing_questions.json": PROBES,
            },
            "'soon' is not a date",
        ),
    ],
)
def test_faults_of_archives_are_told(archive, files, fault):
    with pytest.raises(BadInput, match=fault):
        load("beam-100k", archive(files))


def test_links_are_not_followed_and_what_is_no_archive_is_refused(tmp_path, written):
    path = tmp_path / "links.tar"
    with tarfile.open(path, "w") as tar:
        link = tarfile.TarInfo("100K/1/chat.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(BadInput, match="holds no 100K"):
        load("beam-100k", path)
    with pytest.raises(BadInput, match="not a tar archive"):
        load("beam-100k", written("[1]"))


@given(st.data())
def test_a_damaged_archive_ends_in_one_line(tmp_path_factory, data):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        member = tarfile.TarInfo("100K/1/chat.json")
        member.size = 2
        tar.addfile(member, io.BytesIO(b"[]"))
    spoilt = bytearray(raw.getvalue()[:1536])
    for _ in range(data.draw(st.integers(1, 4))):
        spoilt[data.draw(st.integers(0, len(spoilt) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("tar") / "beam.tar"
    path.write_bytes(spoilt)
    with pytest.raises(BadInput) as fault:
        load("beam-100k", path)
    assert len(str(fault.value).splitlines()) == 1


# --- PersonaMem ---


def test_a_chunk_is_a_session_and_options_are_kept_apart_from_the_question(personas):
    path = personas(
        [persona_row()], [chunk(10), chunk(2, "[USER] Hi.\n[USER] is a marker, here it is none.")]
    )
    found = load("personamem-32k", path)
    first, second = found.histories["c1"].sessions
    assert [turn.text for turn in first.turns] == ["Hi.\n[USER] is a marker, here it is none."]
    assert [(turn.role, turn.speaker) for turn in second.turns] == [
        ("user", "system"),
        ("user", "user"),
        ("assistant", "assistant"),
    ]
    (question,) = found.questions
    assert (question.text, question.reference) == ("What shall I drink?", "(b) Milk.")
    assert question.options == ("(a) Tea.", "(b) Milk.")
    assert "Milk" not in question.query().text
    assert [file.name for file in files_of("personamem-32k", path)] == [path.name, CONTEXTS]
    assert questions_of(made(found).tables["questions"]) == list(found.questions)


def test_options_may_be_written_as_python_does(personas):
    path = personas([persona_row(all_options="""['(a) Tea.', "(b) It's milk."]""")], [chunk()])
    assert load("personamem-32k", path).questions[0].reference == "(b) It's milk."


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"all_options": "__import__('os')"}, "not a list of 2 to 26 texts"),
        ({"all_options": "[" * 5_000}, "not a list of 2 to 26 texts"),
        ({"all_options": option_texts("(a) Tea.")}, "not a list of 2 to 26 texts"),
        ({"all_options": option_texts("(a) Tea.", "(c) Milk.")}, r"'\(c\) Milk.' does not begin with \(b\)"),
        ({"all_options": '["(a) Tea.", 3]'}, "not a list of 2 to 26 texts"),
        ({"correct_answer": "(c)"}, "is no option's letter"),
        ({"correct_answer": "(a) Tea"}, "is no option's letter"),
        ({"shared_context_id": "c2"}, "its context is not in"),
    ],
)
def test_faults_of_multiple_choice_files_are_told(personas, changed, fault):
    with pytest.raises(BadInput, match=fault):
        load("personamem-32k", personas([persona_row(**changed)], [chunk()]))


@pytest.mark.parametrize(
    ("chunks", "fault"),
    [
        ([chunk(), chunk()], "stands in the file twice"),
        ([chunk(content="Hi")], "does not begin with"),
        ([{**chunk(), "id": "c1"}], "is not its context's id"),
    ],
)
def test_faults_of_contexts_are_told(personas, chunks, fault):
    with pytest.raises(BadInput, match=fault):
        load("personamem-32k", personas([persona_row()], chunks))


def test_questions_without_contexts_beside_them_are_refused(written):
    with pytest.raises(BadInput, match=r"there is no 32k_context_chunks\.json beside it"):
        load("personamem-32k", written([persona_row()], "32k_questions.jsonl"))


# --- AMB-Text and LME-KU ---


def test_each_question_is_asked_after_the_session_of_its_last_evidence(conversation, written):
    asked = [
        {
            "question": f"{place}?",
            "answer": "Sweden",
            "evidence": ["D1:1", f"D{1 + place % 2}:1"],
            "category": 4,
        }
        for place in range(152)
    ]
    asked[46]["evidence"] = []
    asked[37]["evidence"] = ["D1:1; D2:1"]
    found = load("amb-text", written([conversation("conv-26", asked), conversation("conv-30")]))
    assert list(found.histories) == ["conv-26"]
    assert [question.id for question in found.questions] == [f"conv-26:{place}" for place in QUESTIONS]
    by_id = {question.id: question.after for question in found.questions}
    assert (by_id["conv-26:2"], by_id["conv-26:3"]) == (1, 2)
    assert (by_id["conv-26:46"], by_id["conv-26:37"]) == (3, 8)


def test_another_conversation_is_refused(conversation, written):
    with pytest.raises(BadInput, match="lacks the question conv-26:0"):
        load("amb-text", written([conversation()]))


def test_only_knowledge_updates_are_kept(row, written):
    evidence = {
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["gold"],
        "haystack_sessions": [[{"role": "user", "content": "Rex is five.", "has_answer": True}]],
    }
    rows = [row("q1", **evidence), row("q2", question_type="knowledge-update", **evidence)]
    found = load("lme-ku", written(rows))
    assert (list(found.histories), [question.id for question in found.questions]) == (["q2"], ["q2"])
    with pytest.raises(BadInput, match="no question of type knowledge-update"):
        load("lme-ku", written(rows[:1]))


# --- the real files ---


def test_amb_text_is_86_questions_each_within_its_boundary(data):
    found = load("amb-text", data)
    assert Counter(q.type for q in found.questions) == {
        "single-hop": 50,
        "temporal": 20,
        "multi-hop": 10,
        "open-domain": 6,
    }
    assert len(found.questions) == 86
    for question in found.questions:
        assert 1 <= question.after <= 19
        assert all(session < question.after for session in question.evidence_sessions)
    assert sum(not question.evidence for question in found.questions) == 1


def test_lme_ku_is_78_questions(data):
    assert len(load("lme-ku", data).questions) == 78


@pytest.mark.parametrize(
    ("benchmark", "kind", "count"),
    [
        ("mab-fc", "multi-hop", 455),
        ("mab-fc-mh-32k", "multi-hop", 2_310),
        ("mab-fc-sh-6k", "single-hop", 455),
        ("mab-fc-sh-64k", "single-hop", 4_580),
        ("mab-fc-sh-262k", "single-hop", 18_332),
    ],
)
def test_fact_histories_have_their_sizes_and_a_hundred_questions(data, benchmark, kind, count):
    found = load(benchmark, data)
    assert Counter(question.type for question in found.questions) == {kind: 100}
    assert sum(len(history.turns) for history in found.histories.values()) == count


def test_beam_is_400_questions_and_rd_forgets_part_150(data):
    found = load("beam-100k", data)
    assert set(Counter(question.type for question in found.questions).values()) == {40}
    assert (len(found.questions), len(found.histories)) == (400, 20)
    assert sum(len(history.turns) for history in found.histories.values()) == 5_732
    part = load("beam-100k-rd", data)
    assert Counter(question.type for question in part.questions) == {
        "contradiction_resolution": 36,
        "knowledge_update": 38,
        "preference_following": 38,
        "temporal_reasoning": 38,
    }


def test_personamem_is_589_questions_and_rd_forgets_part_579(data):
    found = load("personamem-32k", data)
    assert (len(found.questions), len(found.histories)) == (589, 37)
    assert load("personamem-32k-rd", data).questions == found.questions[10:]
