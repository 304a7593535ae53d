"""What a change makes run again: exactly the stages whose outcome depends on it."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.prompts import query_entities
from tasks import answer, merge
from tasks.execute import in_loop
from tasks.prompts import judge as judge_prompts
from tests.flows.study_in_loop import Watched, conditions, run_in_loop

STUDY: dict[str, Any] = {"conditions": conditions("flat", "graph")}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return run_in_loop(tmp_path_factory.mktemp("first"), **STUDY)


@pytest.fixture
def again(first: Watched, tmp_path: Path) -> Iterator[Path]:
    """A copy of the first run's folder and store, to run on in."""
    base = tmp_path / "again"
    shutil.copytree(first.folder.parent, base)
    yield base


def moved(base: Path, **fields: Any) -> Watched:
    """The same study, or one that differs in `fields`, in a folder that holds the first one's parts.

    A run folder belongs to one study; so that a changed study can be seen to find the parts that it shares with the
    first, its `run.json` is removed, as if the user had named the folder anew.
    """
    (base / "run" / "run.json").unlink()
    return run_in_loop(base, **{**STUDY, **fields})


def test_nothing_changed_nothing_runs(again: Path) -> None:
    assert run_in_loop(again, **STUDY).made_stages == []


def test_a_comment_or_a_docstring_reruns_nothing(again: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(answer.__file__).read_text(encoding="utf-8")
    changed = source.replace(
        "def make(work: Work) -> Made:\n", "def make(work: Work) -> Made:\n    # changed\n"
    )
    assert changed != source
    namespace: dict[str, Any] = {"__name__": "tasks.answer"}
    exec(compile(changed, "changed", "exec"), namespace)  # noqa: S102
    monkeypatch.setattr(answer, "STAGE", namespace["STAGE"])
    assert run_in_loop(again, **STUDY).made_stages == []


def test_one_word_of_the_answer_prompt_reruns_answers_and_what_reads_them(
    again: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks.prompts import answer as prompts

    original = prompts.request

    def request(*args: Any, **kwargs: Any) -> Any:
        asked = original(*args, **kwargs)
        return dataclasses.replace(asked, system=asked.system + " Please.")

    monkeypatch.setattr(answer, "request", request)
    # The offline answerer reads no prompt, so that its answers are the same, and no verdict depends on anything new.
    assert run_in_loop(again, **STUDY).made_stages == ["answer"]


def test_one_word_of_the_judges_prompt_reruns_verdicts(again: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tasks import judge

    def request(*args: Any, **kwargs: Any) -> Any:
        asked = judge_prompts.request(*args, **kwargs)
        return dataclasses.replace(asked, system=asked.system + " Please.")

    monkeypatch.setattr(judge, "request", request)
    assert run_in_loop(again, **STUDY).made_stages == ["judge"]


def test_one_word_of_the_query_prompt_reruns_the_recalls_of_the_graph_alone(
    again: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = query_entities.request

    def request(question: str) -> Any:
        return dataclasses.replace(original(question), system="Other words.")

    monkeypatch.setattr(query_entities, "request", request)
    made = run_in_loop(again, **STUDY)
    assert made.made_stages == ["recall"]
    assert made.made["recall"] == ["graph-0000"]


def test_one_threshold_of_retrieval_reruns_the_recalls_of_that_condition(again: Path) -> None:
    graph = {"system": "graph", "settings": {"retrieval_floor": 0.95}}
    made = moved(again, conditions=[*conditions("flat"), graph])
    assert made.made["extract"] == []
    assert made.made["embed"] == []
    assert made.made["recall"] == ["graph-0000"]
    assert made.made["answer"] == ["graph-0000"], "a floor of 0.95 is expected to change what is recalled"
    assert made.made["judge"] == ["graph-0000"]


def test_one_helpers_behaviour_reruns_its_stage_and_stops_where_the_outcome_is_the_same(
    again: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge, "STAGE", dataclasses.replace(merge.STAGE, version=merge.STAGE.version + 1))
    assert run_in_loop(again, **STUDY).made_stages == ["merge"]


def test_a_helper_that_changes_the_outcome_reruns_all_that_reads_it(
    again: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(work: Any) -> Any:
        made = answer.make(work)
        table = made.tables["answers"].to_pandas()
        table["answer"] = table["answer"] + " indeed"
        import pyarrow as pa

        return dataclasses.replace(
            made, tables={"answers": pa.Table.from_pandas(table, preserve_index=False)}
        )

    changed = dataclasses.replace(answer.STAGE, version=answer.STAGE.version + 1, make=make)
    monkeypatch.setattr(answer, "STAGE", changed)
    assert run_in_loop(again, **STUDY).made_stages == ["answer", "judge", "score", "waterfall", "bootstrap"]


def test_another_extractor_prompt_reruns_extraction(again: Path) -> None:
    made = moved(again, extraction_prompt="plain")
    assert made.made["extract"]


def test_another_embedder_is_no_business_of_a_lexical_memory(tmp_path: Path) -> None:
    works: list[Any] = []

    def execute(stage: Any, asked: Any) -> Any:
        works.extend(asked)
        return in_loop(stage, asked)

    from tasks.context import closed_models
    from tasks.kinds import make_study
    from tasks.start import carry_out, start

    study = make_study({"conditions": conditions("bm25", "flat")})
    folder, run = start(study, None, tmp_path / "store", tmp_path / "run")
    with closed_models():
        carry_out(folder, run, execute)
    recalls = {work.batch: work for work in works if work.stage == "recall"}
    assert recalls["bm25-0000"].params["models"] == {}
    assert set(recalls["flat-0000"].params["models"]) == {"embedder"}
