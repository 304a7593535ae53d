"""One's own conversations: `turns.jsonl`, with `questions.jsonl` beside it where there are questions.

A line of `turns.jsonl` is a JSON object, one turn, in the order in which things were said:

    {"text": "I moved to Ghent.", "speaker": "Ann", "date": "2024-05-01T09:30Z", "session": "s1", "history": "ann"}

- `text` (needed; may be blank), and at least one of `speaker`, a name, and `role`, `user` or `assistant`. Without a
  role, a history's first named speaker is its `user` and the others are `assistant`, but `user` and `assistant` as
  names are the roles. Without a speaker the role is the name.
- `date`: ISO 8601; without a zone it is UTC. A session has the date of its first turn that has one.
- `session`: by default the turn's day; without a date that of the turn before, or `1`. The turns of a session stand
  together.
- `history`: what one memory hears, by default `own`. Lines of several histories may alternate.
- `caption`: what an attached image shows. `id`: what evidence calls the turn, unique in its history.

A line of `questions.jsonl` is a question of one history:

    {"question": "Where does Ann live?", "reference": "Ghent", "evidence": ["t1"], "history": "ann"}

- `question` (needed); `history` (needed where there are several).
- `reference`: the right answer, text or a number. Without one nothing is scored against it and no judge is asked.
- `evidence`: the turns that hold the answer, by their `id` or as the tables of a run call them (`ann#0.3`).
- `type`, by default `own`; `date`, when it is asked; `id`, by default the question's number.

Both may be gzipped. Ids are text or whole numbers. Nothing is guessed: any other field, a date that is none and an id
that recurs are faults, told in one line.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date as Day
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

from memory.conversation import Conversations, History, Question, Session, Turn, turn_id
from memory.errors import BadInput
from tasks.benchmarks.dates import iso_date
from tasks.benchmarks.reading import Model, checked, rows, sha256, shortened

OWN = "own"
"""The benchmark's name; also the default history and type of question."""
TURNS = "turns.jsonl"
QUESTIONS = "questions.jsonl"

_ROLES = ("user", "assistant")
_REMEDY = "correct the line"
_LONGEST_ID = 200


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_Filled = Annotated[str, StringConstraints(pattern=r"\S")]
_Id = Annotated[
    str, StringConstraints(strict=True, pattern=r"\S", max_length=_LONGEST_ID), BeforeValidator(_as_text)
]


class OwnTurn(BaseModel):
    """A line of `turns.jsonl`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    text: str
    speaker: _Id | None = None
    role: Literal["user", "assistant"] | None = None
    date: str | None = None
    session: _Id | None = None
    history: _Id = OWN
    caption: str | None = None
    id: _Id | None = None


class OwnQuestion(BaseModel):
    """A line of `questions.jsonl`."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    question: _Filled
    history: _Id | None = None
    reference: _Filled | int | float | None = None
    type: _Id = OWN
    date: str | None = None
    evidence: list[_Id] = []
    id: _Id | None = None


@dataclass
class _Sitting:
    """A session while it is read."""

    date: datetime | None = None
    days: set[Day] = field(default_factory=set)
    turns: list[Turn] = field(default_factory=list)


@dataclass
class Telling:
    """A history while it is read.

    Attributes:
        named: Its turns' ids by those that the file gives them.
        places: The position of each turn's session, by the turn's id.
        user: Its first named speaker without a role.
    """

    id: str
    sessions: dict[str, _Sitting] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    user: str | None = None

    def add(self, line: OwnTurn, where: str) -> None:
        """Take in the next turn."""
        date = _date(line.date, where)
        name = line.session or (date.date().isoformat() if date else next(reversed(self.sessions), "1"))
        if name in self.sessions and name != next(reversed(self.sessions)):
            raise BadInput(
                f"{where}: session {shortened(name)} goes on after another of its history began; keep a session's "
                "turns together, or name it anew"
            )
        sitting = self.sessions.setdefault(name, _Sitting())
        sitting.date = sitting.date or date
        sitting.days |= {date.date()} if date else set()
        id = turn_id(self.id, len(self.sessions) - 1, len(sitting.turns))
        if line.id is not None and line.id in self.named:
            raise BadInput(f"{where}: id {shortened(line.id)} recurs in its history; {_REMEDY}")
        if line.id is not None:
            self.named[line.id] = id
        self.places[id] = len(self.sessions) - 1
        sitting.turns.append(self._turn(id, line, where))

    def _turn(self, id: str, line: OwnTurn, where: str) -> Turn:
        speaker = line.speaker or line.role
        if speaker is None:
            raise BadInput(f"{where}: neither speaker nor role; say who speaks")
        role = line.role or (speaker if speaker in _ROLES else None)
        if role is None:
            self.user = self.user or speaker
            role = "user" if speaker == self.user else "assistant"
        return Turn(id, role, speaker, line.text, line.caption or None)

    def history(self) -> History:
        """The history, once all is read."""
        sessions = (
            Session(name, self.id, position, sitting.date, tuple(sitting.turns))
            for position, (name, sitting) in enumerate(self.sessions.items())
        )
        return History(self.id, tuple(sessions))


