"""What a memory says that it holds of a turn."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory.conversation import Query, Turn
from memory.protocol import Finishing, MemorySystem, Models, Traceable
from memory.systems import SYSTEMS, find
from tests.memory.fake_models import MAY, FakeHashEmbedder, asks_about, extraction, models, session, settings

SAID = session("I adopted a cat.\nIt is called Miso.", "Lovely!")
CAT = {
    "h#0.0": extraction([("Person", "User"), ("Artifact", "cat")], [("User", "adopted", "cat")]),
    "h#0.1": extraction([("Person", "User")]),
}


def made(name: str, given: Models | None = None, profile: str = "published") -> MemorySystem:
    system = find(name)
    given = given or models(asks_about(("Artifact", "cat")), embedder=FakeHashEmbedder())
    own = settings(profile) if name == "graph" else system.Settings(**system.profiles[profile])
    return system(own, given)


def held(memory: MemorySystem, turn: Turn) -> list[str]:
    assert isinstance(memory, Traceable)
    return memory.standing_on(turn)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in SYSTEMS
        if name not in ("none", "graph", "oracle", "rd_forget", "ace", "reasoning_bank")
    ],
)
@pytest.mark.parametrize("profile", ["published", "improved"])
def test_a_system_that_keeps_turns_holds_each_as_its_context_shows_it(name: str, profile: str) -> None:
    memory = made(name, profile=profile)
    memory.remember(SAID, {})
    if isinstance(memory, Finishing):
        memory.finish()
    (text,) = held(memory, SAID.turns[0])
    assert f"\n{text}\n" in f"\n{memory.recall(Query('q', 'h', 'cat')).context}\n"
    assert held(memory, session("never said", position=7).turns[0]) == []


def test_none_holds_nothing() -> None:
    memory = made("none")
    memory.remember(SAID, {})
    assert held(memory, SAID.turns[0]) == []


@pytest.mark.parametrize("profile", ["published", "improved"])
def test_the_graph_holds_of_a_turn_the_lines_of_its_nodes_and_edges(profile: str) -> None:
    memory = made("graph", profile=profile)
    memory.remember(SAID, CAT)
    node, edge = held(memory, SAID.turns[0])
    assert node.startswith("[Artifact] cat")
    assert edge.startswith("User --[adopted]--> cat")
    lines = memory.recall(Query("q", "h", "cat")).context.splitlines()
    assert {node, edge} <= set(lines)


def test_the_node_of_the_speaker_tells_nothing_of_a_turn_unless_one_of_its_values_is_from_it() -> None:
    memory = made("graph", profile="improved")
    memory.remember(SAID, CAT)
    assert held(memory, SAID.turns[1]) == []
    told = extraction([("Person", "User", None, {"job": "nurse"})])
    later = session("I am a nurse.", position=1, date=MAY + timedelta(days=1))
    memory.remember(later, {"h#1.0": told})
    assert "job: nurse" in held(memory, later.turns[0])[0]
    assert held(memory, SAID.turns[1]) == []


def test_a_former_value_is_held_where_the_context_would_show_it() -> None:
    first, second = SAID, session("It is 4 now.", position=1, date=MAY + timedelta(days=1))
    said = {
        turn: extraction([("Artifact", "cat", None, {"age": age})])
        for turn, age in (("h#0.0", "three"), ("h#1.0", "four"))
    }
    for profile, kept in (("published", False), ("improved", True)):
        memory = made("graph", profile=profile)
        memory.remember(first, said)
        memory.remember(second, said)
        assert ("three" in held(memory, first.turns[0])[0]) is kept
