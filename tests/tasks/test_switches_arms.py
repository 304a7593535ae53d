"""Which settings the switch table tries."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from memory.errors import BadInput
from memory.profiles import GRAPH_PROFILES, GraphSettings, MergeRule
from tasks.kinds import make_study
from tasks.study import Condition, Study
from tasks.switches_arms import BASES, HOPS_WIDE, arms, bases_of, build_key, differing, named

STUDY = Study()


def test_the_switches_are_each_field_in_which_the_profiles_differ_one_at_a_time_and_both_ways() -> None:
    bases = bases_of(STUDY)
    expected = {
        name
        for name in GraphSettings.model_fields
        if GraphSettings(**GRAPH_PROFILES["published"]).model_dump()[name]
        != GraphSettings(**GRAPH_PROFILES["improved"]).model_dump()[name]
    }
    assert set(differing(bases)) == expected
    switched = [arm for arm in named(bases) if "switch" in arm.uses]
    for base, other in (BASES, BASES[::-1]):
        mine = {arm.field: arm for arm in switched if arm.base == base}
        assert mine.keys() == expected
        for field, arm in mine.items():
            assert json.loads(arm.own) == bases[base][field]
            assert json.loads(arm.value) == bases[other][field]
    assert len(switched) == 2 * len(expected)


def test_an_arm_differs_from_its_profile_in_what_it_names_and_in_nothing_else() -> None:
    bases = bases_of(STUDY)
    for arm in arms(bases):
        settings = arm.settings(bases).model_dump(mode="json")
        changed = {name: value for name, value in settings.items() if value != bases[arm.base][name]}
        if arm.field == HOPS_WIDE:
            assert {"max_nodes": 200, "hops": arm.value} == {"hops": bases[arm.base]["hops"], **changed}
        else:
            assert changed == ({arm.field: arm.value} if arm.field else {})


def test_no_arm_is_tried_twice() -> None:
    bases = bases_of(STUDY)
    tried = [(arm.base, arm.settings(bases).model_dump_json()) for arm in arms(bases)]
    assert len(set(tried)) == len(tried)


def test_every_merge_rule_is_tried_from_both_profiles() -> None:
    rules = [arm for arm in named(bases_of(STUDY)) if "rule" in arm.uses]
    for base in BASES:
        tried = {json.loads(value) for arm in rules if arm.base == base for value in (arm.value, arm.own)}
        assert tried == set(get_args(MergeRule))


def test_roots_are_swept_from_1_to_20_and_hops_from_0_to_4() -> None:
    swept = [arm for arm in named(bases_of(STUDY)) if "sweep" in arm.uses]
    for base in BASES:
        for field, ends in (("roots", (1, 20)), ("hops", (0, 4))):
            of_field = [arm for arm in swept if (arm.base, arm.field) == (base, field)]
            values = sorted({json.loads(v) for arm in of_field for v in (arm.value, arm.own)})
            assert (values[0], values[-1]) == ends
    fields = {"roots", "hops", "hops_wide", "max_nodes", "max_edges", "retrieval_floor", "dedup_threshold"}
    assert {arm.field for arm in swept} == fields


def test_thresholds_are_those_of_the_studys_first_graph() -> None:
    graph = Condition(system="graph", settings={"retrieval_floor": 0.3, "dedup_threshold": 0.8})
    bases = bases_of(Study(conditions=(graph,)))
    assert {base["retrieval_floor"] for base in bases.values()} == {0.3}
    assert {base["dedup_threshold"] for base in bases.values()} == {0.8}


def test_arms_that_differ_in_retrieval_alone_build_alike() -> None:
    bases = bases_of(STUDY)
    keys = {arm.field: build_key(arm.settings(bases)) for arm in arms(bases) if arm.base == "published"}
    assert keys["roots"] == keys["retrieval_floor"] == keys[""]
    assert len({keys[""], keys["merge"], keys["dedup_threshold"], keys["session_order"]}) == 4


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"conditions": [{"system": "flat"}]}, "no condition is one"),
        ({"study": "forgetting"}, "forgetting study does not explain itself"),
    ],
)
def test_only_a_representation_study_with_a_graph_explains_itself(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(BadInput, match=fault):
        make_study({**fields, "explain": True})
