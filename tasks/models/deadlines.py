"""A total deadline for HTTP requests, and a most for the bytes of their replies.

HTTP clients limit each read, so that a server which sends one byte a second is never late, and take whatever is sent
until memory ends. Hooks on the client limit the whole exchange instead. They serve httpx (Ollama's client) and httpx2
(OpenAI's) alike.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType, ModuleType
from typing import Any, Protocol

CHAT_BYTES = 4 * 2**20
"""Most bytes of a chat reply's body. The longest replies of today's models, 128k tokens, take less than one MiB."""

FILE_BYTES = 2**30
"""Most bytes of a body that holds the replies of a whole batch file."""


def embedding_bytes(texts: int, dimensions: int) -> int:
    """Most bytes of the body that holds so many vectors: a number in JSON takes at most 25."""
    return 2**16 + texts * (32 * dimensions + 256)


class ReplyTooLong(Exception):
    """A reply was given up because its body is longer than any sound one."""


class Request(Protocol):
    """A request of either library."""

    extensions: dict[str, Any]
    headers: Any


class Response(Protocol):
    """A response of either library."""

    stream: Any
    headers: Mapping[str, str]
    status_code: int
    encoding: str | None


class Deadline(threading.local):
    """The request that this thread is making: when it must be over, how much may come back, and what came.

    Attributes:
        at: On the monotonic clock.
        most: Bytes of the reply's body.
        headers: Of the last response, for a client whose errors do not carry them.
        status: Likewise.
    """

    at: float = float("inf")
    most: int = FILE_BYTES
    headers: Mapping[str, str] = MappingProxyType({})
    status: int = 0

    @contextmanager
    def within(self, seconds: float, most: int = FILE_BYTES) -> Iterator[None]:
        """Requests made inside must be over in so many seconds, and their replies in so many bytes.

        A longer reply ends the request with ReplyTooLong.
        """
        self.at, self.most, self.status = time.monotonic() + seconds, most, 0
        try:
            yield
        finally:
            self.at, self.most = float("inf"), FILE_BYTES

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.at - time.monotonic()


def hooks(http: ModuleType, deadline: Deadline) -> dict[str, list[Callable[[Any], None]]]:
    """Event hooks that keep a client of the library `http` to the deadline, else raise its ReadTimeout."""

    class LimitedStream(http.SyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, inner: Iterable[bytes]) -> None:
            self._inner = inner

        def __iter__(self) -> Iterator[bytes]:
            read = 0
            for part in self._inner:
                read += len(part)
                if read > deadline.most:
                    raise ReplyTooLong
                if deadline.left <= 0:
                    raise http.ReadTimeout("the reply took too long")
                yield part

        def close(self) -> None:
            self._inner.close()  # type: ignore[attr-defined]

    def limit(request: Request) -> None:
        left = max(deadline.left, 0.001)
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), left)
        # A few compressed bytes can become gigabytes inside the client, where nobody counts them.
        request.headers["accept-encoding"] = "identity"

    def watch(response: Response) -> None:
        deadline.headers, deadline.status = response.headers, response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            raise http.DecodingError("the reply is compressed, against the request")
        response.encoding = (
            "utf-8"  # JSON is; a header may name any codec of Python's, and some raise all sorts
        )
        response.stream = LimitedStream(response.stream)

    return {"request": [limit], "response": [watch]}
