# The two commands of the README are `make demo` and `make test`; `make check` is what CI asks of a change.
PYTHON ?= python3
BIN := .venv/bin
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: install demo test check format lint types imports sizes install-services test-services eval-dev eval-full bench bench-full bench-profiles soak clean

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[embedded,openai,server,client,vault,cold,langgraph,langchain,mcp,dev]'
	touch $@

demo: install
	$(BIN)/mnemic demo

test: install
	$(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m 'not services'

check: install format lint types imports sizes

format: install
	$(BIN)/ruff format --check .

lint: install
	$(BIN)/ruff check .

types: install
	$(BIN)/mypy

imports: install
	$(BIN)/lint-imports --no-cache

sizes: install
	$(BIN)/python tests/sizes.py src

# as root, for its packages of the system; `make test-services` starts and stops the servers itself
install-services: install
	bash .ci/services.sh

test-services: install
	$(BIN)/pytest -q -m services tests/services

EVAL ?= ../shared/eval
eval-dev: install
	$(BIN)/mnemic eval --floors tests/eval_floors.json \
		$(EVAL)/judge/dev.jsonl.gz $(EVAL)/sensitive/dev.jsonl.gz \
		$(EVAL)/sensitive-zh/dev.jsonl.gz $(EVAL)/extract/dev.jsonl.gz \
		$(EVAL)/touchstone/dev.jsonl.gz $(EVAL)/madial/dev.jsonl.gz \
		$(EVAL)/memorybank/dev.jsonl.gz $(EVAL)/locomo/dev.jsonl.gz

# the sets with long messages: a quarter of an hour
eval-full: eval-dev
	$(BIN)/mnemic eval --floors tests/eval_floors.json \
		$(EVAL)/beam-100k/dev.jsonl.gz $(EVAL)/prefeval/dev.jsonl.gz $(EVAL)/realmem/dev.jsonl.gz

bench: install
	$(BIN)/python -m benchmarks.run

bench-full: install
	$(BIN)/python -m benchmarks.run --full --peers --write

# half a million profiles: less than ten minutes on an otherwise idle machine
bench-profiles: install
	$(BIN)/python -m benchmarks.profiles --users 500000 --write

# two hundred clients for a minute: on an otherwise idle machine
soak: install
	$(BIN)/python -m benchmarks.soak --write

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
