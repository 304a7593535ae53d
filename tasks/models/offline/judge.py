"""A lexical judge: numbers, negations, order and containment of words.

It reads the part of the reference that the question does not already say (`twelve times` of `The Chiefs
played the Jaguars twelve times`), and asks how much of it the answer says. A rubric it cannot judge, and says
so: its reply then is no verdict, and the row is counted as unparsed. `tasks.probe_judge` measures how far it
agrees with published verdicts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise

from results.token_metrics import alternatives
from tasks.models.offline.tokens import content, is_number, stems

RIGHT = 0.7
"""Share of the reference's own words that makes an answer right: chosen by `tasks.probe_judge` on one half of the
published verdicts."""

_FULL_HOUR = re.compile(r"(?<=\d):00\b")
_MISSING = re.compile(
    r"not (?:\w+ ){0,3}(?:enough|mention|specif|provid|contain|includ|indicat|know|sure|discuss|available|recall)"
    r"|n[o']t (?:\w+ )?(?:mention|specif|provid|contain|includ|know|have)"
    r"|insufficient|no (?:\w+ )?(?:information|mention|record)|unknown|unclear|unspecified|none mentioned",
    re.IGNORECASE,
)
_RUBRIC = re.compile(
    r"\b(?:the )?user (?:would|might|may) (?:not )?(?:prefer|appreciate|like)", re.IGNORECASE
)
_COUNTED = re.compile(r"\bhow (?:many|much|old|long|often)\b", re.IGNORECASE)
_ORDERED = re.compile(r"\border\b|\bfirst\b.*\bthen\b|\bchronolog", re.IGNORECASE | re.DOTALL)


def judge_request(inputs: Mapping[str, str]) -> str:
    """The reply to a request of the task `judge`."""
    return judge(
        inputs["question"],
        inputs["reference"],
        inputs["answer"],
        question_type=inputs.get("type", ""),
        abstention=inputs.get("abstention") == "true",
    )


def judge(
    question: str,
    reference: str,
    answer: str,
    *,
    question_type: str = "",
    abstention: bool = False,
    right: float = RIGHT,
) -> str:
    """The verdict as JSON: `{"correct": true | false, "why": ...}`, with `null` where the judge cannot tell.

    Args:
        question: The question.
        reference: The reference answer, a rubric, or the reason why there is no answer.
        answer: What the system said.
        question_type: LongMemEval's name of the type, where judging goes by type; temporal counts may be off
            by one.
        abstention: Whether the right answer is known to be that the history does not say.
        right: Share of the reference's own words from which an answer is right.
    """
    tolerance = 1 if question_type == "temporal-reasoning" else 0
    declines = bool(_MISSING.search(answer.replace("’", "'")))
    if not abstention and _RUBRIC.search(reference):
        correct, why = None, "a rubric is beyond a lexical judge"
    elif abstention or _MISSING.search(reference):
        correct, why = declines, "declines" if declines else "answers what cannot be answered"
    elif declines:
        correct, why = False, "declines"
    else:
        correct, why = _best(question, reference, answer, tolerance, right)
    return json.dumps({"correct": correct, "why": why})


def _best(
    question: str, reference: str, answer: str, tolerance: int, right: float
) -> tuple[bool | None, str]:
    """Whether an answer says what one of the answers says that a reference accepts."""
    verdicts = [_agrees(question, accepted, answer, tolerance, right) for accepted in alternatives(reference)]
    return next((verdict for verdict in verdicts if verdict[0]), verdicts[0])


def _agrees(
    question: str, reference: str, answer: str, tolerance: int, right: float
) -> tuple[bool | None, str]:
    """Whether an answer says what one accepted reference says."""
    polarities = {_polarity(reference), _polarity(answer)}
    if polarities == {True, False}:
        return False, "yes against no"
    given, asked, wanted = _content(answer), set(_content(question)), _content(reference)
    figures = [stem for stem in wanted if is_number(stem) and stem not in asked]
    if figures:
        if not _has_figures(figures, given, tolerance):
            return False, "a number differs"
        if _COUNTED.search(question) or len(set(wanted) - asked) <= 2:
            return True, "the number agrees"
    return _covers(wanted, given, asked, right, ordered=bool(_ORDERED.search(question)))


def _content(text: str) -> list[str]:
    """The stems that carry meaning; `9:00 AM` is `9 AM`."""
    return content(_FULL_HOUR.sub("", text))


def _covers(
    wanted: list[str], given: list[str], asked: set[str], right: float, *, ordered: bool
) -> tuple[bool | None, str]:
    """Whether the answer says enough of what the reference says beyond the question."""
    key = set(wanted) - asked or set(wanted)
    if not key:
        return None, "the reference has no words to compare"
    covered = len(key.intersection(given)) / len(key)
    why = f"says {covered:.0%} of the reference"
    if covered >= right and ordered and not _in_order(wanted, given):
        return False, "the order differs"
    return covered >= right, why


def _polarity(text: str) -> bool | None:
    """True for a text that begins with yes, false for no; none for any other."""
    first = stems(text)[:1]
    return {"yes": True, "no": False}.get(first[0]) if first else None


def _has_figures(wanted: list[str], given: list[str], tolerance: int) -> bool:
    """Whether each number is given, or one that differs by no more than the tolerance."""
    numbers = [float(stem) for stem in given if is_number(stem)]
    return all(any(abs(float(figure) - number) <= tolerance for number in numbers) for figure in wanted)


def _in_order(wanted: list[str], given: list[str]) -> bool:
    """Whether the words that both texts have first come in the same order, most of them."""
    shared = [stem for stem in dict.fromkeys(wanted) if stem in given]
    places = [given.index(stem) for stem in shared]
    rising = sum(later > earlier for earlier, later in pairwise(places))
    return rising >= 0.75 * (len(places) - 1)
