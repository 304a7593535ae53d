"""A fake language model behind `FakeServer`: it tells the project's kinds of request apart and answers plainly.

It extracts capitalised words, answers with the first line of the context, and judges by containment. It exists so
that a whole study can run over real HTTP; its quality means nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memory.prompts import concept_facts, extraction, query_entities, reflections
from tasks.prompts import answer, judge
from tests.tasks.models.fakes import Answer, FakeServer, Request, chat

_EXTRACT = {extraction.request("user", "x", prompt).system for prompt in ("role_aware", "plain")}
_QUERY = query_entities.request("x").system
_CONCEPT_FACTS = concept_facts.request((), ()).system
_REFLECTIONS = reflections.request(()).system
_JUDGE = {
    judge.request(name, "q", "r", "a", question_type=kind, abstention=abstention).system
    for name in ("paper", "per_type")
    for kind in ("temporal-reasoning", "knowledge-update", "single-session-preference", "other")
    for abstention in (False, True)
}
_ANSWER = {
    answer.request("q", context, profile=profile, question_date="d").system
    for profile in ("published", "improved")
    for context in ("c", "")
}


def kind_of(request: Request) -> str:
    """`extract`, `concept_facts`, `reflections`, `query`, `answer` or `judge`."""
    system = request.body["messages"][0]["content"]
    if system == _CONCEPT_FACTS:
        return "concept_facts"
    if system == _REFLECTIONS:
        return "reflections"
    if system in _EXTRACT:
        return "extract"
    if system == _QUERY:
        return "query"
    if system in _JUDGE:
        return "judge"
    assert system in _ANSWER, system[:200]
    return "answer"


def reply(request: Request) -> Answer:
    """An answer by the kind of request; embeddings are the server's own."""
    if "messages" not in request.body:
        return Answer()
    text = request.user
    names = list(dict.fromkeys(re.findall(r"\b[A-Z][a-z]{3,}\b", text)))[:3]
    match kind_of(request):
        case "extract":
            nodes = {f"n{i}": {"label": "Concept", "title": name} for i, name in enumerate(names)}
            edges = (
                {"e0": {"source": "n0", "target": "n1", "relationship": "goes with"}}
                if len(names) > 1
                else {}
            )
            return chat(json.dumps({"nodes": nodes, "edges": edges}))
        case "concept_facts":
            return chat(json.dumps(_concept_facts(text)))
        case "reflections":
            ids = re.findall(r"^\[([^\]]+)\]", text, re.MULTILINE)
            said = {"reflection_text": f"{' '.join(names)} matter.", "source_fact_ids": ids[:2]}
            return chat(json.dumps({"reflections": [said]}))
        case "query":
            return chat(json.dumps({"entities": [{"label": "Concept", "title": name} for name in names]}))
        case "judge":
            return chat(json.dumps({"correct": len(text) % 2 == 0, "why": "by length"}))
    return chat((names or ["nothing"])[0])


def _concept_facts(text: str) -> dict[str, Any]:
    """One fact and one concept of the first new episode that names something."""
    for id, said in re.findall(r"^\[(ep-[0-9a-f]+)\] (.*)$", text.split("\n\n", maxsplit=1)[0], re.MULTILINE):
        if names := re.findall(r"\b[A-Z][a-z]{3,}\b", said):
            label = "_".join(name.lower() for name in names[:2])
            fact = {"fact_text": f"{said[-60:]}.", "source_episode_ids": [id], "concepts": [label]}
            return {"facts": [fact], "concepts": [{"concept_label": label, "episode_ids": [id]}]}
    return {"facts": [], "concepts": []}


@contextmanager
def in_the_place_of_providers(
    patch: pytest.MonkeyPatch, key: str = "sk-fake", **more: Any
) -> Iterator[FakeServer]:
    """A server that answers so, at the addresses that this process's environment has for OpenAI and Ollama."""
    with FakeServer(dimensions=768, **more) as server:
        server.always(reply)
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("OPENAI_API_KEY", key)
        patch.setenv("OPENAI_BASE_URL", server.openai)
        patch.setenv("OLLAMA_HOST", server.ollama)
        yield server
