"""llama.cpp's own server, started in this process."""

from __future__ import annotations

import atexit
from pathlib import Path
from typing import Any

from memory.errors import BadInput

WINDOW = 4096
"""Tokens of a prompt with its reply: room for the extraction prompt, 2,500, and a long turn."""
# The same everywhere, because with another number sums may be rounded otherwise. One, because several wait for each
# other without sleeping: beside other work on two cores, two threads were slower than one by a factor of ten.
_THREADS = 1
_SILENT = -1


class LocalServer:
    """A server with an OpenAI-compatible interface to one model, on a free port of 127.0.0.1 until the process ends.

    It answers one request at a time and keeps nothing of a prompt for the next one, so that a reply depends on its
    request alone.
    """

    def __init__(self, weights: Path, model: str, key: str) -> None:
        """Load the weights and serve them as `model` to whoever knows the key.

        Raises:
            BadInput: If the file holds no model that can be loaded.
        """
        import xllamacpp

        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(weights)
        parameters.model_alias = {model}
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        parameters.api_keys = [key]
        parameters.n_ctx = WINDOW
        parameters.n_parallel = 1
        parameters.cache_prompt = False
        parameters.cache_ram_mib = 0
        parameters.cpuparams.n_threads = _THREADS
        parameters.cpuparams_batch.n_threads = _THREADS
        parameters.ui = parameters.endpoint_slots = False
        parameters.verbosity = _SILENT
        try:
            self._server: Any = xllamacpp.Server(parameters)
        except RuntimeError:
            raise BadInput(f"{weights}: holds no model that llama.cpp can load") from None
        atexit.register(self.close)

    @property
    def address(self) -> str:
        """Where it listens, as `http://127.0.0.1:port`."""
        return str(self._server.listening_address)

    def close(self) -> None:
        """Stop serving; may be called again."""
        self._server = None  # its destructor ends its threads
        atexit.unregister(self.close)
