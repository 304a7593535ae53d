"""Small files of LoCoMo's shape: one cut from the real file, one made by hand."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

REAL = Path(__file__).parents[2] / "../shared/data/locomo10.json.gz"
_SESSION = re.compile(r"session_(\d+)")


def cut_file(path: Path, conversations: int, sessions: int, questions: int) -> Path:
    """The first sessions of the first conversations of the real file, with the first questions on them alone.

    A test that asks for it is skipped where the real file is not at hand.
    """
    if not REAL.exists():
        pytest.skip("the real LoCoMo file is not at ../shared/data")
    with gzip.open(REAL, "rt", encoding="utf-8") as file:
        rows = json.load(file)[:conversations]
    path.write_text(json.dumps([_cut(row, sessions, questions) for row in rows]), encoding="utf-8")
    return path


def _cut(row: dict[str, Any], sessions: int, questions: int) -> dict[str, Any]:
    early = {f"D{number}" for number in range(1, sessions + 1)}
    asked = [
        one
        for one in row["qa"]
        if one["category"] != 5
        and one["evidence"]
        and {place.partition(":")[0] for place in one["evidence"]} <= early
    ]
    kept = {name: row[name] for name in ("conversation", "observation")}
    return {
        "sample_id": row["sample_id"],
        "qa": asked[:questions],
        **{name: {key: part[key] for key in part if _early(key, sessions)} for name, part in kept.items()},
    }


def _early(key: str, sessions: int) -> bool:
    found = _SESSION.match(key)
    return found is None or int(found[1]) <= sessions


def asked(question: str, answer: str | None, category: int, *evidence: str, **more: str) -> dict[str, Any]:
    said = {} if answer is None else {"answer": answer}
    return {"question": question, "category": category, "evidence": list(evidence), **said, **more}


def conversation(
    name: str,
    sessions: Sequence[Sequence[tuple[str, str]]],
    facts: Sequence[tuple[str, str, str | list[str]]],
    *questions: dict[str, Any],
) -> dict[str, Any]:
    """A row of the file.

    Args:
        name: Its id.
        sessions: Turns as `(speaker, text)`; session n takes place on the n-th of May 2023.
        facts: Observations as `(speaker, text, place or places)`.
        questions: See `asked`.
    """
    speakers = list(dict.fromkeys(speaker for session in sessions for speaker, _ in session))
    said: dict[str, Any] = {"speaker_a": speakers[0], "speaker_b": speakers[1]}
    observed: dict[str, dict[str, list[Any]]] = {}
    for number, session in enumerate(sessions, 1):
        said[f"session_{number}_date_time"] = f"1:00 pm on {number} May, 2023"
        said[f"session_{number}"] = [
            {"speaker": speaker, "dia_id": f"D{number}:{turn}", "text": text}
            for turn, (speaker, text) in enumerate(session, 1)
        ]
        observed[f"session_{number}_observation"] = {}
    for speaker, text, places in facts:
        first = places if isinstance(places, str) else places[0]
        key = f"session_{first[1:].partition(':')[0]}_observation"
        observed[key].setdefault(speaker, []).append([text, places])
    return {"sample_id": name, "conversation": said, "observation": observed, "qa": list(questions)}
