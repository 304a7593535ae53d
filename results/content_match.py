"""Relevance by content: whether a text contains what a right answer has to contain, whoever labelled it as evidence.

The second, permissive relevance rule of ranking studies, after ATANT's rule of answers (facts on GAAMA, section 14): a
string occurs if it is part of the text in any case of letters. It finds what labels miss, such as a later mention, and
counts chance hits: `12` is in `2012`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from results.answer_match import normalised, occurs, wanted


def missing(text: str, expected: Sequence[str]) -> tuple[str, ...]:
    """The expected strings that do not occur in a text, blank ones left out."""
    folded = text.casefold()
    return tuple(string for string in expected if string.strip() and string.casefold() not in folded)


def content_relevant(text: str, expected: Sequence[str]) -> bool:
    """Whether any of some expected strings occurs in a turn's text; blank ones never do."""
    return len(missing(text, expected)) < sum(bool(string.strip()) for string in expected)


def reference_relevant(text: str, reference: str) -> bool:
    """The same for a benchmark that has a reference answer: whether the text says it, or one of its alternatives.

    Words are compared as answers are looked for elsewhere (`results.answer_match`): whole, without punctuation and
    articles. A reference of a common word such as `yes` is said by many a turn.
    """
    return occurs(wanted(reference), normalised(text))


def rank_of_all(ranked: Iterable[str], expected: Sequence[str]) -> int | None:
    """How many texts of a ranking have to be read until every expected string was found; none if they do not suffice.

    Args:
        ranked: The texts of turns, best first.
        expected: The strings; each must occur within one text.

    Returns:
        The rank, from 1; none also where nothing is expected.
    """
    left = [string for string in expected if string.strip()]
    if not left:
        return None
    for rank, text in enumerate(ranked, start=1):
        left = list(missing(text, left))
        if not left:
            return rank
    return None
