# Every target makes the environment that it needs, in $(VENV), with pip.
PYTHON ?= python3
VENV ?= .venv
OUT ?= out/demo
JOBS ?= 2
PORT ?= 8000

.PHONY: demo test test-slow test-site test-lowest test-newest newest-python golden-newest lint bench figures docs docs-serve dist-check clean

demo: $(VENV)/.run
	@$(VENV)/bin/dpjax curve configs/composition.toml --out $(OUT) --devices 1 --panels k --width 5 --formats png

# The package, without long runs and without the tests of `make test-site`.
test: $(VENV)/.test
	$(VENV)/bin/python -m pytest -q -n $(JOBS) --dist loadfile

# Everything: also the long statistical runs and the tests of `make test-site`.
test-slow: $(VENV)/.test
	JAX_DISABLE_MOST_OPTIMIZATIONS=0 $(VENV)/bin/python -m pytest -q -n $(JOBS) --dist loadfile -m "slow or not slow"

# Tests of pages, notebooks, scripts and benchmarks, or the part of them that SITE names.
SITE ?= tests
test-site: $(VENV)/.dev
	$(VENV)/bin/python -m pytest -q -n $(JOBS) --dist loadfile -m "site and not slow" $(SITE)

# In an environment with the lowest versions that pyproject.toml accepts. Their own deprecations are no errors; old
# releases of matplotlib warn with newer ones of pyparsing.
LOWEST ?= tests/golden tests/laws tests/mechanisms tests/experiments/test_versions.py tests/plots tests/tables
test-lowest: $(VENV)/.lowest
	$(VENV)/lowest/bin/python -m pytest -q -n $(JOBS) --dist loadfile -W ignore::DeprecationWarning $(LOWEST)

# The quick suite, or the part that NEWEST names, on the newest JAX that pyproject.toml accepts: it needs Python 3.12.
NEWEST ?= tests
NEWEST_PYTHON ?= $(shell python3.12 -c "import sys; print(sys.executable)" 2>/dev/null \
	|| ls -d "$$(pyenv root 2>/dev/null)"/versions/3.12.*/bin/python3.12 2>/dev/null | tail -n 1)
test-newest: $(VENV)/.newest
	$(VENV)/newest/bin/python -m pytest -q -n $(JOBS) --dist loadfile $(NEWEST)

newest-python: # prints the Python 3.12 of test-newest; nothing if there is none
	@echo $(NEWEST_PYTHON)

BEYOND ?= tests/golden tests/laws tests/mechanisms tests/core tests/test_face.py
# Golden files on the newest JAX that there is, whatever pyproject.toml accepts; writes tests/golden/jax-* for its series.
golden-newest: $(VENV)/.beyond
	$(VENV)/beyond/bin/python tests/golden/test_golden.py
	$(VENV)/beyond/bin/python -m pytest -q -n $(JOBS) --dist loadfile $(BEYOND)

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: $(VENV)/.bench
	$(VENV)/bin/python -m benchmarks

figures: $(VENV)/.run
	$(VENV)/bin/dpjax curve configs/exponents.toml --out out/exponents --formats
	$(VENV)/bin/python scripts/exponents.py

docs: $(VENV)/.docs
	$(VENV)/bin/python -m sphinx -W --keep-going -q -j $(JOBS) docs docs/_build/html

docs-serve: docs
	$(VENV)/bin/python -m http.server --bind 127.0.0.1 --directory docs/_build/html $(PORT)

dist-check: | $(VENV)/bin/python
	$(VENV)/bin/python scripts/check_release.py

clean:
	rm -rf $(VENV) out docs/_build

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --editable ".[test,dev,docs]"
	touch $@ $(VENV)/.test $(VENV)/.docs

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --editable ".[docs]"
	touch $@

$(VENV)/.lowest: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet "uv>=0.5"
	$(VENV)/bin/python -m venv --without-pip $(VENV)/lowest
	$(VENV)/bin/uv pip install --quiet --python $(VENV)/lowest --resolution lowest-direct --editable ".[test]" "pyparsing<3.3"
	touch $@

$(VENV)/.newest: pyproject.toml
	@test -n "$(NEWEST_PYTHON)" || { echo "no Python 3.12: make test-newest NEWEST_PYTHON=/path/to/python3.12" >&2; exit 1; }
	"$(NEWEST_PYTHON)" -m venv $(VENV)/newest
	$(VENV)/newest/bin/python -m pip install --quiet --no-compile --editable ".[test]"
	touch $@

$(VENV)/.beyond: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet "uv>=0.5"
	$(VENV)/bin/python -m venv --without-pip $(VENV)/beyond
	printf 'jax\njaxlib\n' > $(VENV)/beyond.txt
	$(VENV)/bin/uv pip install --quiet --python $(VENV)/beyond --override $(VENV)/beyond.txt --editable ".[test]"
	touch $@

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --editable ".[bench]"
	touch $@
