"""Nothing that comes from data or models steers a terminal, is read as markup, or forges a line."""

from __future__ import annotations

import io
import json
import logging
import sys
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows import cli
from flows.console import PlainConsole
from flows.json_output import print_json
from flows.plain import PlainFormatter, say
from flows.reporting import print_run, print_status
from flows.why import print_why
from memory.models import ChatRequest
from results.rendering import plain, printable
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.providers import AccessRefused, ChatSettings
from tasks.runs import read_run, write_run
from tests.flows.study_in_loop import conditions, run_in_loop
from tests.tasks.models.fakes import FakeServer, chat, status

HOSTILE = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eevil\u2066 \rover \x08\x7f \u2028\ud800 [bold]b[/] {0} {x} %s %(y)d"
Capture = pytest.CaptureFixture[str]


def steers(text: str) -> list[str]:
    """The characters of a text that could steer a terminal."""
    return [
        letter
        for letter in text
        if letter not in "\n\t" and (unicodedata.category(letter)[0] == "C" or letter in "\u2028\u2029")
    ]


def test_the_hostile_text_is_hostile() -> None:
    assert len(set(steers(HOSTILE))) >= 10
    assert steers(printable(HOSTILE)) == steers(plain(HOSTILE)) == []


@given(st.text() | st.text(alphabet="[]/ab{}%\\:=@\x1b\x9b\u202e\r\n"))
def test_any_text_is_printed_as_it_is_but_for_what_steers(text: str) -> None:
    page = io.StringIO()
    PlainConsole(file=page, highlight=False, markup=False, emoji=False, width=80).print(text, soft_wrap=True)
    assert steers(page.getvalue()) == []
    assert "".join(page.getvalue().split()) == "".join(printable(text).split())


@given(st.text())
def test_what_is_said_is_one_line(text: str) -> None:
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", said)
        say(text)
    assert said.getvalue().count("\n") == 1
    assert said.getvalue().endswith("\n")
    assert steers(said.getvalue()) == []
    said.getvalue().encode()


def test_a_log_holds_neither_escapes_nor_keys_its_tracebacks_included(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-7c1e")
    try:
        raise ValueError(f"{HOSTILE} planted-key-7c1e")
    except ValueError:
        record = logging.LogRecord("n", logging.ERROR, "p", 1, "said %s", (HOSTILE,), sys.exc_info())
    line = PlainFormatter("%(levelname)s %(message)s").format(record)
    assert steers(line) == []
    assert "planted" not in line
    assert line.startswith("ERROR said [31mred]0;title")
    assert "Traceback" in line


def test_a_providers_words_come_plain_and_short() -> None:
    with FakeServer() as server:
        server.then(status(401, error=HOSTILE * 50, code=HOSTILE), chat("x", HOSTILE, model=HOSTILE))
        provider = OpenAIProvider("sk-test-key", server.openai)
        payload = provider.payload(ChatRequest("answer", "s", "u"), ChatSettings("m"))
        with pytest.raises(AccessRefused) as refused:
            provider.complete("m", payload, 10.0)
        assert steers(str(refused.value)) == []
        assert len(str(refused.value)) < 500
        raw = provider.complete("m", payload, 10.0)
        assert steers(raw.finish_reason + raw.model) == []


def test_a_file_that_is_not_as_it_should_be_is_named_plainly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    rows = json.loads(
        (Path(__file__).parents[2] / "tasks/benchmarks/sample.json").read_text(encoding="utf-8")
    )
    rows[0]["question_id"] = rows[1]["question_id"] = HOSTILE
    file = tmp_path / "bad\x1b[2J\u202e [bold] .json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["palimpsest", "validate", str(file)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert steers(said) == []
    assert said.count("\n") == 1
    assert "twice" in said


def test_a_runs_words_are_printed_plainly(tmp_path: Path, capsys: Capture) -> None:
    run = run_in_loop(tmp_path, conditions=conditions("none", "oracle"))
    hostile = {"variant": HOSTILE, "notes": (HOSTILE,), "reason": HOSTILE, "status": "stopped"}
    hostile = {name: _encodable(value) for name, value in hostile.items()}
    write_run(run.folder, read_run(run.folder).model_copy(update=hostile))
    print_status(run.folder)
    print_run(run.folder)
    shown = capsys.readouterr().out
    assert steers(shown) == []
    assert "[bold]b[/] {0} {x} %s %(y)d" in shown


def test_a_nodes_title_is_explained_plainly(tmp_path: Path, capsys: Capture) -> None:
    row = {
        "arm": "pruned",
        "id": "n1",
        "title": _encodable(HOSTILE),
        "label": "[/]",
        "fate": "kept",
        "score": 0.5,
    }
    pd.DataFrame([row]).to_parquet(tmp_path / "forgetting.parquet")
    print_why(tmp_path, "n1")
    shown = capsys.readouterr().out
    assert steers(shown) == []
    assert "[bold]b[/]" in shown
    assert "[/] " in shown


def _encodable(value: object) -> object:
    """Without the lone surrogate, which no file holds."""
    if isinstance(value, tuple):
        return tuple(_encodable(item) for item in value)
    return value.replace("\ud800", "") if isinstance(value, str) else value


def test_json_output_escapes_what_steers(capsys: Capture) -> None:
    print_json({"title": HOSTILE})
    shown = capsys.readouterr().out
    assert set(steers(shown)) <= {"\x7f"}  # ASCII, which JSON leaves as it is and terminals ignore
    assert json.loads(shown) == {"title": HOSTILE}
