"""Small servers that speak OpenAI's and Ollama's protocols over real HTTP, and misbehave as told.

    with FakeServer() as server:
        server.then(status(429), chat("hello"))   # the next two, in order
        server.always(chat("hello"))            # every request after those
        client = OpenAIProvider("sk-test", server.openai)  # or OllamaProvider(server.ollama)
        assert server.count("/v1/chat/completions") == 2
        assert server.requests[0].body["model"] == "gpt-4o-mini"

Without a script every chat is answered `fake reply` and every text is embedded as a vector that depends on the
text alone. To answer by content, give `always` a function from `Request` to `Answer`. One server speaks both
protocols; an answer is rendered for the one that it is asked in. It knows nothing of the project and can be used
from any test: `from tests.tasks.models.fakes import FakeServer`.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.tasks.models.fake_batches import FakeBatches


@dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    method: str = "POST"
    content: bytes = b""

    @property
    def user(self) -> str:
        """The user's message of a chat."""
        return next(m["content"] for m in self.body["messages"] if m["role"] == "user")


@dataclass(frozen=True)
class Answer:
    """What to do with a request; made by the functions below."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    text: str | None = "fake reply"
    finish_reason: str | None = "stop"
    refusal: str | None = None
    model: str | None = None
    vector: Callable[[str], list[float]] | None = None
    raw: bytes | None = None
    error: str = "the fake is told to fail"
    code: str | None = None
    hang: float = 0.0
    drip: float = 0.0
    truncate: bool = False
    missing_rows: int = 0
    content_type: str = "application/json"
    reset: bool = False

    @property
    def whole(self) -> bool:
        """Whether the client can see all of it."""
        return not (self.truncate or self.reset)


def chat(text: str | None, finish_reason: str | None = "stop", **more: Any) -> Answer:
    """A chat reply; `text`, `refusal`, `model` and `finish_reason` are its ways to be bad."""
    return Answer(text=text, finish_reason=finish_reason, **more)


def status(
    number: int, headers: dict[str, str] | None = None, error: str = "told to fail", **more: Any
) -> Answer:
    """An HTTP error; `code=` is OpenAI's word for it."""
    return Answer(status=number, headers=headers or {}, error=error, **more)


def too_long() -> Answer:
    """The 400 of an input beyond the model's window, in words that both providers' servers use."""
    return status(400, error="the input length exceeds the context length")


def hang(seconds: float) -> Answer:
    """Accept, then say nothing for so long (or until the server is closed)."""
    return Answer(hang=seconds)


def drip(seconds: float) -> Answer:
    """A reply whose bytes come one by one, with so many seconds between them."""
    return Answer(drip=seconds)


def garbage() -> Answer:
    """200, and a body that is no JSON."""
    return Answer(raw=b"<html>502 Bad Gateway</html>")


def reset() -> Answer:
    """The connection is torn down with no reply (TCP RST)."""
    return Answer(reset=True)


def truncated() -> Answer:
    """A body that ends before its Content-Length."""
    return Answer(truncate=True)


def vectors(make: Callable[[str], list[float]]) -> Answer:
    """Embeddings by a function of the text; NaN is written as Python writes it, which clients read."""
    return Answer(vector=make)


def good_vector(text: str, dimensions: int) -> list[float]:
    """A unit vector that depends on the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    rng = random.Random(seed)
    row = [rng.gauss(0, 1) for _ in range(dimensions)]
    norm = math.sqrt(sum(x * x for x in row))
    return [x / norm for x in row]


class FakeServer:
    """A server on a free local port; see the module's words.

    `requests` are those that came, in order; `answered` those whose reply was written whole, whatever its status.
    With `tokens`, a function that counts a text's tokens, the usage of a reply follows from its texts; without, it
    is always the same. `on_answered` is called after each whole reply, by the thread that has written it.
    """

    def __init__(self, dimensions: int = 8, tokens: Callable[[str], int] | None = None) -> None:
        self.dimensions = dimensions
        self.tokens = tokens
        self.requests: list[Request] = []
        self.answered: list[tuple[Request, Answer]] = []
        self.on_answered: Callable[[Request], None] = lambda request: None
        self.batches = FakeBatches(self._line_of_a_batch)
        self._next: deque[Answer] = deque()
        self._always: Callable[[Request], Answer] = lambda request: Answer()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.most_at_once = 0
        self._now = 0
        self._working = 0
        handler = type("Handler", (_Handler,), {"fake": self})
        self._http = _HTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> FakeServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Go away: open connections are dropped, and nothing listens any more."""
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def openai(self) -> str:
        """For OPENAI_BASE_URL."""
        return f"{self.root}/v1"

    @property
    def ollama(self) -> str:
        """For OLLAMA_HOST."""
        return self.root

    def then(self, *answers: Answer) -> None:
        """Answer the next requests so, one each, whatever they ask."""
        self._next.extend(answers)

    def always(self, answer: Answer | Callable[[Request], Answer]) -> None:
        """Answer so from now on, once what `then` was given is used up."""
        self._always = answer if callable(answer) else lambda request: answer

    def count(self, path: str = "") -> int:
        """Requests so far, to paths that end so."""
        with self._lock:
            return sum(request.path.endswith(path) for request in self.requests)

    def texts(self) -> list[str]:
        """Every text that was sent to be embedded, in order of arrival."""
        with self._lock:
            return [t for r in self.requests if "embed" in r.path for t in inputs(r)]

    def answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            if self._next:
                return self._next.popleft()
        if request.path.startswith(("/v1/files", "/v1/batches")):
            status, content = self.batches.answer(request.method, request.path, request.content)
            return Answer(status, raw=content)
        return self._always(request)

    def _line_of_a_batch(self, body: dict[str, Any]) -> tuple[int, bytes]:
        request = Request("/v1/chat/completions", body, {})
        answer = self._always(request)
        return answer.status, _render(self, request, answer)

    def has_answered(self, request: Request, answer: Answer) -> None:
        with self._lock:
            self.answered.append((request, answer))
        self.on_answered(request)

    def usage(self, request: Request, answer: Answer) -> tuple[int, int, int]:
        """Tokens of the prompt, of the reply, and of the prompt's part that was cached; an error is not billed."""
        if answer.status != 200:
            return 0, 0, 0
        if "embed" in request.path:
            count = self.tokens or (lambda text: len(text.split()))
            return sum(count(text) for text in inputs(request)), 0, 0
        if self.tokens is None:
            return 100, 20, 40
        messages = request.body["messages"]
        prompt = sum(self.tokens(message["content"]) + 4 for message in messages) + 3
        return prompt, self.tokens(answer.text or ""), 0

    def entered(self, change: int) -> None:
        with self._lock:
            self._now += change

    def working(self, change: int) -> None:
        with self._lock:
            self._working += change
            self.most_at_once = max(self.most_at_once, self._working)

    @property
    def under_way(self) -> int:
        """Requests that have come and are not answered yet."""
        with self._lock:
            return self._now

    @property
    def at_once(self) -> int:
        """Requests that are being worked on; for a function given to `always`, its own included."""
        with self._lock:
            return self._working

    @property
    def closed(self) -> bool:
        return self._closing.is_set()

    def wait(self, seconds: float) -> None:
        self._closing.wait(seconds)


