# make setup | demo | test | lint | bench: everything a newcomer needs, from python3, pip and make.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed

.PHONY: setup demo test fast slow lint bench prepare lock clean

setup: $(STAMP)

$(STAMP): requirements/dev.txt pyproject.toml setup.py src/veracity/kernels/native.c
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

demo: setup
	$(BIN)/python demo/run.py

# Browser and Java for the tests that need them; without root or apt-get those tests are skipped by name.
prepare: setup
	sh tests/prepare.sh

test: prepare lint
	$(BIN)/python -m pytest -n 2 -ra

fast: setup
	$(BIN)/python -m pytest -n 2 -ra -m "not slow"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m bench

lock:
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --all-extras --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url \
	  --no-emit-trusted-host --no-emit-find-links --no-header --no-annotate -o requirements/dev.txt pyproject.toml

clean:
	rm -rf .venv build dist *.egg-info src/*.egg-info
