"""An extractive answerer: the passage that shares most with the question, cut to the span that it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from tasks.models.offline.chooser import choose
from tasks.models.offline.chunker import TIME, Phrase
from tasks.models.offline.dating import elapsed, event_day, in_full
from tasks.models.offline.lexicon import LABEL_CUES
from tasks.models.offline.passages import Passage, rank, read
from tasks.models.offline.tokens import content, stems

DECLINED = "I don't know"

# Passages from which spans are cut, and what a span loses for each place of its passage in the ranking.
_PASSAGES = 6
# Below this share of the question's weight, a profile that may abstain does.
_TOO_LITTLE = 0.3
_LATER = 0.35
# Share of the best passage's score from which a passage tells of the same.
_TELLS = 0.45
# What speaks for the head of an entry of a numbered list (`2. Norden - This brand ...`): more than for most phrases.
_HEADED = 0.45

_UNIT = r"(?:second|minute|hour|day|night|week|month|year)s?"
_NUMBER = (
    r"(?:\d+(?:,\d{3})*(?:\.\d+)?|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen"
    r"|twenty|thirty|forty|fifty)"
)
_DURATION = re.compile(
    rf"\b{_NUMBER}(?:[ -](?:and a half|to \d+))?[ -]{_UNIT}\b(?:(?: and)? {_NUMBER} {_UNIT})?", re.I
)
_MONEY = re.compile(
    r"[$€£]\s?\d[\d,]*(?:\.\d+)?(?:k|\b)|\b\d+(?:\.\d+)?%|\b\d[\d,]* (?:dollars|euros|pounds|percent)\b", re.I
)
_FIGURE = re.compile(rf"\b{_NUMBER}\b(?![:/-]\d)", re.I)
_CLOCK = re.compile(r"\b\d{1,2}(?::\d\d)? ?[ap]\.?m\b\.?|\b\d{1,2}:\d\d\b", re.I)
_OFTEN = re.compile(
    rf"\b(?:every (?:other )?\w+|once an? \w+|twice an? \w+|{_NUMBER} (?:times|days|hours) (?:an?|per|each) \w+"
    r"|daily|weekly|monthly|on \w+days(?: and \w+days)*)\b",
    re.I,
)
_QUOTED = re.compile(r"[\"“'‘]([A-Z][^\"”]{2,60}?)[\"”'’](?=[\s.,;:!?)]|$)")
_PLACE = re.compile(r"\b(?:at|in|from|to|on|under|near|above|behind|inside|by)\s+$", re.I)
_CHOICE = re.compile(
    r"(?:,|:|first|more|most)\s+(?:the |my )?([^,?]+?),? or (?:the |my )?([^,?]+?)\s*\?", re.I
)
_ADVICE = re.compile(
    r"\b(?:suggest|recommend(?!ed)|any (?:tips|advice|ideas|suggestions)|what do you think|should i)\b", re.I
)

_HEAD = re.compile(r"\d+[.)]\s*([A-Z][^:–]{2,60}?)(?::|\s[-–])\s")
_NAMED = re.compile(r"\b(?:named|called|titled)\s+$", re.IGNORECASE)
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b", re.I)
_FORMERLY = re.compile(
    r"\b(?:previous(?:ly)?|initial(?:ly)?|original(?:ly)?|former(?:ly)?|used to|first)\b", re.I
)
_EARLIER = re.compile(r"\b(?:first|earlier|before)\b", re.I)

_KINDS = (
    ("often", re.compile(r"\bhow often\b|\bhow frequently\b", re.I)),
    ("duration", re.compile(rf"\bhow (?:long|many (?:total )?{_UNIT}|much (?:total )?time)\b", re.I)),
    ("money", re.compile(r"\bhow much\b|\bpercent|\bdiscount\b|\bprice\b|\bcost\b|\bamount\b", re.I)),
    (
        "count",
        re.compile(r"\bhow (?:many|old|far|big|tall|fast)\b|\bwhat(?: is the)? (?:number|size|age)\b", re.I),
    ),
    ("clock", re.compile(r"\b(?:what|which) time\b", re.I)),
    ("when", re.compile(r"\bwhen\b|\b(?:what|which) (?:date|day|month|year)\b", re.I)),
    ("where", re.compile(r"\bwhere\b|\bwhich (?:city|country|place|store)\b", re.I)),
    ("who", re.compile(r"\bwho\b|\bwhom\b|\bwhose\b", re.I)),
    ("polar", re.compile(r"^(?:do|did|does|is|are|was|were|am|have|has|had|will) (?!you\b)", re.I)),
)

_PATTERNS = {
    "often": (_OFTEN,),
    "duration": (_DURATION,),
    "money": (_MONEY, _FIGURE),
    "count": (_FIGURE,),
    "clock": (_CLOCK,),
    "when": (TIME, _CLOCK),
}


@dataclass(frozen=True, slots=True)
class _Span:
    """A candidate answer and what speaks for it."""

    text: str
    score: float


def answer_request(inputs: Mapping[str, str]) -> str:
    """The reply to a request of the task `answer`; what is known without a memory is read like its context."""
    context = [inputs[name] for name in ("preamble", "context") if inputs.get(name)]
    if options := inputs.get("options"):
        return choose(inputs["question"], "\n\n".join(context), options.splitlines())
    return answer(
        inputs["question"],
        "\n\n".join(context),
        abstains=inputs.get("profile") == "improved",
        question_date=inputs.get("question_date"),
    )


def answer(question: str, context: str, *, abstains: bool, question_date: str | None = None) -> str:
    """The answer, in as few words as its kind of question asks for.

    Args:
        question: The question.
        context: Turns or graph lines.
        abstains: Whether to decline where the context has too little of the question, instead of guessing.
        question_date: When it is asked, beginning with an ISO day; needed for how long ago something was.
    """
    asked = _last_sentence(question)
    kind = next((name for name, cue in _KINDS if cue.search(asked)), "what")
    ranked = _by_time(asked, rank(_numbered(asked, read(context)), content(question)))
    if abstains and (not ranked or ranked[0][0] < _TOO_LITTLE):
        return DECLINED
    if not ranked:
        return _guess(kind)
    time = elapsed(asked, [passage for _, passage in ranked], question_date)
    return time if time is not None else _cut(kind, question, asked, ranked)


def _cut(kind: str, question: str, asked: str, ranked: list[tuple[float, Passage]]) -> str:
    """What the best passages say to a question of this kind."""
    if _ADVICE.search(asked):
        return " ".join(passage.text for _, passage in ranked[:2])
    if kind == "polar":
        return "Yes"
    if choice := _CHOICE.search(asked):
        return _chosen(asked, choice.groups(), [passage for _, passage in ranked])
    spans = [span for score, passage in ranked[:_PASSAGES] for span in _spans(kind, question, score, passage)]
    if spans:
        return max(spans, key=lambda span: span.score).text
    if kind == "count":
        # Nothing is counted in the text: count the turns that tell of it.
        return str(len({passage.place for score, passage in ranked if score >= _TELLS * ranked[0][0]}))
    return ranked[0][1].text


def _last_sentence(question: str) -> str:
    """The sentence that asks: benchmarks put an introduction before it."""
    parts = re.split(r"(?<=[.!?])\s+(?=[A-Z])", question.strip())
    return next((part for part in reversed(parts) if part.endswith("?")), parts[-1])


def _guess(kind: str) -> str:
    """A guess without any evidence: what answers of this kind often are."""
    return {"count": "2", "duration": "2 weeks", "money": "$100", "polar": "Yes"}.get(kind, "unknown")


def _by_time(asked: str, ranked: list[tuple[float, Passage]]) -> list[tuple[float, Passage]]:
    """The passages with a bonus for later sessions, or for earlier ones where the past is asked for."""
    days = sorted({passage.day for _, passage in ranked if passage.day})
    if len(days) < 2:
        return ranked
    sign = -1 if _FORMERLY.search(asked) else 1
    weighed = [
        (score + sign * _LATER * days.index(passage.day) / (len(days) - 1) if passage.day else score, passage)
        for score, passage in ranked
    ]
    return sorted(weighed, key=lambda entry: -entry[0])


def _numbered(asked: str, passages: list[Passage]) -> list[Passage]:
    """The passages, or only the item of a list where the question asks for the item of that number."""
    ordinal = _ORDINAL.search(asked)
    items = [passage for passage in passages if ordinal and _item(passage) == ordinal.group(1)]
    return items or passages


def _item(passage: Passage) -> str | None:
    """The number that a passage bears in a list."""
    head = re.match(r"(\d+)[.)]\s", passage.text)
    return head.group(1) if head else None


def _chosen(asked: str, options: tuple[str, ...], passages: list[Passage]) -> str:
    """Of two options that a question offers: the earlier one where it asks for that, else the better covered."""
    best = [rank(passages, content(option))[0] for option in options]
    if not _EARLIER.search(asked):
        return options[0] if best[0][0] >= best[1][0] else options[1]
    days = [(event_day(passage) or date.min, passage.place) for _, passage in best]
    return options[days.index(min(days))]


def _spans(kind: str, question: str, score: float, passage: Passage) -> Iterator[_Span]:
    """Candidate spans of a passage, scored by its rank, by their nearness to the question's words, and by kind."""
    asked = set(stems(question))
    near = [word.start for word in passage.words if asked.intersection(content(word.text))]
    if kind == "when" and (day := in_full(passage)) is not None:
        yield _Span(day, score)
        return
    if kind in _PATTERNS:
        for order, pattern in enumerate(_PATTERNS[kind]):
            for match in pattern.finditer(passage.text):
                if pattern is _FIGURE and not _counts(match, passage, asked, kind):
                    continue
                closeness = _closeness(match.start(), near)
                yield _Span(match.group().strip(), score + 0.3 * closeness - 0.2 * order)
        return
    for match in _QUOTED.finditer(passage.text):
        if not set(content(match.group(1))) <= asked:
            yield _Span(match.group(1), score + 0.3 * _closeness(match.start(), near) + 0.15)
    if (head := _HEAD.match(passage.text)) and not set(content(head.group(1))) <= asked:
        yield _Span(head.group(1), score + _HEADED)
    for phrase in passage.phrases:
        fresh = set(content(phrase.text)) - asked
        if fresh:
            start = passage.words[phrase.first].start
            yield _Span(phrase.text, score + 0.3 * _closeness(start, near) + _fit(kind, phrase, passage))


