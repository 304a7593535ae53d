"""A study that explains itself: from what it has bought, and without changing anything else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tasks import switches, switches_budgets
from tasks.context import closed_models
from tasks.execute import only_found
from tasks.models.gateway import Gateway
from tasks.stage import Artefact, Stage, Work
from tasks.start import find_complete, plan_of
from tests.flows.study_in_loop import Watched, conditions, run_in_loop

STAGES = ["switches", "switches_budgets", "switches_tables"]
FIELDS = {"conditions": conditions("flat", "graph:improved"), "limit": 3, "resamples": 200}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("explained")


@pytest.fixture(scope="module")
def plain(home: Path) -> Watched:
    return run_in_loop(home, **FIELDS)


@pytest.fixture(scope="module")
def explained(home: Path, plain: Watched) -> Watched:
    """The finished run, gone on with; whatever would ask a model fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Gateway, "buy", lambda *_, **__: pytest.fail("a model was asked"))
        return run_in_loop(home, **FIELDS, explain=True)


def test_a_finished_run_is_explained_without_making_anything_else_and_without_asking_a_model(
    plain: Watched, explained: Watched
) -> None:
    assert explained.run.name == plain.run.name
    assert explained.run.status == "complete"
    assert explained.made_stages == STAGES


def test_then_there_is_nothing_to_do_with_or_without_it(plain: Watched, explained: Watched) -> None:
    for run in (plain.run, explained.run):
        assert find_complete(explained.folder, run)


def test_every_arm_is_asked_every_question_and_the_improved_graph_recalls_as_the_study_did(
    explained: Watched,
) -> None:
    rows = explained.table("switch_rows")
    assert (rows.groupby(["base", "field", "value"]).size() == 3).all()
    itself = rows[(rows["base"] == "improved") & (rows["field"] == "")].set_index("question")
    metrics = explained.table("metrics").set_index(["condition", "question"]).loc["graph-improved"]
    for figure in ("turn_recall_5", "turn_mrr", "turn_ndcg_10", "context_tokens"):
        pd.testing.assert_series_equal(
            itself[figure], metrics[figure].reindex(itself.index), check_dtype=False
        )


def test_flat_at_equal_hits_shows_what_the_study_showed(explained: Watched) -> None:
    rows = explained.table("budget_rows")
    at_hits = rows[(rows["unit"] == "hits") & (rows["system"] == "flat") & (rows["profile"] == "published")]
    metrics = explained.table("metrics").set_index(["condition", "question"]).loc["flat"]
    recall = metrics["turn_recall_5"].reindex(at_hits["question"])
    assert at_hits["evidence_recall"].tolist() == pytest.approx(recall.tolist(), nan_ok=True)
    fitted = rows[rows["unit"] == "tokens"]
    assert (fitted["context_tokens"] <= fitted["budget"]).all()


def test_tables_texts_and_figures_are_published(explained: Watched) -> None:
    for name in ("switches", "merge_rules", "sweep", "equal_budget"):
        assert pq.read_metadata(explained.folder / f"{name}.parquet").num_rows
        assert (explained.folder / f"{name}.md").read_text(encoding="utf-8").count("\n| ") > 2
    drawn = {path.name for path in (explained.folder / "figures").iterdir()}
    assert drawn >= {
        f"{name}.{kind}" for name in ("switches", "sweep", "waterfall") for kind in ("png", "svg")
    }


def test_what_was_not_bought_is_a_row_with_its_reason(explained: Watched, tmp_path: Path) -> None:
    works: dict[str, Sequence[Work]] = {}

    def noted(stage: Stage, of_stage: Sequence[Work]) -> list[Artefact]:
        works[stage.name] = of_stage
        return only_found(stage, of_stage)

    plan_of(explained.folder, explained.run, noted).walk()
    for stage, table in ((switches.STAGE, "switch_rows"), (switches_budgets.STAGE, "budget_rows")):
        work = works[stage.name][0].model_copy(update={"store": str(tmp_path)})  # a store that is empty
        with closed_models():
            made = stage.make(work)
        rows = made.tables[table].to_pandas()
        assert len(rows) == len(explained.table(table))
        assert made.counts == {"failed": len(rows)}
        assert rows["reason"].str.contains("not bought, and this stage buys nothing").all()
