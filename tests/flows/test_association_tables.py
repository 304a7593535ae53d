"""The association study on small conversations made by hand: what its tables say of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.json_output import tables
from tasks import plan
from tasks.associate import LARGE_MODEL
from tasks.execute import in_loop
from tasks.models.catalogue import BUNDLES
from tasks.start import judge_anew
from tests.flows.fake_llm import in_the_place_of_providers, kind_of
from tests.flows.locomo_files import asked, conversation
from tests.flows.study_in_loop import Watched, run_in_loop
from tests.tasks.models.fakes import Answer, FakeServer, Request, chat, vectors

OFFLINE = BUNDLES["offline"].model_dump()
SHED = asked("Where does Ann keep her red kayak?", "in the shed", 1, "D1:1", "D2:1")
BOAT = conversation(
    "conv-1",
    [
        [("Ann", "I keep a red kayak."), ("Bo", "How nice! I prefer the mountains.")],
        [("Bo", "So your kayak stays in the shed?"), ("Ann", "Yes, beside the old tent and the paddles.")],
    ],
    [
        ("Ann", "Ann keeps a red kayak.", "D1:1"),
        ("Ann", "Ann's kayak stays in the shed beside an old tent.", ["D2:1", "D2:2"]),
        ("Bo", "Bo prefers the mountains.", "D1:2"),
    ],
    SHED,
    asked("What does Bo prefer?", "the mountains", 4, "D1:2"),
)
SMALL: dict[str, Any] = {
    "study": "association",
    "benchmark": "locomo",
    "words": [10, 1000],
    "planted": 0,
    "resamples": 100,
}


def arm(name: str, system: str = "gaama", **more: Any) -> dict[str, Any]:
    return {"system": system, "name": name, "answer_prompt": "detailed", **more}


def run(folder: Path, *rows: dict[str, Any], **fields: Any) -> Watched:
    folder.mkdir(exist_ok=True)
    data = folder / "locomo10.json"
    data.write_text(json.dumps(rows), encoding="utf-8")
    return run_in_loop(folder, **(SMALL | fields), data=data)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with in_the_place_of_providers(monkeypatch) as fake:
        yield fake


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """Both profiles, with the facts of the file, and nothing that is paid for."""
    arms = [
        arm("rag", "flat", profile="tuned"),
        arm("bm25", "bm25", profile="tuned"),
        arm("gaama"),
        arm("gaama-semantic", settings={"mode": "semantic"}),
        arm("gaama-improved", profile="improved"),
    ]
    return run(tmp_path_factory.mktemp("both"), BOAT, conditions=arms, planted=1)


# Both profiles


def test_arms_that_are_built_alike_are_built_once(both: Watched) -> None:
    """Sessions are in order of time, so that their order makes none; captions and chains make four memories."""
    built = ("gaama", "gaama-improved", "published-but-captions", "improved-but-captions")
    assert sorted(both.made["merge"]) == sorted(f"{name}-0000" for name in built)


def test_both_profiles_stand_in_one_run_with_what_each_switch_was_worth(both: Watched) -> None:
    quirks = both.table("quirks")
    switches = {"session-order", "captions", "next-edges", "graph-similarity", "filter", "hub-limit"}
    assert set(zip(quirks["a"], quirks["b"], strict=True)) == {
        *((f"published-but-{name}", "gaama") for name in switches),
        *((f"improved-but-{name}", "gaama-improved") for name in switches),
    }
    assert set(quirks["words"]) == {10, 1000}
    assert set(both.table("recalls")["condition"]) == {
        "rag",
        "bm25",
        "gaama",
        "gaama-semantic",
        "gaama-improved",
    }


def test_switches_of_a_profile_that_the_study_does_not_have_cost_nothing(tmp_path: Path) -> None:
    alone = run(tmp_path, BOAT, conditions=[arm("gaama")])
    assert {name.partition("-")[0] for name in alone.made["merge"]} == {"gaama", "published"}


def test_who_wrote_the_facts_is_said_of_every_arm_that_has_them(both: Watched) -> None:
    evidence = both.table("evidence_by_words")
    by = evidence.groupby("condition")["facts_by"].agg(set)
    assert {name: min(found) for name, found in by.items()} == {
        "rag": "",
        "bm25": "",
        **dict.fromkeys(("gaama", "gaama-semantic", "gaama-improved"), LARGE_MODEL),
    }
    assert LARGE_MODEL in (both.folder / "evidence_by_words.md").read_text(encoding="utf-8")


def test_the_graph_holds_the_facts_of_the_file_on_their_turns(both: Watched) -> None:
    items = pd.read_parquet(both.folder / "graphs/gaama/items.parquet").set_index("text")
    facts = items[items["kind"] == "fact"]["sources"]
    assert {text: list(turns) for text, turns in facts.items()} == {
        "Ann keeps a red kayak.": ["conv-1#0.0"],
        "Ann's kayak stays in the shed beside an old tent.": ["conv-1#1.0", "conv-1#1.1"],
        "Bo prefers the mountains.": ["conv-1#0.1"],
    }


def test_the_text_of_every_paper_table_is_in_one_file(both: Watched) -> None:
    texts = set(both.table("paper_text")["table"])
    assert {"table_1", "table_7", "gaama_table_3", "gaama_table_5", "evidence_by_words", "quirks"} <= texts


def test_other_verdicts_give_other_rewards_and_the_same_evidence(both: Watched) -> None:
    study = both.run.study.model_copy(update={"judge": "per_type"})
    made = judge_anew(both.folder, both.run.model_copy(update={"study": study}), in_loop)
    verdicts = pd.read_parquet(made / "verdicts.parquet")
    assert set(verdicts["judge"]) == {"per_type"}
    table = pd.read_parquet(made / "gaama_table_3.parquet").query("source == 'measured'")
    means = verdicts.assign(correct=verdicts["correct"].astype(float)).groupby("condition")["correct"].mean()
    overall = table[table["category"] == "overall"].set_index("system")["mean"]
    assert overall.to_dict() == (100 * means).to_dict()
    assert pd.read_parquet(made / "evidence_by_words.parquet").equals(both.table("evidence_by_words"))


def test_as_json_a_run_has_the_tables_of_its_study(both: Watched) -> None:
    said = json.loads(json.dumps(tables(both.folder), allow_nan=False))
    assert {row["condition"] for row in said["evidence_by_words"]} == set(both.table("recalls")["condition"])
    assert said["quirks"] and said["hub_summary"] and said["evidence_differences"]
    assert {row["source"] for row in said["gaama_table_3"]} == {"measured", "printed"}


# Evidence by words


def test_evidence_within_so_many_words_by_hand(both: Watched) -> None:
    """`[2023-05-01] Ann: I keep a red kayak.` has seven words; the other turn of the evidence does not fit into ten."""
    words = both.table("words")
    own = words[(words["condition"] == "bm25") & (words["question"] == "conv-1:0")].set_index("words")
    figures = ["evidence_recall", "verbatim_recall", "answer_in_context", "context_words", "items"]
    assert own.loc[10, figures].tolist() == [0.5, 0.5, 0.0, 7, 1]
    assert own.loc[1000, figures].tolist()[:3] == [1.0, 1.0, 1.0]


def test_a_fact_stands_on_its_turns_though_it_does_not_say_them_word_for_word(both: Watched) -> None:
    words = both.table("words")
    own = words[(words["condition"] == "gaama") & (words["words"] == 10)]
    assert (own["context_words"] > 0).all()
    assert (own["evidence_recall"] >= own["verbatim_recall"]).all()
    assert (own["evidence_recall"] > own["verbatim_recall"]).any()


# Beside other conversations


def _near(text: str) -> list[float]:
    """Questions and other conversations' turns on lakes stand together, all else at a cosine of a half of them."""
    lake = [1.0, *(0.0 for _ in range(767))]
    if "lake" in text:
        return lake
    place = 1 + sum(map(ord, text)) % 700
    return [0.5, *(0.866 if number == place else 0.0 for number in range(1, 768))]


