"""Thresholds of one's own, from the file of a probe to the settings of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.running import study_of
from memory.calibration import CALIBRATED
from memory.errors import BadInput
from tasks.kinds import make_study
from tasks.study import Study
from tasks.thresholds import ProbedThresholds, read_thresholds

PROBED = ProbedThresholds(
    embedder="offline:minilm", dedup=0.91, floor=0.33, dedup_pairs=120, floor_pairs=60, probe="abc"
)
GRAPH = {"system": "graph", "name": "graph"}


def study(**fields: Any) -> Study:
    return make_study({"conditions": [GRAPH, {"system": "flat"}], **fields})


def settings(made: Study) -> tuple[float, float]:
    arm = made.arm(made.conditions[0])["settings"]
    return arm["dedup_threshold"], arm["retrieval_floor"]


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    st.integers(1, 100).map(lambda n: n / 100),
    st.integers(-100, 100).map(lambda n: n / 100),
)
def test_what_is_written_is_what_is_read(
    tmp_path_factory: pytest.TempPathFactory, name: str, dedup: float, floor: float
) -> None:
    made = PROBED.model_copy(update={"embedder": name, "dedup": dedup, "floor": floor})
    path = tmp_path_factory.mktemp("written") / "thresholds.toml"
    path.write_text(made.toml(), encoding="utf-8")
    assert read_thresholds(path) == made


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("dedup = 2", "embedder"),
        (PROBED.toml().replace("dedup = 0.91", "dedup = 1.91"), "dedup"),
        (PROBED.toml() + "nonsense = 1", "nonsense"),
        ("not toml", "not TOML"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_its_field(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "thresholds.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=rf"thresholds\.toml: .*{named}"):
        read_thresholds(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_thresholds(tmp_path / "none.toml")


def test_a_study_takes_its_own_thresholds_before_the_built_in_ones(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.toml"
    path.write_text(PROBED.toml())
    fields = {"conditions": [GRAPH]}
    assert settings(study_of(None, fields, None, None, {}, thresholds=path)) == (0.91, 0.33)
    built_in = CALIBRATED["minilm"]
    assert settings(study_of(None, fields, None, None, {})) == (built_in.dedup, built_in.floor)


def test_what_a_condition_sets_comes_before_both() -> None:
    own = {**GRAPH, "settings": {"dedup_threshold": 0.5}}
    assert settings(study(conditions=[own], thresholds=PROBED)) == (0.5, 0.33)


def test_a_floor_of_zero_is_a_floor() -> None:
    none = PROBED.model_copy(update={"floor": 0.0})
    assert settings(study(thresholds=none)) == (0.91, 0.0)


def test_thresholds_of_another_embedder_are_refused_with_the_remedy() -> None:
    other = PROBED.model_copy(update={"embedder": "ollama:bge-m3"})
    with pytest.raises(BadInput, match=r"of ollama:bge-m3.*palimpsest calibrate --embedder offline:minilm"):
        study(thresholds=other)


def test_an_embedder_that_is_not_built_in_is_usable_with_its_thresholds() -> None:
    models = {**study().models.model_dump(), "embedder": "ollama:bge-m3"}
    with pytest.raises(BadInput, match="palimpsest calibrate --embedder ollama:bge-m3"):
        study(models=models)
    own = PROBED.model_copy(update={"embedder": "ollama:bge-m3"})
    assert settings(study(models=models, thresholds=own)) == (0.91, 0.33)


def test_a_run_is_another_run_by_the_values_alone() -> None:
    more_pairs = PROBED.model_copy(update={"dedup_pairs": 500})
    other_value = PROBED.model_copy(update={"dedup": 0.92})
    names = [study(thresholds=t).run_name("data") for t in (PROBED, more_pairs, other_value)]
    assert names[0] == names[1] != names[2]
    built_in = CALIBRATED["minilm"]
    same = PROBED.model_copy(update={"dedup": built_in.dedup, "floor": built_in.floor})
    assert study(thresholds=same).run_name("data") == study().run_name("data")
