"""What is known of models, and the bundles that `--models` names."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tasks.models.local_weights import PACKAGED
from tasks.models.providers import EmbedSettings, JsonMode

PROVIDERS = ("offline", "openai", "ollama", "local")
BATCHING = ("openai",)
"""Those that have a batch interface."""
OFFLINE = {
    "extractor": "noun-phrases",
    "query": "noun-phrases",
    "answerer": "extractive",
    "judge": "lexical",
    "embedder": "minilm",
}
"""The offline model for each role."""
STATIC = "static"
"""The embedder whose token vectors are distilled from MiniLM: thousands of turns a second, for very large stores."""
OTHERS = {
    "extractor": ("every-noun-phrase", "locomo-observations"),
    "query": ("frames",),
    "answerer": ("chain",),
    "embedder": (STATIC,),
}
"""Further offline models, by role."""

# Dimensions, and the o200k tokens to which inputs are cut. Where the model counts in a vocabulary of its own,
# that is three quarters of its window or less, because WordPiece makes more tokens of the same text.
_EMBEDDERS = {
    # It reads 256 tokens of its own and says exactly which texts are longer, so nothing is cut before it.
    "offline:minilm": (384, 100_000),
    f"offline:{STATIC}": (256, 100_000),  # it reads the whole text
    "openai:text-embedding-3-small": (1536, 8_191),
    "openai:text-embedding-3-large": (3072, 8_191),
    "ollama:nomic-embed-text": (768, 1_500),
    "ollama:all-minilm": (384, 180),
    "ollama:mxbai-embed-large": (1024, 360),
    "ollama:bge-m3": (1024, 6_000),
}
_UNKNOWN_LIMIT = 360


class ModelChoice(BaseModel):
    """Which model does what, each as `provider:model`, the embedder also as `provider:model@dimensions`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    extractor: str = Field(description="Makes nodes and edges of turns.")
    query: str = Field(description="Finds the entities of a question.")
    answerer: str = Field(description="Answers from a context.")
    judge: str = Field(description="Compares an answer with the reference answer.")
    embedder: str = Field(description="Makes vectors of texts.")
    json_mode: JsonMode = Field(
        "schema",
        description="Whether a reply's JSON schema is sent where the provider takes one, or, as in the published "
        "study, only a JSON object is asked for.",
    )
    reply_cap: int | None = Field(
        None,
        ge=16,
        description="Most tokens of a reply whose request has no cap of its own; none leaves it to the provider, as "
        "the published study did. With a cap, a budget is used up more closely, because each call reserves no more.",
    )
    answer_cap: int | None = Field(
        None,
        ge=16,
        description="The same for answers and verdicts alone, in the place of reply_cap: 256 in RD-Forget's main "
        "protocol, 2,048 in that of query intent. Extraction is not cut by it.",
    )

    def cap_of(self, role: str) -> int | None:
        """Most tokens of a role's reply to a request that has no cap of its own; an embedder has none."""
        if role == "embedder":
            return None
        caps_answers = role in ("answerer", "judge") and self.answer_cap is not None
        return self.answer_cap if caps_answers else self.reply_cap


def _one_chat(model: str, embedder: str, json_mode: JsonMode = "schema") -> ModelChoice:
    return ModelChoice(
        extractor=model, query=model, answerer=model, judge=model, embedder=embedder, json_mode=json_mode
    )


BUNDLES = {
    "offline": ModelChoice.model_validate({role: f"offline:{model}" for role, model in OFFLINE.items()}),
    "published": _one_chat("openai:gpt-4o-mini", "ollama:nomic-embed-text", "object"),
    "openai": _one_chat("openai:gpt-4o-mini", "openai:text-embedding-3-small"),
    "ollama": _one_chat("ollama:qwen2.5:7b", "ollama:nomic-embed-text"),
    "local": _one_chat(f"local:{PACKAGED}", "offline:minilm"),
}
ABOUT = {
    "offline": "no language model, no network: noun phrases, extracted answers, lexical judge, MiniLM; on LoCoMo, the "
    "association study extracts with offline:locomo-observations, the facts in LoCoMo's own file",
    "published": "as in the Selective Forgetting paper; needs OPENAI_API_KEY and Ollama",
    "openai": "needs OPENAI_API_KEY; OPENAI_BASE_URL for another address",
    "ollama": "local models; OLLAMA_HOST for another address",
    "local": "a very small language model in this process, to try the whole path; needs `make local-model`, no key",
}
"""One line on each bundle, for `palimpsest list models`."""


Bundle = Annotated[Literal["offline", "published", "openai", "ollama", "local"], Field(title="Bundle")]
"""Their names, as choices of a form."""


def bundled(models: object) -> object:
    """The models that a bundle's name stands for; anything but a name as it is.

    Raises:
        ValueError: If no bundle has that name.
    """
    if not isinstance(models, str):
        return models
    if models not in BUNDLES:
        raise ValueError(f"unknown bundle {models!r}; known: {', '.join(BUNDLES)}")
    return BUNDLES[models]


def embed_settings(provider: str, model: str) -> EmbedSettings | None:
    """How to ask an embedding model (`model` or `model@dimensions`); none if its dimensions are not known."""
    base, _, wanted = model.partition("@")
    dimensions, limit = _EMBEDDERS.get(f"{provider}:{base}", (0, _UNKNOWN_LIMIT))
    if wanted:
        dimensions = int(wanted) if wanted.isdecimal() else 0
    if not base or dimensions == 0:
        return None
    batch = 256 if provider == "offline" else 64
    return EmbedSettings(base, dimensions, limit, batch)
