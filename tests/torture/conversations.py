"""A benchmark file in LongMemEval's format, of any size, whose conversations say something in every turn."""

from __future__ import annotations

import json
import random
from datetime import date, timedelta
from pathlib import Path
from typing import Any

NAMES = [
    "Aldwick", "Brannay", "Corran", "Dunmore", "Elswick", "Farnham", "Grantly", "Hexham", "Ilmarsh", "Jarrow",
    "Kelding", "Lorne", "Maren", "Norwick", "Oldham", "Penrith", "Quarry", "Rothby", "Skellmore", "Tarbet",
]  # fmt: skip
FIRST = date(2024, 5, 4)
DOINGS = ["sailed to", "wrote about", "sold a boat to", "had dinner in", "walked from", "bought bread in"]


def write_benchmark(path: Path, questions: int, sessions: int = 3, turns: int = 5, seed: int = 0) -> None:
    """Write so many questions, each with a history of its own: `sessions` of `turns` turns, all distinct."""
    rng = random.Random(seed)
    path.write_text(json.dumps([_row(rng, n, sessions, turns) for n in range(questions)]), encoding="utf-8")


def _row(rng: random.Random, number: int, sessions: int, turns: int) -> dict[str, Any]:
    ids = [f"session_{number}_{session}" for session in range(sessions)]
    talk = [
        [_turn(rng, f"{number}-{session}-{turn}", turn) for turn in range(turns)]
        for session in range(sessions)
    ]
    talk[0][0]["has_answer"] = True
    return {
        "question_id": f"question_{number:03}",
        "question_type": "single-session-user",
        "question": f"Who {rng.choice(DOINGS)} {rng.choice(NAMES)} on day {number}?",
        "answer": rng.choice(NAMES),
        "question_date": "2024/06/20 (Thu) 09:15",
        "haystack_dates": [
            f"{FIRST + timedelta(days=session):%Y/%m/%d (%a)} 18:20" for session in range(sessions)
        ],
        "haystack_session_ids": ids,
        "haystack_sessions": talk,
        "answer_session_ids": ids[:1],
    }


def _turn(rng: random.Random, mark: str, turn: int) -> dict[str, Any]:
    first, second, third = rng.sample(NAMES, 3)
    doing, other = rng.sample(DOINGS, 2)
    text = f"Entry {mark}: {first} {doing} {second}, and then {other} {third}."
    return {"role": ("user", "assistant")[turn % 2], "content": text, "has_answer": False}
