"""Fill rates of notes, causes of misses, and the abstract's figures beside ours."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from memory.errors import BadInput
from memory.prompts.five_ws import SLOTS
from memory.taggraph.notes import to_table
from memory.taggraph.vocabulary import Vocabulary
from results.taggraph import CAUSES, causes_table, fill_table, missed_table, printed_table
from tests.memory.taggraph.fakes import note

STEM = Vocabulary("stem")
NOTES = to_table([note(0, what=["oak table"]), note(1, who=["Ilse"]), note(2), note(3, what=["chairs"])])
SAID = {
    "h#0.0": "I sold the oak table on Monday.",
    "h#0.1": "Ilse tuned the harp.",
    "h#0.2": "Nothing much.",
    "h#0.3": "Four chairs.",
}


def asked(question: str, evidence: list[str], turns: list[str] = (), **tags: Any) -> dict[str, Any]:  # type: ignore[assignment]
    return {
        "question": question,
        "side": "rest",
        "evidence": evidence,
        "turns": list(turns),
        **{slot: tags.get(slot, []) for slot in SLOTS},
    }


def missed(*rows: dict[str, Any]) -> pd.DataFrame:
    return missed_table(pd.DataFrame(rows), NOTES, SAID, STEM)


def test_a_miss_is_told_by_what_became_of_the_questions_tags_on_its_evidence() -> None:
    table = missed(
        asked("outranked", ["h#0.3"], what=["chair"], who=["Bob"]),
        asked("worded", ["h#0.0"], what=["old table"]),
        asked("unextracted", ["h#0.1"], what=["harp"]),
        asked("unsaid", ["h#0.2"], what=["harp"], where=["Trier"]),
        asked("untagged", ["h#0.2"]),
    )
    assert table.set_index("question").to_dict("index") == {
        "outranked": {
            "side": "rest",
            "cause": "outranked",
            "there": 1,
            "worded": 0,
            "unextracted": 0,
            "unsaid": 1,
        },
        "worded": {
            "side": "rest",
            "cause": "other_vocabulary",
            "there": 0,
            "worded": 1,
            "unextracted": 0,
            "unsaid": 0,
        },
        "unextracted": {
            "side": "rest",
            "cause": "missing_tag",
            "there": 0,
            "worded": 0,
            "unextracted": 1,
            "unsaid": 0,
        },
        "unsaid": {
            "side": "rest",
            "cause": "missing_tag",
            "there": 0,
            "worded": 0,
            "unextracted": 0,
            "unsaid": 2,
        },
        "untagged": {
            "side": "rest",
            "cause": "no_tags_asked",
            "there": 0,
            "worded": 0,
            "unextracted": 0,
            "unsaid": 0,
        },
    }
    both = causes_table(table)
    assert list(both["side"]) == ["all"] * 4 + ["rest"] * 4
    causes = both[both["side"] == "rest"].set_index("cause")
    assert list(causes["questions"]) == [1, 2, 1, 1]
    assert causes.loc["missing_tag", "unextracted"] == 1 and causes["share"].sum() == pytest.approx(1)


def test_only_questions_with_evidence_and_none_of_it_among_the_first_five_are_misses() -> None:
    others = [f"h#1.{place}" for place in range(5)]
    table = missed(
        asked("found", ["h#0.0", "h#0.1"], [*others[:4], "h#0.1"], what=["harp"]),
        asked("sixth", ["h#0.1"], [*others, "h#0.1"], what=["harp"]),
        asked("without", [], others, what=["harp"]),
    )
    assert list(table["question"]) == ["sixth"]


def test_where_nothing_is_missed_every_cause_counts_none() -> None:
    causes = causes_table(missed())
    assert list(causes["cause"]) == list(CAUSES)
    assert causes.drop(columns=["side", "cause"]).to_numpy().sum() == 0


def test_evidence_whose_turn_has_no_note_holds_nothing() -> None:
    table = missed_table(pd.DataFrame([asked("q", ["h#9.9"], what=["harp"])]), NOTES, {}, STEM)
    assert list(table["cause"]) == ["missing_tag"]


def test_fill_rates_are_told_slot_by_slot_and_for_what_an_arm_walks() -> None:
    table = fill_table(NOTES, ["who", "where"]).set_index("slot")
    assert list(table.index) == [*SLOTS, "walked"]
    assert (table.loc["what", "filled"], table.loc["what", "tags"]) == (0.5, 0.5)
    assert bool(table.loc["walked", "evaluated"]) and table.loc["walked", "filled"] == 0.25
    assert not fill_table(NOTES, ["why"]).set_index("slot").loc["walked", "evaluated"]
    with pytest.raises(BadInput):
        fill_table(pa.table({"turn": ["x"]}))


def test_printed_figures_stand_beside_those_of_the_same_arms_that_were_run() -> None:
    figures = [
        ("all", "taggraph-notes_bm25", "session", "mrr", 0.8),
        ("all", "taggraph-notes_bm25", "turn", "mrr", 0.6),
        ("all", "taggraph-notes_bm25", "turn", "recall_5", 0.9),
        ("rest", "taggraph-notes_bm25", "session", "mrr", 0.7),
        ("rest", "taggraph-notes_bm25", "turn", "mrr", 0.5),
        ("all", "openclaw", "session", "mrr", 0.85),
        ("all", "openclaw", "turn", "mrr", 0.55),
        ("all", "taggraph-localized", "session", "mrr", 0.75),
        ("all", "taggraph-adaptive", "session", "mrr", 0.1),
    ]
    ranking = pd.DataFrame(figures, columns=["side", "condition", "unit", "metric", "mean"])
    systems = {
        **{"taggraph-notes_bm25": "taggraph", "openclaw": "openclaw", "taggraph-localized": "taggraph"},
        "taggraph-adaptive": "bm25",  # another system of that name
    }
    assert printed_table(ranking, systems).to_numpy().tolist() == [
        ["all", "taggraph-notes_bm25", 0.867, 0.8, 0.6],
        ["rest", "taggraph-notes_bm25", 0.867, 0.7, 0.5],
        ["all", "openclaw", 0.880, 0.85, 0.55],
    ]
    assert printed_table(ranking, {}).empty
