"""Fuzzing in short; `python -m tests.torture.fuzz 100000` is the long one."""

from __future__ import annotations

import pytest

from tests.torture.fuzz import TARGETS, fuzz


@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_raises_nothing_but_what_it_declares(name: str) -> None:
    ended = fuzz(TARGETS[name], 200)
    assert ended.total() >= 200
    assert ended["read"] > 0
