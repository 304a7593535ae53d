"""What the works of a process share, and what of a model stands in a fingerprint."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks import context
from tasks.context import closed_models, declared
from tasks.models import catalogue
from tasks.models.catalogue import BUNDLES
from tasks.models.gateway import Limits
from tasks.runs import Run
from tasks.study import Study


def test_of_two_flows_in_a_process_the_first_to_end_leaves_the_others_models_open(tmp_path: Path) -> None:
    run = Run(
        name="run", status="running", study=Study(), data=None, sha256="", variant="", store=str(tmp_path)
    )
    with closed_models():
        with closed_models():
            gateway = context._gateway(run.store, run, Limits())
        assert gateway.ledger.totals().paid == 0
        assert context._gateway(run.store, run, Limits()) is gateway
    assert context._gateways == {}


def test_where_an_embedders_inputs_are_cut_is_part_of_the_fingerprint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = declared(BUNDLES["published"], "embedder")
    shorter = {**catalogue._EMBEDDERS, "ollama:nomic-embed-text": (768, 1_400)}
    monkeypatch.setattr(catalogue, "_EMBEDDERS", shorter)
    assert declared(BUNDLES["published"], "embedder") != before


def test_a_cap_on_answers_cuts_no_extraction_and_goes_before_the_cap_of_all_replies() -> None:
    def caps(**given: int) -> dict[str, str | None]:
        choice = BUNDLES["published"].model_copy(update=given)
        roles = declared(choice, "extractor", "query", "answerer", "judge", "embedder")
        return {role: model.get("reply_cap") for role, model in roles.items()}

    none = dict.fromkeys(("extractor", "query", "answerer", "judge", "embedder"))
    assert caps() == none
    assert caps(answer_cap=256) == {**none, "answerer": "256", "judge": "256"}
    every = {**none, "extractor": "900", "query": "900", "answerer": "900", "judge": "900"}
    assert caps(reply_cap=900) == every
    assert caps(reply_cap=900, answer_cap=256) == {**every, "answerer": "256", "judge": "256"}
