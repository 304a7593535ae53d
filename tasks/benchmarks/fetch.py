"""Downloading a benchmark's file from where it is published.

A broken download stays beside its place as `<file>.part` and is resumed; the file stands under its name
only when it is whole and has the known hash.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from memory.errors import BadInput
from tasks.benchmarks import BENCHMARKS, Benchmark
from tasks.benchmarks.reading import sha256

Progress = Callable[[int, int | None], None]
"""Told the bytes that are there, and how many there will be if the server says so."""

ATTEMPTS = 5
WAIT_SECONDS = 1.0
"""Wait before the second attempt; doubled before each further one."""
_LONGEST_WAIT_SECONDS = 60.0
_TIMEOUT = httpx.Timeout(30.0)
_CHUNK_BYTES = 1 << 18
_CONTENT_RANGE = re.compile(r"bytes (?:([0-9]+)-[0-9]+|\*)/([0-9]+|\*)")


@dataclass(frozen=True, slots=True)
class Fetched:
    """A benchmark's file that is in place. `downloaded` is false if it was there before."""

    path: Path
    sha256: str
    downloaded: bool


class _Unfinished(Exception):
    """An attempt failed in a way that may pass; `wait` is what the server asks for, in seconds."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


def fetch(
    name: str, target: Path, *, base_url: str | None = None, progress: Progress | None = None
) -> Fetched:
    """Download the file of benchmark `name` into the folder `target`, which is made if need be.

    Args:
        name: A benchmark that has an upstream.
        target: The folder; the file gets its upstream name, by which `load` finds it there.
        base_url: A mirror's folder that holds the file under the same name.
        progress: Called after each piece.

    Raises:
        BadInput: If there is nothing to download, the server refuses or keeps failing, the folder cannot be
            written, or the file there, or what came, does not have the known hash.
    """
    benchmark = BENCHMARKS.get(name)
    if benchmark is None or benchmark.upstream is None:
        known = ", ".join(each.name for each in BENCHMARKS.values() if each.upstream)
        raise BadInput(f"fetch {name!r}: nothing to download; choose one of {known}")
    file = Path(urlsplit(benchmark.upstream).path).name
    url = f"{base_url.rstrip('/')}/{file}" if base_url else benchmark.upstream
    path = target / file
    try:
        target.mkdir(parents=True, exist_ok=True)
        if path.exists():
            digest = _verified(path, benchmark, "move it away and fetch again")
            return Fetched(path, digest, downloaded=False)
        part = path.with_name(f"{file}.part")
        _download(url, part, progress or _silent)
        digest = _verified_part(part, benchmark, url)
        part.replace(path)
    except OSError as error:
        raise BadInput(f"{target}: cannot be written ({error.strerror}); choose another folder") from error
    return Fetched(path, digest, downloaded=True)


def _silent(done: int, total: int | None) -> None:
    pass


def _verified(path: Path, benchmark: Benchmark, remedy: str) -> str:
    digest = sha256(path)
    if benchmark.sha256 not in (None, digest):
        raise BadInput(f"{path}: sha256 is {digest}, not {benchmark.sha256} as published; {remedy}")
    return digest


def _verified_part(part: Path, benchmark: Benchmark, url: str) -> str:
    try:
        return _verified(part, benchmark, f"it was removed; fetch again, or check {url}")
    except BadInput:
        # It may have been begun by an older release: to resume it once more would fail for ever.
        part.unlink()
        raise


def _download(url: str, part: Path, progress: Progress) -> None:
    """Fill `part` until it is whole, in at most `ATTEMPTS` attempts, each of which resumes the one before."""
    with httpx.Client(timeout=_TIMEOUT, follow_redirects=True) as client:
        for attempt in range(ATTEMPTS):
            try:
                _attempt(client, url, part, progress)
                return
            except (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.TooManyRedirects) as error:
                raise BadInput(f"{url}: cannot be fetched ({error}); check the address") from error
            except (_Unfinished, httpx.RequestError) as error:
                fault = error
            if attempt + 1 < ATTEMPTS:
                asked = fault.wait if isinstance(fault, _Unfinished) else 0.0
                time.sleep(min(max(asked, WAIT_SECONDS * 2**attempt), _LONGEST_WAIT_SECONDS))
    reason = str(fault) or type(fault).__name__
    raise BadInput(f"{url}: {ATTEMPTS} attempts failed, the last one with: {reason}; fetch again to resume")


def _attempt(client: httpx.Client, url: str, part: Path, progress: Progress) -> None:
    have = part.stat().st_size if part.exists() else 0
    # Compressed transfer would make the server's byte positions differ from ours.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with client.stream("GET", url, headers=headers) as response:
        _check_status(response, url)
        start, total = _span(response)
        if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE and total == have:
            return
        if start not in (0, have):
            part.unlink(missing_ok=True)
            raise _Unfinished("the server does not continue where the download broke off")
        done = start
        with part.open("ab" if start else "wb") as file:
            for piece in response.iter_bytes(_CHUNK_BYTES):
                file.write(piece)
                done += len(piece)
                progress(done, total)
            file.flush()
            os.fsync(file.fileno())
    if total is not None and done != total:
        raise _Unfinished(f"{done} of {total} bytes came")


def _span(response: httpx.Response) -> tuple[int, int | None]:
    """Where the reply starts in the file (-1 if nowhere), and how long the file is, if the server says so."""
    if response.status_code == httpx.codes.OK:
        length = response.headers.get("Content-Length", "")
        plain = "Content-Encoding" not in response.headers
        return 0, int(length) if plain and length.isdecimal() else None
    match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if match is None:
        return -1, None
    start, total = match.groups()
    return int(start) if start else -1, None if total == "*" else int(total)


def _check_status(response: httpx.Response, url: str) -> None:
    """Pass a reply that `_span` can place; tell a refusal from a fault that may pass."""
    code = response.status_code
    if code in (
        httpx.codes.OK,
        httpx.codes.PARTIAL_CONTENT,
        httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE,
    ):
        return
    if code == httpx.codes.TOO_MANY_REQUESTS or code >= httpx.codes.INTERNAL_SERVER_ERROR:
        wait = response.headers.get("Retry-After", "")
        raise _Unfinished(f"HTTP {code}", float(wait) if wait.isdecimal() else 0.0)
    raise BadInput(f"{url}: HTTP {code}; check the address, or download the file by hand and give --data")
