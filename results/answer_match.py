"""Whether a text says a reference answer: the one rule by which an answer is looked for in turns and contexts.

Both are read as the token metrics read them (`results.token_metrics`): lower case, no punctuation, no articles, number
words as digits. The answer is there if its words stand in the text one after the other, whole words only; any of the
alternatives that a reference accepts will do.
"""

from __future__ import annotations

from results.token_metrics import alternatives, digits_for_words, words


def normalised(text: str) -> str:
    """The words of a text between single blanks, a blank at either end, so that whole words can be looked for."""
    return f" {' '.join(words(digits_for_words(text)))} "


def wanted(reference: str) -> tuple[str, ...]:
    """What to look for: each alternative of a reference, normalised; none where it has no words."""
    forms = (normalised(clause) for clause in alternatives(reference))
    return tuple(dict.fromkeys(form for form in forms if form.strip()))


def occurs(forms: tuple[str, ...], text: str) -> bool:
    """Whether one of the `wanted` forms occurs in a `normalised` text."""
    return any(form in text for form in forms)
