# Two commands matter: `make demo` and `make test`. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BENCH  := .venv-bench
MARK   := $(VENV)/.ready-$(shell cat requirements.lock requirements-dev.lock pyproject.toml | cksum | cut -d' ' -f1)
RUNMARK := $(VENV)/.runtime-$(shell cat requirements.lock pyproject.toml | cksum | cut -d' ' -f1)

# whatever comes from an index has a hash in a lock file; the package itself is built with what is locked
OURSELVES := --no-deps --no-build-isolation --editable .

# tests run side by side: matrices on threads of their own would only wait for each other
ALONE   := OPENBLAS_NUM_THREADS=1

.PHONY: demo test test-slow kernels check bench docs lock clean

demo: $(RUNMARK)                ## the main job end to end, on a made-up city
	@$(BIN)/headcount demo

test: check kernels             ## everything but the slow tests
	$(ALONE) $(BIN)/python -m pytest -m "not slow" -n 3 --dist loadfile --no-loadscope-reorder

test-slow: check kernels        ## what takes minutes
	$(ALONE) $(BIN)/python -m pytest -m slow -n 2

kernels: $(MARK)                ## compile them as a wheel has them, if one has changed
	-$(BIN)/python tools/packaging/prebuild.py --if-changed

check: $(MARK)                  ## style, types, layers, sizes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/checks/house_rules.py --sizes

bench: $(BENCH)/.ready kernels  ## the figures of docs/performance.md, against rivals, in one run; ARGS=--resume
	$(BENCH)/bin/python -m benchmarks --page $(ARGS)

docs: $(MARK)                   ## write again what is generated in docs/, and make the site in build/site
	$(BIN)/python tools/packaging/option_types.py
	$(BIN)/python tools/docs/cli_reference.py
	$(BIN)/python tools/docs/method_lists.py
	$(BIN)/python tools/docs/verdict_tables.py
	$(BIN)/python tools/docs/papers_page.py
	HEADCOUNT_REWRITE=1 $(BIN)/python -m pytest -q -n 0 tests/docs/test_blocks.py -k "plan.md and runs"
	$(BIN)/python tools/docs/make_site.py

lock: $(MARK)                   ## pin what is installed now, with hashes and without index addresses
	$(BIN)/python tools/packaging/lock.py

clean:
	rm -rf $(VENV) $(BENCH) build .mypy_cache .ruff_cache .pytest_cache .hypothesis headcount-demo benchmarks/.work

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("headcount needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

# Python compiles what is imported, when it is: a few of the many thousand files
$(RUNMARK): $(VENV)/bin/python pyproject.toml requirements.lock
	@echo "Installing what Headcount needs into $(VENV), some 800 MB: a minute or two, once."
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check \
	    --require-hashes --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check $(OURSELVES)
	@touch $@

# the benchmark measures what a user gets: the package and what it needs, nothing else
$(BENCH)/.ready: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BENCH)/bin/python -m pip install --quiet $(OURSELVES)
	@touch $@

$(MARK): $(RUNMARK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.lock
	$(BIN)/python tools/packaging/browser.py
	-$(BIN)/python tools/packaging/java.py
	@touch $@
