from datetime import UTC, datetime, timedelta
from importlib.metadata import EntryPoint

import pytest

import memory.systems
from memory.conversation import OracleQuery, Query
from memory.errors import BadInput, CallFailed, CallRefused
from memory.protocol import Finishing, Models
from memory.systems import SYSTEMS, find, names
from tests.memory.fake_models import MAY, FakeHashEmbedder, asks_about, extraction, models, session, settings

TEXTS = (
    "I adopted a cat named Miso.",
    "Lovely! Cats like boxes.",
    "My car needs new tires.",
    "Try winter tires.",
)


def made(name, profile="published", embedder=None, about=("Artifact", "cat"), **changes):
    system = find(name)
    given_models = models(asks_about(about), embedder=embedder)
    if name == "graph":
        return system(settings(profile, **changes), given_models)
    return system(system.Settings(**{**system.profiles[profile], **changes}), given_models)


EXTRACTIONS = {
    "h#0.0": extraction([("Person", "User"), ("Artifact", "cat")], [("User", "adopted", "cat")]),
    "h#0.2": extraction([("Person", "User"), ("Artifact", "car")], [("User", "owns", "car")]),
}


def ask(text, evidence=None):
    if evidence is None:
        return Query("q", "h", text, datetime(2023, 6, 1, tzinfo=UTC))
    return OracleQuery("q", "h", text, None, evidence)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("profile", ["published", "improved"])
def test_every_system_comes_back_from_its_tables_and_recalls_and_remembers_as_before(name, profile):
    system = made(name, profile)
    system.remember(session(*TEXTS), EXTRACTIONS)
    query = ask("Is the cat in the car?", ("h#0.0",) if system.sees_evidence else None)
    given_models = models(asks_about(("Artifact", "cat")))
    back = find(name).from_tables(system.tables(), system.settings, given_models)
    later = session("The cat is well.", position=1, date=MAY + timedelta(days=2))
    for _ in range(2):
        assert back.recall(query) == system.recall(query)
        assert back.size() == system.size()
        back.remember(later, {})
        system.remember(later, {})


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_recalls_nothing_from_nothing(name):
    system = made(name)
    query = ask("Anything?", () if system.sees_evidence else None)
    recall = system.recall(query)
    assert (recall.context, recall.provenance, recall.items, recall.edges) == ("", (), 0, 0)
    assert system.size().items == 0


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_embeds_nothing_that_it_did_not_announce(name):
    embedder = FakeHashEmbedder()
    system = made(name, embedder=embedder)
    announced = system.texts(session(*TEXTS), EXTRACTIONS)
    assert embedder.asked == []
    system.remember(session(*TEXTS), EXTRACTIONS)
    if isinstance(system, Finishing):
        system.finish()
    assert embedder.asked == announced
    known_before = name != "ace"  # which embeds bullets, where its settings merge them, and nothing else
    assert bool(announced) == ("embedder" in system.asks and known_before)


def test_none_remembers_nothing():
    system = made("none")
    system.remember(session(*TEXTS), {})
    assert system.recall(ask("cat?")).context == ""


def test_the_oracle_shows_the_evidence_in_order_and_says_what_it_lacks():
    system = made("oracle")
    system.remember(session(*TEXTS), {})
    recall = system.recall(ask("?", ("h#0.2", "h#0.0", "h#9.9")))
    assert recall.context == f"{TEXTS[0]}\n\n---\n\n{TEXTS[2]}"
    assert [source.turn for source in recall.provenance] == ["h#0.0", "h#0.2"]
    assert recall.flags == ("evidence_missing",)


def test_the_oracle_takes_no_query_without_evidence():
    with pytest.raises(TypeError):
        made("oracle").recall(ask("?"))


def test_full_context_is_all_turns_in_order_of_time():
    system = made("full_context")
    system.remember(session("later", position=0, date=MAY), {})
    system.remember(session("earlier", position=1, date=MAY - timedelta(days=1)), {})
    recall = system.recall(ask("?"))
    assert recall.context == "earlier\n\nlater"
    assert recall.flags == ()


def test_full_context_leaves_out_the_oldest_turns_that_do_not_fit():
    system = made("full_context", max_tokens=16)
    system.remember(session(*TEXTS), {})
    recall = system.recall(ask("?"))
    assert recall.context == "\n\n".join(TEXTS[2:])
    assert recall.flags == ("context_cut",)
    assert made("full_context", max_tokens=0).recall(ask("?")).items == 0


