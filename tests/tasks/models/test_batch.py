"""Buying in batches: one store for both ways to buy, replies of no use, errors, and batches that come to nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from memory.errors import CallFailed, CallRefused
from memory.models import Reply
from tasks.models import batch
from tasks.models.batch_records import Submissions
from tests.tasks.models import fakes
from tests.tasks.models.batching import AskerOf, number_of
from tests.tasks.models.fakes import FakeServer


def test_what_a_batch_has_bought_is_replayed_live(server: FakeServer, batching: AskerOf) -> None:
    server.always(lambda request: fakes.chat(f"answer {number_of(request)}"))
    batching().buy(range(5))
    replies = batching().ask(range(5))
    assert [reply.value for reply in replies if isinstance(reply, Reply)] == [f"answer {n}" for n in range(5)]
    assert all(reply.replayed for reply in replies if isinstance(reply, Reply))
    assert server.count("/chat/completions") == 0
    assert [len(made.lines) for made in server.batches.created] == [5]


def test_what_was_bought_live_is_in_no_batch(server: FakeServer, batching: AskerOf) -> None:
    batching().ask(range(5))
    batching().buy(range(7))
    assert [len(made.lines) for made in server.batches.created] == [2]
    batching().buy(range(7))
    assert len(server.batches.created) == 1


def test_a_line_asks_exactly_what_a_live_request_asks(server: FakeServer, batching: AskerOf) -> None:
    batching().ask([1])
    live = next(request.body for request in server.requests)
    batching(model="gpt-4o").buy([1])
    line = server.batches.created[0].lines[0]
    assert line["body"] == {**live, "model": "gpt-4o"}
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")


def test_a_call_in_a_batch_costs_half_and_says_so(batching: AskerOf) -> None:
    in_batch, live = batching(), batching()
    in_batch.buy([1])
    live.ask([2])
    bought, asked = in_batch.calls()
    # 60 fresh tokens of the prompt at 0.15, 40 cached at 0.075 and 20 of the reply at 0.60 dollars a million
    assert asked["usd"] == pytest.approx(24e-6)
    assert bought["usd"] == bought["charged_usd"] == pytest.approx(12e-6)
    assert (bought["flags"], asked["flags"]) == ("batch", "")
    assert (bought["outcome"], bought["prompt_tokens"], bought["completion_tokens"]) == ("paid", 100, 20)


def test_a_file_holds_one_model_and_no_more_calls_or_bytes_than_a_file_may(
    server: FakeServer, batching: AskerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_MOST_CALLS", 3)
    small, large = batching(), batching(model="gpt-4o")
    small.buyer.buy(lambda: small.missing(range(4)) | large.missing(range(2)))
    assert [len(made.lines) for made in server.batches.created] == [3, 1, 2]
    assert [{line["body"]["model"] for line in made.lines} for made in server.batches.created] == [
        {"gpt-4o-mini"},
        {"gpt-4o-mini"},
        {"gpt-4o"},
    ]
    monkeypatch.setattr(batch, "_MOST_BYTES", 700)
    batching().buy(range(10, 15))
    assert all(len(made.lines) < 3 for made in server.batches.created[3:])
    assert sum(len(made.lines) for made in server.batches.created[3:]) == 5


def test_the_files_of_a_batch_are_deleted_once_it_is_collected(server: FakeServer, batching: AskerOf) -> None:
    batching().buy(range(3))
    assert server.batches.files == {}
    assert len(server.batches.deleted) == 2


def test_an_unusable_reply_is_asked_for_again_in_the_next_batch(
    server: FakeServer, batching: AskerOf
) -> None:
    seen: Counter[int] = Counter()

    def answer(request: fakes.Request) -> fakes.Answer:
        seen[number_of(request)] += 1
        bad = number_of(request) == 1 and seen[1] == 1
        return fakes.chat("cut", "length") if bad else fakes.chat("7")

    server.always(answer)
    first = batching()
    first.buy(range(3), int)
    assert [len(made.lines) for made in server.batches.created] == [3, 1]
    assert first.outcomes() == {"paid": 3, "unusable": 1}
    assert [reply.attempt for reply in first.ask(range(3), int) if isinstance(reply, Reply)] == [0, 1, 0]


@pytest.mark.parametrize("retry_failed", [False, True])
def test_re_asks_in_batches_are_bounded_and_none_follows_live(
    server: FakeServer, batching: AskerOf, retry_failed: bool
) -> None:
    server.always(fakes.chat("no number"))
    stubborn = batching(reasks=2, retry_failed=retry_failed)
    stubborn.buy([1], int)
    assert [len(made.lines) for made in server.batches.created] == [1, 1, 1]
    (failure,) = stubborn.ask([1], int)
    assert isinstance(failure, CallFailed)
    assert failure.final
    assert server.count("/chat/completions") == 0


def test_a_call_that_is_rejected_is_not_sent_in_another_batch_and_fails_live_with_its_reason(
    server: FakeServer, batching: AskerOf
) -> None:
    server.always(lambda request: fakes.too_long() if number_of(request) == 1 else fakes.chat("fine"))
    first = batching()
    first.buy(range(3))
    assert len(server.batches.created) == 1
    assert first.outcomes() == {"paid": 2, "failed": 1}
    failed = next(row for row in first.calls() if row["outcome"] == "failed")
    assert "openai batch batch_0: HTTP 400" in failed["reason"]
    assert failed["charged_usd"] is None
    failure = first.ask(range(3))[1]
    assert isinstance(failure, CallFailed)
    assert "window" in failure.reason


def test_a_call_that_meets_a_fault_is_sent_in_one_more_batch_and_then_left(
    server: FakeServer, batching: AskerOf
) -> None:
    server.always(lambda request: fakes.status(500) if number_of(request) == 1 else fakes.chat("fine"))
    first = batching()
    first.buy(range(3))
    assert [len(made.lines) for made in server.batches.created] == [3, 1]
    server.always(fakes.chat("fine"))
    assert all(isinstance(reply, Reply) for reply in first.ask(range(3)))
    assert server.count("/chat/completions") == 1


@pytest.mark.parametrize("end", ["expired", "cancelled"])
def test_what_a_batch_has_answered_before_it_ended_is_kept_and_the_rest_is_sent_once_more(
    server: FakeServer, batching: AskerOf, end: str
) -> None:
    server.batches.then("validating", "in_progress", end)
    server.batches.then(end)
    server.batches.answers_only(2)
    first = batching()
    first.buy(range(6))
    assert [len(made.lines) for made in server.batches.created] == [6, 4]
    assert server.batches.billed == 4
    assert first.outcomes() == {"paid": 4, "failed": 6}
    failed = [row["reason"] for row in first.calls() if row["outcome"] == "failed"]
    assert f"openai batch batch_1: not answered (batch_{end})" in failed
    assert all(isinstance(reply, Reply) for reply in first.ask(range(6)))
    assert server.count("/chat/completions") == 2


def test_a_provider_that_refuses_the_same_batch_twice_stops_the_run(
    server: FakeServer, batching: AskerOf
) -> None:
    server.batches.then("validating", "failed")
    server.batches.then("failed")
    server.batches.error = "billing_hard_limit_reached"
    with pytest.raises(CallRefused, match=r"batch batch_1 \(billing_hard_limit_reached\).*--batch"):
        batching().buy(range(3))
    assert server.batches.billed == 0


def test_a_full_queue_takes_smaller_batches_one_after_the_other(
    server: FakeServer, batching: AskerOf
) -> None:
    server.batches.error = "token_limit_exceeded"
    server.batches.then("failed")
    server.batches.then("failed")
    first = batching()
    first.buy(range(8))
    assert [len(made.lines) for made in server.batches.created] == [8, 4, 2, 2, 2, 2]
    assert first.outcomes() == {"paid": 8}


def test_a_provider_without_batches_stops_the_run_and_holds_nothing(
    server: FakeServer, batching: AskerOf
) -> None:
    server.then(fakes.status(400, error="no batches here"))
    first = batching()
    with pytest.raises(CallRefused, match=r"refuses a batch: HTTP 400.*without --batch"):
        first.buy(range(3))
    assert first.gateway.ledger.in_batches() == {}
    assert Submissions(first.gateway.store.folder).all() == []
