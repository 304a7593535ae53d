"""Hostile results of batches, and budgets that hold until batches are collected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory.errors import BudgetExhausted, CallRefused
from memory.models import Reply
from tasks.models.budget import Budget
from tests.tasks.models import fakes
from tests.tasks.models.batching import KEY, AskerOf, Killed, dying, number_of
from tests.tasks.models.fakes import FakeServer


def test_lines_that_nobody_asked_for_are_ignored_and_the_first_answer_to_a_call_counts(
    server: FakeServer, batching: AskerOf, caplog: pytest.LogCaptureFixture
) -> None:
    def mangle(output: bytes) -> bytes:
        lines = [json.loads(line) for line in output.splitlines()]
        stranger = {**lines[0], "custom_id": "f" * 64}
        again = json.loads(json.dumps(lines[0]))
        again["response"]["body"]["choices"][0]["message"]["content"] = "second"
        strange = [b"", b"not json", b"[1]", b'{"custom_id": 7}', b"[" * 100_000]
        return b"\n".join([*(json.dumps(line).encode() for line in [*lines, stranger, again]), *strange])

    server.always(fakes.chat("first"))
    server.batches.mangle = mangle
    first = batching()
    first.buy(range(3))
    assert {reply.value for reply in first.ask(range(3)) if isinstance(reply, Reply)} == {"first"}
    assert first.gateway.store.reply("f" * 64) is None
    assert first.outcomes() == {"paid": 3}
    assert "4 lines are ignored: unreadable" in caplog.text
    assert "1 lines are ignored: to calls that were never asked" in caplog.text
    assert "1 lines are ignored: to calls that were answered already" in caplog.text


def test_a_call_that_a_completed_batch_does_not_answer_counts_as_lost_and_is_sent_once_more(
    server: FakeServer, batching: AskerOf
) -> None:
    server.batches.mangle = lambda output: b"\n".join(output.splitlines()[1:])
    first = batching()
    first.buy(range(3))
    assert [len(made.lines) for made in server.batches.created] == [3, 1]
    assert first.outcomes() == {"paid": 2, "lost": 2}
    lost = [row for row in first.calls() if row["outcome"] == "lost"]
    assert lost[0]["reason"] == "openai batch batch_0 is completed without a result"
    assert lost[0]["charged_usd"] > 0


@pytest.mark.parametrize(
    "response",
    [
        None,
        [],
        {"status_code": 200},
        {"status_code": 200, "body": {"choices": []}},
        {"status_code": True, "body": {}},
        {"status_code": "200", "body": {"choices": [{"message": {"content": "x"}}]}},
    ],
)
def test_an_answer_of_a_wrong_shape_is_none(server: FakeServer, batching: AskerOf, response: object) -> None:
    def mangle(output: bytes) -> bytes:
        line = {**json.loads(output.splitlines()[0]), "response": response, "error": {"code": ["?"]}}
        return json.dumps(line).encode()

    server.batches.mangle = mangle
    first = batching()
    first.buy([1])
    assert len(server.batches.created) == 2
    assert "paid" not in first.outcomes()


def test_a_key_that_the_provider_echoes_reaches_neither_store_nor_ledger_nor_messages(
    server: FakeServer, batching: AskerOf, tmp_path: Path
) -> None:
    server.always(
        lambda request: (
            fakes.status(401, error=f"bad key {KEY}", code=KEY)
            if number_of(request) == 1
            else fakes.chat(f"your key is {KEY}", model=KEY)
        )
    )
    first = batching()
    first.buy(range(3))
    first.gateway.close()
    kept = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert KEY.encode() not in kept
    assert not any(KEY in text for text in first.told)


@pytest.mark.parametrize("name", [KEY, "../files", "", None, "a b"])
def test_what_is_named_by_a_key_or_a_path_has_no_name(
    server: FakeServer, batching: AskerOf, name: object
) -> None:
    server.then(*[fakes.Answer(raw=json.dumps({"id": name}).encode())] * 3)
    with pytest.raises(CallRefused, match="was not submitted: the reply has no id"):
        batching().buy([1])
    assert server.batches.created == []


def test_as_many_calls_are_sent_as_the_budget_covers_and_the_rest_is_refused_live(
    server: FakeServer, batching: AskerOf
) -> None:
    first = batching(budget=Budget(calls=5))
    first.buy(range(8))
    assert sum(len(made.lines) for made in server.batches.created) == 5
    replies = first.ask(range(8))
    assert sum(isinstance(reply, Reply) for reply in replies) == 5
    assert sum(isinstance(reply, BudgetExhausted) for reply in replies) == 3
    more = batching(budget=Budget(calls=8))
    more.buy(range(8))
    assert sum(len(made.lines) for made in server.batches.created) == 8


def test_the_worst_case_of_a_batch_is_held_at_half_the_price_until_it_is_collected(
    server: FakeServer, batching: AskerOf
) -> None:
    worst = [m.worst.charged_usd or 0.0 for m in batching().missing(range(4)).values()]
    budget = Budget(usd=sum(worst[:2]) * 1.01)  # two at the full price, four in a batch
    first = dying(batching(budget=budget))
    with pytest.raises(Killed):
        first.buy(range(4))
    assert [len(made.lines) for made in server.batches.created] == [4]
    (held,) = first.gateway.ledger.in_batches().values()
    assert sum(row.charged_usd or 0.0 for row in held) == pytest.approx(sum(worst) / 2)
    first.gateway.close()
    live = batching(budget=budget)
    (refused,) = live.ask([9])  # it is not waited for, though it would settle for less
    assert isinstance(refused, BudgetExhausted)
    last = batching(budget=budget)
    last.buy(range(4))
    assert last.gateway.ledger.in_batches() == {}
    assert last.gateway.ledger.spent("run").usd == pytest.approx(4 * 12e-6)
    assert all(isinstance(reply, Reply) for reply in last.ask([9]))
