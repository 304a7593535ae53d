"""Whole runs on MemoryArena's small files: what a memory has heard when it is asked, what that costs, its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from memory.conversation import Query, Session, turn_id
from memory.errors import BadInput, CallFailed
from memory.extraction import Extraction
from memory.protocol import Recall, Source
from memory.systems import SYSTEMS
from memory.systems.full_context import FullContext
from memory.systems.gaama import Gaama
from tasks.models.catalogue import BUNDLES
from tests.flows.fake_llm import in_the_place_of_providers, kind_of
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.tasks.models.fakes import FakeServer, Request

SMALL = Path(__file__).parents[1] / "fixtures/memoryarena"
ASKED = {f"chain-{chain}:{step}": step for chain in range(6) for step in range(4 if chain == 0 else 3)}
HEARD = 3 + 5 * 2
"""Steps that a memory hears on the small file of searches: after the last of an entry nothing is asked."""


def run_search(folder: Path, *systems: str, **fields: Any) -> Watched:
    given = {"benchmark": "memoryarena-search", "conditions": conditions(*systems), "resamples": 200}
    return run_in_loop(folder, data=SMALL, **(given | fields))


class Recorder(FullContext):
    """Notes which turns it has heard at each question, and how often it finishes."""

    heard: ClassVar[dict[str, list[str]]] = {}
    finished: ClassVar[list[int]] = []

    def finish(self) -> None:
        self.finished.append(len(self.turns))

    def recall(self, query: Query) -> Recall:
        self.heard[query.id] = [held.turn.id for held in self.turns]
        return super().recall(query)


class Foreseeing(FullContext):
    """Names the turn of the step that it is asked."""

    def recall(self, query: Query) -> Recall:
        source = Source(turn_id(query.history, len(self.turns), 0), 1.0)
        return Recall("what comes", (source,), 1)


class Overflowing(FullContext):
    """One store for all entries."""

    everything: ClassVar[list[Any]] = []

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        super().remember(session, extractions)
        self.everything.extend(self.turns[-1:])
        self.turns = list(self.everything)


class Failing(FullContext):
    """Cannot hear a second step."""

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        if session.position == 1:
            raise CallFailed("the line is down", final=True)
        super().remember(session, extractions)


@pytest.fixture(autouse=True)
def systems(monkeypatch: pytest.MonkeyPatch) -> None:
    for system in (Recorder, Foreseeing, Overflowing, Failing):
        monkeypatch.setitem(SYSTEMS, system.__name__.lower(), f"{__name__}:{system.__name__}")
    for noted in (Recorder.heard, Recorder.finished, Overflowing.everything):
        noted.clear()


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with pytest.MonkeyPatch.context() as patch, in_the_place_of_providers(patch) as fake:
        yield fake


@pytest.fixture(scope="module")
def undisturbed(
    server: FakeServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Watched, list[Request]]:
    """A run of GAAMA with a builder that is bought, and what that has sent."""
    before = len(server.requests)
    run = published(tmp_path_factory.mktemp("undisturbed"))
    return run, server.requests[before:]


# What a memory has heard


def test_a_memory_is_asked_each_step_when_it_has_heard_those_before_it_and_no_more(tmp_path: Path) -> None:
    run = run_search(tmp_path, "recorder")
    assert Recorder.heard == {
        question: [f"{question.partition(':')[0]}#{earlier}.0" for earlier in range(step)]
        for question, step in ASKED.items()
        if step
    }
    recalls = run.table("recalls").set_index("question")
    assert recalls["context"].str.count("Question: ").to_dict() == ASKED
    assert list(run.table("questions")["after"]) == list(ASKED.values())


def test_what_works_turns_in_later_finishes_after_every_step_that_it_hears(tmp_path: Path) -> None:
    run_search(tmp_path, "recorder")
    assert Recorder.finished == [1, 2, 3] + [1, 2] * 5


@pytest.mark.parametrize("system", ["foreseeing", "overflowing"])
def test_a_memory_that_names_a_step_it_has_not_heard_is_caught(tmp_path: Path, system: str) -> None:
    run = run_search(tmp_path, system, max_failed=1.0)
    recalls = run.table("recalls").set_index("question")
    caught = recalls[recalls["status"] == "failed"]
    assert set(caught["reason"].str.partition("#")[1]) == {"#"}
    assert caught["reason"].str.endswith("which it has not heard yet").all()
    if system == "foreseeing":
        assert set(caught.index) == {question for question, step in ASKED.items() if step}
    else:
        assert set(caught.index) == {
            question for question in ASKED if ASKED[question] and "chain-0" not in question
        }
    assert run.table("metrics").set_index("question").loc[caught.index, "judge"].isna().all()


def test_where_a_step_cannot_be_heard_the_steps_before_stand_and_those_after_fail(tmp_path: Path) -> None:
    recalls = run_search(tmp_path, "failing", max_failed=1.0).table("recalls").set_index("question")
    assert recalls["status"].to_dict() == {
        question: "ok" if step < 2 else "failed" for question, step in ASKED.items()
    }
    assert set(recalls["reason"].dropna()) == {"memory: the line is down"}


def test_systems_that_are_built_beforehand_are_built_where_they_are_asked(tmp_path: Path) -> None:
    run = run_search(tmp_path, "graph", "gaama:arena", limit=6)
    assert run.run.status == "complete"
    assert "merge" not in run.made
    assert set(run.table("recalls")["status"]) == {"ok"}
    assert run.table("recalls").groupby("condition")["memory_items"].max().gt(0).all()


# What it costs


def published(folder: Path, **fields: Any) -> Watched:
    models = BUNDLES["offline"].model_dump() | {
        "extractor": "openai:gpt-4o-mini",
        "answerer": "openai:gpt-4o-mini",
    }
    return run_search(folder, "gaama:arena", models=models, **fields)


def test_gaama_asks_its_builder_twice_a_step_that_it_hears(
    undisturbed: tuple[Watched, list[Request]],
) -> None:
    kinds = [kind_of(request) for request in undisturbed[1]]
    # The six entries begin with the same question, to which a memory of nothing brings up the same: one answer.
    answers = len(ASKED) - 5
    counted = {kind: kinds.count(kind) for kind in set(kinds)}
    assert counted == {"concept_facts": HEARD, "reflections": HEARD, "answer": answers}


def test_a_run_killed_between_two_steps_goes_on_there_and_ends_as_if_it_never_was(
    server: FakeServer,
    undisturbed: tuple[Watched, list[Request]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = server.count()
    finish, finished = Gaama.finish, []

    def killed_at_the_fifth(system: Gaama) -> None:
        finished.append(system)
        if len(finished) == 5:
            raise KeyboardInterrupt
        finish(system)

    with monkeypatch.context() as patch:
        patch.setattr(Gaama, "finish", killed_at_the_fifth)
        with pytest.raises(KeyboardInterrupt):
            published(tmp_path)
    assert 0 < server.count() - before < 2 * HEARD
    again = published(tmp_path)
    assert server.count() - before == len(undisturbed[1])
    for table in ("metrics", "arena_steps", "arena_slopes"):
        assert again.table(table).equals(undisturbed[0].table(table)), table


def test_a_result_may_be_long_but_that_of_a_purchase_not_and_the_task_comes_first(
    server: FakeServer, tmp_path: Path
) -> None:
    models = BUNDLES["offline"].model_dump() | {"answerer": "openai:gpt-4o-mini"}
    caps, tasks = {}, {}
    for task in ("travel", "shopping", "search"):
        before = len(server.requests)
        run_search(tmp_path / task, "full_context", models=models, benchmark=f"memoryarena-{task}")
        sent = server.requests[before:]
        caps[task] = {
            value
            for r in sent
            for key, value in r.body.items()
            if key in ("max_tokens", "max_completion_tokens")
        }
        tasks[task] = {
            request.user.partition("\n")[0] for request in sent if request.user.startswith("Task:")
        }
        assert all("Task:\n" not in request.user[1:] for request in sent)
    assert caps == {"travel": {1024}, "shopping": {512}, "search": {1024}}
    assert tasks == {"travel": {"Task:"}, "shopping": {"Task:"}, "search": set()}


# Its tables


def test_a_run_without_more_words_takes_the_share_of_facts_and_the_steps_whole_result(tmp_path: Path) -> None:
    run = run_search(tmp_path, "full_context", "bm25:improved")
    assert run.run.study.judge == "key_facts"
    assert {condition.answer_prompt for condition in run.run.study.conditions} == {"step"}


def test_rewards_by_step_are_published_with_the_printed_ones_beside_them(tmp_path: Path) -> None:
    run = run_search(tmp_path, "full_context", "none")
    steps = run.table("arena_steps")
    own = steps[(steps["source"] == "run") & (steps["condition"] == "none") & steps["against"].isna()]
    assert own[own["counted"] == "step"].set_index("first")["n"].to_dict() == {0: 6, 1: 6, 2: 6, 3: 1}
    assert own[own["counted"] == "step"].set_index("first")["few"].to_dict() == {
        0: False,
        1: False,
        2: False,
        3: True,
    }
    assert own[own["counted"] == "later"]["n"].item() == HEARD
    assert "Full-Context (printed)" in (run.folder / "arena_steps.md").read_text(encoding="utf-8")
    assert list(run.table("arena_slopes")["condition"]) == ["none"]


@pytest.mark.parametrize(
    "fields",
    [
        {"study": "forgetting"},
        {"study": "association"},
        {"explain": True, "conditions": conditions("graph")},
    ],
)
def test_what_builds_whole_histories_is_refused(tmp_path: Path, fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="asks in between of its sessions"):
        run_in_loop(tmp_path, benchmark="memoryarena-search", data=SMALL, **fields)
