"""A study whose budget runs out: what is there is kept and shown, what is missing is said, more budget goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.budgets import budget_of, spent_and_left
from memory.errors import BadInput
from tasks.models.budget import Budget, Cap, Spent
from tasks.models.ledger import Ledger
from tests.flows.fake_llm import in_the_place_of_providers, reply
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.tasks.models.fakes import FakeServer

SMALL: dict[str, Any] = {"limit": 6, "resamples": 100}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with in_the_place_of_providers(monkeypatch) as fake:
        yield fake


def study(folder: Path, **fields: Any) -> Watched:
    models = dict.fromkeys(("extractor", "query", "answerer", "judge"), "openai:gpt-4o-mini")
    models["embedder"] = "ollama:nomic-embed-text"
    return run_in_loop(
        folder, **{"conditions": conditions("flat", "graph"), "models": models, **SMALL, **fields}
    )


def spent(folder: Path, run: Watched, stage: str = "") -> Spent:
    ledger = Ledger(folder / "store")
    try:
        return ledger.spent(run.run.name, stage)
    finally:
        ledger.close()


def rows(run: Watched) -> pd.DataFrame:
    return (
        run.table("metrics")
        .drop(columns=["reason"])
        .sort_values(["question", "condition"], ignore_index=True)
    )


def test_a_run_ends_when_its_budget_is_used_up_and_more_budget_finishes_it_at_no_further_cost(
    server: FakeServer, tmp_path: Path
) -> None:
    whole = study(tmp_path / "whole")
    cost = spent(tmp_path / "whole", whole)
    half = study(tmp_path / "half", budget=Budget(calls=cost.calls // 2))
    assert half.run.status == "budget_exhausted"
    assert "budget of the run exhausted" in half.run.reason
    assert spent(tmp_path / "half", half).calls == cost.calls // 2
    metrics = half.table("metrics")
    assert len(metrics) == 12
    waiting = metrics[metrics["status"] == "failed"]
    assert len(waiting)
    assert waiting["reason"].str.contains("budget of the run exhausted|still to be extracted").all()
    rest = study(tmp_path / "half", budget=Budget(calls=cost.calls))
    assert rest.run.status == "complete"
    assert spent(tmp_path / "half", rest) == cost
    pd.testing.assert_frame_equal(rows(rest), rows(whole))


def test_where_extraction_has_no_budget_left_nothing_is_bought_on_half_a_graph(
    server: FakeServer, tmp_path: Path
) -> None:
    run = study(tmp_path, budget=Budget(stages={"extract": Cap(calls=10)}))
    assert run.run.status == "budget_exhausted"
    metrics = run.table("metrics").set_index("condition")
    assert set(metrics.loc["flat", "status"]) == {"answered"}
    assert set(metrics.loc["graph", "status"]) == {"failed"}
    assert (
        metrics.loc["graph", "reason"]
        .str.fullmatch(r"recall: memory: \d+ of its turns are still to be extracted")
        .all()
    )
    assert spent(tmp_path, run, "extract").calls == 10
    unbuilt = pd.read_parquet(run.folder / "graphs" / "graph" / "unbuilt.parquet")
    assert len(unbuilt) == metrics.loc["graph"].shape[0]
    finished = study(tmp_path)
    assert finished.run.status == "complete"


def test_where_vectors_are_missing_the_memories_that_need_them_wait(
    server: FakeServer, tmp_path: Path
) -> None:
    fields = {"conditions": conditions("none", "flat", "graph")}
    run = study(
        tmp_path,
        budget=Budget(stages={"embed": Cap(calls=5), "merge": Cap(calls=0), "recall": Cap(calls=0)}),
        **fields,
    )
    assert run.run.status == "budget_exhausted"
    metrics = run.table("metrics").set_index("condition")
    assert set(metrics.loc["none", "status"]) == {"answered"}
    for condition in ("flat", "graph"):
        assert set(metrics.loc[condition, "status"]) == {"failed"}
    assert study(tmp_path, **fields).run.status == "complete"


def test_a_forgetting_study_without_its_store_keeps_what_it_has_and_says_so(
    server: FakeServer, tmp_path: Path
) -> None:
    small = {
        "study": "forgetting",
        "limit": 4,
        "resamples": 100,
        "draws": 2,
        "levels": [0.5],
        "policies": [{"policy": "importance"}],
        "intervals": [],
        "models": {
            **dict.fromkeys(("extractor", "query", "answerer", "judge"), "openai:gpt-4o-mini"),
            "embedder": "ollama:nomic-embed-text",
        },
    }
    run = run_in_loop(tmp_path, **small, budget=Budget(calls=8))
    assert run.run.status == "budget_exhausted"
    assert len(run.table("extractions"))
    assert not (run.folder / "metrics.parquet").exists()
    assert run_in_loop(tmp_path, **small).run.status == "complete"


def test_a_budget_is_not_part_of_what_a_run_is(tmp_path: Path) -> None:
    offline = {"conditions": conditions("flat"), **SMALL}
    first = run_in_loop(tmp_path, **offline)
    again = run_in_loop(tmp_path, **offline, budget=Budget(calls=1), pace={"rpm": 5}, max_failed=0.9)
    assert again.run.name == first.run.name
    assert again.made_stages == []


@pytest.mark.parametrize(
    ("given", "budget"),
    [
        ({"usd": ["5"]}, Budget(usd=5)),
        ({"calls": ["1,000", "judge=10"]}, Budget(calls=1000, stages={"judge": Cap(calls=10)})),
        ({"tokens": ["+5"], "calls": ["+1"]}, Budget(tokens=35, calls=4)),
        ({"usd": ["extract=+1"]}, Budget(stages={"extract": Cap(usd=1.25)})),
        ({}, Budget()),
    ],
)
def test_amounts_are_for_the_run_or_a_stage_in_all_or_on_top_of_what_is_spent(
    given: dict[str, list[str]], budget: Budget
) -> None:
    assert budget_of(given, Budget(), lambda stage: Spent(3, 30, 0.25)) == budget


def test_an_option_overrides_the_amount_of_a_study_file_and_leaves_the_others() -> None:
    base = Budget(usd=1, calls=9, stages={"judge": Cap(calls=3)})
    assert budget_of({"usd": ["2"]}, base, lambda stage: Spent()) == base.model_copy(update={"usd": 2.0})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"calls": ["many"]}, "--budget-calls many: give a whole number of calls, or STAGE=AMOUNT"),
        ({"calls": ["1.5"]}, "give a whole number of calls"),
        ({"usd": ["five"]}, "--budget-usd five: give dollars"),
        ({"usd": ["-1"]}, "budget: usd: Input should be greater than or equal to 0"),
        ({"usd": ["nan"]}, "budget: usd: "),
    ],
)
def test_what_is_no_amount_is_one_clear_line(given: dict[str, list[str]], says: str) -> None:
    with pytest.raises(BadInput) as error:
        budget_of(given, Budget(), lambda stage: Spent())
    assert says in str(error.value)


def test_what_is_spent_and_left_of_each_amount_is_said() -> None:
    budget = Budget(usd=1, tokens=1_000, stages={"judge": Cap(calls=3)})
    spent = {"": Spent(20, 1_200, 0.25), "judge": Spent(2, 90, 0.1)}
    assert spent_and_left(budget, spent.__getitem__) == [
        "budget: $0.2500 of $1.0000 spent, $0.7500 left",
        "budget: 1,200 of 1,000 tokens spent, 0 left",
        "budget of stage judge: 2 of 3 calls spent, 1 left",
    ]


def test_a_budget_that_could_not_be_kept_is_refused_before_anything_runs(tmp_path: Path) -> None:
    unpriced = {
        "models": {
            **dict.fromkeys(("extractor", "query", "answerer", "judge"), "openai:my-model"),
            "embedder": "offline:minilm",
        }
    }
    with pytest.raises(BadInput, match="a budget in dollars needs the price of openai:my-model"):
        run_in_loop(tmp_path, **unpriced, budget=Budget(usd=1))
    with pytest.raises(BadInput, match="budget of stage extrct: no such stage buys; those that do: extract"):
        run_in_loop(tmp_path, budget=Budget(stages={"extrct": Cap(calls=1)}))


def test_a_stage_of_which_most_rows_fail_ends_the_run_with_examples(
    server: FakeServer, tmp_path: Path
) -> None:
    from tests.flows.fake_llm import kind_of
    from tests.tasks.models.fakes import Answer, Request, chat

    def no_extractor(request: Request) -> Answer:
        bad = "messages" in request.body and kind_of(request) == "extract"
        return chat("I would rather not.") if bad else reply(request)

    server.always(no_extractor)
    from tasks.failures import TooManyFailed

    with pytest.raises(TooManyFailed) as error:
        study(tmp_path)
    assert "stage extract: " in str(error.value)
    assert "rows failed, such as: no usable reply in 3 attempts" in str(error.value)
    assert "--retry-failed asks again" in str(error.value)
    assert study(tmp_path, max_failed=1.0).run.status == "complete"
