"""BEAM (Tavakoli et al., 2026), 100K split: 20 long chats with an assistant, 20 questions each, of ten abilities.

Its file is a tar archive with a folder a chat, of which `chat.json` and `probing_questions.json` are read. Nothing is
unpacked to disk.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from memory.conversation import Conversations, History, Question, Session, Turn, turn_id
from memory.errors import BadInput
from tasks.benchmarks.dates import beam_date
from tasks.benchmarks.reading import beginning, checked, parsed, sha256, shortened, whole_bytes

NAME = "beam-100k"
RD_FORGET = "beam-100k-rd"
"""The 150 questions that RD-Forget asks, as far as its paper lets one infer them."""

RELEASES = {"04ad1027c847834c5302173bc73eb537228adbccd32ca32d596c41879b88c5b5": "BEAM, 100K"}
"""Known files by the sha256 of their uncompressed bytes."""

Ability = Literal[
    "abstention",
    "contradiction_resolution",
    "event_ordering",
    "information_extraction",
    "instruction_following",
    "knowledge_update",
    "multi_session_reasoning",
    "preference_following",
    "summarization",
    "temporal_reasoning",
]

_REFERENCES: dict[Ability, str] = {
    "abstention": "ideal_response",
    "contradiction_resolution": "ideal_answer",
    "instruction_following": "expected_compliance",
    "preference_following": "expected_compliance",
    "summarization": "ideal_summary",
}
"""The field of a question that says what is right, where it is not `answer`."""

_RD_ABILITIES = ("contradiction_resolution", "knowledge_update", "preference_following", "temporal_reasoning")
_DEVELOPMENT = 10

_MOST_BYTES = 256 << 20
_MEMBER = re.compile(r"(?:\./)?100K/([1-9][0-9]{0,3})/(chat|probing_questions)\.json")
_MAGIC = slice(257, 262)
_Filled = Annotated[str, StringConstraints(pattern=r"\S")]


class _Message(BaseModel):
    model_config = ConfigDict(strict=True)

    role: Literal["user", "assistant"]
    id: int
    content: str
    time_anchor: str | None = None


class _Batch(BaseModel):
    model_config = ConfigDict(strict=True)

    batch_number: int
    turns: list[list[_Message]]


class _Chat(BaseModel):
    model_config = ConfigDict(strict=True)

    chat: list[_Batch] = Field(min_length=1)
    questions: dict[Ability, list[dict[str, Any]]] = Field(min_length=1)


class _Asked(BaseModel):
    model_config = ConfigDict(strict=True)

    question: _Filled
    reference: _Filled


def is_archive(path: Path) -> bool:
    """Whether a file is a tar archive, gzipped or not.

    Raises:
        BadInput: If it cannot be read.
    """
    return beginning(path, _MAGIC.stop)[_MAGIC] == b"ustar"


def load(path: Path, benchmark: str) -> Conversations:
    """Load all 400 questions, or RD-Forget's 150.

    Chats go by their number. A batch of a chat is a session, dated by the first date in it; evidence is what a
    question names by message ids. A question's id is its chat, its ability and its place from 0.

    RD-Forget's 150 are an inference: its four kinds of questions (contradiction, knowledge update, temporal,
    preference) have 40 each, and it leaves out ten as development questions; taken are the first ten of these, in the
    order of chats and, inside of a chat, of its file.

    Raises:
        BadInput: If the file is no such archive, something in it is not in the format, or no question is left.
    """
    histories: dict[str, History] = {}
    questions: list[Question] = []
    for number, fields in sorted(_chats(path).items()):
        where = f"{path}: 100K/{number}"
        chat = checked(_Chat, fields, where)
        turns = _turns(f"beam-{number}", chat, where)
        history = _history(f"beam-{number}", chat, where)
        histories[history.id] = history
        questions += _questions(history.id, chat, turns, where)
    notes: tuple[str, ...] = ()
    if benchmark == RD_FORGET:
        questions = [question for question in questions if question.type in _RD_ABILITIES][_DEVELOPMENT:]
        notes = (
            "which questions RD-Forget asks is inferred: four abilities, without the first ten questions",
        )
    if not questions:
        raise BadInput(f"{path}: holds no question of the benchmark {benchmark}; give BEAM's own file")
    digest = sha256(path)
    release = RELEASES.get(digest, "BEAM, unrecognised release")
    part = ", four abilities without ten development questions (inferred)" if notes else ""
    return Conversations(benchmark, f"{release}{part}", digest, histories, tuple(questions), notes)


def _chats(path: Path) -> dict[int, dict[str, Any]]:
    """What the archive's two kinds of files say, by the number of their chat."""
    found: dict[int, dict[str, Any]] = {}
    for number, kind, raw in _members(path):
        field = "chat" if kind == "chat" else "questions"
        fields = found.setdefault(number, {})
        if field in fields:
            raise BadInput(f"{path}: 100K/{number}/{kind}.json stands in it twice; fetch the file again")
        fields[field] = parsed(raw, f"{path}: 100K/{number}/{kind}.json")
    if not found:
        raise BadInput(f"{path}: holds no 100K/1/chat.json and so on; give BEAM's own archive")
    return found


