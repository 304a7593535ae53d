"""The use-time study as data: which arms follow from it, and in which order they are asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memory.errors import BadInput
from memory.systems import SYSTEMS
from tasks.execute import only_found
from tasks.kinds import make_study
from tasks.start import prepare
from tasks.use_time_plan import UseTimePlan
from tasks.use_time_study import FRAMES, UNCHUNKED, Point, UseTimeStudy


def study(**fields: Any) -> UseTimeStudy:
    made = make_study({"study": "use-time", **fields})
    assert isinstance(made, UseTimeStudy)
    return made


def points(**fields: Any) -> list[Point]:
    return list(study(**fields).points())


def dict_of_systems() -> dict[str, str]:
    assert isinstance(SYSTEMS, dict)
    return SYSTEMS


def settings(point: Point) -> dict[str, Any]:
    return dict(study().arm(point.arm)["settings"])


def test_every_system_is_asked_at_every_budget_under_a_name_of_its_own() -> None:
    made = points(budgets=[250, 2000])
    systems = [p for p in made if p.part == "system"]
    assert Counter(p.condition for p in systems).keys() >= {
        "oracle",
        "full_context",
        "bm25",
        "flat",
        "graph",
        "rd_forget",
    }
    assert set(Counter(p.condition for p in systems).values()) == {2}
    assert len({p.arm.name for p in made}) == len(made)
    assert all(settings(p)["budget_tokens"] == p.tokens for p in systems)


def test_the_five_ablations_turn_one_switch_each_at_one_budget() -> None:
    ablated = {p.variant: settings(p) for p in points() if p.part == "ablation"}
    full = next(settings(p) for p in points() if p.condition == "rd_forget" and p.tokens == 2000)
    turned = {
        variant: {name for name, value in own.items() if value != full[name]}
        for variant, own in ablated.items()
    }
    assert turned == {
        "-FORGET": {"forget"},
        "-RESCUE": {"rescue"},
        "-SLOT": {"slots"},
        "-CLOSURE": {"closure"},
        "-QC": {"query_conditioned", "curation_tokens"},
    }


def test_what_the_paper_leaves_open_is_turned_one_at_a_time() -> None:
    full = next(settings(p) for p in points() if p.condition == "rd_forget" and p.tokens == 2000)
    for point in points():
        if point.part == "open":
            differ = {name for name, value in settings(point).items() if value != full[name]}
            assert len(differ) == 1, point.variant


def test_a_rule_that_curates_has_no_window_and_a_language_model_has() -> None:
    offline = next(p for p in points() if p.condition == "rd_forget")
    assert settings(offline)["chunk_tokens"] == UNCHUNKED
    asked = next(p for p in points(models="openai") if p.condition == "rd_forget")
    assert settings(asked)["chunk_tokens"] == 8_000
    assert study().models.query == FRAMES


def test_what_only_a_language_model_can_build_is_left_out_offline_unless_it_is_named() -> None:
    names = {"ace", "reasoning_bank"}
    assert not names & {p.condition for p in points()}
    assert names <= {p.condition for p in points(models="openai")}
    named = points(conditions=[{"system": "ace"}])
    assert {p.condition for p in named} == {"ace"}


@pytest.mark.parametrize(
    ("benchmark", "cap"), [("lme-ku", 256), ("beam-100k", 2_048), ("personamem-32k-rd", 2_048)]
)
def test_replies_are_capped_as_in_the_papers_protocols(benchmark: str, cap: int) -> None:
    assert study(benchmark=benchmark, models="openai").models.answer_cap == cap


@pytest.mark.parametrize("benchmark", ["beam-100k-rd", "personamem-32k-rd"])
def test_questions_of_intent_are_asked_by_the_protocol_for_them_and_so_are_its_ablations(
    benchmark: str,
) -> None:
    made = [p for p in points(benchmark=benchmark, models="openai") if p.condition == "rd_forget"]
    protocol = {
        "curation_tokens": 8_192,
        "selection_tokens": 2_048,
        "chunk_tokens": 8_000,
        "intent_aware": True,
    }
    assert len(made) > 6
    for point in made:
        assert protocol.items() <= settings(point).items(), point.arm.name
    main = next(p for p in points(benchmark="lme-ku", models="openai") if p.condition == "rd_forget")
    assert not settings(main)["intent_aware"]


def test_a_condition_that_is_named_keeps_its_own_protocol() -> None:
    named = points(benchmark="beam-100k-rd", conditions=[{"system": "rd_forget"}])
    assert {settings(p)["selection_tokens"] for p in named} == {256}


def test_storage_is_forgotten_where_the_joint_question_is_asked() -> None:
    assert not [p for p in points(benchmark="mab-fc") if p.part == "joint"]
    stored = [p for p in points(benchmark="lme-ku") if p.part == "joint"]
    assert {p.condition for p in stored} == {"flat", "bm25", "rd_forget"}
    assert {(p.retention, p.kept) for p in stored} == {
        (policy, kept) for policy in ("importance", "random") for kept in (0.5, 0.25, 0.1)
    }
    assert all(settings(p)["kept"] == p.kept and settings(p)["retention"] == p.retention for p in stored)
    assert [p for p in points(benchmark="mab-fc", kept=[0.3]) if p.part == "joint"]


def test_a_point_says_what_its_condition_forgets_in_storage_by_itself() -> None:
    stored = {(p.condition, p.retention, p.kept) for p in points(benchmark="lme-ku") if p.part == "system"}
    assert ("graph-pruned", "importance", 0.5) in stored
    assert ("graph", "", 1.0) in stored


def test_a_system_without_a_budget_is_refused_by_name_and_one_of_nothing_is_asked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(dict_of_systems(), "boundless", "memory.systems.nothing:NoMemory")
    with pytest.raises(BadInput, match="condition boundless: system boundless has no setting budget_tokens"):
        study(conditions=[{"system": "boundless"}])
    assert [p.tokens for p in points(conditions=[{"system": "none"}])] == [None]


@pytest.mark.parametrize(
    "fields",
    [
        {"conditions": [{"system": "rd_forget"}, {"system": "rd_forget", "name": "rd_forget-qc"}]},
        {"kept": [0.101, 0.102]},
    ],
)
def test_two_arms_of_one_name_would_write_over_each_other_and_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="two arms are called"):
        study(**fields)


def test_a_policy_that_a_system_cannot_follow_is_refused_before_the_run_begins() -> None:
    with pytest.raises(BadInput, match="reads vectors, and this system keeps none"):
        study(benchmark="lme-ku", retention=["fademem"])


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"budgets": [500, 250]}, "budgets: give positive numbers of tokens in rising order"),
        ({"budgets": [250]}, "ablation_budget: 2000 is none of the budgets"),
        ({"kept": [1.0]}, "kept: give shares above 0 and below 1"),
        ({"retention": ["whim"]}, "retention: no retention policy is named whim"),
        ({"budgets": [250, 2000], "kept": [0.5]}, "joint_budgets: 1000 is none of the budgets"),
    ],
)
def test_a_study_that_makes_no_sense_is_refused_with_its_field(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(BadInput, match=fault):
        study(**fields)


def test_arms_that_ask_a_model_the_same_wait_for_the_first_of_them(tmp_path: Path) -> None:
    made = study(budgets=[250, 2000], kept=[0.5], joint_budgets=[250, 2000])
    plan = UseTimePlan(*prepare(made, None, tmp_path / "store", tmp_path / "run"), only_found)
    waves = plan._waves()
    assert waves["rd_forget-b250"] == 0
    assert waves["rd_forget-b2000"] == 2
    assert waves["rd_forget-forget-b2000"] == 1
    assert waves["rd_forget-importance-50-b250"] == 1
    assert waves["rd_forget-importance-50-b2000"] == 2
    first = [name for name, wave in waves.items() if wave == 0]
    assert len(first) == len({point.condition for point in made.points()})
