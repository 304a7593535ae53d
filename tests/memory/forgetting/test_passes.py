from datetime import timedelta

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.conversation import Query
from memory.forgetting.limits import Limit, Schedule, due
from memory.forgetting.passes import FORGETTING, forget, forget_turns, states_of, states_of_turns
from memory.forgetting.policies import POLICIES, policy
from memory.forgetting.states import Clock
from memory.graph import stamp
from memory.retrieval import expand, find_roots
from memory.systems.flat import Flat, FlatSettings
from memory.tables import from_tables, same, to_tables
from memory.validation import QueryEntity
from tests.memory.fake_models import MAY, extraction, feed, models, new_graph, session, titles
from tests.memory.forgetting.graphs import clock, grow, turns

PROFILES = ["published", "improved"]
LIMITS = st.one_of(
    st.floats(0, 1).map(lambda share: Limit(threshold=share)),
    st.floats(0, 1).map(lambda share: Limit(fraction=share)),
    st.integers(0, 12).map(lambda count: Limit(nodes=count)),
    st.integers(0, 4_000).map(lambda count: Limit(bytes=count)),
)
SCHEDULES = st.builds(
    Schedule,
    every=st.one_of(st.none(), st.integers(1, 5)),
    end=st.just(True),
    nodes=st.one_of(st.none(), st.integers(1, 8)),
    bytes=st.one_of(st.none(), st.integers(100, 3_000)),
)


def small(profile="improved"):
    """The user, two events and a place: User -> run, User -> swim, run -> park."""
    graph = new_graph(profile)
    said = [("Person", "User"), ("Event", "run"), ("Location", "park")]
    feed(graph, "t0", extraction(said, [("User", "does", "run"), ("run", "at", "park")]), time=MAY)
    later = [("Person", "User"), ("Event", "swim")]
    feed(graph, "t1", extraction(later, [("User", "does", "swim")]), time=MAY + timedelta(days=90))
    return graph


def test_the_columns_of_a_graph_are_those_of_its_nodes():
    graph = small()
    states, ids = states_of(graph)
    assert ids == [node.id for node in graph.nodes()]
    assert states.degree.tolist() == [2, 2, 1, 1]
    assert states.edges.tolist() == [[0, 1], [1, 2], [0, 3]]
    assert states.access_count.tolist() == [1, 0, 0, 0]
    assert states.turns_at_creation.tolist() == [0, 0, 0, 1]
    assert states.turns_at_last_access.tolist() == [1, -1, -1, -1]
    assert states.created_at[3] == stamp(MAY + timedelta(days=90))
    assert (states.vectors == graph.vectors.matrix).all()


def test_a_node_costs_its_texts_its_vector_and_half_of_each_edge():
    graph = small()
    states, _ = states_of(graph)
    ids = 24
    edge = 2 * ids + len("at") + len("session") + len("t0")
    park = ids + len("Location") + len("park") + len("session") + len("t0") + 16 * 4
    assert states.bytes[2] == park + edge // 2


def test_the_costly_columns_are_gathered_only_if_somebody_reads_them():
    states, _ = states_of(small(), ())
    assert (states.bytes.sum(), len(states.edges), len(states.vectors)) == (0, 0, 0)
    assert states.degree.tolist() == [2, 2, 1, 1]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_pass_removes_what_scores_low_and_reports_every_node(profile):
    graph = small(profile)
    done = forget(graph, policy("centrality"), Limit(nodes=2), clock(graph), number=3)
    graph.check()
    assert titles(graph) == ["User", "run"]
    assert (done.items, done.edges, done.archive) == (2, 2, None)
    assert done.table.schema.equals(FORGETTING, check_metadata=True)
    rows = done.table.to_pylist()
    assert [(row["title"], row["label"], row["degree"], row["fate"]) for row in rows] == [
        ("User", "Person", 2, "kept"),
        ("run", "Event", 2, "kept"),
        ("park", "Location", 1, "forgotten"),
        ("swim", "Event", 1, "forgotten"),
    ]
    assert {(row["pass"], row["policy"], row["draw"], row["turn_counter"]) for row in rows} == {
        (3, "centrality", 0, 2)
    }
    assert rows[0]["score"] == round(rows[0]["centrality"], 6) and rows[0]["strength"] is None


def test_a_pass_without_a_known_date_is_reported_without_one():
    graph = small()
    done = forget(graph, policy("importance"), Limit(nodes=3), Clock(np.datetime64("NaT", "us"), 2))
    assert done.table.column("time").null_count == 4 and done.items == 1


@pytest.mark.parametrize("name", POLICIES)
def test_every_policys_table_says_all_its_terms_and_survives_parquet(name, tmp_path):
    graph = small()
    scored = policy(name).score(states_of(graph)[0], clock(graph))
    done = forget(graph, policy(name), Limit(fraction=0.5), clock(graph))
    for term, values in scored.terms.items():
        assert done.table.column(term).to_pylist() == values.tolist()
    pq.write_table(done.table, tmp_path / "forgetting.parquet")
    assert pq.read_table(tmp_path / "forgetting.parquet").equals(done.table, check_metadata=True)


