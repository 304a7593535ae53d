"""A fake language model behind `FakeServer`: it tells the project's kinds of request apart and answers plainly.

It extracts capitalised words, answers with the first line of the context, and judges by containment. It exists so
that a whole study can run over real HTTP; its quality means nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memory.prompts import (
    ace_curate,
    ace_reflect,
    concept_facts,
    extraction,
    fact_filter,
    five_ws,
    gam_boundary,
    gam_links,
    gam_topic,
    graft,
    query_entities,
    rb_extract,
    rb_judge,
    rd_curate,
    rd_select,
    reflections,
)
from tasks.prompts import answer, judge, key_facts
from tests.tasks.models.fakes import Answer, FakeServer, Request, chat

_EXTRACT = {extraction.request("user", "x", prompt).system for prompt in ("role_aware", "plain")}
_QUERY = query_entities.request("x").system
_CONCEPT_FACTS = concept_facts.request((), ()).system
_FIVE_WS = {
    five_ws.turn_request("user", "x").system: "five_ws",
    five_ws.question_request("x").system: "five_ws_query",
}
_REFLECTIONS = reflections.request(()).system
_CURATE = {
    rd_curate.request((), asked, closure=closure, intent_aware=intent_aware).system
    for asked in (rd_curate.Asked("q"), None)
    for closure in (True, False)
    for intent_aware in (True, False)
}
_SELECT = rd_select.request((), rd_curate.Asked("q")).system
_ITEMS = {rb_extract.request((), 3, success=success).system for success in (True, False)}
_GRAFT = {
    graft.diagnose("q", "a", ()).system: "graft_diagnose",
    graft.probe("q", "a", (), None).system: "graft_probe",
    graft.plan("q", "a", (), (), (), None).system: "graft_plan",
    graft.verify("q", "a", (), ()).system: "graft_verify",
}
_KEY_FACTS = {
    key_facts.request("q", "r", "a", kind).system
    for kind in ("", "memoryarena-travel", "memoryarena-shopping", "memoryarena-search")
}
_JUDGE = {
    judge.request(name, "q", "r", "a", question_type=kind, abstention=abstention).system
    for name in ("paper", "per_type")
    for kind in ("temporal-reasoning", "knowledge-update", "single-session-preference", "other")
    for abstention in (False, True)
}
_ANSWER = {
    answer.request("q", context, profile=profile, question_date="d").system
    for profile in ("published", "improved", "detailed", "step")
    for context in ("c", "")
}


_KINDS = {
    _QUERY: "query",
    _CONCEPT_FACTS: "concept_facts",
    _REFLECTIONS: "reflections",
    **_FIVE_WS,
    _SELECT: "rd_select",
    ace_reflect.request((), "").system: "ace_reflect",
    ace_curate.request("", (), 0).system: "ace_curate",
    rb_judge.request(()).system: "rb_judge",
    **dict.fromkeys(_ITEMS, "rb_extract"),
    gam_boundary.request(()).system: "gam_boundary",
    gam_topic.request(()).system: "gam_topic",
    gam_links.request("", ()).system: "gam_links",
    fact_filter.request("q", ()).system: "fact_filter",
    **dict.fromkeys(_CURATE, "rd_curate"),
    **_GRAFT,
    **dict.fromkeys(_KEY_FACTS, "key_facts"),
    **dict.fromkeys(_EXTRACT, "extract"),
    **dict.fromkeys(_JUDGE, "judge"),
    **dict.fromkeys(_ANSWER, "answer"),
}


def kind_of(request: Request) -> str:
    """What is asked for: a value of `_KINDS`."""
    system = request.body["messages"][0]["content"]
    assert system in _KINDS, system[:200]
    return _KINDS[system]


def reply(request: Request) -> Answer:
    """An answer by the kind of request; embeddings are the server's own."""
    if "messages" not in request.body:
        return Answer()
    text = request.user
    names = list(dict.fromkeys(re.findall(r"\b[A-Z][a-z]{3,}\b", text)))[:3]
    kind = kind_of(request)
    if kind == "answer":
        return chat((names or ["nothing"])[0])
    return chat(json.dumps(_REPLIES[kind](text, names)))


def _extraction(text: str, names: list[str]) -> dict[str, Any]:
    nodes = {f"n{i}": {"label": "Concept", "title": name} for i, name in enumerate(names)}
    edges = {"e0": {"source": "n0", "target": "n1", "relationship": "goes with"}} if len(names) > 1 else {}
    return {"nodes": nodes, "edges": edges}


def _reflections(text: str, names: list[str]) -> dict[str, Any]:
    ids = re.findall(r"^\[([^\]]+)\]", text, re.MULTILINE)
    return {"reflections": [{"reflection_text": f"{' '.join(names)} matter.", "source_fact_ids": ids[:2]}]}


def _concept_facts(text: str, names: list[str]) -> dict[str, Any]:
    """One fact and one concept of the first new episode that names something."""
    for id, said in re.findall(r"^\[(ep-[0-9a-f]+)\] (.*)$", text.split("\n\n", maxsplit=1)[0], re.MULTILINE):
        if named := re.findall(r"\b[A-Z][a-z]{3,}\b", said):
            label = "_".join(name.lower() for name in named[:2])
            fact = {"fact_text": f"{said[-60:]}.", "source_episode_ids": [id], "concepts": [label]}
            return {"facts": [fact], "concepts": [{"concept_label": label, "episode_ids": [id]}]}
    return {"facts": [], "concepts": []}


def _curation(text: str, names: list[str]) -> dict[str, Any]:
    """Each line of the archive as an active fact, without a slot."""
    lines = re.findall(r"^\[(L\d+)\] (.*)$", text, re.MULTILINE)
    return {"active": [{"statement": said, "source": id} for id, said in lines], "replaced": []}


def _starts(text: str, names: list[str]) -> dict[str, Any]:
    """A new subject with the last turn, which is the one that has just come."""
    return {"starts": re.findall(r"^\[(u\d+)\]", text, re.MULTILINE)[-1:]}


def _selection(text: str, names: list[str]) -> dict[str, Any]:
    return {"ids": re.findall(r"^\[(e\d+)\]", text, re.MULTILINE)}


def _reflection(text: str, names: list[str]) -> dict[str, Any]:
    """The first line of the conversation is a lesson, and every bullet was helpful."""
    lines = re.findall(r"^\[(L\d+)\] (.*)$", text, re.MULTILINE)
    tags = [{"id": id, "tag": "helpful"} for id in re.findall(r"^\[([a-z]+-\d+) ", text, re.MULTILINE)]
    lessons = [{"lesson": said, "lines": id} for id, said in lines[:1]]
    return {"tags": tags, "lessons": lessons, "finished": True}


def _additions(text: str, names: list[str]) -> dict[str, Any]:
    """Each lesson as a bullet."""
    lessons = re.findall(r"^\[(K\d+)\] (.*)$", text, re.MULTILINE)
    section = "Context clues and indicators"
    return {
        "operations": [
            {"type": "ADD", "section": section, "content": said, "lessons": id} for id, said in lessons
        ]
    }


def _items(text: str, names: list[str]) -> dict[str, Any]:
    """The first line of the conversation as an item."""
    lines = re.findall(r"^\[(L\d+)\] (.*)$", text, re.MULTILINE)
    return {"items": [{"title": " ".join(names), "content": said, "lines": id} for id, said in lines[:1]]}


def _plan(text: str, names: list[str]) -> dict[str, Any]:
    """A fact that repeats the first episode that a probe shows."""
    shown = re.search(r"^\[(ep-[0-9a-f]+)\] \([0-9.]+\) (.*)$", text, re.MULTILINE)
    if shown is None:
        return {"chain_of_thought": {}, "edit_ops": []}
    params = {"fact_text": f"Noted: {shown[2][-60:]}.", "belief": 0.8, "source_episode_ids": [shown[1]]}
    edit = {"op_type": "CREATE_FACT", "params": params, "root_cause": "not written down"}
    return {"chain_of_thought": {}, "edit_ops": [edit]}


_REPLIES: dict[str, Callable[[str, list[str]], dict[str, Any]]] = {
    "extract": _extraction,
    "concept_facts": _concept_facts,
    "reflections": _reflections,
    "five_ws": lambda text, names: {"who": names[:1], "what": names},
    "five_ws_query": lambda text, names: {"what": names},
    "rd_curate": _curation,
    "rd_select": _selection,
    "ace_reflect": _reflection,
    "ace_curate": _additions,
    "rb_judge": lambda text, names: {"success": len(text) % 2 == 0, "why": "by length"},
    "rb_extract": _items,
    "gam_boundary": _starts,
    "gam_topic": lambda text, names: {"summary": f"Of {' '.join(names)}.", "causes": []},
    "gam_links": lambda text, names: {"links": [{"topic": "t1", "confidence": 0.9}]},
    "fact_filter": lambda text, names: {"ids": re.findall(r"^\[(f\d+)\]", text, re.MULTILINE)[:2]},
    "query": lambda text, names: {"entities": [{"label": "Concept", "title": name} for name in names]},
    "judge": lambda text, names: {"correct": len(text) % 2 == 0, "why": "by length"},
    "key_facts": lambda text, names: {"reward": len(text) % 3 / 2, "why": "by length"},
    "graft_diagnose": lambda text, names: {"completeness": len(text) % 2, "reason": "by length"},
    "graft_probe": lambda text, names: {
        "analysis_questions": [{"question": f"What of {' '.join(names)}?", "reasoning": "names"}]
    },
    "graft_plan": _plan,
    "graft_verify": lambda text, names: {"passed_indices": [1], "rejections": []},
}


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
