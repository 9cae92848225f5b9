# make demo, make test: each sets up all that it needs in .venv. `make help` lists the rest.
PYTHON ?= python3
BIN := .venv/bin
CORE := $(wildcard src/core/*/*) CMakeLists.txt pyproject.toml
SANITIZED := build/sanitized

.PHONY: demo docs docs-version images test check test-spark compat coverage lint format sanitize race cliffs scale kernels solvers soak serve-load wheel test-wheel test-emulated test-oldest clean help

demo: .venv/.installed ## compare the classifiers on the wine data, and write report.html
	$(BIN)/likelier compare

docs: .venv/.docs ## the documentation, into build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "open build/site/index.html"

# The branch is not pushed: that is for the release, .github/workflows/release.yml.
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
docs-version: .venv/.docs ## the documentation of this version beside earlier ones, on the branch gh-pages
	PATH="$(CURDIR)/$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 $(BIN)/mike deploy --update-aliases $(VERSION) latest
	$(BIN)/mike set-default latest

images: .venv/.dev ## the images of README.md, from the report and docs/benchmarks.md
	$(BIN)/python docs/site/images.py

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

# The tools first, then the package: building without isolation keeps the build folder, so that a
# change of one header does not cost a whole build.
.venv/.tools: pyproject.toml
	$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group build
	@touch $@

.venv/.installed: .venv/.tools $(CORE)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[report]'
	@touch $@

.venv/.docs: .venv/.installed
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

.venv/.dev: .venv/.installed
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

# The linters run on one core: beside them the core is built with sanitizers on the other.
test: .venv/.dev ## all that must pass: lint, sanitize, check
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint sanitize
	@$(MAKE) --no-print-directory check

# Compiled once, also where Python is told to write no bytecode: many tests start programs of their own.
check: .venv/.dev ## the tests alone
	$(BIN)/python -m compileall -q src/likelier
	$(BIN)/python -m pytest -n auto --durations=10 --doctest-modules src/likelier tests

# PySpark is half a gigabyte, and needs Java: `make check` skips these tests where it is not installed.
test-spark: .venv/.dev ## the tests of Spark, with PySpark and Java
	$(BIN)/python -m pip install --quiet --group spark
	$(BIN)/python -m pytest -q tests/laws/test_spark.py

# scikit-learn's own test modules, with likelier's classes in the place of its own: tests/compat.
COMPAT := tests.test_naive_bayes tests.test_discriminant_analysis mixture.tests.test_gaussian_mixture \
  mixture.tests.test_mixture linear_model.tests.test_logistic linear_model.tests.test_perceptron \
  linear_model.tests.test_sgd linear_model.tests.test_base linear_model.tests.test_ridge svm.tests.test_svm \
  feature_extraction.tests.test_text
compat: .venv/.dev ## scikit-learn's own tests, on likelier's classes
	PYTHONPATH=tests OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
	  $(BIN)/python -m pytest -q -n auto -c tests/compat/pytest.ini $(addprefix sklearn.,$(COMPAT)) $(ARGS)

# The same, with the lines and branches that no test meets; tracing them takes as long again.
coverage: .venv/.dev ## the tests, with the lines that none of them meets
	$(BIN)/python -m pytest -n auto --cov --cov-report=term --doctest-modules src/likelier tests

lint: .venv/.dev ## ruff, mypy, import-linter, clang-format, spelling and words
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror src/core/*/*
	$(BIN)/codespell
	$(BIN)/python tests/prose.py

format: .venv/.dev ## lay out the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/core/*/*

# The kernel tests once more, on a core built with the address and undefined-behaviour sanitizers, for the
# widest vectors that the machine has: they are the first to reach past an end. The tests load its module
# from the build folder; the installed package stays as it is.
$(SANITIZED)/.built: .venv/.dev $(CORE)
	$(BIN)/cmake -S . -B $(SANITIZED) -G Ninja -DLIKELIER_SANITIZE=ON \
	  -DLIKELIER_LEVELS="$$($(BIN)/python -c 'from likelier._core import ISA; print(ISA)')" \
	  -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
	  -Dnanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)" > $(SANITIZED).log || (cat $(SANITIZED).log; exit 1)
	$(BIN)/cmake --build $(SANITIZED)
	@touch $@

sanitize: $(SANITIZED)/.built ## kernel tests with the address and undefined-behaviour sanitizers
	@$${CXX:-c++} --version | grep -qi clang && echo "sanitize: wants GCC's runtime libraries: skipped" && exit 0; \
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 LIKELIER_TEST_CORE=$(SANITIZED) \
	  $(BIN)/python -m pytest -n auto -q -p no:cacheprovider tests/kernels

soak: .venv/.dev ## a server of likelier serve, killed a thousand times
	$(BIN)/python -m tests.service.soak $(ARGS)

race: .venv/.dev ## likelier against its peers
	$(BIN)/python -m benchmarks.race $(ARGS)

cliffs: .venv/.dev ## the map of shapes: drop-in classes beside scikit-learn
	$(BIN)/python -m benchmarks.cliffs $(ARGS)

scale: .venv/.dev ## what passes over files cost
	$(BIN)/python -m benchmarks.scale $(ARGS)

serve-load: .venv/.dev ## likelier serve under load, beside an echo endpoint and River
	$(BIN)/python -m benchmarks.service $(ARGS)

kernels: .venv/.dev ## the kernels alone, in GB/s and GFLOP/s
	$(BIN)/python -m pytest benchmarks/kernels --benchmark-enable --benchmark-only -p no:cacheprovider

solvers: .venv/.dev ## whether `auto` is near the best solver, on 200 shapes of table
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.solvers $(ARGS)

# PYTHONS="python3.11 python3.12": one wheel for 3.11, one by the stable ABI for all later versions.
PYTHONS ?= $(PYTHON)
ARCHS ?= $(shell uname -m)
wheel: .venv/.tools ## wheels for Linux with glibc 2.28 and newer, into dist/
	$(BIN)/python packaging/wheels.py --python $(PYTHONS) --arch $(ARCHS)

test-wheel: ## the wheels of dist/ in empty environments, without a compiler on the path
	$(PYTHON) packaging/test_wheel.py --python $(PYTHONS)

# In an emulator: qemu-user, with an interpreter from Debian's archive. The digits are those of .venv.
test-emulated: .venv/.installed ## the wheels for 64-bit ARM, in an emulator
	$(BIN)/python packaging/test_emulated.py --dist dist $(ARGS)

# Its own environment, as old as pyproject.toml allows: what is promised there is tried.
test-oldest: ## the tests with the oldest supported versions of all dependencies
	$(PYTHON) packaging/test_oldest.py $(ARGS)

clean: ## remove all that was made
	rm -rf .venv build dist report.html .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