def test_flat_shows_the_nearest_k_and_ranks_more():
    embedder = FakeHashEmbedder({"Which pet?": TEXTS[0]})
    system = made("flat", embedder=embedder, k=2)
    system.remember(session(*TEXTS), {})
    recall = system.recall(ask("Which pet?"))
    assert recall.context.startswith(TEXTS[0] + "\n\n---\n\n")
    assert (recall.items, len(recall.provenance)) == (2, 4)
    assert recall.provenance[0].turn == "h#0.0" and recall.provenance[0].score == pytest.approx(1.0)


def test_flat_ranks_equal_turns_in_their_order():
    system = made("flat")
    system.remember(session("same", "same", "same"), {})
    assert [source.turn for source in system.recall(ask("x")).provenance] == ["h#0.0", "h#0.1", "h#0.2"]


def test_flat_keeps_a_turn_without_a_vector_but_never_finds_it():
    embedder = FakeHashEmbedder(refused=[TEXTS[1]])
    system = made("flat", embedder=embedder)
    system.remember(session(*TEXTS, "  "), {})
    recall = system.recall(ask("cats"))
    assert [source.turn for source in recall.provenance if source.turn in ("h#0.1", "h#0.4")] == []
    assert recall.flags == ("turns_without_vector",)
    assert system.size().items == 5


def test_flat_fails_the_question_that_has_no_vector():
    with pytest.raises(CallFailed):
        made("flat", embedder=FakeHashEmbedder(refused=["cats"])).recall(ask("cats"))


def test_bm25_finds_words_by_their_stem_and_ranks_the_rest_in_order():
    system = made("bm25", k=1)
    system.remember(session(*TEXTS), {})
    recall = system.recall(ask("Which tire?"))
    assert recall.context == TEXTS[3]  # the shorter of the two that hold the word
    assert [source.turn for source in recall.provenance] == ["h#0.3", "h#0.2", "h#0.0", "h#0.1"]
    unstemmed = made("bm25", stem=False)
    unstemmed.remember(session(*TEXTS), {})
    assert {source.score for source in unstemmed.recall(ask("Which tire?")).provenance} == {0.0}


def test_bm25_meets_questions_and_turns_without_words():
    system = made("bm25")
    system.remember(session("the of", "", "!"), {})
    assert len(system.recall(ask("the")).provenance) == 3
    system.remember(session("a cat", position=1), {})
    assert system.recall(ask("the")).provenance[0].score == 0.0
    assert system.recall(ask("cat")).provenance[0].turn == "h#1.0"


@pytest.mark.parametrize(
    ("form", "dates", "expected"),
    [
        ("raw", False, "a cat"),
        ("raw", True, "[2023-05-20] a cat"),
        ("spoken", False, "Ann: a cat"),
        ("dated", True, "[2023-05-20] Ann: a cat"),
    ],
)
def test_a_turn_is_shown_in_the_form_and_with_the_date_that_the_settings_say(form, dates, expected):
    system = made("bm25", text=form, show_dates=dates)
    system.remember(session("a cat"), {})
    assert system.recall(ask("cat")).context == expected


def test_the_dated_form_is_found_by_its_month():
    system = made("bm25", text="dated")
    system.remember(session("a cat", date=MAY - timedelta(days=60)), {})
    system.remember(session("a cat", position=1), {})
    assert system.recall(ask("What happened in May?")).provenance[0].turn == "h#1.0"


@pytest.mark.parametrize("profile", ["published", "improved"])
def test_the_graph_recalls_the_subgraph_around_the_questions_entities(profile):
    system = made("graph", profile)
    system.remember(session(*TEXTS), EXTRACTIONS)
    recall = system.recall(ask("Who is my cat?"))
    assert (recall.items, [source.turn for source in recall.provenance]) == (3, ["h#0.0", "h#0.2"])
    assert "User --[adopted]--> cat" in recall.context


