"""Turning exports of common chat formats into the folder that benchmark `own` reads (`tasks.benchmarks.own`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from memory.errors import BadInput
from results.tables import write_bytes
from tasks.benchmarks.own import QUESTIONS, TURNS, OwnTurn, told
from tasks.benchmarks.reading import begins_as_json
from tasks.convert_chats import chat_lines
from tasks.convert_csv import csv_lines

Lines = list[tuple[str, OwnTurn]]
"""Turns in order, each with its place in the export for an error message."""


@dataclass(frozen=True, slots=True)
class Converted:
    """What became of an export.

    Attributes:
        form: The format that was read.
        turns: The file that was written.
        histories: How many histories it holds, and likewise sessions and lines.
        left_out: What was not taken over, in words, with how often.
    """

    form: str
    turns: Path
    histories: int
    sessions: int
    lines: int
    left_out: dict[str, int]

    def __str__(self) -> str:
        """One line."""
        left = ", ".join(f"{what} ({number:,})" for what, number in self.left_out.items()) or "nothing"
        counts = f"{self.lines:,} turns in {self.sessions:,} sessions of {self.histories:,} histories"
        return f"{self.turns}: {counts}, read from {self.form}; left out: {left}"


def convert(path: Path, to: Path, *, separate: bool = False) -> Converted:
    """Write the turns of an export to `turns.jsonl` in a folder, which is made if need be.

    Args:
        path: Lists of messages (`role` and `content`; OpenAI's form), as one JSON array, one object with `messages`, or
            an array or lines of such objects; ChatGPT's export `conversations.json`; or a text table with the columns
            `speaker` and `text`, and perhaps `date`, `session`, `conversation`, `caption`.
        to: The folder.
        separate: Make every conversation of a JSON export a history of its own; by default all are sessions of one
            history, for an export is mostly one person's. A table says it in its column `conversation`.

    Raises:
        BadInput: If the export is of no known form, holds no turn, or has a fault, which is told with its place; or if
            the folder has turns already, or cannot be written.
    """
    taken = [
        to / name for file in (TURNS, QUESTIONS) for name in (file, f"{file}.gz") if (to / name).exists()
    ]
    if taken:
        raise BadInput(f"{taken[0]} is there already; name another folder with --to")
    left_out = Counter[str]()
    form, lines = (
        chat_lines(path, left_out, separate=separate) if begins_as_json(path) else csv_lines(path, left_out)
    )
    if not lines:
        left = ", ".join(left_out) or "nothing in it"
        raise BadInput(f"{path}: holds no turn of a user or an assistant with text (left out: {left})")
    histories = told(lines)
    text = "".join(line.model_dump_json(exclude_defaults=True) + "\n" for _, line in lines)
    try:
        to.mkdir(parents=True, exist_ok=True)
        write_bytes(to / TURNS, text.encode())
    except OSError as error:
        raise BadInput(
            f"{to}: cannot be written ({error.strerror}); name another folder with --to"
        ) from error
    sessions = sum(len(history.sessions) for history in histories.values())
    return Converted(form, to / TURNS, len(histories), sessions, len(lines), dict(left_out))
