import json
import subprocess
import sys

import pytest

from memory.errors import BadInput
from tasks.benchmarks import BENCHMARKS, find, load


def test_the_benchmarks_are_named_as_the_command_line_names_them():
    assert list(BENCHMARKS) == [
        "sample",
        "longmemeval-oracle",
        "longmemeval-s",
        "locomo",
        "locomo-adversarial",
        "memoryarena-shopping",
        "memoryarena-travel",
        "memoryarena-search",
        "amb-text",
        "lme-ku",
        "mab-fc",
        *(f"mab-fc-{hops}-{size}" for hops in ("mh", "sh") for size in ("6k", "32k", "64k", "262k")),
        "beam-100k",
        "beam-100k-rd",
        "personamem-32k",
        "personamem-32k-rd",
        "stories",
        "stories-cumulative",
        "atant",
        "atant-cumulative",
        "own",
    ]
    assert all(benchmark.name == name for name, benchmark in BENCHMARKS.items())
    licences = {benchmark.licence for benchmark in BENCHMARKS.values()}
    assert licences == {"MIT", "CC BY-NC 4.0", "CC BY-SA 4.0", ""}


BUILT_IN = [name for name, benchmark in BENCHMARKS.items() if benchmark.built_in]


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_is_built_in_needs_no_data_and_ignores_the_folder_given_to_others(tmp_path, name):
    assert load(name).questions == load(name, tmp_path).questions


@pytest.mark.parametrize("name", [name for name in BENCHMARKS if name not in BUILT_IN])
def test_a_folder_is_searched_for_the_usual_names_gzipped_or_not(tmp_path, name):
    for file in reversed(BENCHMARKS[name].files):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / f"{file}.gz").touch()
        assert find(name, tmp_path) == tmp_path / f"{file}.gz"
        (tmp_path / file).touch()
        assert find(name, tmp_path) == tmp_path / file


def test_a_file_is_taken_whatever_its_name(conversation, written):
    path = written([conversation()], "my-own-name")
    assert load("locomo", path).benchmark == "locomo"


def test_what_cannot_be_found_is_refused_with_a_remedy(tmp_path):
    with pytest.raises(BadInput, match="'memory': unknown; choose one of sample, longmemeval-oracle"):
        load("memory")
    with pytest.raises(BadInput, match="palimpsest fetch locomo"):
        load("locomo")
    with pytest.raises(BadInput, match=r"no file of benchmark locomo; looked for locomo10.json"):
        load("locomo", tmp_path)
    with pytest.raises(BadInput, match="cannot be read"):
        load("locomo", tmp_path / "absent.json")


def test_importing_the_registry_loads_no_heavy_package():
    heavy = ["prefect", "pandas", "numpy", "pyarrow", "httpx", "networkx"]
    code = (
        f"import tasks.benchmarks, sys, json; print(json.dumps([m for m in {heavy!r} if m in sys.modules]))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert json.loads(found.stdout) == []
