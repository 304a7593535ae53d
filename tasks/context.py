"""What the works of one process share: the gateway of a run, its models, and memories that ask through them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyarrow as pa

from memory.errors import CallFailed
from memory.models import ChatModel, ChatRequest, Embedded, Embedder, Reply
from memory.prompts import query_entities
from memory.protocol import MemorySystem, Models
from memory.systems import find
from tasks.collecting import noting
from tasks.models import shared_ledger
from tasks.models.budget import Spent
from tasks.models.bundles import chat_model, embedder, simulated_chat_model, simulated_embedder
from tasks.models.catalogue import STATIC, ModelChoice, embed_settings
from tasks.models.gateway import Gateway, Limits, Place
from tasks.models.ledger import Ledger, Totals
from tasks.models.local_weights import identity
from tasks.models.notes import Kind
from tasks.models.offline import minilm, static
from tasks.models.offline.chat import VERSIONS
from tasks.models.prices import list_prices
from tasks.models.providers import JsonMode
from tasks.models.shared_calls import SharedCalls
from tasks.models.simulated import Simulation
from tasks.models.store import Store
from tasks.models.stored import StoredChat, StoredEmbedder
from tasks.prompts.hashing import request_hash
from tasks.runs import Run, read_run
from tasks.shared import location
from tasks.stage import Work
from tasks.study import Study

Role = Literal["extractor", "query", "answerer", "judge", "embedder"]
T = TypeVar("T")

_lock = threading.Lock()
_gateways: dict[tuple[str, str, bool], Gateway] = {}
_attempts: dict[tuple[str, str, bool], str] = {}
_last = [Totals()]
_users = [0]
_simulations: dict[str, Simulation] = {}


def _gateway(store: str, run: Run, limits: Limits) -> Gateway:
    """The process's one gateway of an attempt of a run; its limits are those of whoever comes first."""
    with _lock:
        key = (store, run.name, limits.retry_failed)
        if not _users[0] and _attempts.get(key) != run.updated and key in _gateways:
            _gateways.pop(key).close()  # a worker of a cluster outlives attempts, and what they may spend
        if key not in _gateways:
            folder = Path(store)
            calls = SharedCalls(location(run.study.shared)) if run.study.shared else None
            _gateways[key] = Gateway(Store(folder, calls), Ledger(folder), run.name, limits)
            _attempts[key] = run.updated
        return _gateways[key]


def _limits(study: Study) -> Limits:
    """How a study asks, and what it may spend."""
    return Limits(
        retry_failed=study.retry_failed,
        repair=study.repair,
        pace=study.pace,
        budget=study.budget,
        prices=list_prices().replaced(study.prices),
    )


def exhausted(run: Run) -> str:
    """Which budget has refused a call of the run, in words; empty if none has."""
    here = (gateway.exhausted for gateway in _gateways_of(run) if gateway.exhausted)
    return next(here, "") or next(iter(_noted(run, "exhausted")), "")


def lost_calls(run: Run) -> int:
    """How many calls the run has not made because they were bought once and lost to damage."""
    return len(set[str]().union(_noted(run, "lost"), *(gateway.lost for gateway in _gateways_of(run))))


def _noted(run: Run, kind: Kind) -> list[str]:
    with _ledger_of(run) as ledger:
        return ledger.noted(run.name, kind)


def clear_notes(run: Run) -> None:
    """Forget what processes have met in earlier attempts of the run."""
    with _ledger_of(run) as ledger:
        ledger.clear_notes(run.name)


@contextmanager
def _ledger_of(run: Run) -> Iterator[Ledger]:
    ledger = Ledger(Path(run.store))
    try:
        yield ledger
    finally:
        ledger.close()


