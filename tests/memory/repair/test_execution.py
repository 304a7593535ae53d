"""What becomes of edits that passed: caps, absence, duplicates, ids and concepts (section 7, step 7)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import CallFailed
from memory.gaama.graph import episode_id, text_id
from memory.protocol import Models
from memory.repair.execution import reports_absence
from memory.repair.log import repairs_table
from memory.systems.gaama import Gaama
from tests.memory.fake_models import session
from tests.memory.gaama.fakes import PlacedEmbedder, gaama_settings
from tests.memory.repair.fakes import PROBE, QUESTION, GraftChat, Memory, concept, fact, plan, with_an_episode

SWIMS = "Ilse swims in the lake."


def repaired(memory: Memory, *edits: Any, profile: str = "improved", **changes: Any) -> Any:
    return memory.repair(GraftChat(plan=plan(*edits)), profile, **changes)


def fates(repair: Any) -> list[tuple[str, str | None]]:
    return [(edit.fate, edit.reason) for edit in repair.edits]


def test_two_facts_and_two_concepts_are_added_for_a_question() -> None:
    memory = with_an_episode()
    facts = [fact(f"Ilse owns {number} boats.", "lake") for number in (2, 3, 4)]
    assert fates(repaired(memory, *facts)) == [
        ("executed", None),
        ("executed", None),
        ("skipped", "over the cap"),
    ]
    assert len(memory.texts("fact")) == 2
    memory = with_an_episode()
    concepts = [concept(f"boat_{number}", episode_id("lake")) for number in (2, 3, 4)]
    assert [fate for fate, _ in fates(repaired(memory, *concepts))] == ["executed", "executed", "skipped"]


def test_an_edit_that_was_skipped_takes_no_place_under_the_cap() -> None:
    edits = [
        fact("", "lake"),
        fact("It is unknown.", "lake"),
        fact("Ilse dives.", "lake"),
        fact("Ilse rows.", "lake"),
    ]
    assert [fate for fate, _ in fates(repaired(with_an_episode(), *edits))] == ["skipped"] * 2 + [
        "executed"
    ] * 2


def test_concepts_that_facts_name_are_not_counted() -> None:
    memory = with_an_episode()
    repaired(
        memory,
        fact(SWIMS, "lake", concepts=["one_lake", "two_lakes", "three_lakes"]),
        concept("cold_water", episode_id("lake")),
    )
    assert memory.texts("concept") == ["one_lake", "two_lakes", "three_lakes", "cold_water"]


@pytest.mark.parametrize(
    "text",
    [
        "The lake is not specified.",
        "The lake was NOT  mentioned.",
        "It is not clear where she swims.",
        "It is not explicitly said.",
        "Her lake is not recorded.",
        "Not available.",
        "The lake was not discussed.",
        "Her lake is unknown.",
        "Her sports may include swimming.",
        "There is no information on lakes.",
        "One cannot determine the lake.",
        "The lake cannot be determined.",
        "We are unable to determine it.",
        "The memory does not mention a lake.",
        "The memory doesn’t mention a lake.",
        "The memory does not specify a lake.",
        "The memory doesn't specify a lake.",
    ],
)
def test_a_fact_that_reports_absence_is_not_stored(text: str) -> None:
    memory = with_an_episode()
    [(fate, reason)] = fates(repaired(memory, fact(text, "lake")))
    assert fate == "skipped"
    assert reason is not None
    assert reason.startswith("reports absence")
    assert memory.texts("fact") == []


@pytest.mark.parametrize(("profile", "fate"), [("published", "skipped"), ("improved", "executed")])
def test_a_true_negation_is_refused_as_published_alone(profile: str, fate: str) -> None:
    [(found, _)] = fates(
        repaired(with_an_episode(), fact("Ilse does not swim in pools.", "lake"), profile=profile)
    )
    assert found == fate


def test_plain_facts_report_no_absence() -> None:
    for text in (
        "Ilse swims.",
        "Ilse never dives.",
        "Ilse may swim.",
        "Ilse includes Bob.",
        "Ilse is clear.",
    ):
        assert reports_absence(text, bare_does_not=True) is None


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (1.0, 0.85),
        (0.85, 0.85),
        (0.5, 0.5),
        (0.0, 0.1),
        (-3, 0.1),
        ("high", 0.85),
        (None, 0.85),
        (True, 0.85),
    ],
)
def test_belief_is_brought_between_a_tenth_and_its_cap(given: Any, stored: float) -> None:
    memory = with_an_episode()
    [edit] = repaired(memory, fact(SWIMS, "lake", belief=given)).edits
    assert memory.graph.items[edit.item].belief == stored


@pytest.mark.parametrize(("cosine", "fate"), [(0.81, "skipped"), (0.79, "executed")])
@pytest.mark.parametrize("profile", ["published", "improved"])
def test_a_fact_is_a_duplicate_from_a_cosine_of_eight_tenths_on(
    profile: str, cosine: float, fate: str
) -> None:
    # Similarity is (1 + cosine) / 2: 0.90 is a cosine of 0.80.
    memory = with_an_episode()
    memory.add("fact", "Ilse goes to the lake.", cosine, beside=SWIMS)
    [(found, _)] = fates(repaired(memory, fact(SWIMS, "lake"), profile=profile))
    assert found == fate


@pytest.mark.parametrize(("profile", "fate"), [("published", "skipped"), ("improved", "executed")])
def test_a_fact_that_says_what_its_episode_says_is_a_duplicate_as_published_alone(
    profile: str, fate: str
) -> None:
    memory = with_an_episode()
    memory.embedder.place(SWIMS, "lake", 0.95)
    [(found, _)] = fates(repaired(memory, fact(SWIMS, "lake"), profile=profile))
    assert found == fate


def test_a_fact_is_compared_with_the_five_nearest_items_alone() -> None:
    def stored(nearer: int) -> str:
        memory = with_an_episode()
        for number in range(nearer):
            memory.add("concept", f"concept {number}", 0.95, beside=SWIMS)
        memory.add("fact", "Ilse goes to the lake.", 0.9, beside=SWIMS)
        return fates(repaired(memory, fact(SWIMS, "lake")))[0][0]

    assert stored(nearer=4) == "skipped"
    assert stored(nearer=5) == "executed"


def test_an_id_that_was_not_shown_is_passed_over() -> None:
    memory = with_an_episode()
    memory.add("episode", "hidden")
    for number in range(10):
        memory.add("episode", f"nearer {number}", 0.4)
    [edit] = repaired(memory, fact(SWIMS, "lake", "hidden", "made up")).edits
    assert edit.ids == (episode_id("lake"),)
    assert memory.editing.turns_of(edit.item) == ("lake",)


@pytest.mark.parametrize(
    ("profile", "outcome"),
    [("published", ("executed", None)), ("improved", ("skipped", "stands on no episode"))],
)
def test_a_fact_that_stands_on_nothing_is_stored_as_published_alone(
    profile: str, outcome: tuple[str, str | None]
) -> None:
    assert fates(repaired(with_an_episode(), fact(SWIMS, "made up"), profile=profile)) == [outcome]


@pytest.mark.parametrize(
    ("profile", "turns"), [("published", ("lake", "elsewhere")), ("improved", ("lake",))]
)
def test_a_fact_may_stand_on_a_fact_as_published_alone(profile: str, turns: tuple[str, ...]) -> None:
    memory = with_an_episode()
    known = memory.add("fact", "Ilse is sporty.", 0.5)
    memory.graph.join("DERIVED_FROM", known, memory.add("episode", "elsewhere"))
    edit = fact(SWIMS, "lake")
    edit["params"]["source_episode_ids"].append(known)
    [made] = repaired(memory, edit, profile=profile, recalled_episodes=1).edits
    assert memory.editing.turns_of(made.item) == turns


def test_a_concept_is_joined_to_the_facts_and_episodes_that_it_names() -> None:
    memory = with_an_episode()
    known = memory.add("fact", "Ilse is sporty.", 0.5)
    [edit] = repaired(memory, concept("lake_swimming", known, episode_id("lake"), "made up")).edits
    made = [(edge.type, edge.source) for edge in memory.editing.concept_edges([known, episode_id("lake")])]
    assert made == [("ABOUT_CONCEPT", known), ("HAS_CONCEPT", episode_id("lake"))]
    assert edit.ids == (known, episode_id("lake"))


def test_a_concept_that_joins_nothing_is_not_made() -> None:
    memory = with_an_episode()
    assert fates(repaired(memory, concept("lake_swimming", "made up"))) == [("skipped", "joined to nothing")]
    assert memory.texts("concept") == []


def test_a_concept_that_is_as_good_as_stored_is_rejected_with_its_links_as_published_and_joined_as_improved() -> (
    None
):
    def joined(profile: str) -> list[str]:
        memory = with_an_episode(profile)
        memory.add("concept", "swimming_in_lakes", 0.85, beside="lake_swimming")
        repaired(memory, concept("lake_swimming", episode_id("lake")), profile=profile)
        return [found.text for found in memory.editing.concepts_beside([episode_id("lake")])]

    assert joined("published") == []
    assert joined("improved") == ["swimming_in_lakes"]


@pytest.mark.parametrize(
    ("concept_ids", "concepts"), [("one", ["lake_swimming"]), ("two", ["lake_swimming", "lake_swimming"])]
)
def test_a_fact_names_the_stored_concept_or_one_beside_it(concept_ids: str, concepts: list[str]) -> None:
    memory = with_an_episode(concept_ids=concept_ids)
    memory.add("concept", "lake_swimming")
    [edit] = repaired(memory, fact(SWIMS, "lake", concepts=["Lake_Swimming "]), profile="published").edits
    assert memory.texts("concept") == concepts
    [named] = memory.editing.concepts_beside([edit.item])
    assert named.id == (text_id("lake_swimming") if concept_ids == "one" else "concept-lake_swimming")


@pytest.mark.parametrize(
    ("label", "id"),
    [
        ("Lake Swimming!", "concept-lake_swimming"),
        ("--cold  water--", "concept-cold_water"),
        ("a1-b2", "concept-a1_b2"),
    ],
)
def test_the_code_s_id_of_a_concept_is_its_label_as_a_slug(label: str, id: str) -> None:
    memory = with_an_episode(concept_ids="two")
    assert memory.editing.concept(label) == id
    assert memory.editing.concept(label.upper()) == id


def test_labels_without_a_latin_letter_are_different_concepts() -> None:
    editing = with_an_episode(concept_ids="two").editing
    assert editing.concept("湖") != editing.concept("海")


def test_a_label_that_equals_a_fact_does_not_replace_it() -> None:
    memory = with_an_episode()
    known = memory.add("fact", "swimming")
    assert memory.editing.concept("swimming") != known
    assert memory.texts("fact") == ["swimming"]


def test_the_id_of_an_added_fact_depends_on_its_text_alone() -> None:
    ids = [
        repaired(with_an_episode(), fact(text, "lake")).edits[0].item
        for text in (SWIMS, SWIMS.upper(), "Ilse rows.")
    ]
    assert ids[0] == ids[1] != ids[2]
    assert all(id.startswith("fact-gel-") and len(id) == len("fact-gel-") + 12 for id in ids)


def test_a_fact_without_a_vector_is_skipped_and_a_label_without_one_is_passed_over() -> None:
    memory = with_an_episode()
    memory.embedder.refused = ("Ilse dives.", "unspeakable")
    repair = repaired(
        memory, fact("Ilse dives.", "lake"), fact(SWIMS, "lake", concepts=["unspeakable", "lake_swimming"])
    )
    assert fates(repair) == [("skipped", "a text has no vector: refused"), ("executed", None)]
    assert memory.texts("concept") == ["lake_swimming"]


def test_a_fact_joins_at_most_ten_concepts() -> None:
    memory = with_an_episode()
    repaired(memory, fact(SWIMS, "lake", concepts=[f"label_{number}" for number in range(1000)]))
    assert len(memory.texts("concept")) == 10


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([episode_id("lake"), "CREATE_FACT"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
parameters = st.dictionaries(
    st.sampled_from(
        ["fact_text", "belief", "source_episode_ids", "concepts", "concept_label", "connected_node_ids"]
    ),
    anything,
)
operations = st.fixed_dictionaries(
    {"op_type": st.sampled_from(["CREATE_FACT", "CREATE_CONCEPT", "DROP"]), "params": parameters | anything}
)


@given(st.lists(operations | anything, max_size=8), st.sampled_from(["published", "improved"]), anything)
@settings(max_examples=60, deadline=None)
def test_no_plan_and_no_verification_does_more_than_the_caps_allow(
    edits: list[Any], profile: str, verdict: Any
) -> None:
    memory = with_an_episode(profile)
    chat = GraftChat(
        plan={"edit_ops": edits},
        verify=lambda _: json.dumps({"passed_indices": [1, 2, 3, 4], "rejections": verdict}),
    )
    repair = memory.repair(chat, profile)
    assert len(memory.texts("fact")) <= 2
    assert repair.planned <= 4
    assert repair.planned == repair.executed + repair.skipped + sum(
        edit.fate == "refused" for edit in repair.edits
    )
    assert set(memory.graph.topology.nodes) == set(memory.graph.items)
    repairs_table([repair]).validate(full=True)


def test_the_log_has_a_row_a_question_with_the_fate_of_each_edit() -> None:
    memory = with_an_episode()
    left = memory.repair(GraftChat(diagnose={"completeness": 0.9}))
    done = repaired(memory, fact(SWIMS, "lake", concepts=["lake_swimming"]), fact("", "lake"))
    rows = repairs_table([left, done]).to_pylist()
    assert [row["state"] for row in rows] == ["sufficient", "repaired"]
    assert (rows[0]["completeness"], rows[0]["probes"], rows[0]["edits"]) == (0.9, [], [])
    assert {name: rows[1][name] for name in ("written", "planned", "passed", "executed", "skipped")} == {
        "written": 2, "planned": 2, "passed": 2, "executed": 1, "skipped": 1,
    }  # fmt: skip
    assert rows[1]["probes"] == [PROBE]
    assert rows[1]["edits"][0] == {
        "kind": "fact",
        "text": SWIMS,
        "ids": [episode_id("lake")],
        "concepts": ["lake_swimming"],
        "fate": "executed",
        "reason": None,
        "item": done.edits[0].item,
    }
    assert rows[1]["edits"][1]["reason"] == "no text"


def test_a_repaired_memory_comes_back_from_its_tables() -> None:
    system = Gaama(
        gaama_settings("improved"),
        Models(GraftChat(), PlacedEmbedder(), GraftChat(concept_facts=CallFailed("no reply", final=True))),
    )
    system.remember(session("We drove to the lake."), {})
    editing = system.editing()
    [episode] = editing.all_of("episode")
    item = editing.add_fact(SWIMS, 0.85, [episode.id])
    editing.join_concept(editing.concept("lake_swimming"), [item])
    again = Gaama.from_tables(system.tables(), system.settings, system.models)
    assert again.editing().recall_little(QUESTION, facts=5, episodes=10) == editing.recall_little(
        QUESTION, facts=5, episodes=10
    )
    kept = again.graph.items[item]
    assert (kept.origin, kept.sequence, kept.belief) == ("repaired", None, 0.85)
    assert again.editing().turns_of(item) == ("h#0.0",)


@pytest.mark.parametrize(
    ("profile", "named"), [("published", "lake_swimming"), ("improved", "swimming_in_lakes")]
)
def test_a_label_that_is_as_good_as_stored_is_made_as_published_and_the_stored_one_as_improved(
    profile: str, named: str
) -> None:
    memory = with_an_episode(profile)
    memory.add("concept", "swimming_in_lakes", 0.85, beside="lake_swimming")
    [edit] = repaired(memory, fact(SWIMS, "lake", concepts=["lake_swimming"]), profile=profile).edits
    assert [found.text for found in memory.editing.concepts_beside([edit.item])] == [named]
