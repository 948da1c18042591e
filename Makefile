# make setup | demo | test | lint | docs | bench | prove: everything a newcomer needs, from python3, pip and make.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed
# The environment's own pip, or the machine's where venv came without one.
PIP = $$($(BIN)/python -m pip --version >/dev/null 2>&1 && echo $(BIN)/python -m pip || echo $(PYTHON) -m pip --python $(BIN)/python)
INSTALL = $(PIP) install --quiet --disable-pip-version-check
COMPILE = $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url \
  --no-emit-trusted-host --no-emit-find-links --no-header --no-annotate

.PHONY: setup demo test fast lint docs bench prove papers prepare lock clean

setup: $(STAMP)

$(STAMP): requirements/dev.txt pyproject.toml setup.py $(wildcard src/veracity/kernels/*.[ch])
	$(PYTHON) -m venv .venv || $(PYTHON) -m venv --without-pip --clear .venv
	$(INSTALL) --require-hashes -r requirements/dev.txt
	$(INSTALL) --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src/veracity
	touch $(STAMP)

demo: setup
	$(BIN)/python demo/run.py

# Browser and Java for the tests that need them; without root or apt-get those tests are skipped by name.
prepare: .venv/docs
	sh tests/prepare.sh

# The whole suite; -ra names every skipped test and why.
test: prepare lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -ra

fast: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal -ra -m "not slow"

# The documentation as a site that opens from a folder: docs/_build/index.html.
docs: .venv/docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build

.venv/docs: $(STAMP) requirements/docs.txt
	$(INSTALL) --require-hashes -r requirements/docs.txt
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pre-commit validate-config

bench: setup
	$(BIN)/python -m bench

# Hours of attack: a million fuzzed inputs, 400 mutants, faults, oldest versions; docs/reliability.md holds the findings.
prove: prepare .venv-torch/installed .venv-mlflow/installed .venv-nannyml/installed
	$(BIN)/python -m tests.prove

# PyTorch is gigabytes, MLflow forty packages: environments of their own, which see the libraries of the other one.
TESTS_torch := test_torch.py
TESTS_mlflow := test_tracking.py
.venv-%/installed: requirements/%.txt $(STAMP)
	$(PYTHON) -m venv .venv-$* || $(PYTHON) -m venv --without-pip --clear .venv-$*
	$(PYTHON) -m pip --python .venv-$*/bin/python install --quiet --require-hashes -r requirements/$*.txt
	$(BIN)/python -c "import site; print(site.getsitepackages()[0])" > .venv-$*/others
	cp .venv-$*/others "$$(.venv-$*/bin/python -c 'import site; print(site.getsitepackages()[0])')/veracity.pth"
	.venv-$*/bin/python -m pytest -q -n 0 tests/results/$(TESTS_$*)
	touch $@

# NannyML has a pandas of its own and sees nothing of ours: its script writes numbers to a file, the test reads them.
.venv-nannyml/installed: requirements/nannyml.txt $(STAMP)
	$(PYTHON) -m venv .venv-nannyml || $(PYTHON) -m venv --without-pip --clear .venv-nannyml
	$(PYTHON) -m pip --python .venv-nannyml/bin/python install --quiet --require-hashes -r requirements/nannyml.txt
	$(BIN)/python -m pytest -q -n 0 tests/results/test_cbpe.py
	touch $@

# Every table and figure of the five papers beside the computed ones: papers/out/index.html.
papers: setup
	$(BIN)/python -m papers

# New versions: all requirements files, with hashes and without the name of any host.
lock: setup
	$(INSTALL) pip-tools
	$(COMPILE) --upgrade --extra all --extra dev -o requirements/dev.txt pyproject.toml
	sed -i '/^# /d;/^veracity @/d' requirements/dev.txt
	$(COMPILE) --upgrade -c requirements/dev.txt -o requirements/docs.txt requirements/docs.in
	$(COMPILE) --extra cli -c requirements/dev.txt -o requirements/runtime.txt pyproject.toml
	$(COMPILE) --upgrade -c requirements/runtime.txt -o requirements/pandas3.txt requirements/pandas3.in
	$(COMPILE) --upgrade -c requirements/dev.txt -o requirements/torch.txt requirements/torch.in
	$(COMPILE) --upgrade -o requirements/mlflow.txt requirements/mlflow.in
	$(COMPILE) --upgrade -o requirements/nannyml.txt requirements/nannyml.in

clean:
	rm -rf .venv .venv-pandas3 .venv-torch .venv-mlflow .venv-nannyml docs/_build docs/_generated build dist *.egg-info src/*.egg-info
