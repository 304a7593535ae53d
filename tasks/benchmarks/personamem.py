"""PersonaMem (Jiang et al., 2025), 32k: multiple-choice questions about users whose profiles change.

Two files: the questions, with the columns of the publisher's table, and beside it the contexts that they share, in
chunks. A chunk is a session. A question draws on the whole of its context: where in it the question was put is given
as an index that the chunks' text does not follow.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from memory.conversation import Conversations, History, Question, Session, Turn, turn_id
from memory.errors import BadInput
from tasks.benchmarks.reading import checked, rows, sha256, shortened

NAME = "personamem-32k"
RD_FORGET = "personamem-32k-rd"
"""The questions that RD-Forget asks: all but the first ten of the file."""
_DEVELOPMENT = 10

QUESTIONS = "32k_questions.jsonl"
CONTEXTS = "32k_context_chunks.json"

RELEASES = {"be000991110c38dc2fdef7bcec123b159e26fa08d2b5f68d78cc92ae5bdda30c": "PersonaMem v1, 32k"}
"""Known files of questions by the sha256 of their uncompressed bytes."""

_MESSAGE = re.compile(r"(?:\A|\n\n)\[(SYSTEM|USER|ASSISTANT)\] ")
_CHUNK = re.compile(r"(.+)_([0-9]{1,4})", re.DOTALL)
_LETTER = re.compile(r"\(([a-z])\)")
_LONGEST_OPTIONS = 50_000
_Filled = Annotated[str, StringConstraints(pattern=r"\S")]


class _Row(BaseModel):
    model_config = ConfigDict(strict=True)

    question_id: _Filled
    question_type: _Filled
    user_question_or_message: _Filled
    correct_answer: str
    all_options: Annotated[str, StringConstraints(max_length=_LONGEST_OPTIONS)]
    shared_context_id: _Filled


class _Chunk(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str
    user_id: _Filled
    content: str


def contexts_beside(path: Path) -> Path | None:
    """The file of contexts beside a file of questions, if there is one."""
    candidates = (path.with_name(CONTEXTS), path.with_name(f"{CONTEXTS}.gz"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def load(path: Path, benchmark: str) -> Conversations:
    """Load all 589 questions, or RD-Forget's 579; the reference is the right option.

    What the system says of the user at the start of a context's sessions is a turn with the speaker `system`.

    Raises:
        BadInput: If a file is missing or not in the format, options are not lettered `(a)`, `(b)` and so on, the
            right one is none of them, a question id recurs, a question's context is missing, or no question is left.
    """
    beside = contexts_beside(path)
    if beside is None:
        raise BadInput(
            f"{path}: there is no {CONTEXTS} beside it; put PersonaMem's two files into one folder"
        )
    histories = _histories(beside)
    questions: dict[str, Question] = {}
    for place, value in rows(path):
        row = checked(_Row, value, f"{path}: {place}")
        where = f"{path}: {place} (question {shortened(row.question_id)})"
        if row.question_id in questions:
            raise BadInput(f"{where}: this question id stands in the file twice; remove one of the rows")
        if row.shared_context_id not in histories:
            raise BadInput(f"{where}: its context is not in {beside.name}; give the files of one release")
        questions[row.question_id] = _question(row, where)
    asked = tuple(questions.values())[_DEVELOPMENT if benchmark == RD_FORGET else 0 :]
    if not asked:
        raise BadInput(f"{path}: holds no question of the benchmark {benchmark}; give PersonaMem's own file")
    digest = sha256(path)
    release = RELEASES.get(digest, "PersonaMem, unrecognised release")
    part = ", without the first ten questions" if benchmark == RD_FORGET else ""
    needed = {question.history for question in asked}
    return Conversations(
        benchmark,
        f"{release}{part}",
        hashlib.sha256(f"{digest} {sha256(beside)}".encode()).hexdigest(),
        {name: history for name, history in histories.items() if name in needed},
        asked,
        ("asked of the whole context, also of what follows the place where the question was put: all",),
    )


def _question(row: _Row, where: str) -> Question:
    options = _options(row.all_options, where)
    right = [option for option in options if option.startswith(f"{row.correct_answer.strip()} ")]
    if len(right) != 1 or not _LETTER.fullmatch(row.correct_answer.strip()):
        raise BadInput(
            f"{where}: correct_answer {shortened(row.correct_answer)} is no option's letter; correct the row"
        )
    return Question(
        id=row.question_id,
        history=row.shared_context_id,
        type=row.question_type,
        text=row.user_question_or_message.strip(),
        reference=right[0],
        options=options,
    )


def _options(text: str, where: str) -> tuple[str, ...]:
    """The options, which the file writes as a list of JSON or of Python."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = _literal(text)
    wanted = [f"({chr(ord('a') + place)}) " for place in range(26)]
    texts = [option for option in found if isinstance(option, str)] if isinstance(found, list) else []
    if not 2 <= len(texts) <= len(wanted) or len(texts) != len(found):
        raise BadInput(f"{where}: all_options: not a list of 2 to 26 texts; correct the row")
    for option, letter in zip(texts, wanted, strict=False):
        if not option.startswith(letter) or not option.removeprefix(letter).strip():
            raise BadInput(
                f"{where}: all_options: {shortened(option)} does not begin with {letter.strip()} and a text; "
                "correct the row"
            )
    # Text inside of a text may hold halves of characters, which no table can.
    return tuple(option.encode("utf-8", "replace").decode() for option in texts)


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _histories(path: Path) -> dict[str, History]:
    """The contexts by id, with their chunks in the order of their numbers."""
    chunks: dict[str, dict[int, str]] = {}
    for place, value in rows(path):
        chunk = checked(_Chunk, value, f"{path}: {place}")
        where = f"{path}: {place} (chunk {shortened(chunk.id)})"
        match = _CHUNK.fullmatch(chunk.id)
        if match is None or match[1] != chunk.user_id:
            raise BadInput(f"{where}: its id is not its context's id, _ and a number; correct the row")
        if int(match[2]) in chunks.setdefault(chunk.user_id, {}):
            raise BadInput(f"{where}: this chunk stands in the file twice; remove one of the rows")
        if not _MESSAGE.match(chunk.content):
            raise BadInput(
                f"{where}: content does not begin with [SYSTEM], [USER] or [ASSISTANT]; correct it"
            )
        chunks[chunk.user_id][int(match[2])] = chunk.content
    return {name: _history(name, parts) for name, parts in chunks.items()}


def _history(name: str, parts: dict[int, str]) -> History:
    sessions = []
    for position, number in enumerate(sorted(parts)):
        _, *said = _MESSAGE.split(parts[number])
        turns = tuple(
            Turn(turn_id(name, position, index), _role(marker), marker.lower(), text.strip())
            for index, (marker, text) in enumerate(zip(said[::2], said[1::2], strict=True))
        )
        sessions.append(Session(f"chunk {number}", name, position, None, turns))
    return History(name, tuple(sessions))


def _role(marker: str) -> str:
    return "assistant" if marker == "ASSISTANT" else "user"
