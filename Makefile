# make help   says what there is. Each target sets up what it needs first; nothing but Python 3.11+ and make is assumed.

VENV ?= .venv
export VENV
BIN = $(VENV)/bin
ARGS ?=
FOLDER ?= examples
CONTAINERS ?= docker
MANIFEST ?=
PROCESSES ?= auto
EXTRAS ?= redis,postgres
PACKAGES ?= inkgate_bench inkgate_papers
export PROCESSES

.DEFAULT_GOAL := help
.PHONY: help serve demo-vllm receipts-demo test test-rest test-real test-all test-long test-servers check format docs site bench bench-pdf wheel wheelhouse image clean distclean setup-serve setup-dev

help: ## say what there is
	@echo 'usage: make TARGET [ARGS="..."]'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'ARGS go to the program behind the target:  make serve ARGS="--port 8000"   make test ARGS="-k pdf"'
	@echo 'PYTHON names the Python to use, VENV the folder of the environment:  make PYTHON=python3.12 test'

serve: setup-serve ## start the service on http://127.0.0.1:7860
	@exec $(BIN)/inkgate serve $(ARGS)

demo-vllm: setup-serve ## serve with a real vLLM on the CPU and a tiny model that reads one line (3.4 GB the first time)
	@scripts/setup_vllm
	@exec $(BIN)/inkgate serve --config tests/models/demo.toml $(ARGS)

receipts-demo: setup-dev ## receipts from a bucket into a table, with a broker, an object store and a database
	@exec $(BIN)/python examples/receipts/demo.py $(ARGS)

test-servers: setup-dev ## install Ray (270 MB) and the real vLLM (3.4 GB) that some tests need; without them they are skipped
	@scripts/setup_ray
	@scripts/setup_vllm

test: setup-dev ## run the unit and contract tests and a smoke test of each way in, in parallel (PROCESSES=0: in one process)
	@exec scripts/run_tests default $(ARGS)

test-rest: setup-dev ## run the tests that `make test` leaves out: of whole services, and of real servers and tools
	@exec scripts/run_tests rest $(ARGS)

test-real: setup-dev ## run the tests of real servers and tools only
	@exec scripts/run_tests real $(ARGS)

test-all: setup-dev ## run the tests of `make test` and `make test-rest`
	@exec scripts/run_tests all $(ARGS)

test-long: setup-dev ## run all tests, soaks and statistics too, property tests on fresh examples, and the guides in a new environment
	@test -n "$(ARGS)" || $(BIN)/python scripts/walk_docs.py --guides --fresh
	@exec scripts/run_tests long $(ARGS)

check: setup-dev ## check format, lint, types, imports, sizes of modules and docs, the way of an upload, generated files, and the documentation's links
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_module_sizes.py
	$(BIN)/python scripts/request_walk.py --check
	$(BIN)/python scripts/write_docs.py --check
	$(BIN)/python scripts/write_dashboards.py --check
	$(BIN)/python scripts/write_columns_head.py --check
	$(BIN)/python scripts/write_blocking_client.py --check
	@$(MAKE) --no-print-directory site

format: setup-dev ## format the code and fix what lint can fix
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

docs: setup-dev ## write the generated parts of docs/ anew
	$(BIN)/python scripts/write_docs.py

site: setup-dev ## build the documentation, which the service then serves at /docs/guide/; fails on a dead link
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: setup-dev ## measure the engine on the documents of MANIFEST, and the service around it (40 minutes)
	@test -f "$(MANIFEST)" || { echo 'make bench MANIFEST=FILE: a manifest as docs/guides/accuracy.md has it'; exit 2; }
	$(BIN)/python -m benchmarks.engines --manifest $(MANIFEST) $(ARGS)
	$(BIN)/python -m benchmarks.engines.service --manifest $(MANIFEST)

bench-pdf: setup-dev ## measure a long PDF made of the images in FOLDER (minutes)
	$(BIN)/python -m benchmarks.long_pdf $(FOLDER) $(ARGS)

wheel: site ## build the wheels, inkgate with the documentation and those of packages/, into dist/
	@rm -rf dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist
	for project in packages/*; do $(BIN)/python -m build --wheel --no-isolation --outdir dist $$project || exit 1; done

wheelhouse: wheel ## write dist/wheelhouse.tar: inkgate with EXTRAS and PACKAGES and all that they need, to install without a network
	@rm -rf dist/wheelhouse && mkdir -p dist/wheelhouse
	@wheel=$$(ls dist/inkgate-[0-9]*.whl) && $(BIN)/python -m pip download --quiet --disable-pip-version-check --only-binary :all: \
		--dest dist/wheelhouse --constraint constraints.txt --find-links dist "$$wheel[$(EXTRAS)]" $(PACKAGES:%=dist/%-*.whl)
	@cp constraints.txt dist/wheelhouse/
	@tar -cf dist/wheelhouse.tar -C dist wheelhouse
	@du -h dist/wheelhouse.tar

image: site ## build the container image of the CPU engine (docker or podman; CONTAINERS names the command)
	$(CONTAINERS) build -f deploy/docker/Dockerfile -t inkgate .

clean: ## remove caches and build results
	rm -rf build dist src/inkgate/guide .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .schemathesis
	find src packages tests scripts benchmarks training -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove the virtual environment too
	rm -rf $(VENV)

setup-serve:
	@scripts/setup_venv serve

setup-dev:
	@scripts/setup_venv dev
