"""`palimpsest blocks register` on a real server: it says what it did, may be given again, and shows no key."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import cast

import pytest
from prefect.blocks.system import Secret
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.testing.utilities import prefect_test_harness

from flows import cli
from flows.blocks import POOL

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    with prefect_test_harness(server_startup_timeout=180):
        yield


@pytest.fixture
def without_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("PALIMPSEST_OPENAI_KEY_BLOCK", raising=False)


def register(monkeypatch: pytest.MonkeyPatch, capsys: Capture, *words: str) -> tuple[int, list[str]]:
    monkeypatch.setattr(sys, "argv", ["palimpsest", "blocks", "register", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    shown = capsys.readouterr()
    return int(str(ended.value.code)), (shown.out + shown.err).splitlines()


@pytest.mark.usefixtures("without_key")
def test_it_sets_up_what_is_asked_says_so_and_may_be_given_again(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    none = "Secret block openai-api-key: not made, for OPENAI_API_KEY is not set"
    assert register(monkeypatch, capsys) == (0, ["work pool palimpsest: made", none])
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-one")
    code, said = register(monkeypatch, capsys, "--openai-at-once", "8", "--ollama-at-once", "2")
    assert (code, said) == (
        0,
        [
            "work pool palimpsest: there already",
            "Secret block openai-api-key: made from OPENAI_API_KEY",
            "concurrency limit palimpsest-openai: 8 at once",
            "concurrency limit palimpsest-ollama: 2 at once",
        ],
    )
    assert register(monkeypatch, capsys)[1][1] == "Secret block openai-api-key: holds that key already"
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-two")
    code, said = register(monkeypatch, capsys, "--openai-at-once", "9")
    assert said[1] == "Secret block openai-api-key: replaced from OPENAI_API_KEY"
    assert "planted" not in " ".join(said)
    assert cast("Secret[str]", Secret.load("openai-api-key")).get() == "planted-key-two"
    with get_client(sync_client=True) as client:
        assert client.read_global_concurrency_limit_by_name("palimpsest-openai").limit == 9
        assert client.read_work_pool(POOL).type == "process"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "left as it is" in register(monkeypatch, capsys)[1][1]


@pytest.mark.usefixtures("without_key")
def test_the_blocks_name_is_that_which_a_run_looks_up(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-three")
    monkeypatch.setenv("PALIMPSEST_OPENAI_KEY_BLOCK", "of-the-lab")
    register(monkeypatch, capsys)
    assert cast("Secret[str]", Secret.load("of-the-lab")).get() == "planted-key-three"


@pytest.mark.usefixtures("without_key")
def test_without_a_server_or_with_a_pool_of_another_type_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        code, said = register(monkeypatch, capsys)
    assert (code, len(said)) == (2, 1)
    assert "set PREFECT_API_URL" in said[0]
    with temporary_settings({PREFECT_API_URL: "http://user:planted-word@127.0.0.1:9/api"}):
        code, said = register(monkeypatch, capsys)
    assert (code, len(said)) == (2, 1)
    assert "cannot be used" in said[0]
    with get_client(sync_client=True) as client:
        client.delete_work_pool(POOL)
        client.create_work_pool(WorkPoolCreate(name=POOL, type="docker"))
    code, said = register(monkeypatch, capsys)
    assert (code, len(said)) == (2, 1)
    assert "is of type docker" in said[0]
