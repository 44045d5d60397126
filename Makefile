# One runner for every task; `make` alone lists them. Needs sh, make and python3, nothing else installed by hand.

# The Python that .venv is built from; an older one looks for 3.11 to 3.13 on the PATH.
PYTHON ?= python3
RUN = @$(PYTHON) tools/environment.py run --
DEV = @$(PYTHON) tools/environment.py dev --

.DEFAULT_GOAL := help
.PHONY: help run test every-test test-fast test-long test-languages test-browser lint format record generate check-generated docs picture lock upgrade build wheels onefile bench bench-spark test-spark-versions test-library test-aarch64 clean

help: ## List every task with what it does
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' Makefile

run: ## Ingest the recorded segments into Parquet with Spark; print the table, three rows and the times
	$(RUN) tools/run.py

test: ## Lint, and run every test that this machine can run beside it, and say which it cannot and why
	$(DEV) -c pass
	@$(MAKE) --no-print-directory --jobs 2 lint every-test

every-test: ## Run every test that this machine can run, without lint
	$(DEV) tools/test.py

test-fast: ## Run the tests that need neither Java nor Node nor a network
	$(DEV) tools/test.py --fast

test-long: ## Print the parts of the long tests: full forms, lowest dependencies; run some (PART=K/N, PART=all)
	$(DEV) tools/parts.py $(PART)

test-languages: ## Read all recorded segments with the schemas in ten other languages; write the table of docs/languages.md
	$(DEV) tools/languages.py

test-browser: ## Run the tests in a browser in their full form; installs Debian's Chromium where it may
	$(DEV) tools/test.py --browser

test-spark-versions: ## Run the Spark tests under Spark 4.0, 4.1 and 4.2, each in an environment of its own
	$(DEV) tools/spark_versions.py

lint: ## Check style (ruff), types (mypy --strict) and layers (import-linter)
	$(DEV) -m ruff check --quiet .
	$(DEV) -m ruff format --quiet --check .
	$(DEV) -m mypy --no-error-summary
	@.venv/bin/lint-imports --no-logo --no-cache

format: ## Lay out the hand-written Python files (ruff format) and mend what ruff can mend
	$(DEV) -m ruff check --quiet --fix .
	$(DEV) -m ruff format --quiet .

record: ## Start real Kafka brokers and record tests/vectors/ anew (needs a JDK and Maven Central; ten minutes)
	$(DEV) tests/recording/record.py
	$(DEV) tests/connector/record.py

generate: ## Regenerate generated/ from schemas/ (Node comes along if it is not on the PATH), and tables and drawings of docs/
	$(DEV) codegen.py
	$(DEV) tools/tables.py
	$(DEV) tools/format_pages.py
	$(DEV) tools/drawings.py

check-generated: ## Say which generated files are stale, missing or orphans
	$(DEV) codegen.py --check
	$(DEV) tools/tables.py --check
	$(DEV) tools/format_pages.py --check
	$(DEV) tools/drawings.py --check

docs: ## Build the documentation as pages of HTML into build/docs (without a warning, and without a network)
	$(DEV) tools/docs.py

picture: ## Draw the rooms of the runtime from its imports into docs/architecture.md
	$(DEV) tools/picture.py

lock: ## Compile locks/ from pyproject.toml, keeping the pins that still fit
	$(DEV) tools/lock.py

upgrade: ## Compile locks/ with the newest versions that pyproject.toml allows
	$(DEV) tools/lock.py --upgrade

build: ## Build the sdist and, from it, the wheel into dist/
	@rm -rf dist
	$(DEV) -m build --no-isolation --outdir dist .

wheels: ## Build the sdist, the pure wheel, and wheels with machine code for Linux (x86_64, aarch64) into dist/ (half an hour)
	$(DEV) tools/wheels.py

test-library: ## Run the tests of reading and writing against the machine code of this machine's wheel, without numba
	$(DEV) tools/test_library.py

test-aarch64: ## Run tests of reading and writing on an emulated aarch64 CPU, with the machine code of its wheel
	$(DEV) tools/aarch64.py

onefile: ## Build dist/kafka-segments.pyz: the command in one file, for hosts with nothing but Python 3.11 or newer
	$(DEV) tools/onefile.py

bench: ## Measure against other decoders: table, build/bench.json, a chart (minutes; QUICK=1: a small run)
	$(DEV) tools/bench.py $(if $(QUICK),--quick)

bench-spark: ## Measure against Spark's own kafka source with a broker: table, build/bench-spark.json (QUICK=1: small)
	$(DEV) tools/bench_spark.py $(if $(QUICK),--quick)

clean: ## Remove what the tasks made, except .venv and downloads
	@rm -rf build dist spark-warehouse metastore_db derby.log .pytest_cache .mypy_cache .ruff_cache \
	    .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +
