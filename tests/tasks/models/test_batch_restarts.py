"""Waiting for batches, and being killed meanwhile: nothing is sent twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import BadInput, CallRefused
from memory.models import Reply
from tasks.models.batch_records import Submissions
from tasks.models.gateway import Gateway, Limits
from tasks.models.ledger import Ledger
from tasks.models.openai_batches import OpenAIBatches
from tasks.models.prices import list_prices
from tasks.models.retries import Patience
from tasks.models.store import Store
from tests.tasks.models import fakes
from tests.tasks.models.batching import Asker, AskerOf, Killed, dying
from tests.tasks.models.fakes import FakeServer


def test_a_batch_is_looked_at_ever_more_rarely_and_the_run_says_what_it_waits_for(
    server: FakeServer, batching: AskerOf, waits: list[float]
) -> None:
    server.batches.then("validating", *["in_progress"] * 8, "finalizing", "completed")
    first = batching()
    first.buy(range(3))
    assert waits[:3] == [5.0, 7.5, 11.25]
    assert waits == sorted(waits)
    assert waits[-2:] == [60.0, 60.0]
    assert "openai batch batch_0 is in_progress: 0 of 3 calls" in first.told
    assert first.told[-1] == ""


def test_who_is_killed_while_waiting_finds_the_batch_again_and_sends_nothing_twice(
    server: FakeServer, batching: AskerOf
) -> None:
    server.batches.then("validating", "in_progress", "in_progress", "completed")
    with pytest.raises(Killed):
        dying(batching()).buy(range(4))
    with pytest.raises(Killed):
        dying(batching()).buy(range(4))
    last = batching()
    last.buy(range(6))
    assert [len(made.lines) for made in server.batches.created] == [4, 2]
    assert last.outcomes() == {"paid": 6}
    assert server.batches.billed == 6


def test_a_batch_that_was_made_just_before_the_kill_is_found_at_the_provider(
    server: FakeServer, batching: AskerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, write = batching(), Submissions.write
    with monkeypatch.context() as patched:

        def write_only_before(records: Submissions, submission: Any) -> None:
            if submission.batch:
                raise Killed
            write(records, submission)

        patched.setattr(Submissions, "write", write_only_before)
        with pytest.raises(Killed):
            first.buy(range(4))
    assert len(server.batches.created) == 1
    last = batching()
    last.buy(range(4))
    assert len(server.batches.created) == 1
    assert last.outcomes() == {"paid": 4}


def test_who_is_killed_before_the_batch_is_made_sends_it_anew(
    server: FakeServer, batching: AskerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> str:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(OpenAIBatches, "create", killed)
        with pytest.raises(Killed):
            batching().buy(range(4))
    last = batching()
    last.buy(range(4))
    assert len(server.batches.created) == 1
    assert last.outcomes() == {"paid": 4}


def test_a_batch_whose_creation_was_not_confirmed_is_not_made_again(
    server: FakeServer, batching: AskerOf
) -> None:
    server.batches.lost_replies = 1
    first = batching()
    first.buy(range(4))
    assert len(server.batches.created) == 1
    assert first.outcomes() == {"paid": 4}


def test_who_is_killed_between_store_and_ledger_enters_each_call_once(
    server: FakeServer, batching: AskerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = batching()

    def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(first.gateway, "enter", killed)
    with pytest.raises(Killed):
        first.buy(range(4))
    second = batching()
    assert second.missing(range(4)) == {}
    second.buy(range(4))
    assert len(server.batches.created) == 1
    assert second.outcomes() == {"paid": 4}
    assert second.gateway.ledger.in_batches() == {}


def test_two_processes_that_want_the_same_calls_send_them_once(server: FakeServer, batching: AskerOf) -> None:
    askers = [batching() for _ in range(2)]
    threads = [threading.Thread(target=one.buy, args=(range(20),)) for one in askers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert sorted(server.batches.sent()) == sorted(set(server.batches.sent()))
    assert askers[0].outcomes() == {"paid": 20}
    assert all(one.missing(range(20)) == {} for one in askers)


def test_a_batch_of_another_run_on_the_same_store_is_waited_for_and_entered_there(
    server: FakeServer, batching: AskerOf, open_gateway: Callable[..., Gateway], waits: list[float]
) -> None:
    with pytest.raises(Killed):
        dying(batching()).buy(range(4))
    other = Asker(server, open_gateway("other"), waits)
    other.buy(range(2, 6))
    assert [len(made.lines) for made in server.batches.created] == [4, 2]
    assert other.outcomes() == {"paid": 4}
    assert other.gateway.ledger.totals("other").paid == 2


def test_a_provider_that_is_gone_while_a_batch_is_under_way_stops_the_run_which_names_batch_and_record(
    server: FakeServer, batching: AskerOf
) -> None:
    first = dying(batching())
    with pytest.raises(Killed):
        first.buy(range(2))
    (record,) = Submissions(first.gateway.store.folder).all()
    server.then(fakes.status(404), fakes.status(404))
    with pytest.raises(CallRefused, match=f"batch batch_0: .*404.*{record.key}.json to give it up"):
        batching().buy(range(2))
    server.then(fakes.status(500), fakes.status(429))
    last = batching()
    last.buy(range(2))
    assert last.outcomes() == {"paid": 2}


def test_a_batch_that_is_given_up_counts_as_lost_and_its_calls_are_sent_anew(
    server: FakeServer, batching: AskerOf
) -> None:
    first = dying(batching())
    with pytest.raises(Killed):
        first.buy(range(2))
    records = Submissions(first.gateway.store.folder)
    records.path(records.all()[0]).unlink()
    last = batching()
    last.buy(range(2))
    assert last.outcomes() == {"lost": 2, "paid": 2}
    assert len(server.batches.created) == 2


def test_a_file_that_is_no_record_is_named(batching: AskerOf) -> None:
    first = batching()
    first.buy([1])
    path = first.gateway.store.folder / "batches" / f"{'0' * 32}.json"
    path.write_text('{"key": "../../etc/passwd"}')
    with pytest.raises(BadInput, match=f"{path}: is no record of a batch; delete it"):
        batching().buy([2])


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