@pytest.mark.parametrize(
    ("others", "recall", "questions_a_batch"), [(100, 1.0, 1), (170, 0.0, 1), (170, 0.0, 50)]
)
def test_nearer_turns_of_another_conversation_crowd_out_the_published_search_and_no_other(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, others: int, recall: float,
    questions_a_batch: int,
) -> None:  # fmt: skip
    """With budgets of two, the code wants 80 and looks at 160 rows of the whole database (facts, 5.2 and 0.4)."""
    monkeypatch.setattr(plan, "QUESTIONS_A_BATCH", questions_a_batch)
    server.always(lambda request: vectors(_near))
    little = {"facts": 1, "episodes": 1, "reflection_items": 0, "skills": 0}
    mine = conversation(
        "mine",
        [[("Ann", "It is cold."), ("Bo", "Yes.")]],
        [],
        asked("At the lake?", "cold", 4, "D1:1", "D1:2"),
    )
    swim = [("Cy" if number % 2 else "Di", f"The lake again, day {number}.") for number in range(others)]
    theirs = conversation("theirs", [swim], [], asked("And now?", "again", 4, "D1:1"))
    arms = [
        arm("gaama", settings=little),
        arm("gaama-semantic", settings=little | {"mode": "semantic", "facts": 2}),
        arm("gaama-first", settings=little | {"filter": "before"}),
    ]
    models = OFFLINE | {"embedder": "ollama:nomic-embed-text", "extractor": "offline:locomo-observations"}
    found = run(tmp_path, mine, theirs, conditions=arms, models=models, words=[1000]).table("words")
    own = found[found["question"] == "mine:0"].set_index("condition")["evidence_recall"]
    assert own["gaama"] == recall / 2
    assert own["gaama-first"] == 1 / 2


