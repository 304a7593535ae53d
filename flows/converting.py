"""The command `convert`: an export of chats becomes the folder of benchmark `own`."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from flows.console import console
from tasks.convert import convert


def print_conversion(file: Path, to: Path, *, separate: bool) -> None:
    """Convert an export, and say in one line what was read and what was left out.

    Args:
        file: The export.
        to: The folder that gets `turns.jsonl`.
        separate: See `tasks.convert.convert`.

    Raises:
        BadInput: If the export cannot be used, or the folder has turns already.
    """
    console.print(Text(str(convert(file, to, separate=separate))), soft_wrap=True)
