"""LoCoMo (Maharana et al., 2024): ten long conversations between two people, with 1,986 questions.

Every conversation is a history; its questions share it. Sessions, turns and speakers are named inside their
conversation only, so that everything here is looked up by conversation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from memory.conversation import Conversations, History, Observation, Question, Session, Turn, turn_id
from memory.errors import BadInput
from tasks.benchmarks.dates import locomo_date
from tasks.benchmarks.reading import checked, rows, sha256, shortened

RELEASES = {"79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4": "LoCoMo, locomo10.json"}
"""Known files by the sha256 of their uncompressed bytes."""

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""Names of the file's category numbers, which do not follow the order of the paper's list."""
_ADVERSARIAL = 5

ADVERSARIAL = "locomo-adversarial"
"""The benchmark of category 5 alone: whether a system admits that the conversation does not say."""

_SESSION_KEY = re.compile(r"session_([1-9][0-9]{0,5})")
_DATE_KEY = re.compile(r"session_[1-9][0-9]{0,5}_date_time")
_REFERENCE = re.compile(r"D:?([0-9]{1,6}):([0-9]{1,6})")
_SEPARATORS = re.compile(r"[\s;,]+")
_Filled = Annotated[str, StringConstraints(pattern=r"\S")]
_Answer = str | int | float | None


class _Turn(BaseModel):
    model_config = ConfigDict(strict=True)

    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


class _Session(BaseModel):
    model_config = ConfigDict(strict=True)

    date_time: str
    turns: list[_Turn]


class _Speakers(BaseModel):
    model_config = ConfigDict(strict=True)

    speaker_a: _Filled
    speaker_b: _Filled


class _Question(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    question: _Filled
    category: Literal[1, 2, 3, 4, 5]
    evidence: list[str] = []
    answer: _Answer = None


_Observed = Annotated[list[str | list[str]], Field(min_length=2, max_length=2)]
"""A sentence and the turns that it stands on, as one id or several."""


class _Sample(BaseModel):
    model_config = ConfigDict(strict=True)

    sample_id: _Filled
    conversation: dict[str, Any]
    qa: list[_Question]
    observation: dict[str, dict[str, list[_Observed]]] = {}


class _Place(NamedTuple):
    """Zero-based positions of a session and of a turn in it."""

    session: int
    turn: int


class _Evidence(NamedTuple):
    """What a question's evidence references come to; `repaired` counts those that match only after repair."""

    places: tuple[_Place, ...]
    repaired: int
    unresolved: tuple[str, ...]


def load(path: Path, benchmark: str) -> Conversations:
    """Load LoCoMo: the questions of categories 1 to 4, or for `locomo-adversarial` those of category 5.

    A question of category 5 expects abstention and has an empty reference; the file's `adversarial_answer` is
    a distractor and is never read. A question of another category without an answer is left out and counted
    in the notes. A question's id is its conversation's id and its zero-based index in the file's list.

    Raises:
        BadInput: If the file is not in LoCoMo's format, a date cannot be read, a session has no date, a
            speaker is neither of the two, an id recurs, or no question is left.
    """
    histories: dict[str, History] = {}
    questions: list[Question] = []
    notes: Counter[str] = Counter()
    for place, value in rows(path):
        where = f"{path}: {place}{_named(value)}"
        sample = checked(_Sample, value, where)
        if sample.sample_id in histories:
            raise BadInput(f"{where}: this conversation stands in the file twice; remove one of the rows")
        sessions = _sessions(sample.conversation, where, notes)
        places = _places(sessions, where)
        observed = _observations(sample, places, notes)
        histories[sample.sample_id] = _history(sample, sessions, observed, where)
        questions += _questions(sample, places, benchmark, notes)
    if not questions:
        raise BadInput(f"{path}: holds no question of the benchmark {benchmark}; give LoCoMo's own file")
    digest = sha256(path)
    release = RELEASES.get(digest, "LoCoMo, unrecognised release")
    part = "category 5" if benchmark == ADVERSARIAL else "categories 1 to 4"
    facts = tuple(f"{fact}: {count:,}" for fact, count in notes.items() if count)
    return Conversations(benchmark, f"{release}, {part}", digest, histories, tuple(questions), facts)


def _named(value: object) -> str:
    """The id of a conversation that has not been checked yet, for an error message."""
    name = value.get("sample_id") if isinstance(value, dict) else None
    return f" ({shortened(name)})" if isinstance(name, str) else ""


def _sessions(conversation: Mapping[str, Any], where: str, notes: Counter[str]) -> dict[str, _Session]:
    """The sessions that exist, by key, ascending by number; the file also dates some that it lacks."""
    numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION_KEY.fullmatch(key)))
    if not numbers:
        raise BadInput(
            f"{where}: conversation: no key session_1, session_2 and so on; give LoCoMo's own file"
        )
    sessions = {}
    for key in (f"session_{number}" for number in numbers):
        found = {"turns": conversation[key], "date_time": conversation.get(f"{key}_date_time")}
        sessions[key] = checked(_Session, found, f"{where}: {key}")
    dates = sum(_DATE_KEY.fullmatch(key) is not None for key in conversation)
    notes["session dates without a session"] += dates - len(sessions)
    return sessions


