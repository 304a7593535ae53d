"""Whatever an extractor says of whatever turns, the graph stays whole, and nothing depends on how it was fed."""

import io
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st

from memory.conversation import Query, Session, Turn
from memory.extraction import LABELS, ExtractedEdge, ExtractedNode, Extraction
from memory.systems.graph import GraphMemory
from memory.tables import same
from tests.memory.fake_models import FakeHashEmbedder, models, settings

TITLES = ("User", "user ", "Rome", "rome!", "bike", "Bikes", "", "a\nb", "Zoë")
scalars = st.sampled_from(["x", "y", 1, 1.0, True, 0.5])
attributes = st.dictionaries(
    st.sampled_from(["city", "confidence", "raw_date", ""]), scalars, max_size=3
) | st.just({"raw_date": "31 days ago"})
nodes = st.builds(
    ExtractedNode,
    key=st.sampled_from("abcd"),
    label=st.sampled_from([*LABELS[:4], "Colour"]),
    title=st.sampled_from(TITLES),
    content=st.sampled_from([None, "one", "two"]),
    attributes=attributes,
)
edges = st.builds(
    ExtractedEdge,
    source=st.sampled_from("abcde"),
    target=st.sampled_from("abcde"),
    relationship=st.sampled_from(["likes", "Likes", "is_at", "is at", ""]),
    attributes=attributes,
)
extractions = st.builds(
    Extraction, nodes=st.lists(nodes, max_size=4).map(tuple), edges=st.lists(edges, max_size=4).map(tuple)
)
dates = st.none() | st.integers(1, 300).map(
    lambda day: datetime(2023, 1, 1, tzinfo=UTC) + timedelta(days=day)
)
streams = st.lists(st.tuples(extractions, dates), min_size=1, max_size=8)
switches = st.fixed_dictionaries(
    {},
    optional={
        "merge": st.sampled_from(["old_wins", "new_wins", "higher_confidence_else_old", "last_by_time"]),
        "validation": st.sampled_from(["off", "reject", "repair"]),
        "title_key": st.sampled_from(["title", "label_title"]),
        "dedup_within_turn": st.booleans(),
        "dedup_within_label": st.booleans(),
        "clean_titles": st.booleans(),
        "self_loops": st.booleans(),
        "comparison": st.sampled_from(["above", "at_least"]),
    },
)
profiles = st.sampled_from(["published", "improved"])
# Two descriptors with one vector each let the similarity step merge across titles and labels.
TWINS = {"Location: Rome, one": "Event: bike", "Person: bike, two": "Event: bike"}
QUESTION = json.dumps(
    {"entities": [{"label": "Location", "title": "Rome"}, {"label": "Event", "title": "bike"}]}
)
quick = budget(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def memory_of(profile, changes):
    given_models = models(QUESTION, embedder=FakeHashEmbedder(TWINS))
    return GraphMemory(settings(profile, **changes), given_models)


def turn(i):
    return Turn(f"h#0.{i}", "user", "user", f"turn {i}")


def fed(profile, changes, stream, batches=None):
    """A memory fed with the stream, a session for each turn or in batches of turns of equal date."""
    memory = memory_of(profile, changes)
    for numbers in batches or [[i] for i in range(len(stream))]:
        date = stream[numbers[0]][1]
        session = Session("s", "h", 0, date, tuple(turn(i) for i in numbers))
        memory.remember(session, {turn(i).id: stream[i][0] for i in numbers})
        memory.graph.check()
    return memory


def recalled(memory):
    return [memory.recall(Query("q", "h", "?", datetime(2024, 1, 1, tzinfo=UTC))) for _ in range(2)]


@quick
@given(profiles, switches, streams)
def test_every_invariant_holds_after_every_turn_and_every_recall(profile, changes, stream):
    memory = fed(profile, changes, stream)
    for recall in recalled(memory):
        memory.graph.check()
        assert {source.turn for source in recall.provenance} <= set(memory.graph.moments)
        assert recall.items <= 15
        assert [s.score for s in recall.provenance] == sorted(
            (s.score for s in recall.provenance), reverse=True
        )


@quick
@given(profiles, switches, streams, dates, st.data())
def test_any_batching_of_the_same_turns_gives_the_same_graph(profile, changes, stream, date, data):
    stream = [(extraction, date) for extraction, _ in stream]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream)), max_size=4)) | {0, len(stream)})
    batches = [list(range(a, b)) for a, b in pairwise(cuts)]
    assert same(fed(profile, changes, stream).graph, fed(profile, changes, stream, batches).graph)


@quick
@given(profiles, switches, streams, st.data())
def test_a_graph_comes_back_from_parquet_equal_and_recalls_and_merges_as_before(
    profile, changes, stream, data
):
    memory = fed(profile, changes, stream)
    memory.graph.remove_nodes(chosen(memory, data))
    tables = {}
    for name, table in memory.tables().items():
        file = io.BytesIO()
        pq.write_table(table, file)
        tables[name] = pq.read_table(file)
        assert tables[name].schema.equals(table.schema, check_metadata=True)
    back = GraphMemory.from_tables(tables, memory.settings, memory.models)
    assert same(memory.graph, back.graph)
    assert recalled(memory) == recalled(back)
    for each in (memory, back):
        session = Session("later", "h", 9, None, (Turn("h#9.0", "user", "user", "later"),))
        each.remember(session, {"h#9.0": stream[0][0]})
        each.graph.check()
    assert same(memory.graph, back.graph)


@quick
@given(profiles, switches, streams, st.data())
def test_removal_leaves_no_path_to_what_was_removed(profile, changes, stream, data):
    memory = fed(profile, changes, stream)
    gone = chosen(memory, data)
    memory.graph.remove_nodes(gone)
    memory.graph.check()
    tables = memory.tables()
    assert not set(gone) & set(tables["nodes"]["id"].to_pylist())
    assert not set(gone) & {*tables["edges"]["source"].to_pylist(), *tables["edges"]["target"].to_pylist()}
    if memory.settings.clean_titles:
        assert not set(gone) & set(tables["titles"]["node"].to_pylist())
    for recall in recalled(memory):
        sources = {turn for node in memory.graph.nodes() for turn in node.sources}
        assert {source.turn for source in recall.provenance} <= sources


def chosen(memory, data):
    ids = [node.id for node in memory.graph.nodes()]
    return data.draw(st.lists(st.sampled_from(ids), unique=True)) if ids else []


@pytest.mark.parametrize("profile", ["published", "improved"])
def test_the_graph_of_no_turns_comes_back_too(profile):
    memory = memory_of(profile, {})
    back = GraphMemory.from_tables(memory.tables(), memory.settings, memory.models)
    assert same(memory.graph, back.graph)
    assert recalled(back)[0].context == ""


def test_titles_that_name_removed_nodes_come_back_with_the_graph():
    # Found by the property above: every label of the title index must come back, also one that no node has any more.
    gone = (Extraction(nodes=(ExtractedNode(key="a", label="Person", title="Rome"),)), None)
    memory = fed("published", {"title_key": "label_title"}, [gone])
    memory.graph.remove_nodes([node.id for node in memory.graph.nodes()])
    back = GraphMemory.from_tables(memory.tables(), memory.settings, memory.models)
    assert recalled(memory) == recalled(back)
    assert recalled(back)[0].flags == ("no_roots", "dead_root")
