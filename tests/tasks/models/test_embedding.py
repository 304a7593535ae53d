"""Embedding through the gateway, over real HTTP to a fake server of each protocol."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memory.errors import CallFailed, CallRefused
from tasks.models.embedding import GatewayEmbedder
from tasks.models.gateway import Gateway, Place
from tasks.models.ollama_provider import OllamaProvider
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.pace import Ceilings
from tasks.models.providers import EmbedSettings
from tests.tasks.models import fakes
from tests.tasks.models.fakes import FakeServer, good_vector

Opener = Callable[..., Gateway]
Maker = Callable[..., GatewayEmbedder]
SETTINGS = EmbedSettings("nomic-embed-text", dimensions=8, max_tokens=50)


@pytest.fixture(params=["openai", "ollama"])
def maker(request: pytest.FixtureRequest, server: FakeServer) -> Maker:
    """Makes an embedder of either provider on a gateway."""
    provider = (
        OpenAIProvider("sk-test-key", server.openai)
        if request.param == "openai"
        else OllamaProvider(server.ollama)
    )
    return lambda gateway, settings=SETTINGS: GatewayEmbedder(gateway, provider, settings, Place("embed"))


def rows_of(gateway: Gateway) -> list[dict[str, Any]]:
    return gateway.ledger.rows("run").to_pylist()


def test_vectors_come_in_the_order_of_the_texts_at_unit_length(
    server: FakeServer, maker: Maker, open_gateway: Opener
) -> None:
    server.always(fakes.vectors(lambda text: [3.0 * x for x in good_vector(text, 8)]))
    texts = ["a long text first", "b", "cc", "b"]
    embedded = maker(open_gateway()).embed(texts)
    assert embedded.failures == {}
    np.testing.assert_allclose(embedded.vectors, [good_vector(text, 8) for text in texts], rtol=1e-5)


def test_equal_texts_are_sent_once_and_later_replayed(
    server: FakeServer, maker: Maker, open_gateway: Opener
) -> None:
    first = maker(open_gateway()).embed(["a", "b", "a"] * 20)
    gateway = open_gateway()
    second = maker(gateway).embed(["b", "a"])
    assert sorted(server.texts()) == ["a", "b"]
    assert first.vectors[:2].tobytes() == second.vectors[::-1].tobytes()
    assert (gateway.ledger.totals("run").paid, gateway.ledger.totals("run", now=True).replayed) == (2, 2)


def test_blank_texts_are_never_sent(server: FakeServer, maker: Maker, open_gateway: Opener) -> None:
    embedded = maker(open_gateway()).embed(["", " \n\t", "a", "\u3000"])
    assert dict(embedded.failures) == dict.fromkeys((0, 1, 3), "blank text")
    assert not embedded.vectors[[0, 1, 3]].any()
    assert server.texts() == ["a"]
    assert maker(open_gateway()).embed([]).vectors.shape == (0, 8)


def test_a_batch_is_bounded_in_texts_and_in_length(
    server: FakeServer, maker: Maker, open_gateway: Opener
) -> None:
    maker(open_gateway(), EmbedSettings("m", 8, 50, batch=3)).embed([str(n) for n in range(10)])
    assert server.count() == 4
    maker(open_gateway(), EmbedSettings("m", 8, 50, batch=64, batch_tokens=20)).embed(
        [f"{n} " + "x" * 40 for n in range(6)]
    )
    assert server.count() == 10


BAD = {
    "nan": [math.nan] * 8,
    "infinite": [math.inf] + [0.0] * 7,
    "short": [1.0] * 7,
    "long": [1.0] * 9,
    "zero": [0.0] * 8,
    "empty": [],
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_vector_is_asked_for_once_more_and_then_fails_alone(
    server: FakeServer, maker: Maker, open_gateway: Opener, kind: str
) -> None:
    server.always(fakes.vectors(lambda text: BAD[kind] if text == "bad" else good_vector(text, 8)))
    gateway = open_gateway()
    embedded = maker(gateway).embed(["a", "bad", "c"])
    assert list(embedded.failures) == [1]
    assert embedded.vectors[[0, 2]].any(axis=1).all()
    assert server.texts().count("bad") == 2
    assert server.texts().count("a") == 1
    assert [row["outcome"] for row in rows_of(gateway)].count("unusable") == 2
    again = maker(open_gateway()).embed(["a", "bad", "c"])
    assert list(again.failures) == [1]
    assert server.texts().count("a") == 1


def test_a_bad_vector_may_be_good_the_second_time(
    server: FakeServer, maker: Maker, open_gateway: Opener
) -> None:
    server.then(fakes.vectors(lambda text: [math.nan] * 8))
    assert maker(open_gateway()).embed(["a"]).failures == {}


def test_words_in_place_of_numbers_fail_alone(server: FakeServer, open_gateway: Opener) -> None:
    server.always(fakes.vectors(lambda text: ["x"] * 8 if text == "bad" else good_vector(text, 8)))  # type: ignore[list-item]
    provider = OpenAIProvider("sk-test-key", server.openai)
    embedded = GatewayEmbedder(open_gateway(), provider, SETTINGS, Place("embed")).embed(["a", "bad"])
    assert list(embedded.failures) == [1]


def test_a_vector_left_out_is_asked_for_again_and_with_it_all_that_could_be_another_texts(
    server: FakeServer, maker: Maker, open_gateway: Opener
) -> None:
    server.then(fakes.Answer(missing_rows=1))
    embedded = maker(open_gateway()).embed(["a", "b", "c"])
    assert embedded.failures == {}
    own = [fakes.good_vector(text, 8) for text in ("a", "b", "c")]
    np.testing.assert_allclose(embedded.vectors, own, rtol=1e-6)
    numbered = server.count("/v1/embeddings") > 0  # Ollama's vectors do not say whose they are
    assert len(server.texts()) == 3 + (1 if numbered else 3)


@pytest.mark.parametrize(
    "bad",
    [
        fakes.Answer(missing_rows=1),
        fakes.Answer(missing_rows=-1),
        fakes.Answer(raw=b" " * 10_000_000),
        fakes.Answer(raw=b'{"embeddings": [], "data": []}'),
        fakes.Answer(raw=b'{"embeddings": {"0": 1}, "data": {"0": 1}}'),
        fakes.Answer(raw=b'{"embeddings": [[null], 7, "x"], "data": [[null], 7, "x"]}'),
        fakes.Answer(raw=b"[" * 1_000_000),
        fakes.truncated(),
    ],
    ids=[
        "a row missing",
        "a row too many",
        "megabytes",
        "no rows",
        "a map",
        "rows of others",
        "brackets",
        "cut off",
    ],
)
def test_a_batch_that_cannot_be_used_is_asked_for_again_and_no_text_is_lost(
    server: FakeServer, maker: Maker, open_gateway: Opener, bad: fakes.Answer
) -> None:
    server.then(bad)
    embedded = maker(open_gateway()).embed(["a", "b", "c"])
    assert embedded.failures == {}
    np.testing.assert_allclose(
        embedded.vectors, [fakes.good_vector(text, 8) for text in ("a", "b", "c")], rtol=1e-6
    )


def test_a_text_without_a_vector_is_not_asked_for_again_by_another_stage(
    server: FakeServer, maker: Maker, open_gateway: Opener
) -> None:
    server.always(fakes.vectors(lambda text: [math.nan] * 8))
    gateway = open_gateway()
    first = maker(gateway).embed(["a"])
    assert (
        first.failures == maker(gateway).embed(["a"]).failures == {0: "the vector holds NaN or an infinity"}
    )
    assert server.texts() == ["a", "a"], "once more, in the first stage"


def test_an_over_long_text_is_cut_by_us_and_flagged(
    server: FakeServer, maker: Maker, open_gateway: Opener
) -> None:
    gateway = open_gateway()
    story = "one two three four five " * 100
    assert maker(gateway).embed([story, "short"]).failures == {}
    (sent,) = [text for text in server.texts() if text != "short"]
    assert story.startswith(sent)
    assert len(sent.split()) == 50
    assert sorted(row["flags"] for row in rows_of(gateway)) == ["", "input_cut"]
    assert all(request.body.get("truncate", False) is False for request in server.requests)


def test_two_long_texts_with_the_same_beginning_are_one_call(
    server: FakeServer, maker: Maker, open_gateway: Opener
) -> None:
    texts = ["word " * 200 + end for end in ("x", "y")]
    embedded = maker(open_gateway()).embed(texts)
    assert len(server.texts()) == 1
    assert embedded.vectors[0].tobytes() == embedded.vectors[1].tobytes()


@pytest.mark.parametrize(
    "fault", [fakes.too_long(), fakes.status(500, error="unsupported value: NaN")], ids=["too long", "NaN"]
)
def test_a_text_that_the_server_rejects_fails_alone(
    server: FakeServer,
    maker: Maker,
    open_gateway: Opener,
    fault: fakes.Answer,
    request: pytest.FixtureRequest,
) -> None:
    if fault.status == 500 and "openai" in request.node.callspec.id:
        pytest.skip("only Ollama answers a NaN with this error")
    server.always(lambda asked: fault if "bad" in fakes.inputs(asked) else fakes.Answer())
    gateway = open_gateway()
    embedded = maker(gateway).embed(["a", "b", "bad", "d", "e", "f", "g", "h"])
    assert list(embedded.failures) == [2]
    assert "bad" not in embedded.failures[2].split()
    assert server.count() <= 7
    assert gateway.ledger.totals("run").paid == 7


def test_faults_of_transport_are_tried_again(server: FakeServer, maker: Maker, open_gateway: Opener) -> None:
    gateway = open_gateway()
    server.then(fakes.status(503), fakes.garbage(), fakes.truncated())
    assert maker(gateway).embed(["a", "b"]).failures == {}
    assert gateway.ledger.totals("run").retries == 3


def test_a_batch_that_cannot_be_sent_is_no_missing_vector_and_is_bought_later(
    server: FakeServer, maker: Maker, open_gateway: Opener
) -> None:
    server.then(*[fakes.status(503)] * 4)
    gateway = open_gateway(pace=Ceilings(max_concurrency=1))
    with pytest.raises(CallFailed, match="HTTP 503") as failed:
        maker(gateway, EmbedSettings("m", 8, 50, batch=1)).embed(["a", "b"])
    assert not failed.value.final
    assert (gateway.ledger.totals("run").paid, gateway.ledger.totals("run").failed) == (1, 1)
    assert maker(open_gateway(), EmbedSettings("m", 8, 50)).embed(["a", "b"]).failures == {}
    assert sorted(server.texts()) == ["a"] * 4 + ["a", "b"], "what came through is not asked for again"


def test_numbers_that_no_float_holds_fail_alone(server: FakeServer, open_gateway: Opener) -> None:
    huge = {"int": 10**400, "float": 1e300}
    server.always(fakes.vectors(lambda t: [huge[t]] * 8 if t in huge else good_vector(t, 8)))
    provider = OpenAIProvider("sk-test-key", server.openai)
    embedded = GatewayEmbedder(open_gateway(), provider, SETTINGS, Place("embed")).embed(
        ["a", "int", "float"]
    )
    assert list(embedded.failures) == [1, 2]


def test_a_refused_key_stops_the_run(server: FakeServer, maker: Maker, open_gateway: Opener) -> None:
    server.always(fakes.status(401))
    with pytest.raises(CallRefused):
        maker(open_gateway(pace=Ceilings(max_concurrency=1)), EmbedSettings("m", 8, 50, batch=1)).embed(
            ["a", "b", "c"]
        )
    assert server.count() == 1


def test_the_same_text_wanted_by_many_threads_is_bought_once(
    server: FakeServer, maker: Maker, open_gateway: Opener
) -> None:
    embedder = maker(open_gateway())
    threads = [threading.Thread(target=embedder.embed, args=(["a", str(n)],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(server.texts()) == sorted(["a", *map(str, range(8))])


def test_the_tokens_of_a_batch_are_shared_out_in_full(
    server: FakeServer, maker: Maker, open_gateway: Opener
) -> None:
    gateway = open_gateway()
    maker(gateway).embed(["one", "two words", "now three words", "and then four words"])
    assert gateway.ledger.totals("run").prompt_tokens == 10


def test_openai_is_asked_for_shorter_vectors_only_where_it_can(
    server: FakeServer, open_gateway: Opener
) -> None:
    provider = OpenAIProvider("sk-test-key", server.openai)
    for model in ("text-embedding-3-small", "another"):
        GatewayEmbedder(open_gateway(), provider, EmbedSettings(model, 8, 50), Place("embed")).embed(["a"])
    assert [asked.body.get("dimensions") for asked in server.requests] == [8, None]


def test_lone_surrogates_do_no_harm(server: FakeServer, maker: Maker, open_gateway: Opener) -> None:
    assert maker(open_gateway()).embed(["x \ud83d y"]).failures == {}
    assert server.texts() == ["x \ufffd y"]
