# make demo, make test: each sets up all that it needs in .venv. See CONTRIBUTING.md for the rest.
PYTHON ?= python3
BIN := .venv/bin
CORE := $(wildcard src/core/*) CMakeLists.txt pyproject.toml
SANITIZED := build/sanitized

.PHONY: demo test check coverage lint format sanitize race scale kernels clean

demo: .venv/.installed
	$(BIN)/likelier compare

# The tools first, then the package: building without isolation keeps the build folder, so that a
# change of one header does not cost a whole build.
.venv/.tools: pyproject.toml
	$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group build
	@touch $@

.venv/.installed: .venv/.tools $(CORE)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	@touch $@

.venv/.dev: .venv/.installed
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

test: lint sanitize check

check: .venv/.dev
	$(BIN)/python -m pytest -n auto --doctest-modules src/likelier tests

# The same, with the lines and branches that no test meets; tracing them takes as long again.
coverage: .venv/.dev
	$(BIN)/python -m pytest -n auto --cov --cov-report=term --doctest-modules src/likelier tests

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror src/core/*

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/core/*

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

sanitize: $(SANITIZED)/.built
	@$${CXX:-c++} --version | grep -qi clang && echo "sanitize: wants GCC's runtime libraries: skipped" && exit 0; \
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 LIKELIER_TEST_CORE=$(SANITIZED) \
	  $(BIN)/python -m pytest -n auto -q -p no:cacheprovider tests/kernels

race: .venv/.dev
	$(BIN)/python -m benchmarks.race $(ARGS)

scale: .venv/.dev
	$(BIN)/python -m benchmarks.scale $(ARGS)

kernels: .venv/.dev
	$(BIN)/python -m pytest benchmarks/kernels --benchmark-enable --benchmark-only -p no:cacheprovider

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
