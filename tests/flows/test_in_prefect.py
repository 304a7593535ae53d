"""The study as a Prefect flow on a real server: states that are true, retries that are seen, nothing paid twice."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.blocks.system import Secret
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import TaskRunFilter, TaskRunFilterFlowRunId
from prefect.client.schemas.objects import State, TaskRun
from prefect.exceptions import ParameterTypeError
from prefect.testing.utilities import prefect_test_harness

from flows.representation import rejudge, representation
from memory.errors import BadInput
from tasks import answer, bootstrap, embed, extract, judge, load, merge, recall, score
from tasks.failures import StageFailed
from tasks.kinds import make_study
from tasks.models import keys
from tasks.models.budget import Budget
from tasks.orchestrate import as_task, in_prefect
from tasks.runs import read_run, write_run
from tasks.stage import Made, Stage, Work
from tasks.study import Study
from tests.flows.study_in_loop import conditions, run_in_loop

STAGES = [m.STAGE for m in (load, extract, embed, merge, recall, answer, judge, score, bootstrap)]


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    with prefect_test_harness(server_startup_timeout=180):
        yield


def small() -> Study:
    return make_study({"conditions": conditions("flat", "graph"), "limit": 5})


def run(folder: Path, study: Study) -> State[Any]:
    state: State[Any] = representation(
        study, store=str(folder / "store"), out=str(folder / "run"), outside=True, return_state=True
    )
    return state


def task_runs(state: State[Any], expected: int) -> list[TaskRun]:
    """The task runs of a flow run; the server records them a moment after they end."""

    async def read() -> list[TaskRun]:
        flow_run = TaskRunFilter(flow_run_id=TaskRunFilterFlowRunId(any_=[state.state_details.flow_run_id]))
        async with get_client() as client:
            for _ in range(600):
                found = await client.read_task_runs(task_run_filter=flow_run)
                if len(found) >= expected and all(each.state and each.state.is_final() for each in found):
                    return found
                await asyncio.sleep(0.2)
        return found

    return asyncio.run(read())


def test_a_run_completes_and_a_second_one_is_cached_throughout(tmp_path: Path) -> None:
    first = run(tmp_path, small())
    assert first.is_completed()
    again = run(tmp_path, small())
    assert again.is_completed()
    assert first.result() == again.result() == str((tmp_path / "run").resolve())
    # load, extract, embed, a merge; for two conditions recall, answer, judge, score, waterfall; its counts, bootstrap
    works = 3 + 1 + 2 * 5 + 2
    assert {each.state_name for each in task_runs(first, works)} == {"Completed"}
    cached = task_runs(again, works)
    assert len(cached) == works
    assert {each.state_name for each in cached} == {"Cached"}


def test_a_cached_task_never_points_at_nothing(tmp_path: Path) -> None:
    run(tmp_path, small())
    answers = list((tmp_path / "run" / "parts" / "answer").glob("flat*"))
    for file in answers:
        file.unlink()
    again = run(tmp_path, small())
    assert again.is_completed()
    by_name = {each.name: each.state_name for each in task_runs(again, 16)}
    assert by_name["answer flat-0000 (1 of 2)"] == "Completed"
    assert by_name["answer graph-0000 (2 of 2)"] == "Cached"
    assert all(file.exists() for file in answers)


def test_a_cached_task_never_points_at_an_older_making(tmp_path: Path) -> None:
    """The recalls were made again, with other latencies, where this Prefect did not see it."""
    run(tmp_path, small())
    for file in (tmp_path / "run" / "parts" / "recall").iterdir():
        file.unlink()
    run_in_loop(tmp_path, **small().model_dump())
    for file in (tmp_path / "run" / "parts" / "score").iterdir():
        file.unlink()
    again = run(tmp_path, small())
    assert again.is_completed(), again.message
    assert {e.state_name for e in task_runs(again, 16) if e.name.startswith("recall")} == {"Cached"}


def test_tasks_take_a_work_and_nothing_else() -> None:
    for stage in STAGES:
        parameters = inspect.signature(as_task(stage).fn).parameters
        assert [parameter.annotation for parameter in parameters.values()] == ["Work"]
    assert len({stage.name for stage in STAGES}) == len(STAGES)


def work_of(folder: Path, stage: Stage, batch: str) -> Work:
    return Work(
        run=str(folder), store=str(folder), stage=stage.name, batch=batch, version=1, params={"batch": batch}
    )


def test_a_fault_of_the_machine_is_retried_and_seen(tmp_path: Path) -> None:
    tries: list[str] = []

    def make(work: Work) -> Made:
        tries.append(work.batch)
        if len(tries) == 1:
            raise OSError("the disk is busy")
        return Made({}, {"ok": 1})

    stage = Stage("flaky", 1, make)

    @flow
    def flaky() -> None:
        in_prefect(stage, [work_of(tmp_path, stage, "a")])

    state: State[Any] = flaky(return_state=True)
    assert state.is_completed()
    assert len(tries) == 2
    assert task_runs(state, 1)[0].run_count == 2


def test_one_failing_work_neither_cancels_nor_hides_the_others(tmp_path: Path) -> None:
    made: list[str] = []

    def make(work: Work) -> Made:
        if work.batch == "b":
            raise ValueError("this one cannot be done")
        made.append(work.batch)
        return Made({}, {"ok": 1})

    stage = Stage("partial", 1, make)

    @flow
    def partial() -> None:
        in_prefect(stage, [work_of(tmp_path, stage, batch) for batch in "abcd"])

    state: State[Any] = partial(return_state=True)
    assert state.is_failed()
    assert sorted(made) == ["a", "c", "d"]
    failure = state.result(raise_on_failure=False)
    assert isinstance(failure, StageFailed)
    assert str(failure) == "stage partial: this one cannot be done"


def test_a_run_that_stops_says_so_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(work: Work) -> Made:
        raise ValueError("no answers today")

    monkeypatch.setattr(answer, "STAGE", Stage("answer", 1, make))
    state = run(tmp_path, small())
    assert state.is_failed()
    stopped = read_run(tmp_path / "run")
    assert stopped.status == "stopped"
    assert stopped.reason == "stage answer: no answers today"
    monkeypatch.undo()
    assert run(tmp_path, small()).is_completed()
    assert read_run(tmp_path / "run").status == "complete"


def test_a_run_without_budget_left_ends_in_a_state_of_that_name_and_goes_on_with_more(tmp_path: Path) -> None:
    exhausted = run(tmp_path, small().model_copy(update={"budget": Budget(calls=60)}))
    assert exhausted.is_failed()
    assert exhausted.name == "BudgetExhausted"
    assert "budget of the run exhausted: of 60 calls, 60 calls are made" in str(exhausted.message)
    assert read_run(tmp_path / "run").status == "budget_exhausted"
    assert (tmp_path / "run" / "metrics.parquet").exists()
    assert {each.state_name for each in task_runs(exhausted, 16)} == {"Completed"}
    assert run(tmp_path, small()).is_completed()


def test_rejudging_answers_nothing_again_and_keeps_the_old_verdicts(tmp_path: Path) -> None:
    assert run(tmp_path, small()).is_completed()
    before = (tmp_path / "run" / "verdicts.parquet").read_bytes()
    state: State[Any] = rejudge(str(tmp_path / "run"), "per_type", outside=True, return_state=True)
    assert state.is_completed()
    folder = Path(state.result())
    assert (folder / "verdicts.parquet").exists()
    assert (folder / "table_1.md").exists()
    assert (tmp_path / "run" / "verdicts.parquet").read_bytes() == before
    made = {each.name.split()[0] for each in task_runs(state, 5) if each.state_name == "Completed"}
    assert made <= {"judge", "score", "waterfall", "waterfall_types", "bootstrap"}
    assert "judge" in made


def test_a_full_study_stays_under_three_thousand_task_runs() -> None:
    from tasks.plan import QUESTIONS_A_BATCH, TEXTS_A_BATCH, TURNS_A_BATCH

    histories, turns, questions, texts, arms = 500, 189_264, 500, 700_000, 8
    batches = -(-questions // QUESTIONS_A_BATCH)
    runs = turns // TURNS_A_BATCH + texts // TEXTS_A_BATCH + arms * batches * 5
    assert histories >= batches
    assert runs < 3_000


def test_a_form_refuses_a_bad_value_before_a_run_starts(tmp_path: Path) -> None:
    with pytest.raises(ParameterTypeError, match="nonsense"):
        representation({"benchmark": "nonsense"}, store=str(tmp_path / "store"))
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("parameter", ["data", "store", "out"])
def test_a_parameter_that_names_a_place_outside_of_the_project_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parameter: str
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    state: State[Any] = representation(small(), **{parameter: str(tmp_path / "other")}, return_state=True)
    assert state.is_failed()
    assert isinstance(state.result(raise_on_failure=False), BadInput)
    assert "outside" in (state.message or "")
    assert [path.name for path in tmp_path.rglob("*")] == ["project"]


def test_a_run_from_elsewhere_whose_store_lies_outside_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    found = run_in_loop(project, **small().model_dump())
    write_run(found.folder, read_run(found.folder).model_copy(update={"store": str(tmp_path / "other")}))
    monkeypatch.chdir(project)
    state: State[Any] = rejudge("run", "per_type", return_state=True)
    assert isinstance(state.result(raise_on_failure=False), BadInput)
    assert not (tmp_path / "other").exists()


def test_the_key_may_come_from_a_secret_block_that_is_known_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("PALIMPSEST_OPENAI_KEY_BLOCK", "the-studys-key")
    Secret(value="planted-key-in-a-block").save("the-studys-key")
    assert keys.openai_key() == "", "outside of a run no block is looked up"

    @flow
    def asks() -> str:
        return keys.openai_key()

    assert asks() == "planted-key-in-a-block"
    assert keys.redact("said planted-key-in-a-block", keys.held()) == "said [key]"
    monkeypatch.setenv("OPENAI_API_KEY", "the-environments-comes-first")
    assert asks() == "the-environments-comes-first"


@pytest.mark.parametrize("study", [{"api_key": "sk-x"}, {"models": {"openai_token": "sk-x"}}])
def test_a_parameter_that_is_named_like_a_key_is_refused_without_its_value(study: dict[str, Any]) -> None:
    with pytest.raises(ParameterTypeError, match="has no place in a study") as refused:
        representation(study)
    assert "sk-x" not in str(refused.value)
