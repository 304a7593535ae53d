"""The command line in this process."""

from __future__ import annotations

import sys

import pytest

from flows import cli


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit code of `palimpsest` with these words."""
    monkeypatch.setattr(sys, "argv", ["palimpsest", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code
