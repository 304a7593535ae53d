"""What 5W notes hold, why the graphs over them miss evidence, and the figures that the TAGGRAPH abstract prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import pyarrow as pa

from memory.prompts.five_ws import SLOTS
from memory.taggraph.fill import LEAST_FILLED, filled
from memory.taggraph.notes import Note, from_table
from memory.taggraph.vocabulary import Vocabulary, Words

TOP = 5
"""Evidence further down counts as missed."""

Cause = Literal["no_tags_asked", "missing_tag", "other_vocabulary", "outranked"]
CAUSES: tuple[Cause, ...] = ("no_tags_asked", "missing_tag", "other_vocabulary", "outranked")

PRINTED: Mapping[str, float] = {"adaptive": 0.844, "notes_bm25": 0.867, "openclaw": 0.880}
"""MRR on LongMemEval-S as the abstract prints it, by arm. It does not say with which model notes were extracted,
whether sessions or turns are ranked, or of how many questions it is the mean."""


def printed_table(ours: Mapping[str, float]) -> pd.DataFrame:
    """A row an arm that the abstract has a figure for, then one for each other of ours, in order.

    Columns: arm, `printed_mrr` (the abstract's, read and not measured here), `mrr` (ours), `difference`.

    Args:
        ours: Our own MRR on LongMemEval-S by arm.
    """
    arms = list(dict.fromkeys((*PRINTED, *ours)))
    table = pd.DataFrame(
        {
            "arm": arms,
            "printed_mrr": pd.Series([PRINTED.get(arm) for arm in arms], dtype="float64"),
            "mrr": pd.Series([ours.get(arm) for arm in arms], dtype="float64"),
        }
    )
    table["difference"] = table["mrr"] - table["printed_mrr"]
    return table


def fill_table(notes: pa.Table, slots: Sequence[str] = SLOTS) -> pd.DataFrame:
    """How full the notes are: a row for each slot, then one, called `walked`, for the slots of an arm together.

    Columns: slot; `notes` (blank turns apart); `filled`, the share of them that have a tag there; `tags`, their mean
    number; `evaluated`, whether an arm that walks this slot, or these slots, is: from a share of 0.2 on.

    Args:
        notes: Tables `notes` of memories, with or without a column `history`.
        slots: What the arm walks.

    Raises:
        BadInput: If the table has other columns.
    """
    read = _notes(notes)
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

    Columns: question; `cause`; and how many of the question's tags are, on the notes of its evidence, `there`, `worded`
    otherwise (a tag shares a word), `unextracted` (the turns say all of its words, their notes do not), and `unsaid`
    (nor do the turns). A tag is looked for in every slot; words are compared as the vocabulary has them.

    The cause is `no_tags_asked` if the question has no tags; `outranked` if one of its tags is there, and yet other
    turns came first; `other_vocabulary` if none is there and one is worded otherwise; else `missing_tag`.

    Args:
        questions: Columns question, `turns` (recalled, best first), `evidence`, and the question's tags by slot.
            Questions without evidence are passed over.
        notes: As in `fill_table`.
        said: The words of turns by id; only those of evidence are needed.
        vocabulary: That of the arm.

    Raises:
        BadInput: If the notes have other columns.
    """
    by_turn = {note.turn: note for note in _notes(notes)}
    rows = []
    for row in questions.to_dict("records"):
        evidence = list(row["evidence"])
        if not evidence or set(evidence) & set(list(row["turns"])[:TOP]):
            continue
        held = [by_turn[turn] for turn in evidence if turn in by_turn]
        spoken = frozenset(word for turn in evidence for word in vocabulary.words(said.get(turn, "")))
        counts = dict.fromkeys(("there", "worded", "unextracted", "unsaid"), 0)
        theirs = {vocabulary.words(value) for note in held for slot in SLOTS for value in note.values(slot)}
        for words in {vocabulary.words(tag) for slot in SLOTS for tag in row[slot]} - {()}:
            counts[_found(words, theirs, spoken)] += 1
        rows.append({"question": row["question"], "cause": _cause(counts), **counts})
    return pd.DataFrame(rows, columns=["question", "cause", "there", "worded", "unextracted", "unsaid"])


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
    """A row a cause: how many missed questions it has, its share of them, and its tags' counts summed up."""
    rows: list[dict[str, Any]] = []
    for cause in CAUSES:
        own = missed[missed["cause"] == cause]
        sums = {name: int(own[name].sum()) for name in ("there", "worded", "unextracted", "unsaid")}
        share = len(own) / len(missed) if len(missed) else 0.0
        rows.append({"cause": cause, "questions": len(own), "share": share, **sums})
    return pd.DataFrame(rows)


def _notes(table: pa.Table) -> list[Note]:
    return from_table(table.drop_columns(["history"]) if "history" in table.column_names else table)
