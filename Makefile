# Every target makes the environment that it needs, in $(VENV), with pip.
PYTHON ?= python3
VENV ?= .venv
OUT ?= out/demo
JOBS ?= 2
PORT ?= 8000

.PHONY: demo test test-slow lint bench figures docs docs-serve clean

demo: $(VENV)/.run
	$(VENV)/bin/dpjax curve configs/demo.toml --out $(OUT) --devices 1

test: $(VENV)/.test
	$(VENV)/bin/python -m pytest -q -n $(JOBS) --dist loadfile

test-slow: $(VENV)/.test
	$(VENV)/bin/python -m pytest -q -n $(JOBS) --dist loadfile -m "slow or not slow"

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

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --editable ".[bench]"
	touch $@
