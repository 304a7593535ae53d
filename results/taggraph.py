"""What 5W notes hold, why the graphs over them miss evidence, and the figures that the TAGGRAPH abstract prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import pyarrow as pa

from memory.prompts.five_ws import SLOTS
from memory.taggraph.fill import LEAST_FILLED, filled
from memory.taggraph.notes import from_table
from memory.taggraph.vocabulary import Vocabulary, Words

TOP = 5
"""Evidence further down counts as missed."""

Cause = Literal["no_tags_asked", "missing_tag", "other_vocabulary", "outranked"]
CAUSES: tuple[Cause, ...] = ("no_tags_asked", "missing_tag", "other_vocabulary", "outranked")

_COUNTED = ("there", "worded", "unextracted", "unsaid")
_TEXT: pa.DataType = pa.string()
_NUMBER: pa.DataType = pa.int64()
_SHARE: pa.DataType = pa.float64()
_COUNTS: dict[str, pa.DataType] = dict.fromkeys(_COUNTED, _NUMBER)
_FILL: dict[str, pa.DataType] = {
    **{"condition": _TEXT, "slot": _TEXT, "notes": _NUMBER},
    **{"filled": _SHARE, "tags": _SHARE, "evaluated": pa.bool_()},
}
FILL = pa.schema(_FILL)
MISSES = pa.schema({**dict.fromkeys(("condition", "question", "side", "cause"), _TEXT), **_COUNTS})
CAUSE_COUNTS = pa.schema(
    {
        **dict.fromkeys(("condition", "side", "cause"), _TEXT),
        **{"questions": _NUMBER, "share": _SHARE},
        **_COUNTS,
    }
)

PRINTED: Mapping[str, float] = {"adaptive": 0.844, "notes_bm25": 0.867, "openclaw": 0.880}
"""MRR on LongMemEval-S as the abstract prints it, by arm. It does not say with which model notes were extracted,
whether sessions or turns are ranked, or of how many questions it is the mean."""


def printed_table(ranking: pd.DataFrame, systems: Mapping[str, str]) -> pd.DataFrame:
    """Our figures on LongMemEval-S beside the abstract's: a row a side and arm that it has a figure for, if we ran it.

    Columns: side, condition, `printed_mrr` (read in the abstract, not measured), `session_mrr`, `turn_mrr` (ours).

    Args:
        ranking: As `results.ranking_tables.ranking` gives it.
        systems: The system of each condition. An arm of TAGGRAPH's family is told by its condition's usual name.
    """
    arms = {f"taggraph-{arm}" if arm != "openclaw" else arm: mrr for arm, mrr in PRINTED.items()}
    family = ("taggraph", "openclaw")
    named = ranking["condition"].isin([n for n, system in systems.items() if n in arms and system in family])
    ours = ranking[named & (ranking["metric"] == "mrr")]
    rows: list[dict[str, Any]] = []
    for (side, condition), own in ours.groupby(["side", "condition"], sort=False):
        means = own.set_index("unit")["mean"]
        measured = {f"{unit}_mrr": float(means[unit]) for unit in ("session", "turn")}
        rows.append({"side": side, "condition": condition, "printed_mrr": arms[str(condition)], **measured})
    return pd.DataFrame(rows, columns=["side", "condition", "printed_mrr", "session_mrr", "turn_mrr"])


def fill_table(notes: pa.Table, slots: Sequence[str] = SLOTS) -> pd.DataFrame:
    """How full the notes are: a row for each slot, then one, called `walked`, for the slots of an arm together.

    Columns: slot; `notes` (blank turns apart); `filled`, the share of them that have a tag there; `tags`, their mean
    number; `evaluated`, whether an arm that walks this slot, or these slots, is: from a share of 0.2 on.

    Args:
        notes: The tables `notes` of memories.
        slots: What the arm walks.

    Raises:
        BadInput: If the table lacks a column.
    """
    read = from_table(notes)
    asked = [note for note in read if note.status != "blank"]
    rows = []
    for name, of in (*((slot, (slot,)) for slot in SLOTS), ("walked", tuple(slots))):
        share = filled(read, of)
        tags = sum(len(note.tags[slot]) for note in asked for slot in of)
        rows.append(
            {
                "slot": name,
                "notes": len(asked),
                "filled": share,
                "tags": tags / len(asked) if asked else 0.0,
                "evaluated": share >= LEAST_FILLED,
            }
        )
    return pd.DataFrame(rows)


def missed_table(
    questions: pd.DataFrame, notes: pa.Table, said: Mapping[str, str], vocabulary: Vocabulary
) -> pd.DataFrame:
    """Why evidence was missed: a row for each question of whose evidence no turn is among the first five.

    Columns: question; side; `cause`; and how many of the question's tags are, on the notes of its evidence, `there`,
    `worded` otherwise (a tag shares a word), `unextracted` (the turns say all of its words, their notes do not), and
    `unsaid` (nor do the turns). A tag is looked for in every slot; words are compared as the vocabulary has them.

    The cause is `no_tags_asked` if the question has no tags; `outranked` if one of its tags is there, and yet other
    turns came first; `other_vocabulary` if none is there and one is worded otherwise; else `missing_tag`.

    Args:
        questions: Columns question, side, `turns` (recalled, best first), `evidence`, and the question's tags by
            slot. Questions without evidence are passed over.
        notes: As in `fill_table`.
        said: The words of turns by id; only those of evidence are needed.
        vocabulary: That of the arm.

    Raises:
        BadInput: If the notes lack a column.
    """
    by_turn = {note.turn: note for note in from_table(notes)}
    rows = []
    for row in questions.to_dict("records"):
        evidence = list(row["evidence"])
        if not evidence or set(evidence) & set(list(row["turns"])[:TOP]):
            continue
        held = [by_turn[turn] for turn in evidence if turn in by_turn]
        spoken = frozenset(word for turn in evidence for word in vocabulary.words(said.get(turn, "")))
        counts = dict.fromkeys(_COUNTED, 0)
        theirs = {vocabulary.words(value) for note in held for slot in SLOTS for value in note.values(slot)}
        for words in {vocabulary.words(tag) for slot in SLOTS for tag in row[slot]} - {()}:
            counts[_found(words, theirs, spoken)] += 1
        rows.append({"question": row["question"], "side": row["side"], "cause": _cause(counts), **counts})
    return pd.DataFrame(rows, columns=["question", "side", "cause", *_COUNTED])


def _found(words: Words, theirs: set[Words], spoken: frozenset[str]) -> str:
    """What became of a question's tag on the evidence."""
    if words in theirs:
        return "there"
    if any(set(words) & set(other) for other in theirs):
        return "worded"
    return "unextracted" if set(words) <= spoken else "unsaid"


def _cause(counts: Mapping[str, int]) -> Cause:
    if not any(counts.values()):
        return "no_tags_asked"
    if counts["there"]:
        return "outranked"
    return "other_vocabulary" if counts["worded"] else "missing_tag"


def causes_table(missed: pd.DataFrame) -> pd.DataFrame:
    """A row a side and cause: how many missed questions it has, its share of them, and their tags' counts summed up.

    The first rows are of all sides together.
    """
    rows: list[dict[str, Any]] = []
    for side in ("all", *dict.fromkeys(missed["side"])):
        of_side = missed if side == "all" else missed[missed["side"] == side]
        for cause in CAUSES:
            own = of_side[of_side["cause"] == cause]
            share = len(own) / len(of_side) if len(of_side) else 0.0
            sums = {name: int(own[name].sum()) for name in _COUNTED}
            rows.append({"side": side, "cause": cause, "questions": len(own), "share": share, **sums})
    return pd.DataFrame(rows)
