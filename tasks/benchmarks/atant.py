"""Stories in the shape of ATANT (Kenotic-Labs, arXiv 2604.06710): what one user says over days, and what is asked then.

A question passes if all of its expected strings occur in what is answered, or retrieved, in any case of letters. Among
the utterances are questions of general knowledge, which a memory need not keep. In isolated mode a memory hears one
story; in cumulative mode it hears all, and each question draws on all of them.

The format is that of the public `docs/Story_Format_Spec.md`, as JSON: an object with `stories`, or a story a row. Most
of the corpus is not published; the file `stories.json` here is this project's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints

from memory.conversation import Conversations, History, Question, Session, Turn, turn_id
from memory.errors import BadInput
from results.content_match import content_relevant
from tasks.benchmarks.reading import checked, sha256, shortened, values

ATANT, OWN_STORIES = "atant", "stories"
CUMULATIVE = "-cumulative"
"""What a benchmark's name ends with whose stories share one store."""

_ALL = "stories"
"""The id of the one history of the cumulative mode."""
_MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
"""Stories have weekdays, not dates. They are told one after another from this Monday on, each from a Monday on."""
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TIME = re.compile(
    rf"({'|'.join(_WEEKDAYS)}),? (1[0-2]|0?[1-9])(?::([0-5][0-9]))? ?([ap])m", re.IGNORECASE | re.ASCII
)
_HINT = "give a file of stories with batches and questions"
_Filled = Annotated[str, StringConstraints(pattern=r"\S")]


class _Batch(BaseModel):
    time: _Filled
    user_input: _Filled


class _Question(BaseModel):
    question_id: _Filled
    question: _Filled
    expected_contains: list[_Filled] = Field(min_length=1)


class _Story(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    story_id: _Filled
    category: _Filled
    # The format's file of answers has the utterances as `facts`.
    batches: list[_Batch] = Field(min_length=1, validation_alias=AliasChoices("batches", "facts"))
    questions: list[_Question]


@dataclass(frozen=True, slots=True)
class _Said:
    """An utterance and when it was made."""

    text: str
    at: datetime


def load(path: Path, benchmark: str) -> Conversations:
    """Load stories, in cumulative mode if the benchmark's name says so.

    A session is what is said on one day; evidence is each turn of the question's own story that contains one of its
    expected strings, and a string that no turn contains is unresolved.

    Raises:
        BadInput: If the file is not in the format, an id recurs, or a time is not such as `Monday 9:00 AM`.
    """
    cumulative = benchmark.endswith(CUMULATIVE)
    histories: dict[str, History] = {}
    questions: list[Question] = []
    sessions: list[Session] = []
    ids: set[str] = set()
    monday = _MONDAY
    for where, story in _stories(path):
        said = _dated(story, monday, where)
        monday = _monday_after(said[-1].at)
        _once(ids, [f"story {story.story_id}", *(q.question_id for q in story.questions)], where)
        history = _ALL if cumulative else story.story_id
        own = _sessions(story.story_id, history, said, len(sessions) if cumulative else 0)
        sessions += own
        if not cumulative:
            histories[history] = History(history, own)
        questions += [_question(asked, story.category, history, own) for asked in story.questions]
    if cumulative:
        histories[_ALL] = History(_ALL, tuple(sessions))
    notes = (f"stories have weekdays alone: dated from {_MONDAY:%d %B %Y} on, one after another",)
    release = "ATANT's format, mode " + ("cumulative" if cumulative else "isolated")
    return Conversations(benchmark, release, sha256(path), histories, _asked(questions, histories), notes)


def _stories(path: Path) -> Iterator[tuple[str, _Story]]:
    for place, value in values(path, remedy="correct the row", hint=_HINT):
        where = f"{path}: {place}"
        stories = value.get("stories") if isinstance(value, dict) else None
        for number, one in enumerate(stories if isinstance(stories, list) else [value], start=1):
            named = f"{where}: story {number}" if isinstance(stories, list) else where
            yield named, checked(_Story, one, named)


def _once(ids: set[str], new: list[str], where: str) -> None:
    for name in new:
        if name in ids:
            raise BadInput(f"{where}: the id {shortened(name)} is there twice; give each its own")
        ids.add(name)


def _dated(story: _Story, monday: datetime, where: str) -> list[_Said]:
    """The utterances of a story, each at the first such moment of the week that is not before the last utterance."""
    said: list[_Said] = []
    now = monday
    for batch in story.batches:
        match = _TIME.fullmatch(batch.time.strip())
        if match is None:
            raise BadInput(
                f"{where}: time: {shortened(batch.time)} is not such as 'Monday 9:00 AM'; correct the row"
            )
        day, hour, minute, half = match.groups()
        at = time(int(hour) % 12 + 12 * (half.lower() == "p"), int(minute or 0), tzinfo=UTC)
        days = (_WEEKDAYS.index(day.lower()) - now.weekday()) % 7
        moment = datetime.combine(now.date() + timedelta(days), at)
        now = moment if moment >= now else moment + timedelta(weeks=1)
        said.append(_Said(" ".join(batch.user_input.split()), now))
    return said


def _monday_after(moment: datetime) -> datetime:
    return datetime.combine(moment.date() + timedelta(7 - moment.weekday()), time(tzinfo=UTC))


def _sessions(story: str, history: str, said: list[_Said], first: int) -> tuple[Session, ...]:
    """A session a day, numbered from `first` on."""
    days: dict[Any, list[_Said]] = {}
    for one in said:
        days.setdefault(one.at.date(), []).append(one)
    return tuple(
        Session(
            f"{story}, day {number}",
            history,
            position,
            day[0].at,
            tuple(
                Turn(turn_id(history, position, index), "user", "user", one.text)
                for index, one in enumerate(day)
            ),
        )
        for number, (position, day) in enumerate(enumerate(days.values(), start=first), start=1)
    )


def _question(asked: _Question, category: str, history: str, sessions: tuple[Session, ...]) -> Question:
    wanted = tuple(asked.expected_contains)
    holding = [
        (session, turn)
        for session in sessions
        for turn in session.turns
        if any(content_relevant(turn.text, [string]) for string in wanted)
    ]
    return Question(
        id=asked.question_id,
        history=history,
        type=category,
        text=asked.question,
        reference=", ".join(wanted),
        evidence=tuple(turn.id for _, turn in holding),
        evidence_sessions=tuple(dict.fromkeys(session.position for session, _ in holding)),
        unresolved_evidence=tuple(
            string
            for string in wanted
            if not any(content_relevant(turn.text, [string]) for _, turn in holding)
        ),
        contains=wanted,
    )


def _asked(questions: list[Question], histories: dict[str, History]) -> tuple[Question, ...]:
    """The questions with the time at which they are asked: that of the last session of their history."""
    return tuple(replace(one, date=histories[one.history].sessions[-1].date) for one in questions)
