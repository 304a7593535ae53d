"""The errors of tables on disk."""

from __future__ import annotations


class TornTable(Exception):
    """A table on disk is not what was written. The message names the file and what to do."""


class DiskFull(Exception):
    """A table cannot be written for want of room. The message names the folder and what to do."""
