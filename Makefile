# `make demo` and `make test` do all the set-up on a fresh Debian machine with Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
WORKERS ?= 2

.PHONY: demo serve-demo check test lint types docs bench bench-check bench-speed bench-quality bench-workers clean

demo: $(VENV)/.demo
	$(BIN)/crowdwise demo -o demo --force

serve-demo: $(VENV)/.serve
	$(BIN)/crowdwise project demo live-demo

# What to run before every commit: the tests that need no data, net, server or browser and take less than a second.
check: lint types
	$(BIN)/python -m pytest -p tests.check -q -n $(WORKERS) --dist worksteal tests

# Everything, with the tests of benchmarks/, which keep the figures of the docs true.
test: lint types
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

# The documentation site: open build/site/index.html.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

bench: bench-speed bench-quality bench-workers

# The tests of the benchmarks, and the short replica of a paper, which trains for minutes and holds no figure of the docs.
bench-check: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal benchmarks

bench-speed: $(VENV)/.dev
	$(BIN)/python -m benchmarks.speed

bench-quality: $(VENV)/.dev
	$(BIN)/python -m benchmarks.quality

bench-workers: $(VENV)/.dev
	$(BIN)/python -m benchmarks.workers

# The stamps are renewed whenever the requirements change.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "crowdwise needs Python 3.11 or newer: make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv --clear $(VENV); }

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[sklearn]'
	@touch $@

$(VENV)/.serve: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[serve,sklearn]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[all,dev]'
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq chromium; } || echo "the report's browser tests are skipped: apt-get install chromium"
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq postgresql; } || echo "the tests of PostgreSQL are skipped: apt-get install postgresql"
	@touch $@ $(VENV)/.demo $(VENV)/.serve

clean:
	rm -rf $(VENV) .venvs build dist demo live-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
