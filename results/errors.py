"""The errors of tables on disk."""

from __future__ import annotations


class TornTable(Exception):
    """A table on disk is not what was written. The message names the file and what to do."""
