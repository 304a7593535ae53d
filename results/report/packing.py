"""The browser's data as text that fits into a page: JSON, deflated, in base64, cut until it is small enough.

What inflates it again is the browser's own `DecompressionStream("deflate")`. Texts lie in blocks, so that opening a
question inflates only what it needs.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from results.report.browser_data import BrowserData

QUESTIONS_A_BLOCK = 16
TURNS_A_BLOCK = 64
MOST_CHARACTERS = 12_500_000
"""Of all blocks together: what leaves a file under 15 MB with its figures."""
CUTS = ((4_000, 16_000), (4_000, 8_000), (4_000, 4_000), (2_000, 2_000), (1_000, 1_000), (500, 500), (300, 0))
"""How many characters of a turn and of a context are kept; the first pair that fits is taken."""
_SAMPLED = 8
"""One block in so many is packed to foresee the size of all."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Blocks by name, and where texts were cut.

    Attributes:
        blocks: `index`, `details-0`, `contexts-0`, `turns-0`, ...: base64 of deflated JSON.
        turn: Characters that are kept of a turn.
        context: Characters that are kept of a context.
    """

    blocks: dict[str, str]
    turn: int
    context: int

    @property
    def characters(self) -> int:
        """Of all blocks."""
        return sum(map(len, self.blocks.values()))


def pack(data: BrowserData, most: int = MOST_CHARACTERS) -> Packed:
    """Pack with the longest cuts that fit; the last pair of `CUTS` is taken even where it does not."""
    fixed = {
        "index": deflated(data.index),
        **_numbered("details", _in_blocks(data.details, QUESTIONS_A_BLOCK)),
    }
    left = most - sum(map(len, fixed.values()))
    for turn, context in CUTS:
        last = (turn, context) == CUTS[-1]
        if not last and _foreseen(data, turn, context) > left:
            continue
        blocks = {**_numbered("turns", _turns(data, turn)), **_numbered("contexts", _contexts(data, context))}
        if last or sum(map(len, blocks.values())) <= left:
            break
    return Packed({**fixed, **blocks}, turn, context)


def deflated(value: Any) -> str:
    """JSON, deflated (zlib's format), in base64."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"))).decode("ascii")


def _numbered(name: str, blocks: Sequence[Any]) -> dict[str, str]:
    return {f"{name}-{number}": deflated(block) for number, block in enumerate(blocks)}


def _in_blocks(rows: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _turns(data: BrowserData, most: int) -> list[Sequence[Any]]:
    def cut(turn: dict[str, Any]) -> dict[str, Any]:
        text = turn.get("text", "")
        return turn if len(text) <= most else {**turn, "text": text[:most], "characters": len(text)}

    return _in_blocks([cut(turn) for turn in data.turns], TURNS_A_BLOCK)


def _contexts(data: BrowserData, most: int) -> list[Sequence[Any]]:
    rows = [[one and (one[0][:most], one[1]) for one in row] for row in data.contexts]
    return _in_blocks(rows, QUESTIONS_A_BLOCK)


def _foreseen(data: BrowserData, turn: int, context: int) -> int:
    """About how many characters the texts take with those cuts."""
    total = 0
    for blocks in (_turns(data, turn), _contexts(data, context)):
        sample = blocks[:: max(1, min(_SAMPLED, len(blocks) // 4))]
        total += sum(len(deflated(block)) for block in sample) * len(blocks) // max(1, len(sample))
    return total
