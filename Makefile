# Everything runs in .venv. `make venv` keeps it up to date with pyproject.toml.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint extension tables client docs dashboards bench nightly oldest venv

# no torch: the database embeds by itself
demo: .venv/demo
	$(BIN)/ragdb demo

# files run in parallel, in more processes than a small machine has cores, because many tests wait for
# others; each starts its own servers. tests/together.py says which files go to the same process.
# Compiled modules are kept: hundreds of processes import the same. Models have one thread each: with as
# many processes as that, several wait for each other
test: export PYTHONDONTWRITEBYTECODE =
test: export OMP_NUM_THREADS = 1
test: venv
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder

lint: venv
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m tools.lint_sql

# write the extension's script from migrations/ and sql/
extension: venv
	$(BIN)/python -m ragdb.extension

# write the tables for SQLAlchemy from a migrated database
tables: venv
	$(BIN)/python -m tools.generate_tables

# write the Python client and its errors from the database's catalogue
client: venv
	$(BIN)/python -m tools.generate_client

# write the generated pages of docs/ from the catalogue and the command line
docs: venv
	$(BIN)/python -m tools.generate_docs

# write the dashboards of Grafana and the sources of dbt from reports/ and the views of schema bi
dashboards: venv
	$(BIN)/python -m tools.generate_dashboards

# tests that take minutes: the server is killed, long random runs; then what is drawn at random
nightly: venv oldest
	$(BIN)/pytest -m nightly
	$(BIN)/pytest --hypothesis-profile exploring $$(grep -lr "hypothesis import" tests --include="test_*.py")

# what pyproject.toml asks for at least has the names that ragdb uses, and runs the demo in a home of its own
OLDEST := .venv/oldest/bin
oldest: export RAGDB_HOME = $(CURDIR)/.venv/oldest/home
oldest:
	test -x $(OLDEST)/uv || { $(PYTHON) -m venv .venv/oldest && $(OLDEST)/python -m pip install --quiet uv; }
	$(OLDEST)/uv pip install --quiet --python $(OLDEST)/python --resolution lowest-direct --editable \
		".[static,endpoint,ledger,http,otlp,office,mcp,pandas,arrow,langchain,llamaindex]"
	$(OLDEST)/uv pip install --quiet --python $(OLDEST)/python mypy types-jsonschema types-docutils types-psutil types-pyyaml
	-$(OLDEST)/mypy ragdb > .venv/oldest/mypy.txt
	grep 'source files' .venv/oldest/mypy.txt
	! grep -E 'attr-defined|call-arg|call-overload' .venv/oldest/mypy.txt
	$(OLDEST)/ragdb demo; ended=$$?; $(OLDEST)/ragdb down; rm -rf "$$RAGDB_HOME"; exit $$ended

# each prints the machine, the versions, the command and the peer's figure, and keeps them in bench/results.md
bench: venv
	for run in bench/*/run.py; do $(BIN)/python -m $$(dirname $$run | tr / .).run || exit 1; done

.venv/demo: pyproject.toml
	@echo "installing ragdb and a small model into .venv, once: this takes some 20 seconds"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[static]"
	touch $@

venv: .venv/made

# pip would compile one module after another, and tests of packages that nobody runs here
.venv/made: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[embed,static]" --group dev
	-$(BIN)/python -m compileall -q -j 0 -x '/(tests?|testing)/|/transformers/models/' .venv/lib
	# a folder ragdb/ where Python is started would stand before what setuptools' finder finds
	echo "$(CURDIR)" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ragdb-checkout.pth"
	touch $@