def load(path: Path, benchmark: str = OWN) -> Conversations:
    """Load conversations of one's own, with the questions beside them if there are any.

    Args:
        path: The turns; questions are looked for in the same folder under their usual name.
        benchmark: Its name in the tables.

    Raises:
        BadInput: If a line is not in the format; the message names file, line and field.
    """
    tellings = told(_lines(path, OwnTurn))
    beside = questions_beside(path)
    questions = tuple(_questions(beside, tellings)) if beside else ()
    return Conversations(
        benchmark,
        "own conversations" if beside else "own conversations, without questions",
        _digest(path, beside),
        {name: telling.history() for name, telling in tellings.items()},
        questions,
        _notes(tellings, questions),
    )


def told(lines: Iterable[tuple[str, OwnTurn]]) -> dict[str, Telling]:
    """The histories that lines tell, by id; each line comes with its place for an error message.

    Raises:
        BadInput: If nobody speaks a line, a date is none, a session is not whole, or a turn's id recurs.
    """
    tellings: dict[str, Telling] = {}
    for where, line in lines:
        tellings.setdefault(line.history, Telling(line.history)).add(line, where)
    return tellings


def questions_beside(path: Path) -> Path | None:
    """The file of questions beside a file of turns, if there is one."""
    candidates = (path.with_name(QUESTIONS), path.with_name(f"{QUESTIONS}.gz"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _lines(path: Path, model: type[Model]) -> Iterator[tuple[str, Model]]:
    """The lines of a file, each checked, with its place for an error message."""
    for place, value in rows(path, remedy=_REMEDY, hint="give JSON lines (palimpsest convert makes them)"):
        where = f"{path}: {place}"
        if isinstance(value, dict) and (unknown := value.keys() - model.model_fields.keys()):
            known = ", ".join(model.model_fields)
            raise BadInput(f"{where}: {shortened(min(unknown))}: no such field; there are {known}")
        yield where, checked(model, value, where)


def _date(text: str | None, where: str) -> datetime | None:
    try:
        return iso_date(text) if text is not None else None
    except ValueError as error:
        raise BadInput(f"{where}: date: {shortened(text)} is not a date ({error}); {_REMEDY}") from error


def _questions(path: Path, tellings: Mapping[str, Telling]) -> Iterator[Question]:
    taken: set[str] = set()
    for number, (where, line) in enumerate(_lines(path, OwnQuestion), start=1):
        question = _question(line, str(number), tellings, where)
        if question.id in taken:
            raise BadInput(f"{where}: id {shortened(question.id)} recurs; {_REMEDY}")
        taken.add(question.id)
        yield question


def _question(line: OwnQuestion, number: str, tellings: Mapping[str, Telling], where: str) -> Question:
    if line.history is None and len(tellings) > 1:
        raise BadInput(f"{where}: history: needed, because there are {len(tellings):,} histories")
    name = line.history or next(iter(tellings))
    if name not in tellings:
        raise BadInput(f"{where}: history: there is none called {shortened(name)}; {_REMEDY}")
    named, places = tellings[name].named, tellings[name].places
    evidence = {named.get(reference, reference): reference for reference in line.evidence}
    for strange in evidence.keys() - places.keys():
        raise BadInput(
            f"{where}: evidence: {shortened(evidence[strange])} is no turn of history {shortened(name)}; {_REMEDY}"
        )
    return Question(
        id=line.id or number,
        history=name,
        type=line.type,
        text=line.question,
        reference="" if line.reference is None else str(line.reference),
        reference_kind="none" if line.reference is None else type(line.reference).__name__,
        date=_date(line.date, where),
        evidence=tuple(sorted(evidence, key=_place)),
        evidence_sessions=tuple(sorted({places[id] for id in evidence})),
    )


def _place(id: str) -> tuple[int, int]:
    """Where a turn stands in its history, out of its id (`memory.conversation.turn_id`)."""
    session, _, turn = id.rpartition("#")[2].partition(".")
    return int(session), int(turn)


def _digest(path: Path, beside: Path | None) -> str:
    """The hash of the turns, or where there are questions that of both hashes."""
    turns = sha256(path)
    return turns if beside is None else hashlib.sha256(f"{turns} {sha256(beside)}".encode()).hexdigest()


def _notes(tellings: Mapping[str, Telling], questions: tuple[Question, ...]) -> tuple[str, ...]:
    met: Counter[str] = Counter()
    asked = {question.history for question in questions}
    for telling in tellings.values():
        dated = [sitting.date is not None for sitting in telling.sessions.values()]
        dates = [sitting.date for sitting in telling.sessions.values() if sitting.date]
        met["histories of which some sessions have no date: heard in file order"] += len(set(dated)) > 1
        met["histories not in order of time"] += dates != sorted(dates)
        met["histories that no question draws on"] += bool(asked) and telling.id not in asked
        for sitting in telling.sessions.values():
            met["sessions over several days: dated by their first turn"] += len(sitting.days) > 1
            met["blank turns"] += sum(not turn.text.strip() for turn in sitting.turns)
    met["questions without a reference answer"] += sum(q.reference_kind == "none" for q in questions)
    met["questions without an evidence turn"] += sum(not q.evidence for q in questions)
    return tuple(f"{fact}: {count:,}" for fact, count in met.items() if count)
