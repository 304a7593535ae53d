"""The facts that LoCoMo's own file states of its sessions, with the turns that they stand on."""

import pytest

from memory.errors import BadInput
from tasks.benchmarks import load
from tasks.benchmarks.locomo import load as load_file


@pytest.fixture
def observed(conversation, written):
    """Loads a conversation whose file states some facts of its first session."""

    def read(*facts, key="session_1_observation"):
        row = conversation() | {"observation": {key: {"Ann": list(facts)}}}
        return load_file(written([row]), "locomo")

    return read


def found(loaded):
    return [
        [(fact.text, fact.turns) for fact in session.observations]
        for session in loaded.histories["conv-1"].sessions
    ]


def test_a_fact_names_its_turn_and_belongs_to_that_turns_session(observed):
    loaded = observed(["Ann has moved to Sweden.", "D1:1"], ["Bo has bought a boat.", "D2:1"])
    assert found(loaded) == [
        [("Ann has moved to Sweden.", ("conv-1#0.0",))],
        [("Bo has bought a boat.", ("conv-1#1.0",))],
    ]


@pytest.mark.parametrize("places", [["D2:1", "D1:2"], "D1:2, D2:1", "D1:2; D2:01"])
def test_a_fact_on_several_turns_belongs_to_the_session_of_the_last(observed, places):
    assert found(observed(["The red boat is Bo's.", places])) == [
        [],
        [("The red boat is Bo's.", ("conv-1#0.1", "conv-1#1.0"))],
    ]


@pytest.mark.parametrize(
    "fact", [["Lost.", "D9:9"], ["Lost.", ""], ["  ", "D1:1"], ["Lost.", []], [["Lost."], "D1:1"]]
)
def test_what_names_no_turn_or_says_nothing_is_left_out_and_counted(observed, fact):
    loaded = observed(fact, ["Ann has moved.", "D1:1"])
    assert found(loaded) == [[("Ann has moved.", ("conv-1#0.0",))], []]
    assert "observations that name no turn left out: 1" in loaded.notes


@pytest.mark.parametrize("fact", [["alone"], ["one", "D1:1", "too many"], "a sentence", [3, "D1:1"]])
def test_a_fact_of_another_shape_is_named(observed, fact):
    with pytest.raises(BadInput, match=r"row 1 .*observation"):
        observed(fact)


def test_a_file_that_states_nothing_is_read(conversation, written):
    assert found(load_file(written([conversation()]), "locomo")) == [[], []]


def test_the_real_file_states_2541_facts_fifteen_of_them_on_several_turns(data):
    loaded = load("locomo", data)
    facts = [
        (history, fact)
        for history in loaded.histories.values()
        for session in history.sessions
        for fact in session.observations
    ]
    assert len(facts) == 2_541
    # Ten name them as a list, five in one string.
    assert sum(len(fact.turns) > 1 for _, fact in facts) == 15
    for history, fact in facts:
        turns = {turn.id for turn in history.turns}
        assert set(fact.turns) <= turns
        assert fact.text == fact.text.strip()