class _HTTPServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client that was killed is none
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    fake: FakeServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each body waits 40 ms for its headers to be acknowledged

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        content = self.rfile.read(length)
        if len(content) < length:  # its sender is dead: nobody has asked anything
            self.close_connection = True
            return
        self._serve(content)

    def _serve(self, content: bytes = b"") -> None:
        upload = self.headers.get("Content-Type", "").startswith("multipart/")
        body = {} if upload or not content else json.loads(content)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, body, headers, self.command, content)
        self.fake.entered(1)
        try:
            answer = self._decide(request)
            if self.fake.closed:
                self.close_connection = True
            elif answer.reset:
                self._reset()
            else:
                self._send(answer, _render(self.fake, request, answer))
                if answer.whole:
                    self.fake.has_answered(request, answer)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self.fake.entered(-1)

    def _decide(self, request: Request) -> Answer:
        """The work on a request; it ends before the reply is sent, since whoever has that may ask again at once."""
        self.fake.working(1)
        try:
            answer = self.fake.answer(request)
            if answer.hang and not self.fake.closed:
                self.fake.wait(answer.hang)
        finally:
            self.fake.working(-1)
        return answer

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def _send(self, answer: Answer, content: bytes) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if answer.truncate:
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
        elif answer.drip:
            for byte in content:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(answer.drip)
        else:
            self.wfile.write(content)


def inputs(request: Request) -> list[str]:
    texts = request.body["input"]
    return [texts] if isinstance(texts, str) else texts


def _render(fake: FakeServer, request: Request, answer: Answer) -> bytes:
    openai = request.path.startswith("/v1")
    if answer.raw is not None:
        return answer.raw
    if answer.status != 200:
        error = {"message": answer.error, "code": answer.code, "type": "fake"} if openai else answer.error
        return json.dumps({"error": error}).encode()
    model = answer.model or request.body.get("model", "")
    if "embed" in request.path:
        make = answer.vector or (lambda text: good_vector(text, fake.dimensions))
        rows = [make(text) for text in inputs(request)]
        rows = rows[: len(rows) - answer.missing_rows]
        tokens = fake.usage(request, answer)[0]
        return json.dumps(
            _openai_vectors(rows, model, tokens) if openai else _ollama_vectors(rows, model, tokens)
        ).encode()
    if "chat" in request.path:
        usage = fake.usage(request, answer)
        return json.dumps(
            _openai_chat(answer, model, usage) if openai else _ollama_chat(answer, model, usage)
        ).encode()
    return json.dumps({"models": [{"name": "nomic-embed-text:latest"}], "data": []}).encode()


def _openai_vectors(rows: list[list[float]], model: str, tokens: int) -> dict[str, Any]:
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    return {
        "object": "list",
        "data": data[::-1],
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _ollama_vectors(rows: list[list[float]], model: str, tokens: int) -> dict[str, Any]:
    return {
        "model": model,
        "embeddings": rows,
        "total_duration": 1,
        "load_duration": 1,
        "prompt_eval_count": tokens,
    }


def _openai_chat(answer: Answer, model: str, usage: tuple[int, int, int]) -> dict[str, Any]:
    prompt, completion, cached = usage
    message = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish_reason}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def _ollama_chat(answer: Answer, model: str, usage: tuple[int, int, int]) -> dict[str, Any]:
    return {
        "model": model,
        "created_at": "2024-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": answer.text or ""},
        "done": True,
        "done_reason": answer.finish_reason,
        "prompt_eval_count": usage[0],
        "eval_count": usage[1],
    }
