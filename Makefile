# Everything runs in .venv, which `make venv` keeps in step with pyproject.toml.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint extension tables client docs dashboards bench nightly venv

demo: venv
	$(BIN)/ragdb demo

# files side by side, each process with servers of its own
test: venv
	$(BIN)/pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

lint: venv
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# the extension's script, out of migrations/ and sql/
extension: venv
	$(BIN)/python -m ragdb.extension

# the tables for SQLAlchemy, out of a migrated database
tables: venv
	$(BIN)/python -m tools.generate_tables

# the Python client and its errors, and the generated pages of docs/, out of the database's catalogue
client: venv
	$(BIN)/python -m tools.generate_client

docs: venv
	$(BIN)/python -m tools.generate_docs

# the dashboards of Grafana and the sources of dbt, out of reports/ and the views of schema bi
dashboards: venv
	$(BIN)/python -m tools.generate_dashboards

# what takes minutes: kills of the server, long random runs
nightly: venv
	$(BIN)/pytest -m nightly

# each prints machine, versions, command and the peer's figure, and appends to bench/results.md
bench: venv
	for run in bench/*/run.py; do $(BIN)/python -m $$(dirname $$run | tr / .).run || exit 1; done

venv: .venv/made

.venv/made: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[embed]" --group dev
	touch $@
