# Every target makes what it needs: `make test` works on a fresh machine with Python, git and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
USABLE := $(VENV)/.usable

.DEFAULT_GOAL := help
.PHONY: help demo test programs trial test-real test-browser check conformance conformance-client format snapshots bench clean

help: ## say what the targets do
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 22

$(STAMP): pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && uv pip install --quiet --python $(BIN)/python -e '.[dev]'; \
	else \
	  $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'; \
	fi
	@touch $(STAMP) $(USABLE)

# What it takes to use it, and no more: a newcomer need not wait for what only contributors need.
$(USABLE): pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && uv pip install --quiet --python $(BIN)/python -e .; \
	else \
	  $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check -e .; \
	fi
	@touch $(USABLE)

demo: $(USABLE) ## plan a board, work on it, hand it over, and look at it
	$(BIN)/kumi demo

test: $(STAMP) ## every test, on SQLite and on a real PostgreSQL
	$(BIN)/python -m pytest -n auto --dist loadgroup

programs: $(STAMP) ## what some tests need besides (PgBouncer, openssl, iproute2, bubblewrap): Debian's, where that is allowed
	$(BIN)/python scripts/programs.py

trial: $(STAMP) ## four hosts in network namespaces that are killed, cut off and frozen, on one PostgreSQL (needs root)
	KUMI_TEST_HOSTS=1 $(BIN)/python -m pytest tests/hosts -q -s

check: $(STAMP) ## format, lint, types, imports, sizes, snapshots
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/check_sizes.py
	$(BIN)/python scripts/snapshots.py --check

test-real: $(STAMP) ## the real Claude Code, Codex and Gemini CLI against a scripted model (needs npm)
	KUMI_TEST_REAL=1 $(BIN)/python -m pytest tests/real -q

test-browser: $(STAMP) ## the dashboard in a real Chromium (Debian's is installed where that is allowed); KUMI_PICTURES=1 takes its pictures
	$(BIN)/python -m tests.browser.chromium
	KUMI_TEST_BROWSER=1 $(BIN)/python -m pytest tests/browser -q

conformance: $(STAMP) ## the official judge of MCP servers, against a fixture server on our wire (needs npm)
	$(BIN)/python scripts/conformance.py

conformance-client: $(STAMP) ## the official judge of MCP clients, against a small client on our wire (needs npm)
	$(BIN)/python scripts/conformance_client.py

format: $(STAMP) ## put the code into its format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

snapshots: $(STAMP) ## write the committed snapshots and the generated pages anew
	$(BIN)/python scripts/snapshots.py

bench: $(STAMP) ## print the measured figures beside their peers
	$(BIN)/python bench/run.py

clean: ## remove the environment and what tools left
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .bench
