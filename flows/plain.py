"""What leaves for the terminal's error line or for a log: without keys, and without what steers a terminal."""

from __future__ import annotations

import logging
import sys

from results.rendering import printable
from tasks.models.keys import held, redact


def shown(text: str) -> str:
    """A text, of one or more lines, as it may be shown."""
    return printable(redact(text, held()))


def say(line: str) -> None:
    """Write one line to standard error; what would begin another line is a blank."""
    sys.stdout.flush()
    sys.stderr.write(shown(line).replace("\n", " ") + "\n")


class PlainFormatter(logging.Formatter):
    """Lines and tracebacks of a log."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        return shown(super().format(record))