def _history(
    sample: _Sample,
    sessions: Mapping[str, _Session],
    observed: Mapping[int, list[Observation]],
    where: str,
) -> History:
    speakers = checked(_Speakers, sample.conversation, f"{where}: conversation")
    roles = {speakers.speaker_a: "user", speakers.speaker_b: "assistant"}
    read = []
    for position, (key, session) in enumerate(sessions.items()):
        turns = []
        for index, turn in enumerate(session.turns):
            if turn.speaker not in roles:
                name = shortened(turn.speaker)
                raise BadInput(
                    f"{where}: {key}.{index}: {name} is no speaker of this conversation; correct the row"
                )
            name = turn_id(sample.sample_id, position, index)
            turns.append(Turn(name, roles[turn.speaker], turn.speaker, turn.text, turn.blip_caption or None))
        date = _date(session.date_time, f"{where}: {key}_date_time")
        found = tuple(observed.get(position, ()))
        read.append(Session(key, sample.sample_id, position, date, tuple(turns), found))
    return History(sample.sample_id, tuple(read))


def _date(text: str, where: str) -> datetime:
    try:
        return locomo_date(text)
    except ValueError as error:
        raise BadInput(f"{where}: {shortened(text)} is not a date ({error}); correct the row") from error


def _places(sessions: Mapping[str, _Session], where: str) -> dict[str, _Place]:
    """Where the turns are, by the ids that evidence references name."""
    places: dict[str, _Place] = {}
    for position, (key, session) in enumerate(sessions.items()):
        for index, turn in enumerate(session.turns):
            if turn.dia_id in places:
                raise BadInput(
                    f"{where}: {key}.{index}: dia_id {shortened(turn.dia_id)} recurs; correct the row"
                )
            places[turn.dia_id] = _Place(position, index)
    return places


def _observations(
    sample: _Sample, places: Mapping[str, _Place], notes: Counter[str]
) -> dict[int, list[Observation]]:
    """What the file states of each session, by the position of the session of its last source turn.

    A large model wrote these sentences, with the whole conversation in view.
    """
    found: dict[int, list[Observation]] = {}
    for by_speaker in sample.observation.values():
        for text, references in (said for sentences in by_speaker.values() for said in sentences):
            stands_on = resolve([references] if isinstance(references, str) else references, places).places
            if not isinstance(text, str) or not text.strip() or not stands_on:
                notes["observations that name no turn left out"] += 1
                continue
            turns = tuple(turn_id(sample.sample_id, *place) for place in stands_on)
            found.setdefault(stands_on[-1].session, []).append(Observation(text.strip(), turns))
    return found


def _questions(
    sample: _Sample, places: Mapping[str, _Place], benchmark: str, notes: Counter[str]
) -> list[Question]:
    questions = []
    for index, asked in enumerate(sample.qa):
        adversarial = asked.category == _ADVERSARIAL
        if adversarial != (benchmark == ADVERSARIAL):
            notes["adversarial questions left out" if adversarial else "answerable questions left out"] += 1
            continue
        if not adversarial and not str("" if asked.answer is None else asked.answer).strip():
            notes["questions without an answer left out"] += 1
            continue
        evidence = resolve(asked.evidence, places)
        notes["questions that name no evidence"] += not asked.evidence
        notes["evidence references that match a turn only after repair"] += evidence.repaired
        notes["evidence references that match no turn"] += len(evidence.unresolved)
        questions.append(_question(sample.sample_id, index, asked, evidence))
    return questions


def _question(history: str, index: int, asked: _Question, evidence: _Evidence) -> Question:
    adversarial = asked.category == _ADVERSARIAL
    return Question(
        id=f"{history}:{index}",
        history=history,
        type=CATEGORIES[asked.category],
        text=asked.question,
        reference="" if adversarial else str(asked.answer),
        reference_kind="none" if adversarial else type(asked.answer).__name__,
        evidence=tuple(turn_id(history, *place) for place in evidence.places),
        evidence_sessions=tuple(sorted({place.session for place in evidence.places})),
        unresolved_evidence=evidence.unresolved,
        abstention=adversarial,
    )


def resolve(references: Iterable[str], places: Mapping[str, _Place]) -> _Evidence:
    """Find the turns that evidence references name.

    A reference that matches no turn as written is repaired where only one reading is possible: several ids in
    one string (`D8:6; D9:17`), zero padding (`D30:05`), a stray colon (`D:11:26`). If a part of it still
    matches no turn (`D`, or an id beyond its session), the reference counts as unresolved, and the parts that
    match are evidence.
    """
    found: set[_Place] = set()
    repaired = 0
    unresolved = []
    for reference in references:
        if reference in places:
            found.add(places[reference])
            continue
        parts = [_canonical(part) for part in _SEPARATORS.split(reference.strip())]
        found.update(places[part] for part in parts if part in places)
        if all(part in places for part in parts):
            repaired += 1
        else:
            unresolved.append(reference)
    return _Evidence(tuple(sorted(found)), repaired, tuple(unresolved))


def _canonical(part: str) -> str:
    match = _REFERENCE.fullmatch(part)
    return f"D{int(match[1])}:{int(match[2])}" if match else part
