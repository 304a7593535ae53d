"""A folder of somebody's own conversations, small, with hostile text in it."""

from __future__ import annotations

import json
from pathlib import Path

HOSTILE = "\x1b[31mI moved to Ghent.\x1b]0;owned\x07 [bold]{0.__class__}[/bold] <script>"
TURNS = [
    {"text": HOSTILE, "speaker": "Ann", "date": "2024-05-01", "history": "../ann", "id": "moved"},
    {"text": "How do you like Ghent?", "speaker": "Bob", "date": "2024-05-01", "history": "../ann"},
    {
        "text": "My sister Carla works at Siemens.",
        "speaker": "Ann",
        "date": "2024-05-03",
        "history": "../ann",
    },
    {"text": "Carla and I like Ghent.", "speaker": "Ann", "date": "2024-05-04", "history": "../ann"},
    {"text": "I play chess in Oslo.", "role": "user", "history": "zed"},
]
QUESTIONS = [
    {"question": "Where did Ann move?", "history": "../ann", "reference": "Ghent", "evidence": ["moved"]},
    {"question": "Where does Carla work?", "history": "../ann", "type": "family"},
]


def own_folder(folder: Path, *, questions: bool) -> Path:
    """Write the conversations to a folder that is made, with questions about one of the histories or without."""
    folder.mkdir()
    for name, lines in (("turns", TURNS), ("questions", QUESTIONS if questions else [])):
        if lines:
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder
