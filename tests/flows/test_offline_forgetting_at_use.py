"""RD-Forget without a language model in a whole study: what forgetting at use is worth where facts are replaced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory.errors import BadInput
from tasks.models.bundles import choose
from tests.flows.study_in_loop import Watched, conditions, run_in_loop

PEOPLE = ("Mira Olsen", "Jo Ek", "Bo Dahl", "Ada Lind", "Ivo Berg", "Una Holm", "Kai Strand", "Liv Moe")
FIRMS = ("Acme Works", "Beryl Mills")
CITIES = {"Acme Works": "Lund", "Beryl Mills": "Brae"}
MODELS = {"query": "offline:frames", "answerer": "offline:chain"}


def written(folder: Path) -> Path:
    """A file in MemoryAgentBench's form: everybody changes from one firm to the other."""
    facts = [f"{firm} is located in the city of {city}." for firm, city in CITIES.items()]
    facts += [f"{name} is employed by {FIRMS[which % 2]}." for which, name in enumerate(PEOPLE)]
    facts += [f"{name} is employed by {FIRMS[1 - which % 2]}." for which, name in enumerate(PEOPLE)]
    row = {
        "context": "Here is a list of facts:\n" + "\n".join(f"{n}. {fact}" for n, fact in enumerate(facts)),
        "questions": [f"In which city is the employer of {name} located?" for name in PEOPLE],
        "answers": [[CITIES[FIRMS[1 - which % 2]]] for which in range(len(PEOPLE))],
        "metadata": {"source": "factconsolidation_mh_6k"},
    }
    path = folder / "facts.json"
    path.write_text(json.dumps([row]), encoding="utf-8")
    return path


def ran(folder: Path) -> Watched:
    arms = conditions("rd_forget", "rd_forget:no_forget", "rd_forget:no_closure", "full_context")
    models = choose("offline", MODELS).model_dump()
    return run_in_loop(
        folder, data=written(folder), benchmark="mab-fc", judge="substring", models=models, conditions=arms
    )


def test_chains_over_replaced_facts_are_answered_and_each_ablation_loses_what_it_leaves_out(
    tmp_path: Path,
) -> None:
    made = ran(tmp_path)
    assert made.run.status == "complete"
    metrics = made.table("metrics")
    right = metrics.groupby("condition", observed=True)["judge"].sum().to_dict()
    assert right["rd_forget"] == right["full_context"] == len(PEOPLE)
    assert 0 < right["rd_forget-no_forget"] < len(PEOPLE)
    assert right["rd_forget-no_closure"] == 0


@pytest.mark.parametrize(("role", "model"), [("answerer", "frames"), ("query", "chain"), ("judge", "chain")])
def test_the_models_are_refused_where_they_know_nothing_to_do(role: str, model: str) -> None:
    with pytest.raises(BadInput, match=f"{role} offline:{model}: offline models for this"):
        choose("offline", {role: f"offline:{model}"})
