"""Settings of the whole suite."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings

from tasks.models.offline_provider import OfflineProvider
from tasks.models.providers import EmbedSettings, RawVectors

# Set before Prefect is imported: what its runs keep belongs to this process of the suite alone and ends with it. In
# the user's own home, processes would share one database, and every run of the suite would leave its results there.
_PREFECT_HOME = tempfile.TemporaryDirectory(prefix="palimpsest-prefect-", ignore_cleanup_errors=True)
os.environ["PREFECT_HOME"] = _PREFECT_HOME.name

# What is printed is laid out as in a log: the processes of pytest-xdist would be told the width of a terminal.
for _name in ("COLUMNS", "LINES"):
    os.environ.pop(_name, None)

# Two slow shared cores: a deadline would measure the machine, not the code.
settings.register_profile("palimpsest", deadline=None)
settings.load_profile("palimpsest")


@pytest.fixture(scope="session", autouse=True)
def each_text_is_embedded_once() -> Iterator[None]:
    """Remember what MiniLM made of a text: most studies here are of the same sample, each with a new store.

    It changes no vector: a row is the same to the bit whatever it is embedded with, as `test_minilm.py` holds of the
    model itself, which this leaves alone.
    """
    embed = OfflineProvider.embed
    known: dict[str, tuple[npt.NDArray[np.float32], bool]] = {}

    def remembering(
        self: OfflineProvider, texts: Sequence[str], settings: EmbedSettings, seconds: float
    ) -> RawVectors:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            made = embed(self, new, settings, seconds)
            for row, text in enumerate(new):
                vector = np.asarray(made.rows[row], np.float32)
                vector.flags.writeable = False
                known[text] = vector, row in made.cut
        cut = frozenset(row for row, text in enumerate(texts) if known[text][1])
        return RawVectors([known[text][0] for text in texts], settings.model, cut=cut)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OfflineProvider, "embed", remembering)
        yield