def test_published_counts_a_recall_as_an_access_and_improved_does_not():
    for profile, count in (("published", 2), ("improved", 1)):
        system = made("graph", profile)
        system.remember(session(*TEXTS), EXTRACTIONS)
        system.recall(ask("cat?"))
        system.graph.check()
        user = next(node for node in system.graph.nodes() if node.title == "User")
        assert system.graph.columns["access_count"][user.row] == count


def test_the_graph_flags_a_question_that_it_finds_nothing_for():
    system = made("graph")
    recall = system.recall(ask("cat?"))
    assert recall.flags == ("no_roots",)
    system.remember(session(*TEXTS), EXTRACTIONS)
    improved = made("graph", "improved", about=("Goal", "something else"))
    improved.remember(session(*TEXTS), EXTRACTIONS)
    assert improved.recall(ask("cat?")).flags == ("below_floor",)


def test_a_dead_root_is_flagged_as_published():
    system = made("graph")
    system.remember(session(*TEXTS), EXTRACTIONS)
    cat = next(node for node in system.graph.nodes() if node.title == "cat")
    system.graph.remove_nodes([cat.id])
    assert system.recall(ask("cat?")).flags == ("no_roots", "dead_root")


def test_an_entity_without_a_vector_can_still_be_found_by_title():
    system = made("graph", embedder=FakeHashEmbedder(refused=["Artifact: cat"]))
    system.remember(session(*TEXTS), {"h#0.0": EXTRACTIONS["h#0.0"]})
    recall = system.recall(ask("cat?"))
    assert recall.flags == ("no_roots", "entity_without_vector", "nodes_without_vector")


@pytest.mark.parametrize("fault", [CallFailed("no usable reply", final=True), CallRefused("budget")])
def test_a_failed_or_refused_query_entities_call_is_not_caught(fault):
    class Refusing:
        name = "fake"

        def ask(self, request, read):
            raise fault

    system = find("graph")(settings("improved"), Models(Refusing(), FakeHashEmbedder()))
    with pytest.raises(type(fault)):
        system.recall(ask("cat?"))


def test_reject_turns_an_invalid_extraction_into_none_and_off_takes_it():
    said = {"h#0.0": extraction([("Colour", "red"), ("Event", "race")])}
    for validation, count in (("off", 2), ("repair", 1), ("reject", 0)):
        system = made("graph", validation=validation)
        system.remember(session("red"), said)
        assert (system.size().items, system.graph.turns) == (count, 1)


def test_an_embedder_that_nobody_calibrated_needs_thresholds_in_the_settings():
    graph = find("graph")
    with pytest.raises(BadInput, match="retrieval_floor"):
        graph(graph.Settings(), models(asks_about()))
    embedder = FakeHashEmbedder()
    embedder.name = "ollama:nomic-embed-text:latest"
    system = graph(graph.Settings(retrieval_floor=0.5), models(asks_about(), embedder=embedder))
    assert (system.dedup, system.floor) == (0.92, 0.5)


def test_tables_that_do_not_fit_are_refused_in_one_line():
    system = made("graph")
    system.remember(session(*TEXTS), EXTRACTIONS)
    tables = system.tables()
    for broken in (
        {name: table for name, table in tables.items() if name != "edges"},
        {**tables, "nodes": tables["nodes"].replace_schema_metadata({})},
        {**tables, "nodes": tables["nodes"].slice(1)},
    ):
        with pytest.raises(BadInput, match=r"^[^\n]+build the graph again$"):
            find("graph").from_tables(broken, system.settings, system.models)


def test_an_unknown_system_is_refused_and_the_known_ones_are_named():
    with pytest.raises(BadInput, match=r"no memory system is named grpah.*bm25.*graph"):
        find("grpah")


def test_another_projects_system_is_found_when_it_is_asked_for(monkeypatch):
    points = [
        EntryPoint("theirs", "memory.systems.nothing:NoMemory", "palimpsest.systems"),
        EntryPoint("broken", "no_such_module:Memory", "palimpsest.systems"),
        EntryPoint("flat", "memory.systems.nothing:NoMemory", "palimpsest.systems"),
    ]
    monkeypatch.setattr(memory.systems, "entry_points", lambda group: points)
    assert names() == (*SYSTEMS, "broken", "theirs")
    assert find("theirs") is find("none")
    assert find("flat").__name__ == "Flat"
    with pytest.raises(BadInput, match=r"broken.*cannot be imported"):
        find("broken")