def settle(work: Work) -> None:
    """After a work, in the process that did it: write what is waiting, and tell the run's other processes."""
    with _lock:
        gateways = [gateway for (store, _, _), gateway in _gateways.items() if store == work.store]
    for gateway in gateways:
        gateway.ledger.flush()
        gateway.ledger.note(gateway.run, "exhausted", [gateway.exhausted] if gateway.exhausted else [])
        gateway.ledger.note(gateway.run, "lost", gateway.lost)
        if work.shared is not None and work.shared.run == gateway.run:
            shared_ledger.send(gateway.ledger, work.shared)


def _gateways_of(run: Run) -> list[Gateway]:
    with _lock:
        return [g for (store, name, _), g in _gateways.items() if (store, name) == (run.store, run.name)]


@contextmanager
def closed_models() -> Iterator[None]:
    """Close every gateway of the process at the end of the block, so that nothing is left unwritten.

    Where such blocks overlap, as those of two flows in one process do, the last to end closes.
    """
    with _lock:
        _users[0] += 1
    try:
        yield
    finally:
        with _lock:
            _users[0] -= 1
            gateways = [] if _users[0] else list(_gateways.values())
            for gateway in gateways:
                _last[0] = gateway.ledger.totals(now=True)
                gateway.close()
            if not _users[0]:
                _gateways.clear()


@contextmanager
def simulated(folder: Path, simulation: Simulation) -> Iterator[None]:
    """Let the works of a run folder open models that are not asked, until the end of the block."""
    _simulations[str(folder)] = simulation
    try:
        yield
    finally:
        del _simulations[str(folder)]


def declared(choice: ModelChoice, *roles: Role) -> dict[str, dict[str, str]]:
    """Which models a work may ask, as part of its parameters and so of its fingerprint.

    `is` adds to the name what else decides a reply: an offline or local model's version or weights, the JSON mode, or
    an embedder's dimensions and where its inputs are cut; `reply_cap` is there where there is one.
    """
    found: dict[str, dict[str, str]] = {}
    for role in roles:
        name: str = getattr(choice, role)
        alias, _, model = name.partition(":")
        what: str = choice.json_mode if role != "embedder" else ""
        settings = embed_settings(alias, model) if role == "embedder" else None
        if settings is not None:
            what = f"{settings.dimensions}-{settings.max_tokens}"
        if alias == "offline":
            table = static.IDENTITY if model == STATIC else f"{minilm.WEIGHTS}-{minilm.VOCABULARY}"
            what = VERSIONS.get(model) or table
        if alias == "local":
            what = f"{what}-{identity(model)}"
        found[role] = {"name": name, "is": what}
        cap = choice.cap_of(role)
        if cap is not None and alias != "offline":
            found[role]["reply_cap"] = str(cap)
    return found


