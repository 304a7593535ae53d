import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.extraction import LABELS
from memory.prompts.extraction import ExtractionReply
from memory.prompts.query_entities import EntitiesReply
from tasks.models.offline.chat import OfflineChat
from tasks.models.offline.chunker import TIME, clauses, phrases, sentences, words
from tasks.models.offline.extractor import extract, query_entities

CONCERT = (
    "I have tickets for the summer festival. Oh, and I went to a Copper Larks concert yesterday,"
    " it was at the Ravenhill Hall in Norwich!"
)


def found(text: str) -> list[str]:
    return [phrase.text for clause in clauses(text) for phrase in phrases(clause, words(clause))]


def test_noun_phrases_are_runs_between_function_words_verbs_and_punctuation() -> None:
    text = "My cousin bought a green folding bicycle, a helmet and two lamps."
    assert found(text) == ["cousin", "green folding bicycle", "helmet", "two lamps"]


def test_a_verb_after_a_determiner_is_a_noun() -> None:
    assert found("I walk to the market for a walk.") == ["market", "walk"]


def test_a_name_inside_a_sentence_is_kept_whole() -> None:
    assert "Copper Larks concert" in found(CONCERT)
    assert "Ravenhill Hall" in found(CONCERT)


@pytest.mark.parametrize(
    "expression",
    [
        "yesterday",
        "last Tuesday",
        "two weeks ago",
        "on May 3rd",
        "3 May 2023",
        "in 2019",
        "this morning",
        "last summer",
        "2023/05/30",
    ],
)
def test_time_expressions_are_found_verbatim(expression: str) -> None:
    match = TIME.search(f"We moved house {expression}, at last.")
    assert match and match.group() in expression and len(match.group()) >= len(expression) - 3


def test_sentences_end_at_lines_but_not_at_abbreviations_or_list_numbers() -> None:
    text = "1. Dr. Osei moved.\n- **Second** item! Third one?"
    assert list(sentences(text)) == ["1. Dr. Osei moved.", "Second item!", "Third one?"]


def test_a_clause_is_never_longer_than_240_characters() -> None:
    assert max(map(len, clauses("a very long walk, " * 100))) <= 240
    assert max(map(len, clauses("x" * 5000))) <= 240


def test_a_first_person_statement_joins_the_user_to_what_it_names_with_verb_and_time() -> None:
    reply = ExtractionReply.model_validate_json(extract("user", CONCERT))
    concert = next(key for key, node in reply.nodes.items() if node.title == "Copper Larks concert")
    edge = next(edge for edge in reply.edges.values() if edge.target == concert)
    assert reply.nodes[edge.source].title == "User"
    assert edge.relationship.startswith("went to")
    assert edge.attributes["raw_date"] == "yesterday"
    assert reply.nodes[concert].label == "Event"


def test_the_answers_words_survive_in_the_clause_of_a_node() -> None:
    assert "Ravenhill Hall in Norwich" in extract("user", CONCERT)


def test_a_named_speaker_is_the_person_who_says_i() -> None:
    reply = ExtractionReply.model_validate_json(extract("Ilse", "I bought a yellow dress in Graz."))
    people = [node.title for node in reply.nodes.values() if node.label == "Person"]
    assert people == ["Ilse"]


def test_you_of_the_assistant_is_the_user() -> None:
    reply = ExtractionReply.model_validate_json(extract("assistant", "You adopted a grey parrot in March."))
    assert {edge.source for edge in reply.edges.values()} >= {"speaker"}
    assert reply.nodes["speaker"].title == "User"


@pytest.mark.parametrize(
    "text", ["", "   ", "Thanks!", "You are very welcome!", "Okay, got it.", "🙂", "..."]
)
def test_a_turn_that_names_nothing_gives_an_empty_extraction(text: str) -> None:
    assert json.loads(extract("user", text)) == {"nodes": {}, "edges": {}}


def test_a_long_turn_gives_at_most_six_nodes_beside_the_speaker() -> None:
    text = " ".join(f"I visited Town{number}ville with my aunt in 20{number:02}." for number in range(60))
    assert len(json.loads(extract("user", text))["nodes"]) <= 7


def test_a_question_yields_the_names_first_and_never_the_asking() -> None:
    titles = [
        entity["title"]
        for entity in json.loads(query_entities("Can you remind me where I met Nadia Holm?"))["entities"]
    ]
    assert titles[0] == "Nadia Holm"
    assert all("remind" not in title for title in titles)


@given(st.sampled_from(["user", "assistant", "Eve"]), st.text(max_size=600))
def test_every_reply_fits_its_schema_with_known_labels_titles_and_ends(role: str, text: str) -> None:
    raw = extract(role, text)
    assert raw == extract(role, text)
    reply = ExtractionReply.model_validate_json(raw)
    ends = {end for edge in reply.edges.values() for end in (edge.source, edge.target)}
    assert ends == set(reply.nodes), "every end is a node, and no node is without an edge"
    assert all(edge.source != edge.target for edge in reply.edges.values())
    assert all(node.label in LABELS and node.title.strip() for node in reply.nodes.values())
    EntitiesReply.model_validate_json(query_entities(text))


def test_the_extraction_is_the_same_under_another_hash_seed() -> None:
    code = f"from tasks.models.offline.extractor import extract; print(extract('user', {CONCERT!r}))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_every_noun_phrase_makes_nodes_of_all_clauses_and_still_joins_each_of_them() -> None:
    text = " ".join(f"I sold a kayak{n} to the club{n} in town{n}." for n in range(20))
    inputs = {"role": "user", "text": text}
    few, every = (
        ExtractionReply.model_validate_json(OfflineChat(name).complete("extract", inputs))
        for name in ("noun-phrases", "every-noun-phrase")
    )
    assert len(few.nodes) < 10
    titles = {node.title for node in every.nodes.values()}
    assert titles == {"User", *(f"{kind}{n}" for n in range(20) for kind in ("kayak", "club", "town"))}
    joined = {end for edge in every.edges.values() for end in (edge.source, edge.target)}
    assert joined == set(every.nodes)
