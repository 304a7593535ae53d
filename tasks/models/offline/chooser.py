"""Which option of a multiple-choice question a context speaks for: the offline answerer's choice, by words."""

from __future__ import annotations

from tasks.models.offline.tokens import content


def choose(question: str, context: str, options: list[str]) -> str:
    """The letter of an option, such as `(b)`.

    Options of one question are much alike, so only stems count that not all of them have. Chosen is the option of
    whose own stems the greatest share occurs in the context or the question; of equals the first.

    Args:
        question: The question.
        context: What the memory brought up.
        options: Each with its letter: `(a) Tea.`.
    """
    stems = [set(content(option[3:])) for option in options]
    common = set.intersection(*stems)
    heard = set(content(context)) | set(content(question))
    shares = [len((own - common) & heard) / max(1, len(own - common)) for own in stems]
    return options[shares.index(max(shares))][:3]
