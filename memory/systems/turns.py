"""What the systems that keep whole turns share: the turns, how they are written out, and their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import pyarrow as pa

from memory.conversation import Session, Turn
from memory.errors import BadInput
from memory.graph import in_utc

TextForm = Literal["raw", "spoken", "dated"]
"""How a turn is indexed: its bare text, as published; with speaker and caption; and with its date as well, such as
`(8 May 2023)`, which is worth .027 of recall@5 to BM25 on LoCoMo."""

RULE = "\n\n---\n\n"
"""The rule line between chunks of a context (facts, section 11)."""

_TIME: pa.DataType = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "session": pa.string(),
        "time": _TIME,
        "role": pa.string(),
        "speaker": pa.string(),
        "text": pa.string(),
        "caption": pa.string(),
    }
)
VERSION = 1


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn with the session that it is from."""

    turn: Turn
    session: str
    time: datetime | None

    def text(self, form: TextForm) -> str:
        """The turn in a form."""
        if form == "raw":
            return self.turn.text
        if form == "spoken" or self.time is None:
            return self.turn.spoken
        return f"{self.turn.spoken} ({self.time.day} {self.time:%B %Y})"

    def shown(self, form: TextForm, *, date: bool) -> str:
        """The turn as a context shows it; `date` puts its session's date before it."""
        text = self.text("spoken" if form == "dated" else form)
        return f"[{self.time.date().isoformat()}] {text}" if date and self.time else text


def stored(session: Session) -> list[StoredTurn]:
    """The turns of a session."""
    return [StoredTurn(turn, session.id, in_utc(session.date)) for turn in session.turns]


def text_bytes(turns: Sequence[StoredTurn]) -> int:
    """UTF-8 bytes of the turns' texts, captions and ids."""
    return sum(
        len("".join((held.turn.id, held.turn.speaker, held.turn.text, held.turn.caption or "")).encode())
        for held in turns
    )


def to_table(turns: Sequence[StoredTurn]) -> pa.Table:
    """Turns as a table, in order."""
    rows = [
        {
            "id": held.turn.id,
            "session": held.session,
            "time": held.time,
            "role": held.turn.role,
            "speaker": held.turn.speaker,
            "text": held.turn.text,
            "caption": held.turn.caption,
        }
        for held in turns
    ]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    return table.replace_schema_metadata({"palimpsest.turns.version": str(VERSION)})


def from_table(table: pa.Table) -> list[StoredTurn]:
    """The turns of a table.

    Raises:
        BadInput: If it is of a later version, or of none.
    """
    version = (table.schema.metadata or {}).get(b"palimpsest.turns.version", b"").decode()
    if not version.isdigit() or int(version) > VERSION:
        raise BadInput(
            f"a table of turns has version {version or 'none'}, not up to {VERSION}; build it again"
        )
    return [
        StoredTurn(
            Turn(row["id"], row["role"], row["speaker"], row["text"], row["caption"]),
            row["session"],
            row["time"],
        )
        for row in table.to_pylist()
    ]
