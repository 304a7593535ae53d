from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.conversation import Conversations, History, Question, Session, Turn
from memory.prompts.extraction import ExtractionReply, NodeReply
from results.statistics import wilson
from tasks.benchmarks.limits import limit
from tasks.load import conversations_of
from tasks.probe_extractor import capitalised_words, kept, noun_phrases, probe

DATA = Path(__file__).parents[2] / "../shared/data"


def asked(reference: str, *said: str, abstention: bool = False) -> Conversations:
    """A conversation of one question whose evidence is the first turn."""
    turns = tuple(Turn(f"h#0.{place}", "user", "user", text) for place, text in enumerate(said))
    session = Session("s", "h", 0, datetime(2023, 5, 1, tzinfo=UTC), turns)
    question = Question("q", "h", "x", "Where?", reference, evidence=("h#0.0",), abstention=abstention)
    return Conversations("sample", "by hand", "", {"h": History("h", (session,))}, (question,))


def first_word(speaker: str, text: str) -> ExtractionReply:
    """An extractor by hand: the turn's first word as a title, the second as its content."""
    words = text.split()
    node = NodeReply(label="Concept", title=words[0], content=words[1])
    return ExtractionReply(nodes={"n": node})


def test_the_baseline_takes_runs_of_capitalised_words_and_joins_those_of_a_clause() -> None:
    reply = capitalised_words("user", "Yesterday I met Nadia Holm in Graz. Lovely weather, though.")
    assert [node.title for node in reply.nodes.values()] == ["Nadia Holm", "Graz"]
    assert {node.content for node in reply.nodes.values()} == {"Yesterday I met Nadia Holm in Graz."}
    assert [(edge.source, edge.target) for edge in reply.edges.values()] == [("n0", "n1")]


def test_a_name_that_opens_a_clause_is_kept_only_as_a_run() -> None:
    titles = [
        node.title for node in capitalised_words("user", "Nadia Holm sang. Graz is far.").nodes.values()
    ]
    assert titles == ["Nadia Holm"]


def test_a_name_that_recurs_is_one_node() -> None:
    reply = capitalised_words("user", "I saw Graz. We left Graz for Wels.")
    assert [node.title for node in reply.nodes.values()] == ["Graz", "Wels"]


@pytest.mark.parametrize(
    ("reference", "answers", "titles"),
    [
        ("blue", 1, 1),
        ("kayak", 1, 0),
        ("river", 0, 0),
        ("blue kayak", 0, 0),  # stands in the turn, but in no one text of the extraction
    ],
)
def test_an_answer_survives_where_one_extracted_text_says_it(
    reference: str, answers: int, titles: int
) -> None:
    found = kept(asked(reference, "blue kayak on the river"), first_word)
    assert (found.answers, found.titles) == (wilson(answers, 1), wilson(titles, 1))


def test_an_answer_that_no_evidence_turn_says_is_not_asked_for() -> None:
    elsewhere = asked("a canoe", "blue kayak", "a canoe")
    unanswerable = asked("blue", "blue kayak", abstention=True)
    assert [kept(each, first_word).answers.n for each in (elsewhere, unanswerable)] == [0, 0]


def test_what_an_extraction_takes_is_counted_by_turn() -> None:
    found = kept(
        asked("Graz", "We left Graz for Wels.", "We left Graz for Wels.", "thanks"), capitalised_words
    )
    assert (found.turns, found.nodes, found.titled_apart, found.edges, found.empty) == (3, 4, 2, 2, 1)
    assert found.predicates == {"occurs with": 2}
    assert found.evidence == wilson(1, 1)


def test_the_tables_of_the_sample_hold_both_extractors() -> None:
    tables = {table.name: table.data for table in probe("sample", None)}
    assert set(tables) == {"probe_extractor", "probe_labels", "probe_predicates"}
    for data in tables.values():
        assert set(data["extractor"]) == {"noun phrases", "capitalised words"}


@pytest.mark.skipif(
    not (DATA / "longmemeval_oracle.json.gz").is_file(),
    reason="../shared/data/longmemeval_oracle.json.gz is not there",
)
def test_on_longmemeval_more_answers_survive_in_fewer_nodes_than_with_the_baseline() -> None:
    conversations = limit(conversations_of("longmemeval-oracle", DATA, None, None, 0), 40, 0)
    ours, baseline = kept(conversations, noun_phrases), kept(conversations, capitalised_words)
    assert (ours.answers, baseline.answers) == (wilson(15, 15), wilson(11, 15))
    assert ours.nodes < baseline.nodes
    assert ours.evidence.share == 1
