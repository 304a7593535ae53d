"""The whole path of a study on a real language model's real mistakes; run by `make test-llm`.

The model is so small that what it says is mostly wrong: nothing here asserts how good it is, only that every reply,
whatever it is, ends in a row that says what became of it. How good it was is printed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from memory.errors import BadInput, CallFailed
from memory.models import ChatRequest
from memory.prompts.extraction import request
from memory.validation import read_extraction
from tasks.models.bundles import chat_model, choose, require
from tasks.models.gateway import Gateway, Limits, Place
from tasks.models.ledger import Ledger
from tasks.models.local_provider import LocalProvider
from tasks.models.local_server import WINDOW
from tasks.models.local_weights import PACKAGED, identity
from tasks.models.providers import ChatSettings, InputTooLong
from tasks.models.store import Store
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.torture.tables import differing

pytestmark = [pytest.mark.llm, pytest.mark.timeout(3600)]
SAMPLE = Path("tasks/benchmarks/sample.json")
QUESTIONS = 2
NAME = f"local:{PACKAGED}"


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    try:
        require(choose("local"))
    except BadInput as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first questions of the sample, each with the sessions that answer it and no others."""
    cut = []
    for item in json.loads(SAMPLE.read_text("utf-8"))[:QUESTIONS]:
        kept = [
            at for at, name in enumerate(item["haystack_session_ids"]) if name in item["answer_session_ids"]
        ]
        lists = ("haystack_session_ids", "haystack_dates", "haystack_sessions")
        cut.append(item | {name: [item[name][at] for at in kept] for name in lists})
    path = tmp_path_factory.mktemp("data") / "longmemeval_oracle.json"
    path.write_text(json.dumps(cut), "utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study")


def study(folder: Path, data: Path) -> Watched:
    fields: dict[str, Any] = {
        "benchmark": "longmemeval-oracle",
        "data": data,
        "models": choose("local").model_dump(),
        "extraction_prompt": "plain",  # a fifth of the other's length
        "conditions": conditions("flat", "graph"),
    }
    return run_in_loop(folder, **fields)


@pytest.fixture(scope="module")
def run(folder: Path, data: Path) -> Watched:
    begun = time.monotonic()
    found = study(folder, data)
    print(f"\n{report(found, time.monotonic() - begun)}")
    return found


def bought(run: Watched) -> pd.DataFrame:
    """The calls that the model has answered, usably or not."""
    return run.table("calls").query("provider == 'local' and outcome in ['paid', 'unusable']")


def report(run: Watched, seconds: float) -> str:
    """How long it took, and how good it was."""
    asked = bought(run)
    prompt, reply = asked.prompt_tokens.sum() / seconds, asked.completion_tokens.sum() / seconds
    metrics = run.table("metrics").groupby("condition")
    return "\n".join(
        [
            f"{seconds:.0f} s; {len(asked)} calls, {(asked.attempt > 0).sum()} of them re-asks",
            f"{prompt:.0f} prompt and {reply:.1f} reply tokens a second, all else included",
            f"replies by task: {asked.groupby(['task', 'outcome']).size().to_dict()}",
            f"extractions: {run.table('extractions').status.value_counts().to_dict()}",
            f"token F1: {metrics.f1.mean().round(3).to_dict()}",
            f"right, as it judges itself: {metrics.judge.mean().to_dict()}",
        ]
    )


def test_every_row_of_every_stage_has_a_status_and_a_failure_its_reason(run: Watched) -> None:
    sizes = {"extractions": None, "recalls": 4, "answers": 4, "verdicts": 4, "metrics": 4}
    for name, size in sizes.items():
        table = run.table(name)
        assert len(table) > 0
        assert size is None or len(table) == size
        assert table.status.notna().all()
        assert table[table.status == "failed"].reason.str.len().gt(0).all()
    assert run.run.status == "complete"


def test_some_of_what_is_extracted_is_of_use(run: Watched) -> None:
    usable = run.table("extractions").query("status == 'ok'")
    assert len(usable) >= 1
    assert usable.nodes.str.len().ge(1).all()


def test_the_ledger_has_each_call_once_and_each_re_ask_after_an_unusable_reply(run: Watched) -> None:
    asked = bought(run)
    assert asked.call_id.is_unique
    assert (asked.usd == 0.0).all()
    assert asked.prompt_tokens.gt(0).all()
    assert (asked.model_returned == PACKAGED).all()
    # A request is asked again if, and only if, its reply was of no use, at most twice.
    assert (asked.attempt > 0).sum() == (asked.query("attempt < 2").outcome == "unusable").sum()
    extracted = run.table("extractions")
    tried = asked.query("task == 'extract'")
    assert (tried.outcome == "paid").sum() == (extracted.status != "failed").sum()
    assert (tried.query("attempt == 2").outcome == "unusable").sum() == (extracted.status == "failed").sum()


def test_a_second_run_asks_the_model_nothing_and_makes_the_same_tables(
    run: Watched, folder: Path, data: Path
) -> None:
    first = (folder / "run").rename(folder / "first")
    again = study(folder, data)
    assert set(again.made_stages) >= {"extract", "recall", "answer", "judge"}
    assert differing(first, again.folder) == []
    assert bought(again).call_id.tolist() == bought(run).call_id.tolist()


@pytest.fixture
def provider() -> Iterator[LocalProvider]:
    provider = LocalProvider(PACKAGED, identity(PACKAGED))
    yield provider
    provider.close()


def test_a_reply_depends_on_its_request_alone(provider: LocalProvider) -> None:
    def said(user: str) -> str:
        asked = ChatRequest("answer", "Answer briefly.", user, max_tokens=12)
        return provider.complete(PACKAGED, provider.payload(asked, ChatSettings(PACKAGED)), 60.0).text

    first = said("What is the capital of France?")
    said("What is the capital of Italy, and what do people eat there?")
    assert said("What is the capital of France?") == first


def test_a_prompt_beyond_the_window_is_refused_and_the_next_is_answered(provider: LocalProvider) -> None:
    settings = ChatSettings(PACKAGED, reply_cap=16)
    longer = provider.payload(ChatRequest("answer", "Answer.", "word " * (WINDOW + 1)), settings)
    with pytest.raises(InputTooLong):
        provider.complete(PACKAGED, longer, 60.0)
    shorter = provider.payload(ChatRequest("answer", "Answer.", "Hello"), settings)
    assert provider.complete(PACKAGED, shorter, 60.0).text


def test_json_of_no_given_shape_is_asked_for_again_or_read(tmp_path: Path) -> None:
    turns = ("I have a beagle called Biscuit.", "My sister Ana moved to Lisbon.")
    with Gateway(Store(tmp_path), Ledger(tmp_path), "run", Limits()) as gateway:
        model = chat_model(gateway, NAME, Place("extract"), json_mode="object", reply_cap=160)
        asks = [request("user", turn, "plain") for turn in turns]
        replies = model.ask_many(asks, lambda text: read_extraction(text, "reject"))
        rows = gateway.ledger.rows("run").to_pandas()
    failed = [reply for reply in replies if isinstance(reply, CallFailed)]
    print(f"\nwithout a schema, {len(failed)} of {len(turns)} fail: {[str(failure) for failure in failed]}")
    assert all(failure.final and "no usable reply in 3 attempts" in str(failure) for failure in failed)
    unusable = rows[rows.outcome == "unusable"]
    assert unusable.reason.str.len().gt(0).all()
    assert (rows.outcome == "paid").sum() == len(turns) - len(failed)
    assert len(rows) == len(unusable) + len(turns) - len(failed)