class Undeclared:
    """Stands where a work has declared no model: asking it would make the work's fingerprint a lie."""

    def __init__(self, name: str = "none", dimensions: int = 0) -> None:
        self.name = name
        self.dimensions = dimensions

    def ask(self, request: ChatRequest, read: Callable[[str], T]) -> Reply[T]:
        """Refuse.

        Raises:
            LookupError: Always.
        """
        raise LookupError(f"task {request.task}: this stage has not declared the model that it asks")

    def ask_many(
        self, requests: Sequence[ChatRequest], read: Callable[[str], T]
    ) -> list[Reply[T] | CallFailed]:
        """Refuse, as `ask` does."""
        return [self.ask(request, read) for request in requests]

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Refuse.

        Raises:
            LookupError: Always.
        """
        raise LookupError(f"{len(texts)} texts: this stage has not declared the embedder that it asks")


def open_chat(work: Work, role: Role, repeat: int = 0) -> ChatModel:
    """The chat model that the work declares for a role, or one that refuses; see `declared`."""
    model = work.params["models"].get(role)
    if model is None:
        return Undeclared()
    json_mode, cap = _form(model)
    name, place, simulation = model["name"], _place(work), _simulations.get(work.run)
    if simulation is not None:
        return simulated_chat_model(
            simulation, name, place, json_mode=json_mode, reply_cap=cap, repeat=repeat
        )
    return noting(
        chat_model(_gateway_of(work), name, place, json_mode=json_mode, reply_cap=cap, repeat=repeat)
    )


def _form(model: Mapping[str, str]) -> tuple[JsonMode, int | None]:
    """How a declared chat model is asked for JSON, and the longest reply that it may give."""
    return (
        "object" if model["is"] == "object" else "schema",
        int(model["reply_cap"]) if "reply_cap" in model else None,
    )


def open_embedder(work: Work) -> Embedder:
    """The embedder that the work declares, or one that refuses."""
    model = work.params["models"].get("embedder")
    if model is None:
        return Undeclared()
    if work.run in _simulations:
        return simulated_embedder(_simulations[work.run], model["name"], _place(work))
    return embedder(_gateway_of(work), model["name"], _place(work))


def _gateway_of(work: Work) -> Gateway:
    run = read_run(work.folder)
    return _gateway(work.store, run, replace(_limits(run.study), retry_failed=work.retry_failed))


def _place(work: Work) -> Place:
    # Works on a condition's artefacts are named after it, with the batch: `flat-0000`.
    condition = work.params.get("condition", {}).get("name") or work.batch.rpartition("-")[0]
    return Place(work.stage, condition, work.was_damaged)


def open_memory(arm: Mapping[str, Any], work: Work) -> MemorySystem:
    """A new memory of a condition, given as `Condition.arm` gives it."""
    system = find(arm["system"])
    return system(system.Settings(**arm["settings"]), memory_models(work))


def memory_models(work: Work) -> Models:
    """The models that a memory system may use."""
    return Models(
        open_chat(work, "query"),
        open_embedder(work),
        open_chat(work, "extractor", work.params.get("repeat", 0)),
    )


def stored_models(work: Work) -> Models:
    """What was bought of the models that the work declares; they buy nothing."""
    gateway, place, declared = _gateway_of(work), _place(work), work.params["models"]
    json_mode, cap = _form(declared["query"])
    chat = chat_model(gateway, declared["query"]["name"], place, json_mode=json_mode, reply_cap=cap)
    return Models(StoredChat(chat), StoredEmbedder(embedder(gateway, declared["embedder"]["name"], place)))


def query_prompt_hash() -> str:
    """Hash of the prompt that reads a question for its entities."""
    return request_hash(query_entities.request("question"))


def own_prompts_hash(system: type[MemorySystem]) -> str:
    """Hash of the prompts that are a system's own; empty if it has none."""
    return "-".join(request_hash(prompt) for prompt in getattr(system, "prompts", ()))


def totals_now() -> Totals:
    """What this process's calls sum up to so far."""
    with _lock:
        gateways = list(_gateways.values())
    for gateway in gateways:
        return gateway.ledger.totals(now=True)
    return _last[0]


def spent_by(run: Run) -> Callable[[str], Spent]:
    """What a stage of a run, or the run for no name, has spent so far."""

    def spent(stage: str) -> Spent:
        if not Path(run.store).exists():
            return Spent()
        with _ledger_of(run) as ledger:
            return ledger.spent(run.name, stage)

    return spent


def ledger_tables(run: Run) -> dict[str, pa.Table]:
    """What the ledger says of a run: its tables `calls` and `pace`.

    Where machines share the run, `calls` has the rows of all.
    """
    if run.shared is not None:
        with _ledger_of(run) as ledger:
            shared_ledger.gather(ledger, run.shared)
    with _lock:
        for (store, name, _), gateway in _gateways.items():
            if store == run.store and name == run.name:
                return _tables(gateway.ledger, name)
    with _ledger_of(run) as ledger:
        return _tables(ledger, run.name)


def _tables(ledger: Ledger, run: str) -> dict[str, pa.Table]:
    return {"calls": ledger.rows(run), "pace": ledger.pace(run)}
