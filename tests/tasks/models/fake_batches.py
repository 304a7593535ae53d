"""The files and batches of a fake OpenAI: what is uploaded, what becomes of each batch, what its lines get.

    server.batches.then("validating", "in_progress", "completed")  # what the next batch is at each look at it
    server.batches.answers_only(3)                                 # the rest of each file's lines gets no answer
    assert len(server.batches.created) == 1

A batch without a script is in progress at the first look and completed at the next.
"""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Reply = Callable[[dict[str, Any]], tuple[int, bytes]]
"""From the body of a line to the status and the body of its answer."""

_ENDED = ("completed", "failed", "expired", "cancelled")


@dataclass
class FakeBatch:
    """A batch as it stands."""

    fields: dict[str, Any]
    lines: list[dict[str, Any]]
    looks: deque[str]
    answers: int | None
    error: str
    answered: int = 0


@dataclass
class FakeBatches:
    """See the module's words.

    `billed` counts the lines that were answered with 200. `error` is the code of batches that fail. The next
    `lost_replies` batches are made, and the reply is a 500. `mangle` changes what a file of answers says.
    """

    reply: Reply
    created: list[FakeBatch] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    billed: int = 0
    error: str = "invalid_json_line"
    lost_replies: int = 0
    mangle: Callable[[bytes], bytes] = lambda output: output
    _scripts: deque[tuple[str, ...]] = field(default_factory=deque)
    _answers: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def then(self, *looks: str) -> None:
        """What the next batch is at each look at it; it stays what it is at the last."""
        self._scripts.append(looks)

    def answers_only(self, lines: int | None) -> None:
        """How many lines of each batch made from now on are answered."""
        self._answers = lines

    def sent(self) -> list[str]:
        """The custom ids of all lines of all batches, in order."""
        return [line["custom_id"] for batch in self.created for line in batch.lines]

    def answer(self, method: str, path: str, content: bytes) -> tuple[int, bytes]:
        """Status and body for a request."""
        with self._lock:
            parts = path.partition("?")[0].removeprefix("/v1/").split("/")
            status, made = self._route(method, parts, content)
        if made is None:
            return 404, json.dumps({"error": {"message": "no such thing", "code": None}}).encode()
        return status, made if isinstance(made, bytes) else json.dumps(made).encode()

    def _route(
        self, method: str, path: list[str], content: bytes
    ) -> tuple[int, dict[str, Any] | bytes | None]:
        made: dict[str, Any] | bytes | None = None
        match method, path:
            case "POST", ["files"]:
                made = self._upload(content)
            case "GET", ["files", file, "content"]:
                made = self.files.get(file)
            case "DELETE", ["files", file]:
                self.deleted.append(file)
                made = {"id": file, "object": "file", "deleted": self.files.pop(file, None) is not None}
            case "POST", ["batches"]:
                made = self._create(json.loads(content))
                if self.lost_replies:
                    self.lost_replies -= 1
                    return 500, {}
            case "GET", ["batches"]:
                newest = [batch.fields for batch in reversed(self.created)]
                made = {"object": "list", "data": newest, "has_more": False}
            case "GET", ["batches", name]:
                made = self._look(name)
            case "POST", ["batches", name, "cancel"]:
                self._batch(name).looks = deque(["cancelled"])
                made = self._look(name)
        return 200, made

    def _upload(self, content: bytes) -> dict[str, Any]:
        name = f"file-{len(self.files) + len(self.deleted)}"
        found = re.search(rb'name="file".*?\r\n\r\n(.*?)\r\n--', content, re.DOTALL)
        assert found is not None
        self.files[name] = found[1]
        return {"id": name, "object": "file", "purpose": "batch", "bytes": len(found[1])}

    def _create(self, asked: dict[str, Any]) -> dict[str, Any]:
        fields = {
            **asked,
            "id": f"batch_{len(self.created)}",
            "object": "batch",
            "status": "validating",
            "created_at": 0,
        }
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        looks = deque(self._scripts.popleft() if self._scripts else ("in_progress", "completed"))
        batch = FakeBatch(fields, lines, looks, self._answers, self.error)
        self.created.append(batch)
        return fields

    def _batch(self, name: str) -> FakeBatch:
        return next(batch for batch in self.created if batch.fields["id"] == name)

    def _look(self, name: str) -> dict[str, Any]:
        batch = self._batch(name)
        ended = batch.fields["status"] in _ENDED
        if not ended and batch.looks:
            batch.fields["status"] = batch.looks.popleft()
            if batch.fields["status"] in _ENDED:
                self._end(batch)
        counts = {"total": len(batch.lines), "completed": batch.answered, "failed": 0}
        return {**batch.fields, "request_counts": counts}

    def _end(self, batch: FakeBatch) -> None:
        if batch.fields["status"] == "failed":
            batch.fields["errors"] = {
                "object": "list",
                "data": [{"code": batch.error, "message": "told to fail"}],
            }
            return
        answered, unanswered = [], []
        for number, line in enumerate(batch.lines):
            if batch.answers is None or number < batch.answers:
                answered.append(self._line(line))
                batch.answered += 1
            elif batch.fields["status"] != "completed":
                error = {"code": f"batch_{batch.fields['status']}", "message": "not executed"}
                unanswered.append({"custom_id": line["custom_id"], "response": None, "error": error})
        good = [line for line in answered if line["response"]["status_code"] == 200]
        self.billed += len(good)
        self._result(batch, "output", good)
        self._result(batch, "error", [*(line for line in answered if line not in good), *unanswered])

    def _line(self, line: dict[str, Any]) -> dict[str, Any]:
        status, body = self.reply(line["body"])
        try:
            read: Any = json.loads(body)
        except ValueError:
            read = body.decode()
        response = {"status_code": status, "request_id": "req", "body": read}
        return {"id": "line", "custom_id": line["custom_id"], "response": response, "error": None}

    def _result(self, batch: FakeBatch, kind: str, lines: list[dict[str, Any]]) -> None:
        if lines:
            name = f"{batch.fields['id']}-{kind}"
            content = b"".join(json.dumps(line).encode() + b"\n" for line in reversed(lines))
            self.files[name] = self.mangle(content) if kind == "output" else content
            batch.fields[f"{kind}_file_id"] = name
