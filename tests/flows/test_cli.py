"""The command line: what a user gets wrong is one line that names it, and exit code 2."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.in_process import called
from tests.flows.study_in_loop import conditions, run_in_loop

Capture = pytest.CaptureFixture[str]


BAD = [
    (["run", "nonsense"], "study"),
    (["run", "--benchmark", "nonsense"], "nonsense"),
    (["run", "--benchmark", "locomo"], "--data"),
    (["run", "--benchmark", "locomo", "--data", "no/such/file.json"], "no/such/file.json"),
    (["run", "--systems", "flat,nonsense"], "nonsense"),
    (["run", "--systems", "flat:nonsense"], "nonsense"),
    (["run", "--systems", "flat,flat"], "flat"),
    (["run", "--systems", "../flat"], "../flat"),
    (["run", "--models", "nonsense"], "nonsense"),
    (["run", "--embedder", "offline:nonsense"], "nonsense"),
    (["run", "--embedder", "openai:unheard-of"], "unheard-of"),
    (["run", "--judge", "nonsense"], "judge"),
    (["run", "--limit", "0"], "limit"),
    (["run", "--study", "no/such/study.toml"], "study.toml"),
    (["run", "--data", "no/such/file.json"], "--benchmark"),
    (["run", "--limit", "many"], "--limit"),
    (["run", "--nonsense"], "--nonsense"),
    (["run", "representation", "nonsense"], "nonsense"),
    (["nonsense"], "nonsense"),
    (["rejudge", "no/such/run"], "--judge"),
    (["list"], "what"),
    (["compare", "no/such/a.jsonl", "no/such/b.jsonl"], "a.jsonl"),
    (["compare", "a.jsonl", "b.jsonl", "--seed", "-3"], "--seed"),
    (["list", "nonsense"], "nonsense"),
    (["status", "no/such/run"], "no/such/run"),
    (["show", "no/such/run"], "no/such/run"),
    (["rejudge", "no/such/run", "--judge", "paper"], "no/such/run"),
    (["validate", "no/such/file.json"], "file.json"),
    (["fetch", "nonsense"], "nonsense"),
]


@pytest.mark.parametrize(("words", "named"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_input_is_one_line_and_code_2(
    words: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert called(monkeypatch, *words) == 2
    error = capsys.readouterr().err
    assert named in error
    assert error.count("\n") == 1, error
    assert not (tmp_path / "results").exists(), "nothing was begun"


def test_a_missing_key_is_one_line_and_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert called(monkeypatch, "run", "--models", "openai") == 2
    assert capsys.readouterr().err.startswith("error: OPENAI_API_KEY is not set")


MALFORMED = {
    "empty.json": b"",
    "words.json": b"hello",
    "list.json": b"[]",
    "other.json": b'[{"a": 1}]',
    "cut.json.gz": gzip.compress(b"[" + b" " * 9000 + b"]")[:30],
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_benchmark_is_one_line_and_code_2(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(MALFORMED[name])
    for words in (["validate", name], ["run", "--benchmark", "longmemeval-oracle", "--data", name]):
        assert called(monkeypatch, *words) == 2
        error = capsys.readouterr().err
        assert name in error
        assert error.count("\n") == 1, error


def test_a_study_from_toml_is_overridden_by_options(tmp_path: Path) -> None:
    from flows.running import study_of

    file = tmp_path / "study.toml"
    file.write_text(
        'benchmark = "sample"\nseed = 5\nlimit = 3\n[[conditions]]\nsystem = "flat"\nsettings = {k = 7}\n'
    )
    study = study_of(file, {"seed": 6, "limit": None}, None, None, {"judge": "openai:gpt-4o"})
    assert (study.seed, study.limit, study.conditions[0].settings) == (6, 3, {"k": 7})
    assert study.models.judge == "openai:gpt-4o"
    assert study.models.embedder == "offline:minilm"


def test_a_misspelt_field_of_a_toml_study_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text('bencmark = "sample"\n')
    assert called(monkeypatch, "run", "--study", "study.toml") == 2
    assert "bencmark" in capsys.readouterr().err


WRONG_STUDIES = [
    ('models = "opnai"', "models"),
    ('conditions = "flat"', "conditions"),
    ("limit = true", "limit"),
    (
        '[[conditions]]\nsystem = "flat"\nsettings = {kk = 3}',
        "condition flat: kk: no such setting; there are retention, kept, draw, budget_tokens, entry_tokens, text",
    ),
    ('[models]\nextractor = "offline:noun-phrases"', "models.query"),
]


@pytest.mark.parametrize(("text", "named"), WRONG_STUDIES, ids=[text for text, _ in WRONG_STUDIES])
def test_a_fault_of_a_study_file_names_the_file_whatever_the_options_say(
    text: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(text)
    assert called(monkeypatch, "run", "--study", "study.toml", "--judge-model", "offline:lexical") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: study.toml: {named}")
    assert error.count("\n") == 1, error


@pytest.mark.parametrize("option", ["--out", "--store"])
@pytest.mark.parametrize("path", ["taken", "taken/below"])
def test_a_folder_that_cannot_be_made_is_named_before_prefect_starts(
    option: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("a file of the user's")
    assert called(monkeypatch, "run", option, path) == 2
    error = capsys.readouterr().err
    assert path in error
    assert option in error
    assert error.count("\n") == 1, error


def test_a_damaged_run_is_told_how_to_be_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    Path("run/run.json").write_text('{"name": ')
    for words in (["status", "run"], ["run", "--out", "run"]):
        assert called(monkeypatch, *words) == 2
        assert "run.json: the file: Invalid JSON" in capsys.readouterr().err
    Path("run/run.json").unlink()
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert called(monkeypatch, "run", "--models", "openai", "--out", "run") == 2
    assert not Path("run/run.json").exists(), "a run that cannot begin is not recorded as running"


def test_a_table_that_is_damaged_or_lost_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    run_in_loop(tmp_path, conditions=conditions("none", "bm25"), limit=1)
    assert called(monkeypatch, "show", "run") == 0
    assert "nan" not in capsys.readouterr().out, "one question has no interval"
    for text, said in ((b"PAR1 and no more", "damaged"), (None, "no table metrics yet")):
        table = Path("run/metrics.parquet")
        table.write_bytes(text) if text else table.unlink()
        assert called(monkeypatch, "show", "run") == 2
        error = capsys.readouterr().err
        assert said in error
        assert "start the study again" in error
        assert error.count("\n") == 1, error


def test_a_setting_out_of_bounds_is_named_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text('[[conditions]]\nsystem = "graph"\nsettings = {dedup_threshold = 1.5}\n')
    assert called(monkeypatch, "run", "--study", "study.toml") == 2
    error = capsys.readouterr().err
    assert "condition graph: dedup_threshold" in error
    assert not Path("results").exists()


@pytest.mark.parametrize("what", ["systems", "benchmarks", "models"])
def test_what_can_be_chosen_is_listed(what: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert called(monkeypatch, "list", what) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 4


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys\nsys.argv = ['palimpsest', '--help']\nfrom flows import cli\n"
        "try:\n    cli.main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'prefect', 'pandas', 'numpy', 'pyarrow', 'networkx', 'openai', 'scipy', 'onnxruntime'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)))\n"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert printed.splitlines()[-1] == "HEAVY []"


def test_compare_prints_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    for name, right in (("a", [1, 0, 1]), ("b", [0, 0, 1])):
        rows = [
            {"question_id": f"q{i}", "f1": r, "precision": r, "recall": r, "judge_correct": r}
            for i, r in enumerate(right)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    assert called(monkeypatch, "compare", "a.jsonl", "b.jsonl", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n"] == 3
    assert found["metrics"]["f1"]["difference"] == pytest.approx(1 / 3)
