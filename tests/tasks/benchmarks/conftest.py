"""Small benchmark files in the two formats, and the place of the real ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[3] / "../shared/data"


@pytest.fixture
def data() -> Path:
    if not DATA.is_dir():
        pytest.skip("the real benchmark files are not at ../shared/data")
    return DATA


@pytest.fixture
def row():
    """Makes a LongMemEval row with an evidence session of two turns and a filler session of one."""

    def make(question_id: str = "q1", **changed: Any) -> dict[str, Any]:
        return {
            "question_id": question_id,
            "question_type": "single-session-user",
            "question": "What is my dog's name?",
            "answer": "Rex",
            "question_date": "2023/05/30 (Tue) 23:40",
            "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/19 (Fri) 10:00"],
            "haystack_session_ids": ["gold", "filler"],
            "haystack_sessions": [
                [
                    {"role": "user", "content": "My dog Rex is ill.", "has_answer": True},
                    {"role": "assistant", "content": "I am sorry.", "has_answer": False},
                ],
                [{"role": "user", "content": "It rains."}],
            ],
            "answer_session_ids": ["gold"],
        } | changed

    return make


@pytest.fixture
def conversation():
    """Makes a LoCoMo row with two sessions, a caption, and a date that belongs to no session."""

    def make(sample_id: str = "conv-1", qa: list[Any] | None = None, **changed: Any) -> dict[str, Any]:
        conversation = {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I moved to Sweden."},
                {"speaker": "Bo", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a red boat"},
            ],
            "session_2_date_time": "12:09 am on 13 September, 2023",
            "session_2": [
                {"speaker": "Bo", "dia_id": "D2:1", "text": "I bought the boat."},
                {"speaker": "Ann", "dia_id": "D2:2", "text": "In 2022?"},
            ],
            "session_3_date_time": "10:00 am on 1 October, 2023",
        }
        asked = {"question": "Where did Ann move?", "answer": "Sweden", "evidence": ["D1:1"], "category": 4}
        return {
            "sample_id": sample_id,
            "conversation": conversation | changed,
            "qa": [asked] if qa is None else qa,
        }

    return make


@pytest.fixture
def written(tmp_path):
    """Writes rows, or text or bytes as they are, to a file; gzipped and as lines according to its name."""

    def write(content: Any, name: str = "rows.json") -> Path:
        if isinstance(content, bytes):
            raw = content
        elif isinstance(content, str):
            raw = content.encode()
        elif ".jsonl" in name:
            raw = "".join(json.dumps(row) + "\n" for row in content).encode()
        else:
            raw = json.dumps(content).encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(raw, mtime=0) if name.endswith(".gz") else raw)
        return path

    return write
