# make serve · make test · make setup · make dev · make bench · make fix · make lock
SHELL := /bin/bash
PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
BIN := .venv/bin
export HOST PORT

.PHONY: serve dev test setup setup-dev bench fix lock calibrate check browser

serve: setup
	@$(BIN)/meshwright serve

dev: setup
	@$(BIN)/meshwright serve --reload

setup: .venv/runtime.stamp

setup-dev: .venv/dev.stamp

.venv/runtime.stamp: requirements/runtime.txt pyproject.toml
	@bash scripts/setup.sh runtime

.venv/dev.stamp: requirements/dev.txt pyproject.toml
	@bash scripts/setup.sh dev

test: setup-dev browser check
	@$(BIN)/pytest -n auto --dist loadgroup

# Everything but the tests: style, types, the direction of imports, migrations true to the tables.
check: setup-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/meshwright check-migrations
	@$(BIN)/meshwright lint lessons

browser:
	@bash scripts/browser.sh

bench: setup-dev
	@$(BIN)/python -m tests.load.bench

calibrate: setup-dev
	@$(BIN)/python -m app.calibration

fix: setup-dev
	@$(BIN)/python scripts/architecture.py
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# Needs pip-tools beside the project; writes pins with hashes and names no registry.
lock:
	@for set in runtime dev; do pip-compile --quiet --upgrade --generate-hashes --no-header --no-emit-index-url \
	  --no-emit-find-links --strip-extras --allow-unsafe -o requirements/$$set.txt requirements/$$set.in; done
