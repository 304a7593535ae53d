"""Algorithm 1, step by step, against the batch path: whole sessions remembered, then asked, and passes when due."""

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st

from memory.conversation import Query
from memory.errors import BadInput, CallFailed
from memory.forgetting.limits import Limit, Schedule
from memory.forgetting.maintenance import Maintenance
from memory.forgetting.passes import forget, forget_turns
from memory.forgetting.policies import policy
from memory.forgetting.states import Clock
from memory.graph import stamp
from memory.live import LiveMemory
from memory.protocol import Models
from memory.systems.bm25 import BM25
from memory.systems.flat import Flat, FlatSettings
from memory.systems.graph import GraphMemory
from memory.tables import same
from memory.validation import read_extraction
from tests.memory.fake_models import FakeChat, FakeHashEmbedder, asks_about, models, session, settings
from tests.memory.test_any_stream import TWINS, profiles, streams, turn

ASKED = asks_about(("Location", "Rome"), ("Event", "bike"))
IMPORTANCE = policy("importance", {})
quick = budget(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def reply(extraction):
    """An extraction as a model would write it."""
    nodes = [node.model_dump() for node in extraction.nodes]
    return json.dumps({"nodes": nodes, "edges": [edge.model_dump() for edge in extraction.edges]})


class Scripted(FakeChat):
    """An extractor that says of `turn <i>` what the i-th extraction says."""

    def __init__(self, extractions):
        super().__init__()
        self.extractions = extractions

    def ask(self, request, read):
        said = self.extractions[int(request.inputs["text"].removeprefix("turn "))]
        self.replies = [reply(said)]
        return super().ask(request, read)


def graph_memory(profile, **changes):
    return GraphMemory(settings(profile, **changes), models(ASKED, embedder=FakeHashEmbedder(TWINS)))


def as_read(stream):
    """The extractions of a stream as the reader reads their replies: what stage `extract` would keep of them."""
    return {turn(i).id: read_extraction(reply(said), "off")[0] for i, (said, _) in enumerate(stream)}


def sittings(stream):
    return [replace(session(date=date), id=f"s{i}", turns=(turn(i),)) for i, (_, date) in enumerate(stream)]


def asked(i, date):
    return Query(turn(i).id, "h", turn(i).text, date)


@quick
@given(profile=profiles, stream=streams, every=st.integers(1, 4), fraction=st.sampled_from([0.0, 0.3, 1.0]))
def test_stepping_is_the_batch_path_with_a_pass_every_so_many_turns(profile, stream, every, fraction):
    maintenance = Maintenance(IMPORTANCE, Schedule(every=every), Limit(fraction=fraction))
    live = LiveMemory(graph_memory(profile), Scripted([said for said, _ in stream]), maintenance=maintenance)
    batch, extractions = graph_memory(profile), as_read(stream)
    for i, (sitting, (_, date)) in enumerate(zip(sittings(stream), stream, strict=True)):
        step = live.step(turn(i), sitting)
        batch.remember(sitting, extractions)
        assert step.recall == batch.recall(asked(i, date))
        if (i + 1) % every == 0:
            forgotten = forget(
                batch.graph, IMPORTANCE, Limit(fraction=fraction), Clock(stamp(date), i + 1), number=i + 1
            )
            assert step.forgotten is not None
            assert step.forgotten.table.equals(forgotten.table)
        else:
            assert step.forgotten is None
    assert same(live.memory.graph, batch.graph)
    live.memory.graph.check()


@quick
@given(profile=profiles, stream=streams)
def test_stepping_leaves_what_remembering_whole_sessions_leaves_and_recalls_what_it_would(profile, stream):
    live = LiveMemory(graph_memory(profile, touch_on_recall=False), Scripted([said for said, _ in stream]))
    date = stream[0][1]
    sitting = session(date=date)
    steps = [live.step(turn(i), sitting) for i in range(len(stream))]
    extractions = as_read(stream)
    for heard in range(1, len(stream) + 1):
        batch = graph_memory(profile, touch_on_recall=False)
        batch.remember(replace(sitting, turns=tuple(turn(i) for i in range(heard))), extractions)
        assert steps[heard - 1].recall == batch.recall(asked(heard - 1, date))
    assert same(live.memory.graph, batch.graph)


@quick
@given(stream=streams, every=st.integers(1, 4), keep=st.integers(0, 3))
def test_stepping_a_flat_memory_is_its_batch_path(stream, every, keep):
    oldest = policy("oldest", {})
    maintenance = Maintenance(oldest, Schedule(every=every), Limit(nodes=keep))
    flat, batch = (Flat(FlatSettings(), models("{}")) for _ in range(2))
    live = LiveMemory(flat, FakeChat(), maintenance=maintenance)
    numbers = {}
    for i, (sitting, (_, date)) in enumerate(zip(sittings(stream), stream, strict=True)):
        step = live.step(turn(i), sitting)
        batch.remember(sitting, {})
        numbers[turn(i).id] = i
        assert step.recall == batch.recall(asked(i, date))
        if (i + 1) % every == 0:
            forget_turns(batch, oldest, Limit(nodes=keep), Clock(stamp(date), i + 1), numbers=numbers)
    assert flat.tables() == batch.tables()


def live_graph(*extractor_replies, **options):
    return LiveMemory(graph_memory("improved"), FakeChat(*extractor_replies), **options)


ROME = '{"nodes": {"n": {"label": "Location", "title": "Rome"}}, "edges": []}'


def test_the_context_holds_the_turn_itself_unless_recall_comes_first():
    sitting = session("I am in Rome")
    assert "Rome" in live_graph(ROME).step(sitting.turns[0], sitting).recall.context
    first = live_graph(ROME, recall_first=True)
    assert "Rome" not in first.step(sitting.turns[0], sitting).recall.context
    assert len(first.memory.graph) == 1


def test_a_turn_that_stays_unusable_counts_as_a_turn_and_the_step_says_why():
    live = live_graph(CallFailed("no JSON", final=True))
    sitting = session("I am in Rome")
    step = live.step(sitting.turns[0], sitting)
    assert step.reason == "extraction: no JSON"
    assert step.recall is not None
    assert (live.memory.graph.turns, len(live.memory.graph)) == (1, 0)


def test_after_a_fault_of_transport_the_step_can_be_taken_again():
    live = live_graph(CallFailed("timed out", final=False), ROME)
    sitting = session("I am in Rome")
    with pytest.raises(CallFailed):
        live.step(sitting.turns[0], sitting)
    assert live.memory.graph.turns == 0
    live.step(sitting.turns[0], sitting)
    assert (live.memory.graph.turns, len(live.memory.graph)) == (1, 1)


def test_a_recall_that_fails_loses_neither_turn_nor_pass():
    memory = GraphMemory(
        settings("improved"), Models(FakeChat(CallFailed("no", final=True)), FakeHashEmbedder())
    )
    maintenance = Maintenance(IMPORTANCE, Schedule(every=1), Limit(nodes=0))
    live = LiveMemory(memory, FakeChat(ROME), maintenance=maintenance)
    sitting = session("I am in Rome")
    step = live.step(sitting.turns[0], sitting)
    assert (step.recall, step.reason, step.forgotten.items) == (None, "recall: no", 1)


def test_nothing_is_asked_of_a_blank_turn():
    extractor = FakeChat(ROME)
    live = LiveMemory(graph_memory("improved"), extractor)
    sitting = session(" ")
    assert live.step(sitting.turns[0], sitting).reason == "recall: the turn is blank"
    assert live.memory.graph.turns == 1
    assert extractor.requests == live.memory.models.chat.requests == []


def test_a_memory_that_cannot_forget_says_so():
    maintenance = Maintenance(IMPORTANCE, Schedule(every=1), Limit(nodes=0))
    live = LiveMemory(BM25(BM25.Settings(), models("{}")), FakeChat(), maintenance=maintenance)
    sitting = session("I am in Rome")
    with pytest.raises(BadInput, match="a memory of type BM25 cannot forget; graph and flat can"):
        live.step(sitting.turns[0], sitting)
