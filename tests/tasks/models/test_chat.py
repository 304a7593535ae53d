"""Chat through the gateway, over real HTTP to a fake server of each protocol."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from memory.errors import CallFailed, CallRefused
from memory.models import ChatRequest, Reply
from tasks.models.chat import GatewayChat
from tasks.models.gateway import Gateway, Place
from tasks.models.ollama_provider import OllamaProvider
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.pace import Ceilings
from tasks.models.providers import ChatSettings
from tasks.models.retries import Patience
from tests.tasks.models import fakes
from tests.tasks.models.fakes import FakeServer

Opener = Callable[..., Gateway]
Asker = Callable[..., GatewayChat]


class Verdict(BaseModel):
    """A docstring that no model should see."""

    verdict: str


def request(user: str = "What is it?", **more: Any) -> ChatRequest:
    return ChatRequest(task="answer", system="Answer.", user=user, **more)


def outcomes(gateway: Gateway) -> list[str]:
    return gateway.ledger.rows("run").column("outcome").to_pylist()


@pytest.fixture(params=["openai", "ollama"])
def asker(request: pytest.FixtureRequest, server: FakeServer) -> Asker:
    """Makes a chat model of either provider on a gateway."""
    provider = (
        OpenAIProvider("sk-test-key", server.openai)
        if request.param == "openai"
        else OllamaProvider(server.ollama)
    )

    def make(gateway: Gateway, model: str = "gpt-4o-mini", repeat: int = 0, **settings: Any) -> GatewayChat:
        return GatewayChat(gateway, provider, ChatSettings(model, **settings), Place("answer"), repeat)

    return make


def test_a_reply_is_bought_once_and_replayed_in_a_later_process(
    server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    server.always(fakes.chat("It is tea."))
    first = asker(open_gateway()).ask(request(), str.upper)
    gateway = open_gateway()
    second = asker(gateway).ask(request(), str.upper)
    assert (first.value, first.replayed) == ("IT IS TEA.", False)
    assert (second.value, second.replayed) == ("IT IS TEA.", True)
    assert first.call_id == second.call_id
    assert server.count() == 1
    assert outcomes(gateway) == ["paid", "replayed"]
    now, ever = gateway.ledger.totals("run", now=True), gateway.ledger.totals("run")
    assert (now.paid, now.replayed, ever.paid, ever.replayed) == (0, 1, 1, 1)


def test_a_repeat_is_a_new_call(server: FakeServer, asker: Asker, open_gateway: Opener) -> None:
    gateway = open_gateway()
    assert asker(gateway).ask(request(), str).call_id != asker(gateway, repeat=1).ask(request(), str).call_id
    assert server.count() == 2


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (fakes.chat("half an ans", "length"), "finish_reason is length"),
        (fakes.chat("", "length"), "finish_reason is length"),
        (fakes.chat("", "content_filter"), "finish_reason is content_filter"),
        (fakes.chat("  \n"), "the reply is empty"),
        (fakes.chat("unparsable"), "not the wanted word"),
    ],
)
def test_an_unusable_reply_is_kept_and_asked_for_again(
    server: FakeServer, asker: Asker, open_gateway: Opener, bad: fakes.Answer, reason: str
) -> None:
    def read(text: str) -> str:
        if text != "good":
            raise ValueError("not the wanted word")
        return text

    gateway = open_gateway()
    server.then(bad, fakes.chat("good"))
    reply = asker(gateway).ask(request(), read)
    assert (reply.value, reply.attempt) == ("good", 1)
    rows = gateway.ledger.rows("run").to_pylist()
    assert [(row["outcome"], row["reason"], row["attempt"]) for row in rows] == [
        ("unusable", reason, 0),
        ("paid", None, 1),
    ]
    assert all(gateway.store.reply(row["call_id"]) for row in rows)
    again = asker(open_gateway()).ask(request(), read)
    assert (again.value, again.attempt, again.replayed, server.count()) == ("good", 1, True, 2)


def test_a_refusal_is_unusable(server: FakeServer, open_gateway: Opener) -> None:
    gateway = open_gateway(reasks=0)
    server.always(fakes.chat(None, refusal="I cannot help with that."))
    provider = OpenAIProvider("sk-test-key", server.openai)
    with pytest.raises(CallFailed, match="the model refuses"):
        GatewayChat(gateway, provider, ChatSettings("m"), Place("answer")).ask(request(), str)


def test_a_call_that_stays_unusable_fails_for_good_and_costs_nothing_later(
    server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    server.always(fakes.chat("cut", "length"))
    for _ in range(2):
        with pytest.raises(CallFailed, match="3 attempts: finish_reason is length") as failure:
            asker(open_gateway()).ask(request(), str)
        assert failure.value.final
        assert server.count() == 3


def test_retry_failed_goes_on_to_new_attempts(server: FakeServer, asker: Asker, open_gateway: Opener) -> None:
    server.then(*[fakes.chat("cut", "length")] * 4)
    with pytest.raises(CallFailed):
        asker(open_gateway()).ask(request(), str)
    reply = asker(open_gateway(retry_failed=True)).ask(request(), str)
    assert (reply.attempt, server.count()) == (4, 5)
    later = asker(open_gateway()).ask(request(), str)
    assert (later.attempt, later.replayed, server.count()) == (4, True, 5)


def test_retry_failed_is_bounded_too(server: FakeServer, asker: Asker, open_gateway: Opener) -> None:
    server.always(fakes.chat("cut", "length"))
    with pytest.raises(CallFailed):
        asker(open_gateway()).ask(request(), str)
    with pytest.raises(CallFailed, match="6 attempts"):
        asker(open_gateway(retry_failed=True)).ask(request(), str)
    assert server.count() == 6


def test_a_better_reader_makes_use_of_replies_that_were_bought_before(
    server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    server.always(fakes.chat("yes, {}"))
    with pytest.raises(CallFailed):
        asker(open_gateway()).ask(request(), json.loads)
    assert asker(open_gateway()).ask(request(), lambda text: text[:3]).value == "yes"
    assert server.count() == 3


@pytest.mark.parametrize(
    "fault",
    [fakes.status(500), fakes.status(429), fakes.status(503), fakes.garbage(), fakes.truncated()],
    ids=["500", "429", "503", "garbage", "truncated"],
)
def test_a_fault_of_transport_is_tried_again(
    server: FakeServer, asker: Asker, open_gateway: Opener, waits: list[float], fault: fakes.Answer
) -> None:
    gateway = open_gateway()
    server.then(fault, fault, fakes.chat("at last"))
    assert asker(gateway).ask(request(), str).value == "at last"
    assert waits == [0.25, 0.5]
    assert gateway.ledger.totals("run").retries == 2
    unseen = ["lost", "lost"] if fault.status == 200 else []  # may have been billed
    assert outcomes(gateway) == [*unseen, "paid"]


def test_retry_after_is_honoured(
    server: FakeServer, asker: Asker, open_gateway: Opener, waits: list[float]
) -> None:
    server.then(fakes.status(429, {"Retry-After": "0.5"}))
    assert asker(open_gateway()).ask(request(), str)
    assert waits == [0.5]


def test_a_retry_after_beyond_the_deadline_ends_the_call_at_once(
    server: FakeServer, asker: Asker, open_gateway: Opener, waits: list[float]
) -> None:
    gateway = open_gateway()
    server.always(fakes.status(429, {"Retry-After": "3600"}))
    with pytest.raises(CallFailed, match="429") as failure:
        asker(gateway).ask(request(), str)
    assert not failure.value.final
    assert (waits, server.count(), outcomes(gateway)) == ([], 1, ["failed"])


def test_transport_that_stays_down_fails_the_call_but_not_for_good(
    server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    gateway = open_gateway()
    server.then(*[fakes.status(503)] * 4)
    with pytest.raises(CallFailed, match="HTTP 503") as failure:
        asker(gateway).ask(request(), str)
    assert not failure.value.final
    assert asker(gateway).ask(request(), str).attempt == 0
    assert outcomes(gateway) == ["failed", "paid"]


@pytest.mark.parametrize("slow", [fakes.hang(20), fakes.drip(0.05)], ids=["hang", "drip"])
def test_a_call_has_one_deadline_however_the_server_stalls(
    server: FakeServer, asker: Asker, open_gateway: Opener, slow: fakes.Answer
) -> None:
    server.always(slow)
    gateway = open_gateway(chat=Patience(deadline=0.5, retries=8))
    with pytest.raises(CallFailed, match="no reply in time") as failure:
        asker(gateway).ask(request(), str)
    assert not failure.value.final
    assert server.count() == 1


def test_a_rejected_request_fails_its_row_alone(
    server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    def answer(asked: fakes.Request) -> fakes.Answer:
        return fakes.status(400, error="secret story") if asked.user == "bad" else fakes.chat("fine")

    server.always(answer)
    results = asker(open_gateway()).ask_many([request("a"), request("bad"), request("c")], str)
    assert [type(result) for result in results] == [Reply, CallFailed, Reply]
    failure = results[1]
    assert isinstance(failure, CallFailed)
    assert failure.final
    assert "secret story" not in failure.reason
    assert server.count() == 3


@pytest.mark.parametrize("code", [401, 403, 404])
def test_refused_access_stops_the_run(
    server: FakeServer, asker: Asker, open_gateway: Opener, waits: list[float], code: int
) -> None:
    server.always(fakes.status(code))
    chat = asker(open_gateway())
    with pytest.raises(CallRefused, match=str(code)):
        chat.ask(request(), str)
    with pytest.raises(CallRefused, match=str(code)):
        chat.ask_many([request(str(row)) for row in range(50)], str)
    assert (server.count(), waits) == (1, [])


def test_an_empty_account_stops_the_run(server: FakeServer, open_gateway: Opener) -> None:
    server.always(fakes.status(429, code="insufficient_quota"))
    provider = OpenAIProvider("sk-test-key", server.openai)
    with pytest.raises(CallRefused, match="quota"):
        GatewayChat(open_gateway(), provider, ChatSettings("m"), Place("answer")).ask(request(), str)


def test_a_provider_that_is_down_stops_the_run_after_some_calls(
    server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    server.always(fakes.status(500))
    gateway = open_gateway(failures_in_a_row=3, pace=Ceilings(max_concurrency=1), chat=Patience(retries=0))
    with pytest.raises(CallRefused, match="is down: 3 calls in a row"):
        asker(gateway).ask_many([request(str(row)) for row in range(20)], str)
    assert server.count() == 3


def test_a_server_that_was_never_there_stops_the_run_at_once(
    open_gateway: Opener, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for provider in (OpenAIProvider("sk-test-key", "http://127.0.0.1:9/v1"), OllamaProvider("127.0.0.1:9")):
        chat = GatewayChat(open_gateway(), provider, ChatSettings("m"), Place("answer"))
        with pytest.raises(CallRefused, match="nothing answers"):
            chat.ask(request(), str)
    assert waits == []


def test_a_server_that_goes_away_is_a_fault_of_transport(
    server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    chat = asker(open_gateway())
    chat.ask(request("first"), str)
    server.close()
    with pytest.raises(CallFailed, match="connection failed") as failure:
        chat.ask(request("second"), str)
    assert not failure.value.final


def test_many_requests_keep_their_order_and_the_limit_on_concurrency(
    server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    server.always(lambda asked: fakes.chat(f"re: {asked.user}", hang=0.02))
    results = asker(open_gateway()).ask_many([request(str(row)) for row in range(40)], str)
    assert [result.value for result in results if isinstance(result, Reply)] == [
        f"re: {n}" for n in range(40)
    ]
    assert 1 < server.most_at_once <= 4


def test_the_same_call_asked_by_many_threads_is_bought_once(
    server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    gateway = open_gateway()
    chat = asker(gateway)
    results = chat.ask_many([request()] * 12, str)
    others = [threading.Thread(target=chat.ask, args=(request("other"), str)) for _ in range(6)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()
    assert server.count() == 2
    assert sum(isinstance(result, Reply) and not result.replayed for result in results) == 1
    assert gateway.ledger.totals("run").paid == 2


def test_another_model_than_the_one_asked_is_flagged(
    server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    gateway = open_gateway()
    server.then(fakes.chat("a", model="gpt-4o-mini-2024-07-18"), fakes.chat("b", model="llama"))
    for user in "ab":
        asker(gateway).ask(request(user), str)
    rows = gateway.ledger.rows("run").to_pylist()
    assert [(row["model"], row["model_returned"], row["flags"]) for row in rows] == [
        ("gpt-4o-mini", "gpt-4o-mini-2024-07-18", ""),
        ("gpt-4o-mini", "llama", "model_differs"),
    ]


def test_lone_surrogates_and_braces_in_a_turn_do_no_harm(
    server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    assert asker(open_gateway()).ask(request("{x} \ud800 \x00 </s> <|endoftext|>"), str)
    assert server.requests[0].user == "{x} \ufffd \x00 </s> <|endoftext|>"


def test_what_is_sent_is_temperature_zero_and_no_cap_unless_asked(
    server: FakeServer, open_gateway: Opener
) -> None:
    chat = GatewayChat(
        open_gateway(), OpenAIProvider("sk-test-key", server.openai), ChatSettings("m"), Place("answer")
    )
    chat.ask(request(), str)
    chat.ask(request(max_tokens=7), str)
    assert server.requests[0].body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Answer."}, {"role": "user", "content": "What is it?"}],
        "temperature": 0.0,
    }
    assert server.requests[1].body["max_tokens"] == 7


@pytest.mark.parametrize("mode", ["schema", "object"])
def test_a_json_reply_is_asked_for_as_the_provider_can(
    server: FakeServer, open_gateway: Opener, mode: Any
) -> None:
    gateway = open_gateway()
    server.always(fakes.chat('{"verdict": "correct"}'))
    for provider in (OpenAIProvider("sk-test-key", server.openai), OllamaProvider(server.ollama)):
        chat = GatewayChat(gateway, provider, ChatSettings("m", json_mode=mode), Place("judge"))
        reply = chat.ask(request(reply=Verdict), Verdict.model_validate_json)
        assert reply.value.verdict == "correct"
    openai, ollama = (asked.body for asked in server.requests)
    if mode == "object":
        assert openai["response_format"] == {"type": "json_object"}
        assert ollama["format"] == "json"
    else:
        form = openai["response_format"]["json_schema"]
        assert form["strict"]
        assert form["schema"]["additionalProperties"] is False
        assert form["schema"]["required"] == ["verdict"]
        assert ollama["format"]["properties"]["verdict"]["type"] == "string"
        assert "docstring" not in json.dumps([openai, ollama])


def test_ollama_is_given_a_window_that_holds_the_prompt(server: FakeServer, open_gateway: Opener) -> None:
    chat = GatewayChat(open_gateway(), OllamaProvider(server.ollama), ChatSettings("m"), Place("answer"))
    for words in (10, 9_000, 30_000):
        chat.ask(request("word " * words), str)
    assert [asked.body["options"]["num_ctx"] for asked in server.requests] == [8192, 16384, 65536]


def test_a_reason_does_not_quote_the_reply(server: FakeServer, asker: Asker, open_gateway: Opener) -> None:
    server.always(fakes.chat('{"verdict": ["my private story"]}'))
    with pytest.raises(CallFailed, match="verdict: string_type") as failure:
        asker(open_gateway()).ask(request(), Verdict.model_validate_json)
    assert "private" not in failure.value.reason


@pytest.mark.parametrize(
    "body",
    [b"[]", b'"text"', b"null", b"[" * 50_000, b"{}", b'{"choices": [[]], "message": 5}', b"\xff\xfe"],
    ids=["array", "string", "null", "nested", "empty", "shapeless", "no text"],
)
def test_a_body_of_another_shape_is_a_fault_of_transport(
    body: bytes, server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    server.always(fakes.Answer(raw=body))
    with pytest.raises(CallFailed) as failed:
        asker(open_gateway()).ask(request("q"), str)
    assert not failed.value.final


@pytest.mark.parametrize("tokens", ["-5", "1e999", "1" + "0" * 40, "true", '"many"'])
def test_a_count_of_tokens_that_is_none_costs_no_reply(
    tokens: str, server: FakeServer, open_gateway: Opener
) -> None:
    body = json.dumps(
        {
            "model": "\ud800",
            "usage": {"prompt_tokens": "TOKENS", "completion_tokens": 1},
            "choices": [{"finish_reason": "stop", "message": {"content": "half \ud800"}}],
        }
    ).replace('"TOKENS"', tokens)
    server.always(fakes.Answer(raw=body.encode()))
    gateway = open_gateway()
    chat = GatewayChat(gateway, OpenAIProvider("k", server.openai), ChatSettings("m"), Place("answer"))
    assert chat.ask(request("q"), str).text == "half \ufffd"
    (row,) = gateway.ledger.rows("run").to_pylist()
    assert (row["outcome"], row["prompt_tokens"], row["usd"]) == ("paid", None, None)


@pytest.mark.parametrize("record", [{}, {"text": 5}, {"text": "", "finish_reason": [], "model": {}}])
def test_a_foreign_record_in_the_store_is_named(
    record: dict[str, object], server: FakeServer, open_gateway: Opener
) -> None:
    gateway = open_gateway()
    chat = GatewayChat(gateway, OpenAIProvider("k", server.openai), ChatSettings("m"), Place("answer"))
    bought = chat.ask(request("q"), str)
    gateway.store.keep_replies({bought.call_id: record})
    with pytest.raises(CallFailed, match=r"store entry .* is damaged .*--repair buys it again"):
        chat.ask(request("q"), str)


def test_what_was_bought_survives_a_refusal_in_the_middle(
    server: FakeServer, asker: Asker, open_gateway: Opener
) -> None:
    server.then(*[fakes.chat("fine")] * 5)
    server.always(fakes.status(401))
    requests = [request(str(row)) for row in range(20)]
    with pytest.raises(CallRefused):
        asker(open_gateway()).ask_many(requests, str)
    server.always(fakes.chat("fine"))
    gateway = open_gateway()
    asker(gateway).ask_many(requests, str)
    totals = gateway.ledger.totals("run", now=True)
    assert (totals.replayed, totals.paid) == (5, 15)


@pytest.mark.parametrize("charset", ["utf-8", "hex", "rot13", "no such"])
@pytest.mark.parametrize(
    "body",
    [b'\xff\xfe{"error": [1]}', b"[]", b"null", b"[" * 100_000],
    ids=["bytes", "list", "null", "brackets"],
)
def test_an_error_of_any_charset_and_shape_is_a_fault_of_its_call(
    server: FakeServer, asker: Asker, open_gateway: Opener, charset: str, body: bytes
) -> None:
    server.always(fakes.Answer(status=500, raw=body, content_type=f"application/json; charset={charset}"))
    with pytest.raises(CallFailed, match="HTTP 500"):
        asker(open_gateway()).ask(request("q"), str)


@pytest.mark.parametrize(
    "fault", [KeyError("entities"), TypeError("no list"), AttributeError("x"), RecursionError()]
)
def test_a_readers_own_fault_costs_no_other_row_and_leaves_the_paid_call_in_the_ledger(
    server: FakeServer, asker: Asker, open_gateway: Opener, fault: Exception
) -> None:
    def read(text: str) -> str:
        if text == "strange":
            raise fault
        return text

    server.always(lambda r: fakes.chat("strange" if r.user == "b" else "plain"))
    gateway = open_gateway(reasks=0)
    replies = asker(gateway).ask_many([request("a"), request("b")], read)
    assert isinstance(replies[0], Reply)
    assert isinstance(replies[1], CallFailed)
    assert f"its reader breaks on it ({type(fault).__name__})" in str(replies[1])
    assert sorted(outcomes(gateway)) == ["paid", "unusable"]
