"""Buying in batches, over real HTTP to a fake of OpenAI's files and batches."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import BadInput, BudgetExhausted, CallFailed, CallRefused
from memory.models import ChatRequest, Reply
from tasks.models import batch
from tasks.models.batch import BatchBuyer, Polling
from tasks.models.batch_records import Submissions
from tasks.models.budget import Budget
from tasks.models.chat import GatewayChat, Missing
from tasks.models.gateway import Gateway, Limits, Place
from tasks.models.ledger import Ledger
from tasks.models.openai_batches import OpenAIBatches
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.prices import list_prices
from tasks.models.providers import ChatSettings
from tasks.models.retries import Patience
from tasks.models.store import Store
from tests.tasks.models import fakes
from tests.tasks.models.fakes import FakeServer

KEY = "sk-planted-0123456789"
Opener = Callable[..., Gateway]


class Killed(BaseException):
    """What ends a process in these tests."""


class Asker:
    """A chat model with its requests, and the buyer that may buy them in batches."""

    def __init__(
        self, server: FakeServer, gateway: Gateway, waits: list[float], model: str = "gpt-4o-mini"
    ) -> None:
        provider = OpenAIProvider(KEY, server.openai)
        self.gateway = gateway
        self.chat = GatewayChat(gateway, provider, ChatSettings(model), Place("answer"))
        self.told: list[str] = []
        polling = Polling(sleep=waits.append, clock=lambda: 1000.0)
        self.buyer = BatchBuyer(gateway, OpenAIBatches(provider), polling, self.told.append)

    def missing(self, numbers: Sequence[int], read: Callable[[str], object] = str) -> dict[str, Missing]:
        found = [self.chat.missing(question(number), read) for number in numbers]
        return {missing.call.id: missing for missing in found if missing is not None}

    def buy(self, numbers: Sequence[int], read: Callable[[str], object] = str) -> None:
        self.buyer.buy(lambda: self.missing(numbers, read))

    def ask(self, numbers: Sequence[int], read: Callable[[str], Any] = str) -> list[Reply[Any] | CallFailed]:
        return self.chat.ask_many([question(number) for number in numbers], read)

    def calls(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.gateway.ledger.rows("run").to_pylist()
        return rows

    def outcomes(self) -> Counter[str]:
        return Counter(row["outcome"] for row in self.calls())


def question(number: int) -> ChatRequest:
    return ChatRequest("answer", "Answer.", f"question {number}")


def number_of(request: fakes.Request) -> int:
    return int(request.user.split()[-1])


@pytest.fixture
def asker(server: FakeServer, open_gateway: Opener, waits: list[float]) -> Callable[..., Asker]:
    """Makes an asker on a gateway of its own, as one process after another would."""
    return lambda model="gpt-4o-mini", **limits: Asker(server, open_gateway(**limits), waits, model)


AskerOf = Callable[..., Asker]


# --- one store, two ways to buy --------------------------------------------------------------------------------


def test_what_a_batch_has_bought_is_replayed_live(server: FakeServer, asker: AskerOf) -> None:
    server.always(lambda request: fakes.chat(f"answer {number_of(request)}"))
    asker().buy(range(5))
    replies = asker().ask(range(5))
    assert [reply.value for reply in replies if isinstance(reply, Reply)] == [f"answer {n}" for n in range(5)]
    assert all(reply.replayed for reply in replies if isinstance(reply, Reply))
    assert server.count("/chat/completions") == 0
    assert [len(made.lines) for made in server.batches.created] == [5]


def test_what_was_bought_live_is_in_no_batch(server: FakeServer, asker: AskerOf) -> None:
    asker().ask(range(5))
    asker().buy(range(7))
    assert [len(made.lines) for made in server.batches.created] == [2]
    asker().buy(range(7))
    assert len(server.batches.created) == 1


def test_a_line_asks_exactly_what_a_live_request_asks(server: FakeServer, asker: AskerOf) -> None:
    asker().ask([1])
    live = next(request.body for request in server.requests)
    asker(model="gpt-4o").buy([1])
    line = server.batches.created[0].lines[0]
    assert line["body"] == {**live, "model": "gpt-4o"}
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")


def test_a_call_in_a_batch_costs_half_and_says_so(asker: AskerOf) -> None:
    in_batch, live = asker(), asker()
    in_batch.buy([1])
    live.ask([2])
    bought, asked = in_batch.calls()
    # 60 fresh tokens of the prompt at 0.15, 40 cached at 0.075 and 20 of the reply at 0.60 dollars a million
    assert asked["usd"] == pytest.approx(24e-6)
    assert bought["usd"] == bought["charged_usd"] == pytest.approx(12e-6)
    assert (bought["flags"], asked["flags"]) == ("batch", "")
    assert (bought["outcome"], bought["prompt_tokens"], bought["completion_tokens"]) == ("paid", 100, 20)


def test_a_file_holds_one_model_and_no_more_calls_or_bytes_than_a_file_may(
    server: FakeServer, asker: AskerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_MOST_CALLS", 3)
    small, large = asker(), asker(model="gpt-4o")
    small.buyer.buy(lambda: small.missing(range(4)) | large.missing(range(2)))
    assert [len(made.lines) for made in server.batches.created] == [3, 1, 2]
    assert [{line["body"]["model"] for line in made.lines} for made in server.batches.created] == [
        {"gpt-4o-mini"},
        {"gpt-4o-mini"},
        {"gpt-4o"},
    ]
    monkeypatch.setattr(batch, "_MOST_BYTES", 700)
    asker().buy(range(10, 15))
    assert all(len(made.lines) < 3 for made in server.batches.created[3:])
    assert sum(len(made.lines) for made in server.batches.created[3:]) == 5


def test_the_files_of_a_batch_are_deleted_once_it_is_collected(server: FakeServer, asker: AskerOf) -> None:
    asker().buy(range(3))
    assert server.batches.files == {}
    assert len(server.batches.deleted) == 2


# --- replies of no use, errors, and batches that come to nothing -----------------------------------------------


def test_an_unusable_reply_is_asked_for_again_in_the_next_batch(server: FakeServer, asker: AskerOf) -> None:
    seen: Counter[int] = Counter()

    def answer(request: fakes.Request) -> fakes.Answer:
        seen[number_of(request)] += 1
        bad = number_of(request) == 1 and seen[1] == 1
        return fakes.chat("cut", "length") if bad else fakes.chat("7")

    server.always(answer)
    first = asker()
    first.buy(range(3), int)
    assert [len(made.lines) for made in server.batches.created] == [3, 1]
    assert first.outcomes() == {"paid": 3, "unusable": 1}
    assert [reply.attempt for reply in first.ask(range(3), int) if isinstance(reply, Reply)] == [0, 1, 0]


@pytest.mark.parametrize("retry_failed", [False, True])
def test_re_asks_in_batches_are_bounded_and_none_follows_live(
    server: FakeServer, asker: AskerOf, retry_failed: bool
) -> None:
    server.always(fakes.chat("no number"))
    stubborn = asker(reasks=2, retry_failed=retry_failed)
    stubborn.buy([1], int)
    assert [len(made.lines) for made in server.batches.created] == [1, 1, 1]
    (failure,) = stubborn.ask([1], int)
    assert isinstance(failure, CallFailed)
    assert failure.final
    assert server.count("/chat/completions") == 0


def test_a_call_that_is_rejected_is_not_sent_in_another_batch_and_fails_live_with_its_reason(
    server: FakeServer, asker: AskerOf
) -> None:
    server.always(lambda request: fakes.too_long() if number_of(request) == 1 else fakes.chat("fine"))
    first = asker()
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
    server: FakeServer, asker: AskerOf
) -> None:
    server.always(lambda request: fakes.status(500) if number_of(request) == 1 else fakes.chat("fine"))
    first = asker()
    first.buy(range(3))
    assert [len(made.lines) for made in server.batches.created] == [3, 1]
    server.always(fakes.chat("fine"))
    assert all(isinstance(reply, Reply) for reply in first.ask(range(3)))
    assert server.count("/chat/completions") == 1


@pytest.mark.parametrize("end", ["expired", "cancelled"])
def test_what_a_batch_has_answered_before_it_ended_is_kept_and_the_rest_is_sent_once_more(
    server: FakeServer, asker: AskerOf, end: str
) -> None:
    server.batches.then("validating", "in_progress", end)
    server.batches.then(end)
    server.batches.answers_only(2)
    first = asker()
    first.buy(range(6))
    assert [len(made.lines) for made in server.batches.created] == [6, 4]
    assert server.batches.billed == 4
    assert first.outcomes() == {"paid": 4, "failed": 6}
    failed = [row["reason"] for row in first.calls() if row["outcome"] == "failed"]
    assert f"openai batch batch_1: not answered (batch_{end})" in failed
    assert all(isinstance(reply, Reply) for reply in first.ask(range(6)))
    assert server.count("/chat/completions") == 2


def test_a_provider_that_refuses_the_same_batch_twice_stops_the_run(
    server: FakeServer, asker: AskerOf
) -> None:
    server.batches.then("validating", "failed")
    server.batches.then("failed")
    server.batches.error = "billing_hard_limit_reached"
    with pytest.raises(CallRefused, match=r"batch batch_1 \(billing_hard_limit_reached\).*--batch"):
        asker().buy(range(3))
    assert server.batches.billed == 0


def test_a_full_queue_takes_smaller_batches_one_after_the_other(server: FakeServer, asker: AskerOf) -> None:
    server.batches.error = "token_limit_exceeded"
    server.batches.then("failed")
    server.batches.then("failed")
    first = asker()
    first.buy(range(8))
    assert [len(made.lines) for made in server.batches.created] == [8, 4, 2, 2, 2, 2]
    assert first.outcomes() == {"paid": 8}


def test_a_provider_without_batches_stops_the_run_and_holds_nothing(
    server: FakeServer, asker: AskerOf
) -> None:
    server.then(fakes.status(400, error="no batches here"))
    first = asker()
    with pytest.raises(CallRefused, match=r"refuses a batch: HTTP 400.*without --batch"):
        first.buy(range(3))
    assert first.gateway.ledger.in_batches() == {}
    assert Submissions(first.gateway.store.folder).all() == []


# --- waiting, and being killed ---------------------------------------------------------------------------------


def test_a_batch_is_looked_at_ever_more_rarely_and_the_run_says_what_it_waits_for(
    server: FakeServer, asker: AskerOf, waits: list[float]
) -> None:
    server.batches.then("validating", *["in_progress"] * 8, "finalizing", "completed")
    first = asker()
    first.buy(range(3))
    assert waits[:3] == [5.0, 7.5, 11.25]
    assert waits == sorted(waits)
    assert waits[-2:] == [60.0, 60.0]
    assert "openai batch batch_0 is in_progress: 0 of 3 calls" in first.told
    assert first.told[-1] == ""


def dying(asker: Asker, after: int = 0) -> Asker:
    """The asker, whose process ends in one of the waits for a batch."""
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) > after:
            raise Killed

    asker.buyer._polling = Polling(sleep=sleep, clock=lambda: 1000.0)
    return asker


def test_who_is_killed_while_waiting_finds_the_batch_again_and_sends_nothing_twice(
    server: FakeServer, asker: AskerOf
) -> None:
    server.batches.then("validating", "in_progress", "in_progress", "completed")
    with pytest.raises(Killed):
        dying(asker()).buy(range(4))
    with pytest.raises(Killed):
        dying(asker()).buy(range(4))
    last = asker()
    last.buy(range(6))
    assert [len(made.lines) for made in server.batches.created] == [4, 2]
    assert last.outcomes() == {"paid": 6}
    assert server.batches.billed == 6


def test_a_batch_that_was_made_just_before_the_kill_is_found_at_the_provider(
    server: FakeServer, asker: AskerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, write = asker(), Submissions.write
    with monkeypatch.context() as patched:

        def write_only_before(records: Submissions, submission: Any) -> None:
            if submission.batch:
                raise Killed
            write(records, submission)

        patched.setattr(Submissions, "write", write_only_before)
        with pytest.raises(Killed):
            first.buy(range(4))
    assert len(server.batches.created) == 1
    last = asker()
    last.buy(range(4))
    assert len(server.batches.created) == 1
    assert last.outcomes() == {"paid": 4}


def test_who_is_killed_before_the_batch_is_made_sends_it_anew(
    server: FakeServer, asker: AskerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> str:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(OpenAIBatches, "create", killed)
        with pytest.raises(Killed):
            asker().buy(range(4))
    last = asker()
    last.buy(range(4))
    assert len(server.batches.created) == 1
    assert last.outcomes() == {"paid": 4}


def test_a_batch_whose_creation_was_not_confirmed_is_not_made_again(
    server: FakeServer, asker: AskerOf
) -> None:
    server.batches.lost_replies = 1
    first = asker()
    first.buy(range(4))
    assert len(server.batches.created) == 1
    assert first.outcomes() == {"paid": 4}


def test_who_is_killed_between_store_and_ledger_enters_each_call_once(
    server: FakeServer, asker: AskerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asker()

    def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(first.gateway, "enter", killed)
    with pytest.raises(Killed):
        first.buy(range(4))
    second = asker()
    assert second.missing(range(4)) == {}
    second.buy(range(4))
    assert len(server.batches.created) == 1
    assert second.outcomes() == {"paid": 4}
    assert second.gateway.ledger.in_batches() == {}


def test_two_processes_that_want_the_same_calls_send_them_once(server: FakeServer, asker: AskerOf) -> None:
    askers = [asker() for _ in range(2)]
    threads = [threading.Thread(target=one.buy, args=(range(20),)) for one in askers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(server.batches.sent()) == sorted(set(server.batches.sent()))
    assert askers[0].outcomes() == {"paid": 20}
    assert all(one.missing(range(20)) == {} for one in askers)


def test_a_batch_of_another_run_on_the_same_store_is_waited_for_and_entered_there(
    server: FakeServer, asker: AskerOf, open_gateway: Opener, waits: list[float]
) -> None:
    with pytest.raises(Killed):
        dying(asker()).buy(range(4))
    other = Asker(server, open_gateway("other"), waits)
    other.buy(range(2, 6))
    assert [len(made.lines) for made in server.batches.created] == [4, 2]
    assert other.outcomes() == {"paid": 4}
    assert other.gateway.ledger.totals("other").paid == 2


def test_a_provider_that_is_gone_while_a_batch_is_under_way_stops_the_run_which_names_batch_and_record(
    server: FakeServer, asker: AskerOf
) -> None:
    first = dying(asker())
    with pytest.raises(Killed):
        first.buy(range(2))
    (record,) = Submissions(first.gateway.store.folder).all()
    server.then(fakes.status(404), fakes.status(404))
    with pytest.raises(CallRefused, match=f"batch batch_0: .*404.*{record.key}.json to give it up"):
        asker().buy(range(2))
    server.then(fakes.status(500), fakes.status(429))
    last = asker()
    last.buy(range(2))
    assert last.outcomes() == {"paid": 2}


def test_a_batch_that_is_given_up_counts_as_lost_and_its_calls_are_sent_anew(
    server: FakeServer, asker: AskerOf
) -> None:
    first = dying(asker())
    with pytest.raises(Killed):
        first.buy(range(2))
    records = Submissions(first.gateway.store.folder)
    records.path(records.all()[0]).unlink()
    last = asker()
    last.buy(range(2))
    assert last.outcomes() == {"lost": 2, "paid": 2}
    assert len(server.batches.created) == 2


def test_a_file_that_is_no_record_is_named(asker: AskerOf) -> None:
    first = asker()
    first.buy([1])
    path = first.gateway.store.folder / "batches" / f"{'0' * 32}.json"
    path.write_text('{"key": "../../etc/passwd"}')
    with pytest.raises(BadInput, match=f"{path}: is no record of a batch; delete it"):
        asker().buy([2])


# --- hostile results -------------------------------------------------------------------------------------------


def test_lines_that_nobody_asked_for_are_ignored_and_the_first_answer_to_a_call_counts(
    server: FakeServer, asker: AskerOf, caplog: pytest.LogCaptureFixture
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
    first = asker()
    first.buy(range(3))
    assert {reply.value for reply in first.ask(range(3)) if isinstance(reply, Reply)} == {"first"}
    assert first.gateway.store.reply("f" * 64) is None
    assert first.outcomes() == {"paid": 3}
    assert "4 lines are ignored: unreadable" in caplog.text
    assert "1 lines are ignored: to calls that were never asked" in caplog.text
    assert "1 lines are ignored: to calls that were answered already" in caplog.text


def test_a_call_that_a_completed_batch_does_not_answer_counts_as_lost_and_is_sent_once_more(
    server: FakeServer, asker: AskerOf
) -> None:
    server.batches.mangle = lambda output: b"\n".join(output.splitlines()[1:])
    first = asker()
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
def test_an_answer_of_a_wrong_shape_is_none(server: FakeServer, asker: AskerOf, response: object) -> None:
    def mangle(output: bytes) -> bytes:
        line = {**json.loads(output.splitlines()[0]), "response": response, "error": {"code": ["?"]}}
        return json.dumps(line).encode()

    server.batches.mangle = mangle
    first = asker()
    first.buy([1])
    assert len(server.batches.created) == 2
    assert "paid" not in first.outcomes()


def test_a_key_that_the_provider_echoes_reaches_neither_store_nor_ledger_nor_messages(
    server: FakeServer, asker: AskerOf, tmp_path: Path
) -> None:
    server.always(
        lambda request: (
            fakes.status(401, error=f"bad key {KEY}", code=KEY)
            if number_of(request) == 1
            else fakes.chat(f"your key is {KEY}", model=KEY)
        )
    )
    first = asker()
    first.buy(range(3))
    first.gateway.close()
    kept = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert KEY.encode() not in kept
    assert not any(KEY in text for text in first.told)


@pytest.mark.parametrize("name", [KEY, "../files", "", None, "a b"])
def test_what_is_named_by_a_key_or_a_path_has_no_name(
    server: FakeServer, asker: AskerOf, name: object
) -> None:
    server.then(*[fakes.Answer(raw=json.dumps({"id": name}).encode())] * 3)
    with pytest.raises(CallRefused, match="was not submitted: the reply has no id"):
        asker().buy([1])
    assert server.batches.created == []


# --- budgets ---------------------------------------------------------------------------------------------------


def test_as_many_calls_are_sent_as_the_budget_covers_and_the_rest_is_refused_live(
    server: FakeServer, asker: AskerOf
) -> None:
    first = asker(budget=Budget(calls=5))
    first.buy(range(8))
    assert sum(len(made.lines) for made in server.batches.created) == 5
    replies = first.ask(range(8))
    assert sum(isinstance(reply, Reply) for reply in replies) == 5
    assert sum(isinstance(reply, BudgetExhausted) for reply in replies) == 3
    more = asker(budget=Budget(calls=8))
    more.buy(range(8))
    assert sum(len(made.lines) for made in server.batches.created) == 8


def test_the_worst_case_of_a_batch_is_held_at_half_the_price_until_it_is_collected(
    server: FakeServer, asker: AskerOf
) -> None:
    worst = [m.worst.charged_usd or 0.0 for m in asker().missing(range(4)).values()]
    budget = Budget(usd=sum(worst[:2]) * 1.01)  # two at the full price, four in a batch
    first = dying(asker(budget=budget))
    with pytest.raises(Killed):
        first.buy(range(4))
    assert [len(made.lines) for made in server.batches.created] == [4]
    (held,) = first.gateway.ledger.in_batches().values()
    assert sum(row.charged_usd or 0.0 for row in held) == pytest.approx(sum(worst) / 2)
    first.gateway.close()
    live = asker(budget=budget)
    (refused,) = live.ask([9])  # it is not waited for, though it would settle for less
    assert isinstance(refused, BudgetExhausted)
    last = asker(budget=budget)
    last.buy(range(4))
    assert last.gateway.ledger.in_batches() == {}
    assert last.gateway.ledger.spent("run").usd == pytest.approx(4 * 12e-6)
    assert all(isinstance(reply, Reply) for reply in last.ask([9]))


# --- whatever happens ------------------------------------------------------------------------------------------

ENDS = st.tuples(
    st.sampled_from(["completed", "expired", "cancelled"]), st.one_of(st.none(), st.integers(0, 6))
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ends=st.lists(ENDS, max_size=5), dies=st.lists(st.booleans(), max_size=4))
def test_however_batches_end_and_whoever_dies_no_call_is_billed_twice_and_all_are_answered(
    tmp_path_factory: pytest.TempPathFactory, ends: list[tuple[str, int | None]], dies: list[bool]
) -> None:
    folder = tmp_path_factory.mktemp("store")
    patience = Patience(sleep=lambda seconds: None)
    with FakeServer() as server:
        for end, _ in ends:
            server.batches.then("in_progress", end)
        answered = iter([number for _, number in ends])

        def open_one() -> Asker:
            server.batches.answers_only(next(answered, None))
            gateway = Gateway(
                Store(folder), Ledger(folder), "run", Limits(chat=patience, prices=list_prices())
            )
            return Asker(server, gateway, [])

        for die in [*dies, False]:
            one = open_one()
            try:
                (dying(one) if die else one).buy(range(6))
            except Killed:
                pass
            finally:
                one.gateway.close()
        last = open_one()
        assert all(isinstance(reply, Reply) for reply in last.ask(range(6)))
        assert server.batches.billed + server.count("/chat/completions") == 6
        assert last.gateway.ledger.totals("run").paid == 6
        last.gateway.close()
