"""5W notes: what is kept of a turn beside its words, and their table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Literal

import pyarrow as pa

from memory.dates import resolve
from memory.errors import BadInput
from memory.prompts.five_ws import SLOTS, Slots

Status = Literal["ok", "blank", "failed"]

NO_TAGS: Slots = dict.fromkeys(SLOTS, ())


@dataclass(frozen=True, slots=True)
class Note:
    """The tags of a turn, as they were extracted.

    Attributes:
        turn: Its id.
        session: Which sitting of the memory it belongs to: the place of that among all that were heard.
        day: Its session's day, where it has a date.
        tags: By slot.
        status: `blank` for a turn that says nothing and is not asked for; `failed` if there is no usable reply.
    """

    turn: str
    session: int
    day: date | None
    tags: Slots
    status: Status = "ok"

    def values(self, slot: str) -> list[str]:
        """The tags of a slot as they are looked up: times with the dates that they resolve to."""
        return dated(self.tags[slot], self.day) if slot == "when" else list(self.tags[slot])


def dated(values: Iterable[str], day: date | None) -> list[str]:
    """Values of the slot `when` with the dates that they resolve to on a day, in ISO 8601, and the months of these.

    So a note of last Friday meets a question about 2023-05-12, and one about May.
    """
    found: dict[str, None] = {}
    for value in values:
        found[value] = None
        resolved = resolve(value, day, "improved") if day else None
        if resolved is not None:
            found |= dict.fromkeys((resolved.date, resolved.date[: len("2023-05")]))
    return list(found)


_TAGS: pa.DataType = pa.list_(pa.field("element", pa.string()))
_COLUMNS: dict[str, pa.DataType] = {
    "sitting": pa.int64(),
    "status": pa.string(),
    **dict.fromkeys(SLOTS, _TAGS),
}
_OF_TURNS: dict[str, pa.DataType] = {"id": pa.string(), "time": pa.timestamp("us", tz="UTC")}
NOTES = pa.schema({**_OF_TURNS, **_COLUMNS})
"""One row a turn that was heard, in order; `id` is the turn's, `time` its session's."""


def to_table(notes: Sequence[Note]) -> pa.Table:
    """Notes as a table, in order."""
    columns: dict[str, list[object]] = {
        "id": [note.turn for note in notes],
        "time": [datetime.combine(note.day, time(), UTC) if note.day else None for note in notes],
        "sitting": [note.session for note in notes],
        "status": [note.status for note in notes],
        **{slot: [list(note.tags[slot]) for note in notes] for slot in SLOTS},
    }
    return pa.table(columns, schema=NOTES)


def beside(turns: pa.Table, notes: Sequence[Note]) -> pa.Table:
    """A table of turns with the notes of these in further columns."""
    written = to_table(notes)
    for name in _COLUMNS:
        turns = turns.append_column(NOTES.field(name), written[name])
    return turns


def from_table(table: pa.Table) -> list[Note]:
    """The notes of a table, which may have columns of other things.

    Raises:
        BadInput: If it lacks a column of the notes.
    """
    if missing := set(NOTES.names) - set(table.column_names):
        raise BadInput(f"the memory's table of notes lacks the column {min(missing)}; build it again")
    return [
        Note(
            row["id"],
            row["sitting"],
            row["time"].date() if row["time"] else None,
            {slot: tuple(row[slot]) for slot in SLOTS},
            row["status"],
        )
        for row in table.select(NOTES.names).to_pylist()
    ]