def _counts(match: re.Match[str], passage: Passage, asked: set[str], kind: str) -> bool:
    """Whether a figure counts something that was asked for: one of the next four words stands in the question."""
    if match.group().lower() in {"a", "an", "one"} or kind != "count":
        return match.group()[0].isdigit()
    following = [word for word in passage.words if word.start >= match.end()][:4]
    return any(asked.intersection(content(word.text)) for word in following) or match.group()[0].isdigit()


def _closeness(place: int, near: list[int]) -> float:
    """One beside a word of the question, falling with the distance in characters; zero where there is none."""
    return 1 / (1 + min(abs(place - other) for other in near) / 25) if near else 0.0


def _fit(kind: str, phrase: Phrase, passage: Passage) -> float:
    """How well a noun phrase fits the kind of question."""
    start = passage.words[phrase.first].start
    if kind == "where":
        placed = bool(_PLACE.search(re.sub(r"\b(?:the|a|an|my|our)\s+$", "", passage.text[:start])))
        return 0.3 * placed + 0.05 * phrase.proper
    if kind == "who":
        kin = bool(LABEL_CUES["Person"].intersection(phrase.text.lower().split()))
        return 0.2 * (phrase.proper or kin)
    return 0.1 * phrase.proper + 0.2 * bool(_NAMED.search(passage.text[:start]))