@pytest.mark.parametrize("profile", PROFILES)
@given(said=turns(), schedule=SCHEDULES, limit=LIMITS, name=st.sampled_from(list(POLICIES)))
def test_forgetting_in_any_schedule_leaves_the_graph_whole(profile, said, schedule, limit, name):
    graph = new_graph(profile)
    for number, each in enumerate(said):
        grow(graph, [each])
        nbytes = int(states_of(graph, ("bytes",))[0].bytes.sum())
        last = number == len(said) - 1
        if due(schedule, graph.turns, len(graph), nbytes) or (last and due(schedule, 0, 0, ended=True)):
            before = set(graph.topology)
            done = forget(graph, policy(name), limit, clock(graph), draw=number, number=number)
            graph.check()
            fates = dict(zip(done.table["id"].to_pylist(), done.table["fate"].to_pylist(), strict=True))
            assert set(fates) == before
            assert {id for id, fate in fates.items() if fate == "kept"} == set(graph.topology)
            assert states_of(graph)[1] == [node.id for node in graph.nodes()]
            assert limit.nodes is None or len(graph) <= limit.nodes
            assert limit.bytes is None or states_of(graph)[0].bytes.sum() <= limit.bytes
    assert same(from_tables(to_tables(graph), graph.settings), graph)


@given(said=turns(least=4), limit=LIMITS, name=st.sampled_from(list(POLICIES)))
def test_no_path_leads_to_what_was_forgotten(said, limit, name):
    graph = new_graph("improved", retrieval_floor=-1.0, roots=50, max_nodes=50)
    grow(graph, said)
    nodes = {node.id: (node, graph.vectors.matrix[node.row].copy()) for node in graph.nodes()}
    done = forget(graph, policy(name), limit, clock(graph))
    gone = nodes.keys() - set(graph.topology)
    assert len(gone) == done.items
    for id in gone:
        node, vector = nodes[id]
        roots = find_roots(graph, [QueryEntity(node.label, node.title)], vector[None], -1.0)
        found = expand(graph, roots, vector[None])
        assert not gone & ({root.id for root in roots} | {here.id for here in found.nodes})
        assert not gone & {end for edge in found.edges for end in (edge.source, edge.target)}
        assert graph.titles.find(node.label, node.title) not in gone
    tables = to_tables(graph)
    assert not gone & set(str([tables[name].to_pylist() for name in ("nodes", "edges", "titles")]).split("'"))


@settings(max_examples=25)
@given(said=turns(least=4), fraction=st.floats(0, 1))
def test_random_passes_at_a_matched_count_remove_as_many_nodes(said, fraction):
    grown = new_graph("improved")
    grow(grown, said)
    tables = to_tables(grown)
    reference = from_tables(tables, grown.settings)
    done = forget(reference, policy("importance"), Limit(fraction=fraction), clock(reference))
    like = np.array([fate == "forgotten" for fate in done.table["fate"].to_pylist()], np.bool_)
    for name in ("random", "random_by_degree", "random_by_label"):
        for draw in range(3):
            graph = from_tables(tables, grown.settings)
            matched = forget(graph, policy(name), Limit(nodes=len(reference)), clock(graph), draw, like=like)
            graph.check()
            assert matched.items == done.items and len(graph) == len(reference)


def flat_memory(*texts):
    memory = Flat(FlatSettings(k=50), models())
    for i, text in enumerate(texts):
        memory.remember(session(text, position=i, date=MAY + timedelta(days=30 * i)), {})
    return memory


def test_the_columns_of_a_flat_memory_are_those_of_its_turns():
    memory = flat_memory("a", " ", "ccc")  # a blank turn has no vector
    states, ids = states_of_turns(memory)
    assert ids == ["h#0.0", "h#1.0", "h#2.0"]
    assert states.turns_at_creation.tolist() == [0, 1, 2]
    assert states.created_at[1] == stamp(MAY + timedelta(days=30))
    assert np.linalg.norm(states.vectors, axis=1) == pytest.approx([1, 0, 1])
    base = len("h#0.0") + len("Ann")
    assert states.bytes.tolist() == [base + 1 + 64, base + 1, base + 3 + 64]
    assert states_of_turns(memory, {"h#0.0": 7, "h#1.0": 8, "h#2.0": 9})[0].turns_at_creation.tolist() == [
        7,
        8,
        9,
    ]


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_forgets_turns_and_they_are_found_no_more(name):
    memory = flat_memory("a", "b", " ", "d", "e", "f")
    done = forget_turns(
        memory, policy(name), Limit(nodes=3), Clock(stamp(MAY + timedelta(days=400)), 6), number=2
    )
    assert (done.items, done.edges, len(memory.turns)) == (3, 0, 3)
    fates = {row["id"]: row["fate"] for row in done.table.to_pylist()}
    kept = [id for id, fate in fates.items() if fate == "kept"]
    assert [held.turn.id for held in memory.turns] == kept
    found = memory.recall(Query("q", "h", "a"))
    assert {source.turn for source in found.provenance} == set(kept) - {"h#2.0"}
    again = Flat.from_tables(memory.tables(), memory.settings, memory.models)
    assert again.recall(Query("q", "h", "a")) == found
    assert len(memory.vectors) == len(memory.positions)


def test_a_flat_memory_goes_on_after_a_pass_with_its_own_turn_numbers():
    memory = flat_memory("a", "b", "c")
    forget_turns(memory, policy("oldest"), Limit(nodes=2), Clock(stamp(MAY), 3))
    memory.remember(session("d", position=3), {})
    numbers = {f"h#{i}.0": i for i in range(4)}
    done = forget_turns(
        memory, policy("oldest", {"by": "turns"}), Limit(nodes=1), Clock(stamp(MAY), 4), numbers=numbers
    )
    assert done.table["id"].to_pylist() == ["h#1.0", "h#2.0", "h#3.0"]
    assert [held.turn.text for held in memory.turns] == ["d"]
