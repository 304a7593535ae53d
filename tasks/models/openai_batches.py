"""OpenAI's Batch API: files of calls at half the price, answered within a day.

A file is JSON lines, one a call, and holds calls to one model. Each line of a result names its call by `custom_id`,
which is the call's id; the lines come in any order, and in two files: answers, and errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tasks.models.calls import Call
from tasks.models.deadlines import CHAT_BYTES, ReplyTooLong
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.providers import OVERLONG, ProviderFault, RawReply, TransportFault, field_of

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
"""What a batch is when nothing more becomes of it."""
FULL = "token_limit_exceeded"
"""The code of a batch that was refused because too much was enqueued already."""

_ENDPOINT: Final = "/v1/chat/completions"
_KEY = "palimpsest"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_CODE = re.compile(r"[a-z_]{1,50}")
_A_PAGE = 100
_MOST_PAGES = 10
_SECONDS = 60.0
_FILE_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class BatchState:
    """A batch as the provider shows it.

    Attributes:
        id: The provider's name for it.
        status: The provider's word; see `ENDED`.
        done, total: Its calls that are through, and all, as the provider counts.
        code: Why it has failed, as a code; empty if it has not.
        results: Its files of answers and of errors, where there are any.
        uploaded: Its file of calls.
    """

    id: str
    status: str
    done: int = 0
    total: int = 0
    code: str = ""
    results: tuple[str, ...] = ()
    uploaded: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.status in ENDED


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a result: which call it says it answers, and the answer."""

    call_id: str
    answer: RawReply | ProviderFault


class OpenAIBatches:
    """The batch interface of an OpenAI-compatible address. Every method makes its requests once.

    All methods raise ProviderFault where there is no reply.
    """

    def __init__(self, provider: OpenAIProvider) -> None:
        self._provider = provider
        self._files = provider.client.files.with_raw_response
        self._batches = provider.client.batches.with_raw_response

    @property
    def alias(self) -> str:
        """Alias of the provider."""
        return self._provider.alias

    def line(self, call: Call) -> bytes:
        """A call as a line of a file."""
        body = {"model": call.model, **call.payload}
        fields = {"custom_id": call.id, "method": "POST", "url": _ENDPOINT, "body": body}
        return json.dumps(fields, separators=(",", ":")).encode("ascii") + b"\n"

    def upload(self, lines: Sequence[bytes]) -> str:
        """Upload a file of calls; returns the provider's name for it."""
        file = ("calls.jsonl", b"".join(lines))
        return self._name(self._send(lambda: self._files.create(file=file, purpose="batch"), _FILE_SECONDS))

    def create(self, uploaded: str, key: str) -> str:
        """Have an uploaded file answered; returns the batch's name. `find` finds it again by the key."""
        return self._name(
            self._send(
                lambda: self._batches.create(
                    input_file_id=uploaded,
                    endpoint=_ENDPOINT,
                    completion_window="24h",
                    metadata={_KEY: key},
                )
            )
        )

    def find(self, key: str) -> str | None:
        """The recent batch that was created with a key, or none."""
        more: dict[str, Any] = {}
        for _ in range(_MOST_PAGES):
            page = self._send(partial(self._batches.list, limit=_A_PAGE, **more))
            listed = field_of(page, "data")
            batches = listed if isinstance(listed, list) else []
            for batch in batches:
                if field_of(batch, "metadata", _KEY) == key:
                    return self._name(batch)
            if field_of(page, "has_more") is not True or not batches:
                return None
            more = {"after": self._name(batches[-1])}
        return None

    def state(self, batch: str) -> BatchState:
        """How a batch stands."""
        found = self._send(lambda: self._batches.retrieve(batch))
        code = field_of(found, "errors", "data", 0, "code")
        return BatchState(
            id=batch,
            status=_code(field_of(found, "status")),
            done=_count(field_of(found, "request_counts", "completed"))
            + _count(field_of(found, "request_counts", "failed")),
            total=_count(field_of(found, "request_counts", "total")),
            code="" if code is None else _code(code),
            results=self._names(field_of(found, "output_file_id"), field_of(found, "error_file_id")),
            uploaded=self._names(field_of(found, "input_file_id")),
        )

    def results(self, state: BatchState) -> Iterator[Line | None]:
        """The lines of a batch's results, answers first; none for what is no line of a result."""
        for name in state.results:
            for line in self._content(name).splitlines():
                if line.strip():
                    yield self._line(line)

    def forget(self, state: BatchState) -> None:
        """Delete a batch's files at the provider."""
        for name in (*state.results, *state.uploaded):
            self._send(partial(self._files.delete, name))

    def _name(self, found: object) -> str:
        """The name of what a reply shows."""
        names = self._names(field_of(found, "id"))
        if not names:
            raise TransportFault("the reply has no id", kind="lost")
        return names[0]

    def _names(self, *names: object) -> tuple[str, ...]:
        """Those that are names: they become parts of addresses and messages, and none may hold a key."""
        return tuple(
            name
            for name in names
            if isinstance(name, str) and _NAME.fullmatch(name) and self._provider.shown(name) == name
        )

    def _content(self, name: str) -> bytes:
        try:
            return self._provider.exchange(lambda: self._files.content(name), _FILE_SECONDS)
        except ReplyTooLong:
            raise TransportFault("a batch's results are longer than its calls allow", kind="lost") from None

    def _line(self, line: bytes) -> Line | None:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return None
        call_id = field_of(found, "custom_id")
        if not isinstance(call_id, str):
            return None
        return Line(call_id, self._answer(found) if len(line) <= CHAT_BYTES else OVERLONG)

    def _answer(self, found: object) -> RawReply | ProviderFault:
        status, body = field_of(found, "response", "status_code"), field_of(found, "response", "body")
        if type(status) is not int:
            return TransportFault(f"not answered ({_code(field_of(found, 'error', 'code'))})")
        if status != 200:
            return self._provider.fault_of(status, field_of(body, "error"))
        try:
            return self._provider.reply_of(body)
        except TransportFault as fault:
            return fault

    def _send(self, send: Callable[[], Any], seconds: float = _SECONDS) -> object:
        try:
            return json.loads(self._provider.exchange(send, seconds, CHAT_BYTES))
        except (ValueError, RecursionError, ReplyTooLong):
            raise TransportFault("the reply is not readable", kind="lost") from None


def _code(value: object) -> str:
    return value if isinstance(value, str) and _CODE.fullmatch(value) else "no known code"


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0
