# Every target does its own set-up; once that is done a second call starts at once.
#
#   make run [PORT=7860] [HOST=127.0.0.1]   the app in the browser
#   make test                               ruff, then all tests, the browser's last
#   make lint | format                      ruff alone
#   make screenshot                         the picture of the README, from the real app
#   make eval-model                         how well the model in the box does, from the committed clips
#   make bench [ROWS="greedy encoder"]      one table of times, beside parakeet-mlx on the same input
#   make clean                              forget the set-up

HOST ?= 127.0.0.1
# Empty: the first free port from 7860.
PORT ?=
# Empty: the first of 3.12, 3.13 and 3.11 that runs.
PYTHON ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# One process a core; MLX and OpenBLAS share the cores within each.
WORKERS ?= 2

# Empty: all rows of the table.
ROWS ?=

.PHONY: run test lint format screenshot eval-model bench clean
.DEFAULT_GOAL := run

run: $(VENV)/.app $(VENV)/.system
	GRADIO_SERVER_NAME=$(HOST) $(if $(PORT),GRADIO_SERVER_PORT=$(PORT)) $(BIN)/python app.py

# One thread of BLAS for each worker: threads of several processes on the same cores spend their time waiting.
# A worker that is done takes over the later half of what another has before it, so that neither waits for the other; a
# file is cut in two at most where that happens, and only then are its fixtures made twice.
test: export OPENBLAS_NUM_THREADS = 1
test: lint $(VENV)/.system $(VENV)/.browser
	$(BIN)/python -m pytest -m "not browser" -n $(WORKERS) --dist worksteal
	$(if $(wildcard tests/browser/test_*.py),$(BIN)/python -m pytest -m browser -n $(WORKERS) --dist worksteal)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

screenshot: $(VENV)/.dev $(VENV)/.system $(VENV)/.browser
	$(BIN)/python tests/browser/screenshot.py

eval-model: $(VENV)/.dev $(VENV)/.system
	$(BIN)/python -m assets.demo_model.training.evaluate

bench: $(VENV)/.dev $(VENV)/.system
	$(BIN)/python -m tests.bench $(ROWS)

clean:
	rm -rf $(VENV)

$(BIN)/python:
	@for python in $(or $(PYTHON),python3.12 python3.13 python3.11 python3); do \
	  if $$python -c 'import sys, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; \
	  then echo "Making $(VENV) with $$($$python --version)."; exec $$python -m venv $(VENV); fi; \
	done; \
	echo "Tokenscope needs Python 3.11, 3.12 or 3.13 with venv (on Debian and Ubuntu: apt-get install python3-venv)." >&2; \
	echo "Install one, or name it: make PYTHON=/path/to/python3.12" >&2; exit 1

$(VENV)/.app: requirements.txt | $(BIN)/python
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt requirements.txt | $(BIN)/python
	$(PIP) -r requirements-dev.txt
	@touch $@ $(VENV)/.app

# Installs Debian packages where it may: as root or by a sudo that asks for no password. It never asks a question.
APT = sudo=; [ "$$(id -u)" = 0 ] || sudo="sudo -n"; \
	command -v apt-get >/dev/null && { [ -z "$$sudo" ] || $$sudo true 2>/dev/null; } && \
	$$sudo apt-get update -qq && $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends

# Linux only: a fast BLAS. Without it the app runs too, and says so.
$(VENV)/.system: packages.txt | $(BIN)/python
	@if [ "$$(uname)" = Linux ] && \
	  ! $(BIN)/python -c 'import ctypes; ctypes.CDLL("libopenblas.so.0")' 2>/dev/null; then \
	  echo "Installing $$(xargs < packages.txt)."; \
	  ( $(APT) $$(xargs < packages.txt) >/dev/null ) || \
	  echo "No fast BLAS: models run many times slower. Install one yourself: $$(xargs < packages.txt) (Debian's name)." >&2; \
	fi
	@touch $@

# The tests drive the system's Chromium; where there is none, Playwright's own.
$(VENV)/.browser: | $(VENV)/.dev
	@if ! command -v chromium || ! chromium --version; then \
	  ( $(APT) chromium >/dev/null && chromium --version ) || $(BIN)/python -m playwright install chromium || \
	  { echo "The browser tests need Chromium: install the package chromium, or run them where it is." >&2; exit 1; }; \
	fi >/dev/null
	@touch $@
