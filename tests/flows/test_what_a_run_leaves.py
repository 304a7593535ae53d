"""What a run from the shell leaves, on the disk and on the screen: no key in any form, and nothing pickled."""

from __future__ import annotations

import ast
import json
import sqlite3
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest

from tests.flows.fake_llm import kind_of, reply
from tests.tasks.models.fakes import Answer, FakeServer, Request, chat, status
from tests.torture.shell import Shell, shell

ROOT = Path(__file__).parents[2]
OPENAI = "planted+openai/key=7c1e90~4"
OLLAMA = "planted+ollama/key=5b2d11~3"
USER = "planted-user-3f88"
PASSWORD = "planted+word/3f88=2"
SECRETS = (OPENAI, OLLAMA, USER, PASSWORD)
WORDS = ("run", "representation", "--models", "published", "--systems", "flat,graph", "--limit", "4")


def encoded(secret: str) -> list[str]:
    """A secret as a server might say it: plain, URL-encoded in two ways, in base64 at three alignments."""
    forms = [secret, quote(secret, safe=""), "".join(f"%{byte:02x}" for byte in secret.encode())]
    for before in ("", "x", "xx"):
        forms += [b64encode(f"{before}{secret}:yz".encode()).decode()]
        forms += [urlsafe_b64encode(f"{before}{secret}:yz".encode()).decode()]
    return forms


def traces(secret: str) -> list[str]:
    """What would betray the secret in those forms; base64 without the letters that depend on its surroundings."""
    return [
        form if number < 3 else form[4 : 4 * (len(secret) // 3)]
        for number, form in enumerate(encoded(secret))
    ]


ECHO = " ".join(form for secret in SECRETS for form in encoded(secret))


def echoing(request: Request) -> Answer:
    """Sound replies that hold every form of every key."""
    if "messages" not in request.body:
        return reply(request)
    match kind_of(request):
        case "extract":
            node = {"label": "Concept", "title": f"Key {ECHO}", "attributes": {"said": ECHO}}
            return chat(json.dumps({"nodes": {"n": node}, "edges": {}}), model=f"gpt-4o-mini {OPENAI}")
        case "judge":
            return chat(json.dumps({"correct": True, "why": ECHO}))
        case "query":
            return reply(request)
    return chat(f"Your key is {ECHO}")


def refusing(request: Request) -> Answer:
    """Says 401 to the judge's requests, with every form of every key in its words; answers the others."""
    if "messages" in request.body and kind_of(request) == "judge":
        return status(401, error=f"Incorrect API key provided: {ECHO}", code=OPENAI)
    return echoing(request)


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell's folder after runs that were told the keys in replies and in refusals; also what they printed."""
    folder = tmp_path_factory.mktemp("left")
    with FakeServer(dimensions=768) as server, shell(folder, server, "") as made:
        address = server.openai.replace("://", f"://{USER}:{quote(PASSWORD, safe='')}@")
        made.environment.update(OPENAI_API_KEY=OPENAI, OLLAMA_API_KEY=OLLAMA, OPENAI_BASE_URL=address)
        del made.environment["PREFECT_API_URL"]
        printed = []
        for answer, words, code in (
            (echoing, WORDS, 0),
            (refusing, (*WORDS, "--judge", "per_type"), 3),
        ):
            server.always(answer)
            assert made.run(*words) == code, made.error
            printed += [made.error, (folder / "out").read_text(encoding="utf-8")]
        (folder / "printed").write_text("\n".join(printed), encoding="utf-8")
        sent = json.dumps([request.headers for request in server.requests])
        assert OLLAMA in sent, "the keys were used"
        yield made


def rows(file: Path) -> str:
    """What a table or a database says, row by row; empty for any other file."""
    if file.suffix == ".parquet":
        return json.dumps(pq.read_table(file).to_pylist(), default=str, ensure_ascii=False)
    if file.suffix not in (".db", ".sqlite"):
        return ""
    connection = sqlite3.connect(file)
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    text = "".join(repr(connection.execute(f'SELECT * FROM "{name}"').fetchall()) for (name,) in tables)  # noqa: S608
    connection.close()
    return text


def test_no_form_of_a_key_is_left_anywhere(left: Shell) -> None:
    # As bytes first, logs of databases that are not yet written back included: reading a database writes it back.
    texts = {
        file: file.read_bytes().decode("utf-8", "replace")
        for file in left.folder.rglob("*")
        if file.is_file()
    }
    assert {".parquet", ".log", ".json", ".db", ".sqlite"} <= {file.suffix for file in texts}
    texts |= {file: text + rows(file) for file, text in texts.items()}
    marks = [trace for secret in SECRETS for trace in traces(secret)]
    found = [(file.name, mark) for file, text in texts.items() for mark in marks if mark in text]
    assert found == []


def test_the_runs_were_told_the_keys_and_said_why_they_stopped(left: Shell) -> None:
    assert all(mark in ECHO for secret in SECRETS for mark in traces(secret)), (
        "the traces are looked for rightly"
    )
    printed = (left.folder / "printed").read_text(encoding="utf-8")
    assert printed.count("HTTP 401") == 1
    assert "[key]" in printed
    assert "Traceback" not in printed
    answers = [pq.read_table(file) for file in left.folder.rglob("answers.parquet")]
    assert all("Your key is [key]" in row["answer"] for table in answers for row in table.to_pylist())


def test_what_prefect_keeps_is_json(left: Shell) -> None:
    home = Path(left.environment["PREFECT_HOME"])
    kept = [file for file in (home / "storage").rglob("*") if file.is_file()]
    assert kept, "the results of the tasks"
    for file in kept:
        record = json.loads(file.read_bytes())
        if "metadata" in record:
            assert record["metadata"]["serializer"]["type"] == "json", file
            json.loads(record["result"])
    said = rows(home / "prefect.db").lower()
    assert "flow_run" in said
    assert "pickle" not in said
    assert "gasv" not in said, "the beginning of every pickle, in base64"


UNSAFE = {"pickle", "cloudpickle", "joblib", "dill", "shelve", "marshal", "jsonpickle"}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__", "read_pickle", "to_pickle", "unsafe_load"}


@pytest.mark.parametrize("package", ["flows", "tasks", "memory", "results"])
def test_no_module_unpickles_or_evaluates(package: str) -> None:
    for file in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            where = f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            match node:
                case ast.Import(names=names):
                    assert not UNSAFE & {name.name.partition(".")[0] for name in names}, where
                case ast.ImportFrom(module=str(module)):
                    assert module.partition(".")[0] not in UNSAFE, where
                case ast.Call(func=ast.Name(id=name)):
                    assert name not in UNSAFE_CALLS, where
                case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name), keywords=keywords):
                    named = {keyword.arg for keyword in keywords}
                    assert name not in UNSAFE_CALLS - {"compile"} or owner == "re", where
                    assert (owner, name) != ("yaml", "load"), where
                    assert (owner, name) not in {
                        ("np", "load"),
                        ("numpy", "load"),
                    } or "allow_pickle" not in named, where
