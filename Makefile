# A fresh machine needs Python 3.11 or newer and make; everything else is installed into $(VENV).
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help report test check lab app bench fuzz format references golden constraints clean

# The first of these that is new enough; else plain python3, whose age is then reported.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
  "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$name" && exit; \
  done; echo python3)
VENV ?= .venv
LAB_ARGS ?=
APP_ARGS ?=
FUZZ_ROUNDS ?= 3

# One stamp for each set of packages. Paths stay relative: a clone may lie below a folder with a space in its name.
BIN := $(VENV)/bin
PACKAGE := $(VENV)/installed-package
LAB := $(VENV)/installed-lab
APP := $(VENV)/installed-app
TEST := $(VENV)/installed-test
PINNED := pyproject.toml constraints.txt

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "  PYTHON=python3.12  the interpreter     VENV=.venv  the environment's folder"

report: $(PACKAGE) ## the example's review packet, in packets/
	@$(BIN)/afterload report --example -o packets

test: check ## static checks, then every test (installs Chromium where none is found)
	@set -e; browser=$$($(BIN)/python tools/chromium.py); export AFTERLOAD_CHROMIUM="$$browser"; set -x; \
	$(BIN)/python -m pytest -n 2 --dist loadfile; \
	$(BIN)/python -m pytest --nbval tests/references

check: $(TEST) ## format, lint, types and the order of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lab: $(LAB) ## the chapters in JupyterLab (LAB_ARGS=... is passed on)
	$(BIN)/python -m jupyterlab workbooks $(LAB_ARGS)

app: $(APP) ## the chapters as an app without code (APP_ARGS=... is passed on)
	JUPYTER_PATH="$(CURDIR)/templates/jupyter" $(BIN)/python -m voila workbooks --template=afterload $(APP_ARGS)

bench: $(TEST) ## time the packet and the batch
	$(BIN)/python tools/bench.py
	$(BIN)/python tools/bench_coupled.py
	$(BIN)/python tools/bench_plan.py
	$(BIN)/python tools/bench_batch.py
	$(BIN)/python tools/bench_live.py

fuzz: $(TEST) ## new examples for every property test, damaged files, systems by request, until something breaks or FUZZ_ROUNDS are over
	@set -e; for round in $$(seq $(FUZZ_ROUNDS)); do echo "round $$round of $(FUZZ_ROUNDS)"; \
	AFTERLOAD_EXAMPLES=new $(BIN)/python -m pytest -q -n 2 -m hypothesis; \
	$(BIN)/python tools/fuzz.py --seconds 60 --seed $$(date +%s); \
	$(BIN)/python tools/fuzz_requests.py --systems 200 --seed $$(date +%s); done

format: $(TEST) ## format the code and notebooks, and mend what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

references: $(TEST) ## run the reference notebooks anew, and keep their outputs
	$(BIN)/python tools/references.py

golden: $(TEST) ## keep today's numbers of every result, and tell which changed
	$(BIN)/python tools/golden.py

constraints: ## pin today's newest versions that fit pyproject.toml (needs Python 3.11)
	$(PYTHON) tools/pins.py

clean: ## remove the environment, packets and caches
	rm -rf $(VENV) packets build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PACKAGE): $(PINNED)
	@$(call install,)
	@touch $@

$(LAB): $(PINNED)
	@$(call install,--extra lab)
	@touch $(PACKAGE) $@

$(APP): $(PINNED)
	@$(call install,--extra app)
	@touch $(PACKAGE) $@

$(TEST): $(PINNED)
	@$(call install,--extra lab --extra app --extra cluster --extra test)
	@touch $(PACKAGE) $(LAB) $(APP) $@

define install
command -v "$(PYTHON)" >/dev/null || { echo "error: no Python found: install Python 3.11 or newer \
(Debian and Ubuntu: apt install python3 python3-venv), or name one: make PYTHON=/path/to/python3" >&2; exit 1; }; \
"$(PYTHON)" tools/setup_env.py "$(VENV)" $(1)
endef
