"""Lexical ranking: of entries for the selector, and of source lines where there are no entries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import bm25s
import Stemmer

from memory import tokens
from memory.lines import Line
from memory.prompts.rd_curate import Asked
from memory.prompts.rd_select import Candidate
from memory.rdforget.materialise import Entry
from memory.rdforget.settings import RDForgetSettings

Scored = tuple[Entry, float]


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")


def overlaps(question: str, texts: Sequence[str]) -> list[float]:
    """The share of the question's distinct words that each text has, from 0 to 1 (open; ours).

    Words are compared as the system `bm25` compares them: by their Snowball stem, English stop words left out.
    """
    found: list[list[str]] = bm25s.tokenize(
        [question, *texts], stopwords="en", stemmer=_stemmer(), return_ids=False, show_progress=False
    )
    asked = set(found[0])
    return [len(asked.intersection(words)) / max(1, len(asked)) for words in found[1:]]


def ranked(entries: Sequence[Entry], asked: Asked, settings: RDForgetSettings) -> list[Scored]:
    """Entries with their scores, best first: their statement's overlap, more if active; equal ones in their order."""
    shares = overlaps(asked.text, [entry.statement for entry in entries])
    scored = [
        (entry, share + settings.active_bonus * (entry.status == "active"))
        for entry, share in zip(entries, shares, strict=True)
    ]
    return sorted(scored, key=lambda found: -found[1])


def candidate(entry: Entry) -> Candidate:
    """An entry as the selector sees it."""
    return Candidate(entry.id, entry.status, entry.slot, entry.statement, entry.superseded_by)


def candidates(entries: Sequence[Entry], limit: int) -> list[Entry]:
    """The first entries, written out within `limit` tokens; the first of all whatever it takes.

    They end before the first that does not fit (open; ours).
    """
    taken: list[Entry] = []
    for entry in entries:
        limit -= tokens.count(candidate(entry).line() + "\n")
        if taken and limit < 0:
            break
        taken.append(entry)
    return taken


def fallback(lines: Sequence[Line], asked: Asked, count: int) -> list[Entry]:
    """The source lines with the most overlap as active entries without a slot, best first; equal ones in their order.

    Lines that share no word with the question may be among them: the paper ranks, and draws no line.
    """
    shares = overlaps(asked.text, [line.text for line in lines])
    best = sorted(range(len(lines)), key=lambda place: -shares[place])[:count]
    return [
        Entry(f"e{number}", lines[place].text, "", "active", (lines[place].turn,))
        for number, place in enumerate(best, 1)
    ]
