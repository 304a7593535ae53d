"""What machines share: a location that fsspec knows, such as s3://bucket/prefix, in which objects are whole or absent.

    calls/replies/<aa>/<call id>                        what was bought, as `tasks.models.entries` writes it
    calls/vectors/<aa>/<call id>
    runs/<run>/run.json
    runs/<run>/parts/<stage>/<manifest>                 written last, after the files that it names
    runs/<run>/objects/<aa>/<SHA-256>                   those files
    runs/<run>/ledger/<process>-<first>-<last>-<hash>   rows of the ledger

Folders on each machine stay its own: what is here is copied there, and checked there by its hash before it is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import fsspec
from fsspec.implementations.local import LocalFileSystem
from pydantic import BaseModel, ConfigDict

from memory.errors import BadInput
from results.tables import write_bytes


def checked_url(url: str) -> str:
    """The URL of a location, which must hold no key: it is written down wherever the study runs.

    Raises:
        ValueError: If it holds one, or is no URL.
    """
    parts = urlsplit(url)
    if not parts.scheme:
        raise ValueError("give a URL, such as s3://bucket/prefix or file:///folder")
    if "@" in parts.netloc or parts.query:
        raise ValueError(
            "a key has no place in a URL, which is written down wherever the study runs; "
            "credentials come from the environment"
        )
    return url


class Shared(BaseModel):
    """A run's part of a shared location.

    Attributes:
        url: The location.
        run: Name of the run.
    """

    model_config = ConfigDict(frozen=True)

    url: str
    run: str

    def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """Those of some objects of the run that are there, by name."""
        prefix = f"runs/{self.run}/"
        found = location(self.url).get([prefix + name for name in names])
        return {path.removeprefix(prefix): data for path, data in found.items()}

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Write objects of the run, each whole."""
        location(self.url).put({f"runs/{self.run}/{name}": data for name, data in objects.items()})

    def names(self, folder: str) -> list[str]:
        """Names of the objects that are directly in a folder of the run."""
        return location(self.url).names(f"runs/{self.run}/{folder}")

    def send(self, files: Iterable[Path]) -> None:
        """Write files as objects that are named after their hash."""
        data = [file.read_bytes() for file in files]
        self.put({_object(hashlib.sha256(each).hexdigest()): each for each in data})

    def bring(self, wanted: Mapping[Path, str]) -> None:
        """Copy to this machine those files, by their hash, which are not there; a wrong object is left where it is."""
        missing = {file: _object(sha256) for file, sha256 in wanted.items() if not file.exists()}
        found = self.get(missing.values())
        for file, name in missing.items():
            data = found.get(name)
            if data is not None and hashlib.sha256(data).hexdigest() == wanted[file]:
                write_bytes(file, data)


def _object(sha256: str) -> str:
    return f"objects/{sha256[:2]}/{sha256}"


class Location:
    """A place that several machines read and write. Thread-safe."""

    def __init__(self, url: str) -> None:
        """Open it.

        Raises:
            BadInput: If the package for its kind is not installed.
        """
        try:
            # Other machines write there at any time: a listing that is remembered is wrong.
            self._files, root = fsspec.url_to_fs(url, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise BadInput(
                f"--shared {url}: {error}; for s3:// pip install 'palimpsest[s3]' first"
            ) from error
        self._root = root.rstrip("/")

    def get(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Those of some objects that are there, by path; many are asked for at once."""
        places = {f"{self._root}/{path}": path for path in paths}
        if not places:
            return {}
        answers: dict[str, Any] = self._files.cat(list(places), on_error="return")
        found = {}
        for place, answer in answers.items():
            if isinstance(answer, bytes):
                found[places[place]] = answer
            elif not isinstance(answer, FileNotFoundError):
                raise answer
        return found

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Write objects, each whole."""
        placed = {f"{self._root}/{path}": data for path, data in objects.items()}
        if isinstance(self._files, LocalFileSystem):  # the only kind whose own writes may be seen half done
            for place, data in placed.items():
                write_bytes(Path(place), data)
        elif placed:
            self._files.pipe(placed)

    def names(self, folder: str) -> list[str]:
        """Names of the objects that are directly in a folder; none if it is not there."""
        try:
            found: list[str] = self._files.ls(f"{self._root}/{folder}", detail=False)
        except FileNotFoundError:
            return []
        return [path.rpartition("/")[2] for path in found]


@lru_cache
def location(url: str) -> Location:
    """The process's one view of a location."""
    return Location(url)
