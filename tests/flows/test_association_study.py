"""The association study over real HTTP: which calls it makes, in which order, and what a killed run still pays."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tasks import plan
from tasks.context import closed_models
from tasks.kinds import make_study
from tasks.models.budget import Budget, Cap
from tasks.stage import Artefact, Stage, Work, perform
from tasks.start import carry_out, start
from tests.flows.fake_llm import in_the_place_of_providers, kind_of, reply
from tests.flows.locomo_files import cut_file
from tests.flows.study_in_loop import run_in_loop
from tests.tasks.models.fakes import Answer, FakeServer, Request, good_vector, vectors
from tests.torture.crash import UNSETTLED
from tests.torture.shell import prefect_server, shell
from tests.torture.tables import calls_of, differing, run_folder

MODELS = {
    **dict.fromkeys(("extractor", "query", "answerer", "judge"), "openai:gpt-4o-mini"),
    "embedder": "ollama:nomic-embed-text",
}
ARMS = [
    {"system": "flat", "profile": "tuned", "name": "rag", "answer_prompt": "detailed"},
    {"system": "gaama", "name": "gaama", "answer_prompt": "detailed"},
    {
        "system": "gaama",
        "name": "gaama-semantic",
        "settings": {"mode": "semantic"},
        "answer_prompt": "detailed",
    },
]
STUDY: dict[str, Any] = {
    "study": "association",
    "benchmark": "locomo",
    "models": MODELS,
    "conditions": ARMS,
    "words": [100, 1000],
    "planted": 0,
    "resamples": 100,
    "runner": "threads",  # all is done in the process that is killed; `test_runners` has worker processes
}
QUESTIONS = 3
"""So many are asked of each of two conversations."""
_CHUNK = 500


def alike(text: str) -> list[float]:
    """A vector at a cosine of about .64 to any other: near enough that what is stored is shown to the builder."""
    common, own = 0.8, 0.6
    vector = [own * x for x in good_vector(text, 768)]
    return [common + vector[0], *vector[1:]]


def answering(request: Request) -> Answer:
    return vectors(alike) if "embed" in request.path else reply(request)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with pytest.MonkeyPatch.context() as patch, in_the_place_of_providers(patch) as fake:
        patch.setattr(plan, "QUESTIONS_A_BATCH", 1)  # a conversation a batch, as with all of their questions
        fake.always(answering)
        yield fake


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cut_file(tmp_path_factory.mktemp("data") / "locomo10.json", 2, 3, QUESTIONS)


@dataclass(frozen=True)
class Undisturbed:
    """A run with nobody to disturb it, its conversations side by side, and what it has sent."""

    folder: Path
    sent: list[Request]

    def of(self, kind: str) -> list[Request]:
        return [request for request in chats(self.sent) if kind_of(request) == kind]


def chats(requests: Sequence[Request]) -> list[Request]:
    return [request for request in requests if "messages" in request.body]


def in_threads(stage: Stage, works: Sequence[Work]) -> list[Artefact]:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda work: perform(stage, work), works))


@pytest.fixture(scope="module")
def undisturbed(server: FakeServer, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """The first call of each conversation waits for that of the other: if they came one after the other, none would."""
    folder = tmp_path_factory.mktemp("undisturbed")
    together = threading.Barrier(2)
    begun: set[str] = set()

    def meeting(request: Request) -> Answer:
        building = "messages" in request.body and kind_of(request) == "concept_facts"
        if building and (name := speakers(request)) not in begun:
            begun.add(name)
            together.wait(timeout=60)
        return answering(request)

    server.always(meeting)
    before = len(server.requests)
    out, run = start(make_study(dict(STUDY)), data, folder / "store", folder / "run")
    with closed_models():
        ended = carry_out(out, run, in_threads, retry_failed=False)
    server.always(answering)
    assert (ended.status, ended.reason) == ("complete", "")
    return Undisturbed(out, server.requests[before:])


def sections(request: Request) -> dict[str, list[str]]:
    """The lines of a prompt of construction, by heading."""
    parts = (part.split("\n") for part in request.user.split("\n\n"))
    return {part[0].removesuffix(":"): [line for line in part[1:] if line != "(none)"] for part in parts}


def ids(lines: Sequence[str]) -> list[str]:
    return [line.partition("]")[0].removeprefix("[") for line in lines]


def speakers(request: Request) -> str:
    """The people of the conversation that a prompt of construction is about."""
    new = sections(request)["New episodes"]
    return " ".join(sorted({re.sub(r"^\[[^\]]+\] \[[^\]]+\] ", "", line).partition(":")[0] for line in new}))


def turns_of(data: Path) -> dict[str, list[str]]:
    """The lines of all turns as episodes show them, by the speakers of their conversation, read from the file."""
    found: dict[str, list[str]] = {}
    for row in json.loads(data.read_text(encoding="utf-8")):
        said = row["conversation"]
        keys = sorted(
            (key for key in said if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:])
        )
        found[" ".join(sorted((said["speaker_a"], said["speaker_b"])))] = [
            f"[{said[f'{key}_date_time']}] {turn['speaker']}: {turn['text']}"
            for key in keys
            for turn in said[key]
        ]
    return found


def chunks_of(turns: Sequence[str]) -> int:
    """How many chunks of 500 words the facts file makes of turns; the speaker counts twice (4.0)."""
    chunks, filled = 1, 0
    for turn in turns:
        size = len(turn.split()) + len(re.sub(r"^\[[^\]]+\] ", "", turn).partition(":")[0].split())
        if filled and filled + size > _CHUNK:
            chunks, filled = chunks + 1, 0
        filled += size
    return chunks


# Which calls


def test_building_takes_one_call_a_chunk_and_one_more_where_it_yields_facts_and_no_extraction(
    undisturbed: Undisturbed, data: Path
) -> None:
    chunks = sum(chunks_of(turns) for turns in turns_of(data).values())
    built = undisturbed.of("concept_facts")
    yielding = [one for one in built if json.loads(reply(one).text or "")["facts"]]
    assert len(built) == chunks
    assert len(undisturbed.of("reflections")) == len(yielding)
    assert not undisturbed.of("extract")
    assert not undisturbed.of("query")
    assert len({request.user for request in built}) == chunks, "arms that are built alike are built once"


def test_each_question_is_answered_once_an_arm_and_each_answer_judged_once(undisturbed: Undisturbed) -> None:
    assert len(undisturbed.of("answer")) == len({one.user for one in undisturbed.of("answer")})
    assert 2 * QUESTIONS < len(undisturbed.of("answer")) <= 2 * QUESTIONS * len(ARMS)
    assert len(undisturbed.of("key_facts")) == len({one.user for one in undisturbed.of("key_facts")})


def test_the_chunks_of_a_conversation_come_in_order_while_another_is_under_way(
    undisturbed: Undisturbed, data: Path
) -> None:
    by_people: dict[str, list[str]] = {}
    for request in undisturbed.of("concept_facts"):
        lines = [line.partition("] ")[2] for line in sections(request)["New episodes"]]
        by_people.setdefault(speakers(request), []).extend(lines)
    assert by_people == {
        people: [" ".join(turn.split()) for turn in turns] for people, turns in turns_of(data).items()
    }


def test_each_prompt_shows_what_the_chunks_before_it_have_stored_and_nothing_else(
    undisturbed: Undisturbed,
) -> None:
    stored: dict[str, tuple[set[str], set[str]]] = {}
    for request in undisturbed.of("concept_facts"):
        episodes, facts = stored.setdefault(speakers(request), (set(), set()))
        shown = sections(request)
        older = ids(shown["Related older episodes"])
        known = [line.partition("] ")[2] for line in shown["Known facts"]]
        assert set(older) <= episodes
        assert set(known) <= facts
        assert bool(older) == bool(episodes)
        episodes.update(ids(shown["New episodes"]))
        facts.update(
            " ".join(fact["fact_text"].split()) for fact in json.loads(reply(request).text or "")["facts"]
        )
    assert any(sections(request)["Known facts"] for request in undisturbed.of("concept_facts"))


def test_replies_may_be_as_long_as_published(server: FakeServer, tmp_path: Path) -> None:
    before, data = len(server.requests), cut_file(tmp_path / "locomo10.json", 1, 2, 4)
    run_in_loop(tmp_path, **STUDY | {"conditions": ARMS[1:2], "repair": True, "noise_runs": 1}, data=data)
    caps = {(kind_of(one), one.body["max_tokens"]) for one in chats(server.requests[before:])}
    assert caps == {
        ("concept_facts", 8000),
        ("reflections", 4000),
        ("answer", 512),
        ("key_facts", 400),
        ("graft_diagnose", 256),
        ("graft_probe", 2048),
        ("graft_plan", 4096),
        ("graft_verify", 2048),
    }


# Killed and continued


def test_a_second_run_buys_nothing_and_says_the_same(
    server: FakeServer, undisturbed: Undisturbed, data: Path
) -> None:
    before = server.count()
    again = run_in_loop(undisturbed.folder.parent, **STUDY, data=data)
    assert server.count() == before
    assert again.made_stages == []
    elsewhere = Path(again.folder).with_name("elsewhere")
    out, run = start(make_study(dict(STUDY)), data, undisturbed.folder.parent / "store", elsewhere)
    with closed_models():
        carry_out(out, run, in_threads, retry_failed=False)
    assert server.count() == before
    assert not {name for name in differing(elsewhere, undisturbed.folder) if name != "calls.parquet"}


def test_a_budget_that_ends_in_the_middle_of_a_conversation_and_more_of_it_cost_no_call_twice(
    server: FakeServer, undisturbed: Undisturbed, data: Path, tmp_path: Path
) -> None:
    before = len(server.requests)
    short = Budget(stages={"merge": Cap(calls=7)})
    first = run_in_loop(tmp_path, **STUDY, data=data, budget=short)
    assert first.run.status == "budget_exhausted"
    built = [kind_of(one) for one in chats(server.requests[before:])].count("concept_facts")
    assert 0 < built < len(undisturbed.of("concept_facts"))
    metrics = first.table("metrics").groupby("condition")["status"].agg(set)
    assert metrics["rag"] == {"answered"}
    assert metrics["gaama"] == {"failed"}
    finished = run_in_loop(tmp_path, **STUDY, data=data)
    assert finished.run.status == "complete"
    assert bought(server.requests[before:]) == bought(undisturbed.sent)
    assert differing(finished.folder, undisturbed.folder) == []


def bought(requests: Sequence[Request]) -> Counter[str]:
    return Counter(call for request in requests for call in calls_of(request))


def toml(folder: Path) -> Path:
    """The study as a file."""
    lines = [
        f"{name} = {json.dumps(value)}"
        for name, value in STUDY.items()
        if name not in ("models", "conditions")
    ]
    lines += ["[models]", *(f"{role} = {json.dumps(name)}" for role, name in MODELS.items())]
    for arm in ARMS:
        lines += ["[[conditions]]", *(f"{name} = {_inline(value)}" for name, value in arm.items())]
    path = folder / "study.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _inline(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {json.dumps(held)}" for name, held in value.items()) + " }"
    return json.dumps(value)


def test_a_process_that_is_killed_between_two_chunks_goes_on_there(
    server: FakeServer, undisturbed: Undisturbed, data: Path, tmp_path: Path
) -> None:
    words = ["run", "association", "--study", str(toml(tmp_path)), "--data", str(data)]
    before, half = len(server.requests), len(undisturbed.of("concept_facts")) // 2
    victims: list[int] = []

    def kill(request: Request) -> None:
        built = [kind_of(one) for one in chats(server.requests[before:])].count("concept_facts")
        if victims and built >= half:
            os.kill(victims.pop(), signal.SIGKILL)

    with prefect_server(tmp_path / "prefect") as api, shell(tmp_path / "killed", server, api) as user:
        process = user.start(*words)
        victims.append(process.pid)
        server.on_answered = kill
        assert process.wait(timeout=300) == -signal.SIGKILL, user.error
        server.on_answered = lambda request: None
        assert user.run(*words) == 0, user.error
    calls = bought(server.requests[before:])
    assert set(calls) == set(bought(undisturbed.sent))
    assert calls.total() - len(calls) <= UNSETTLED
    built_twice = [call for call, times in calls.items() if times > 1 and "chat" in call]
    assert len(built_twice) <= 1, "a conversation has one chunk under way"
    assert differing(run_folder(tmp_path / "killed"), undisturbed.folder) == []
