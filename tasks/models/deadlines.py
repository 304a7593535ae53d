"""A total deadline for HTTP requests.

HTTP clients limit each read, so that a server which sends one byte a second is never late. Hooks on the
client limit the whole exchange instead. They serve httpx (Ollama's client) and httpx2 (OpenAI's) alike.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType, ModuleType
from typing import Any, Protocol


class Request(Protocol):
    """A request of either library."""

    extensions: dict[str, Any]


class Response(Protocol):
    """A response of either library."""

    stream: Any
    headers: Mapping[str, str]


class Deadline(threading.local):
    """The request that this thread is making: when it must be over, and what came back.

    Attributes:
        at: On the monotonic clock.
        headers: Of the last response, for a client whose errors do not carry them.
    """

    at: float = float("inf")
    headers: Mapping[str, str] = MappingProxyType({})

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Requests made inside must be over in so many seconds."""
        self.at = time.monotonic() + seconds
        try:
            yield
        finally:
            self.at = float("inf")

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.at - time.monotonic()


def hooks(http: ModuleType, deadline: Deadline) -> dict[str, list[Callable[[Any], None]]]:
    """Event hooks that keep a client of the library `http` to the deadline, else raise its ReadTimeout."""

    class TimedStream(http.SyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, inner: Iterable[bytes]) -> None:
            self._inner = inner

        def __iter__(self) -> Iterator[bytes]:
            for part in self._inner:
                if deadline.left <= 0:
                    raise http.ReadTimeout("the reply took too long")
                yield part

        def close(self) -> None:
            self._inner.close()  # type: ignore[attr-defined]

    def limit(request: Request) -> None:
        left = max(deadline.left, 0.001)
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), left)

    def watch(response: Response) -> None:
        deadline.headers = response.headers
        response.stream = TimedStream(response.stream)

    return {"request": [limit], "response": [watch]}