def _members(path: Path) -> Iterator[tuple[int, str, bytes]]:
    whole = BytesIO(whole_bytes(path, _MOST_BYTES))
    try:
        with tarfile.open(fileobj=whole, mode="r:") as archive:
            for member in archive:
                match = _MEMBER.fullmatch(member.name)
                file = archive.extractfile(member) if match and member.isreg() else None
                if match and file:
                    yield int(match[1]), match[2], file.read()
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(f"{path}: not a tar archive that can be read ({reason}); fetch it again") from error


def _turns(history: str, chat: _Chat, where: str) -> dict[int, str]:
    """Ids of turns by the ids of messages."""
    turns: dict[int, str] = {}
    for position, batch in enumerate(chat.chat):
        for index, message in enumerate(message for turn in batch.turns for message in turn):
            if message.id in turns:
                raise BadInput(f"{where}: chat: message id {message.id} recurs; correct the file")
            turns[message.id] = turn_id(history, position, index)
    return turns


def _history(name: str, chat: _Chat, where: str) -> History:
    sessions = []
    for position, batch in enumerate(chat.chat):
        messages = [message for turn in batch.turns for message in turn]
        turns = tuple(
            Turn(turn_id(name, position, index), message.role, message.role, message.content)
            for index, message in enumerate(messages)
        )
        anchor = next((message.time_anchor for message in messages if message.time_anchor), None)
        date = _date(anchor, f"{where}: batch {batch.batch_number}") if anchor else None
        sessions.append(Session(f"batch {batch.batch_number}", name, position, date, turns))
    return History(name, tuple(sessions))


def _date(text: str, where: str) -> datetime:
    try:
        return beam_date(text)
    except ValueError as error:
        raise BadInput(f"{where}: {shortened(text)} is not a date ({error}); correct the file") from error


def _questions(history: str, chat: _Chat, turns: dict[int, str], where: str) -> Iterator[Question]:
    for ability, asked in chat.questions.items():
        field = _REFERENCES.get(ability, "answer")
        for place, fields in enumerate(asked):
            given = {"question": fields.get("question"), "reference": fields.get(field)}
            found = checked(_Asked, given, f"{where}: {ability} {place}")
            ids = dict.fromkeys(_numbers(fields.get("source_chat_ids")))
            evidence = sorted(number for number in ids if number in turns)
            yield Question(
                id=f"{history}:{ability}:{place}",
                history=history,
                type=ability,
                text=found.question.strip(),
                reference=found.reference,
                evidence=tuple(turns[number] for number in evidence),
                evidence_sessions=tuple(sorted({_session_of(turns[number]) for number in evidence})),
                unresolved_evidence=tuple(str(number) for number in ids if number not in turns),
                abstention=ability == "abstention",
            )


def _session_of(turn: str) -> int:
    return int(turn.rpartition("#")[2].partition(".")[0])


def _numbers(value: Any) -> Iterator[int]:
    """The message ids in a list, or in an object of lists, however deep, in order."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, int) and not isinstance(part, bool):
            yield part
        elif isinstance(part, list | dict):
            waiting += reversed(list(part.values()) if isinstance(part, dict) else part)
