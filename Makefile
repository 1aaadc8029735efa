# Each target is one of the README's commands; the thinking is in `lab` and `infra`.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3

.DEFAULT_GOAL := help
.PHONY: help up down test drill lint unit bench lock clean test-hosts

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

up: $(VENV)/ready ## From clone to first token: environment, tools, lab, stack, first answer
	$(BIN)/lab up

down: $(VENV)/ready ## Stop the lab and leave nothing behind
	$(BIN)/lab down

test: lint ## Everything that can be checked here; the lab must be up for its part
	$(BIN)/pytest

drill: $(VENV)/ready ## Every drill that the lab can have, then each once more with its engine killed; over an hour
	$(BIN)/runbook drill --all --lab --yes --results RESULTS.json
	$(BIN)/pytest -m long

lint: $(VENV)/ready ## Formatting, lint, types, which module may import which, and roles at ansible-lint's production profile
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
# Without machines their inventory cannot be read, and no rule needs it; two at once, as each takes one processor.
	cd ansible && ls -d inventory playbooks roles/* | \
	  ANSIBLE_INVENTORY_UNPARSED_FAILED=no ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=no \
	  xargs -P 2 -n 12 ../$(BIN)/ansible-lint -q

unit: $(VENV)/ready ## The tests that need no lab
	$(BIN)/pytest tests/unit tests/graph tests/contracts tests/policies

test-hosts: $(VENV)/ready ## Roles and playbooks in sandboxes and on virtual machines that really boot
	$(BIN)/pytest tests/ansible tests/hosts_vm -m hosts

bench: $(VENV)/ready ## Print timings and add them to the history
	$(BIN)/python -m tests.bench

lock: $(VENV)/ready ## Pin the newest allowed versions, with hashes
	$(BIN)/uv pip compile --all-extras --generate-hashes --python-version 3.11 --no-emit-index-url -q \
	  -o requirements.lock pyproject.toml

clean: ## Remove the Python environment; the lab's state goes with `lab down --purge`
	rm -rf $(VENV)

# Debian splits venv from python3. Written last, so that an interrupted install is done again.
$(VENV)/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing python3-venv" && \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null; } || \
	  { echo "python3 has no venv module; install python3-venv (Debian, Ubuntu) and run make again" >&2; exit 1; }
	@echo "installing $$(grep -c == requirements.lock) Python packages into $(VENV), pinned by hash (a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
	  -r <(sed -n '/^uv==/,/# via/p' requirements.lock)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@
