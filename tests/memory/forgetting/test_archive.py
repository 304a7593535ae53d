import io

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadInput
from memory.forgetting.archive import restore
from memory.forgetting.limits import Limit
from memory.forgetting.passes import forget
from memory.forgetting.policies import policy
from memory.tables import same, to_tables
from tests.memory.fake_models import extraction, feed, new_graph, titles
from tests.memory.forgetting.graphs import clock, grow, turns

PROFILES = st.sampled_from(["published", "improved"])
FRACTIONS = st.floats(0, 1)
NAMES = st.sampled_from(["random", "importance", "oldest"])


def put_away(graph, fraction, name="random", draw=0):
    done = forget(graph, policy(name), Limit(fraction=fraction), clock(graph), draw, archive=True)
    return {table: through_parquet(rows) for table, rows in done.archive.items()}


def through_parquet(table):
    file = io.BytesIO()
    pq.write_table(table, file)
    return pq.read_table(io.BytesIO(file.getvalue()))


@given(turns(), PROFILES, FRACTIONS, NAMES)
def test_archive_and_restore_is_the_identity(said, profile, fraction, name):
    graph = new_graph(profile)
    grow(graph, said)
    before = to_tables(graph)
    back = restore(graph, put_away(graph, fraction, name))
    after = to_tables(back)
    assert before.keys() == after.keys()
    assert all(after[table].equals(before[table], check_metadata=True) for table in before)


@given(turns(), turns(), PROFILES, FRACTIONS)
def test_a_restored_graph_grows_as_if_nothing_had_been_forgotten(said, later, profile, fraction):
    graph, other = new_graph(profile), new_graph(profile)
    for each in (graph, other):
        grow(each, said)
    back = restore(graph, put_away(graph, fraction))
    for each in (back, other):
        grow(each, later)
    assert same(back, other)


@given(turns(), PROFILES, FRACTIONS, FRACTIONS)
def test_archives_come_back_in_the_reverse_order(said, profile, first, second):
    graph = new_graph(profile)
    grow(graph, said)
    before = to_tables(graph)
    archives = [put_away(graph, first), put_away(graph, second, draw=1)]
    for archive in reversed(archives):
        graph = restore(graph, archive)
    assert all(table.equals(before[name]) for name, table in to_tables(graph).items())


@given(turns(), turns(), PROFILES, FRACTIONS, FRACTIONS, st.booleans())
def test_what_can_come_back_does_in_any_order_and_after_growth(said, later, profile, first, second, turned):
    graph = new_graph(profile)
    grow(graph, said)
    archives = [put_away(graph, first)]
    grow(graph, later)
    archives.append(put_away(graph, second, draw=1))
    kept = set(graph.topology)
    gone = [set(archive["nodes"]["id"].to_pylist()) for archive in archives]
    for archive in reversed(archives) if turned else archives:
        graph = restore(graph, archive)
        graph.check()
    assert set(graph.topology) == kept | gone[0] | gone[1]
    made = [graph.columns["turns_at_creation"][node.row] for node in graph.nodes()]
    assert made == sorted(made)


def test_a_title_that_names_another_node_by_now_stays_with_it():
    graph = new_graph("improved")
    feed(graph, "t0", extraction([("Event", "run"), ("Event", "swim")], [("run", "before", "swim")]))
    archive = put_away(graph, 1.0)
    feed(graph, "t1", extraction([("Event", "run")]))
    (new,) = graph.nodes()
    back = restore(graph, archive)
    assert titles(back) == ["run", "swim", "run"]
    assert back.titles.find("Event", "run") == new.id
    assert back.titles.find("Event", "swim") in archive["nodes"]["id"].to_pylist()


def test_an_edge_whose_other_end_is_still_forgotten_stays_away():
    graph = new_graph("improved")
    feed(graph, "t0", extraction([("Event", "run"), ("Event", "swim")], [("run", "before", "swim")]))
    first = put_away(graph, 0.5, "oldest")  # with the edge
    second = put_away(graph, 1.0)
    back = restore(graph, first)
    assert titles(back) == ["run"] and back.edges() == []
    assert sorted(titles(restore(back, second))) == ["run", "swim"]


def test_an_archive_comes_back_once():
    graph = new_graph("improved")
    feed(graph, "t0", extraction([("Event", "run")]))
    archive = put_away(graph, 1.0)
    with pytest.raises(BadInput, match="brought back already"):
        restore(restore(graph, archive), archive)


def test_the_archive_of_another_graph_is_refused():
    graph, other = new_graph("improved"), new_graph("improved")
    feed(graph, "t0", extraction([("Event", "run")]))
    feed(other, "u0", extraction([("Event", "swim")]))
    with pytest.raises(BadInput, match="never merged"):
        restore(other, put_away(graph, 1.0))


def test_half_an_archive_is_refused():
    graph = new_graph("improved")
    feed(graph, "t0", extraction([("Event", "run")]))
    archive = put_away(graph, 1.0)
    del archive["edges"]
    with pytest.raises(BadInput, match="named edges"):
        restore(graph, archive)


def test_restoring_leaves_the_given_graph_alone():
    graph = new_graph("improved")
    feed(graph, "t0", extraction([("Event", "run"), ("Event", "swim")]))
    archive = put_away(graph, 0.5)
    before = to_tables(graph)
    restore(graph, archive)
    assert all(table.equals(before[name]) for name, table in to_tables(graph).items())
