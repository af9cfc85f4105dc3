# make run             set up and serve (PORT, DATA_DIR)
# make run-distributed the same as processes of their own, on PostgreSQL and Redis, behind nginx (WEBS, HOSTS)
# make test            set up and run every test
# make test-distributed run the acceptance tests on the distributed mode (make test has the most important ones)
# make chaos           try faults over many seeds (SEEDS, SEED, ROW, TARGET: see tests/chaos)
# make check           format, lint, types, import rules
# make install         set up only

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

PORT ?= 8000
export DATA_DIR ?= $(CURDIR)/data
TESTS ?= tests
# Files side by side: most of the time tests wait for servers and kernels. 0 runs them one by one.
WORKERS ?= 2

VENV := .venv
PYTHON := $(VENV)/bin/python
PIP := $(PYTHON) -m pip --disable-pip-version-check --quiet
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
SOURCES := manage.py albedo_project sessions_app streaming tests scripts deploy/healthcheck.py $(wildcard bench)

.PHONY: install install-dev run run-distributed test test-distributed chaos check format docs pin clean

install: $(READY)
install-dev: $(READY_DEV)

$(READY): requirements.txt scripts/system-packages
	scripts/system-packages python
	$(PYTHON) -m pip --version >/dev/null 2>&1 || python3 -m venv --clear $(VENV)
	$(PIP) install --requirement requirements.txt
	touch $@

$(READY_DEV): $(READY) requirements-dev.txt
	$(PIP) install --requirement requirements-dev.txt
	touch $@

run: install
	exec $(PYTHON) manage.py serve --port "$(PORT)" --data-dir "$$DATA_DIR"

run-distributed: install
	scripts/system-packages distributed
	exec $(PYTHON) -m scripts.distributed --port "$(PORT)" --data-dir "$$DATA_DIR"

test: install-dev
	scripts/system-packages tests
	env -u DATA_DIR $(PYTHON) -m scripts.second_look --numprocesses $(WORKERS) --dist loadfile $(TESTS)

test-distributed: install-dev
	scripts/system-packages tests
	env -u DATA_DIR ALBEDO_TEST_MODE=distributed CHAOS_SEEDS=1 $(PYTHON) -m pytest \
		--numprocesses $(WORKERS) --dist loadfile tests/acceptance tests/chaos/test_rolling.py

SEEDS ?= 20
SEED ?=
ROW ?=
TARGET ?=
chaos: install-dev
	scripts/system-packages tests
	env -u DATA_DIR CHAOS_SEEDS=$(SEEDS) CHAOS_SEED=$(SEED) CHAOS_TARGET=$(TARGET) $(PYTHON) -m pytest \
		--numprocesses $(WORKERS) --dist load -k "$(ROW)" tests/chaos

# The type checker loads the settings, which make their secrets: not in the data of whoever works here.
check: export DATA_DIR := $(CURDIR)/.mypy_cache/data
check: install-dev
	mkdir -p .mypy_cache
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy $(SOURCES)
	env -u DATA_DIR $(PYTHON) -m pytest tests/architecture -q

format: install-dev
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

docs: install-dev
	$(PYTHON) -m scripts.settings_page

pin: install-dev
	$(PYTHON) scripts/pin_requirements.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