# Rewards


def by_question(replies: dict[str, str], kind: str) -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        assert kind_of(request) == kind
        return chat(next(reply for words, reply in replies.items() if words in request.user))

    return answer


def test_a_share_of_key_facts_is_the_reward_and_what_cannot_be_read_is_no_zero(
    server: FakeServer, tmp_path: Path
) -> None:
    said = {
        "Where does Ann": '{"reward": 0.67, "why": "two of three"}',
        "What does Bo": "two of three, I think",
    }
    server.always(by_question(said, "key_facts"))
    models = OFFLINE | {"judge": "openai:gpt-4o-mini"}
    found = run(tmp_path, BOAT, conditions=[arm("rag", "flat", profile="tuned")], models=models)
    metrics = found.table("metrics").set_index("question")
    assert metrics.loc["conv-1:0", "judge"] == 0.67
    assert pd.isna(metrics.loc["conv-1:1", "judge"])
    verdicts = found.table("verdicts").set_index("question")
    assert verdicts["status"].to_dict() == {"conv-1:0": "judged", "conv-1:1": "unparsed"}
    assert (verdicts.loc["conv-1:0", "correct"], verdicts.loc["conv-1:0", "why"]) == (False, "two of three")
    table = found.table("gaama_table_3").query("source == 'measured' and category == 'overall'")
    assert table[["mean", "n"]].values.tolist() == [[67.0, 1]]


def test_a_question_that_nothing_answers_is_judged_right_or_wrong_by_its_own_rule(
    server: FakeServer, tmp_path: Path
) -> None:
    row = BOAT | {
        "qa": [
            asked("What does Ann paint?", None, 5, "D1:1", adversarial_answer="a kayak"),
            asked("What does Bo sell?", None, 5, "D1:2", adversarial_answer="mountains"),
            SHED,
        ]
    }
    said = {"Ann paint": "That is not mentioned anywhere.", "Bo sell": "He sells mountains."}
    server.always(by_question(said, "answer"))
    models = OFFLINE | {"answerer": "openai:gpt-4o-mini"}
    arms = [arm("rag", "flat", profile="tuned"), arm("gaama")]
    found = run(tmp_path, row, benchmark="locomo-adversarial", conditions=arms, models=models)
    verdicts = found.table("verdicts")
    assert set(verdicts["status"]) == {"judged"}
    assert set(verdicts["judge"]) == {"key_facts"}
    assert verdicts["reward"].isna().all()
    judged = found.table("metrics").set_index(["question", "condition"])["judge"]
    assert judged.to_dict() == {
        ("conv-1:0", "rag"): 1.0,
        ("conv-1:1", "rag"): 0.0,
        ("conv-1:0", "gaama"): 1.0,
        ("conv-1:1", "gaama"): 0.0,
    }
