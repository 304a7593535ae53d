"""A run folder belongs to one study; another is refused, and told where it differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory.errors import BadInput
from tasks.kinds import make_study
from tasks.runs import Run, read_run, write_run
from tasks.start import prepare, start
from tasks.study_diff import differences, one_line
from tests.flows.study_in_loop import conditions

BASE: dict[str, Any] = {"conditions": conditions("none", "bm25")}


def run_of(folder: Path, **fields: Any) -> Run:
    return prepare(make_study({**BASE, **fields}), None, folder / "store", folder / "unused")[1]


def test_the_same_study_differs_in_nothing(tmp_path: Path) -> None:
    assert differences(run_of(tmp_path), run_of(tmp_path, retry_failed=True, repair=True)) == {}


@pytest.mark.parametrize(
    ("fields", "name", "there", "here"),
    [
        ({"seed": 7}, "seed", "0", "7"),
        ({"limit": 3}, "limit", "null", "3"),
        ({"judge": "per_type"}, "judge", '"paper"', '"per_type"'),
        ({"resamples": 500}, "resamples", "10000", "500"),
    ],
)
def test_the_one_field_that_differs_is_named_with_both_values(
    fields: dict[str, Any], name: str, there: str, here: str, tmp_path: Path
) -> None:
    assert differences(run_of(tmp_path), run_of(tmp_path, **fields)) == {name: (there, here)}


def test_conditions_are_matched_by_name(tmp_path: Path) -> None:
    found = differences(run_of(tmp_path), run_of(tmp_path, conditions=conditions("bm25", "oracle")))
    names = {name.split(".")[1] for name in found}
    assert names == {"none", "oracle"}
    assert found["conditions.none.system"] == ('"none"', "not")
    assert found["conditions.oracle.system"] == ("not", '"oracle"')


def test_a_setting_that_differs_only_because_the_program_has_changed_is_named(tmp_path: Path) -> None:
    here = run_of(tmp_path, conditions=conditions("graph"))
    arm = here.arms[0]
    there = here.model_copy(
        update={"arms": [{**arm, "settings": {**arm["settings"], "dedup_threshold": 0.5}}]}
    )
    found = differences(there, here)
    assert list(found) == ["arms.graph.dedup_threshold"]
    assert found["arms.graph.dedup_threshold"][0] == "0.5"


def test_other_data_is_named_by_its_hash(tmp_path: Path) -> None:
    here = run_of(tmp_path)
    assert list(differences(here.model_copy(update={"sha256": "0" * 64}), here)) == ["data.sha256"]


def test_a_long_list_of_differences_is_cut_and_counted() -> None:
    line = one_line({f"field{n}": ("1", "2") for n in range(11)})
    assert line.startswith("field0: 1 there, 2 here; ")
    assert line.endswith("; and 3 more fields")


def test_a_run_of_another_version_of_the_program_is_told_as_such() -> None:
    assert "another version of this program" in one_line({})


def test_another_study_in_the_same_folder_is_refused_with_the_difference(tmp_path: Path) -> None:
    folder, _ = start(make_study(BASE), None, tmp_path / "store", tmp_path / "run")
    before = (folder / "run.json").read_bytes()
    with pytest.raises(BadInput, match=r"seed: 0 there, 7 here.*--out") as refused:
        start(make_study({**BASE, "seed": 7}), None, tmp_path / "store", tmp_path / "run")
    assert "\n" not in str(refused.value)
    assert (folder / "run.json").read_bytes() == before


def test_escapes_in_a_foreign_run_folder_do_not_reach_the_terminal(tmp_path: Path) -> None:
    folder, run = start(make_study(BASE), None, tmp_path / "store", tmp_path / "run")
    hostile = run.model_copy(update={"name": "\x1b[2Jx", "sha256": "\x1b[31m"})
    write_run(folder, hostile)
    assert read_run(folder).sha256 == "\x1b[31m"
    with pytest.raises(BadInput) as refused:
        start(make_study(BASE), None, tmp_path / "store", tmp_path / "run")
    assert "\x1b" not in str(refused.value)
