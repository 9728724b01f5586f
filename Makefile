# Every command does its own set-up: a machine needs Python 3.11 or newer, git and make, nothing else.
# Only features of make 3.81 are used, which is what macOS has.

.DEFAULT_GOAL := help
.PHONY: help demo test test-full check fmt-check lint types imports names docs docs-check assets assets-check vscode screenshots captures bench mutants words release fmt lock clean \
	setup setup-run

# Another project's Python settings must not reach ours.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

PY := .venv/bin/python
CODE = $(wildcard src tests bench tools)
PYTEST = $(PY) -m pytest --numprocesses auto --maxprocesses 8 --inline-snapshot disable
TESTS ?=
MUTANTS ?=

# The first of these that runs and is new enough: a version manager may offer names that do not run.
FIND_PYTHON = for p in python3 python3.11 python3.12 python3.13 python3.14 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && exec "$$p" tools/setup.py $(1); done; \
	echo "make: no Python 3.11 or newer on PATH" >&2; exit 1

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{ printf "  make %-12s %s\n", $$1, $$2 }'

demo: setup-run ## every verb at work on a sample repository, in a minute
	@.venv/bin/custody demo

test: setup ## the tests (TESTS=tests/unit for a part)
	@$(PYTEST) -m "not slow" $(if $(TESTS),$(TESTS),$$($(PY) tools/lanes.py))

test-full: setup ## the tests, the slow faults and long fuzzing included
	@$(PYTEST) -m "" --hypothesis-profile slow $(TESTS)

check: fmt-check lint types imports names words docs-check assets-check ## format, lint, types, imports, names, words, documents, built files

fmt-check: setup
	@$(PY) -m ruff format --check $(CODE)

lint: setup ## ruff, with the bans for all files and those for pure files, and where SQL may stand
	@$(PY) -m ruff check $(CODE)
	@$(PY) -m ruff check --config tools/ruff-worldly.toml src/custody
	@$(PY) tools/sql.py

types: setup ## mypy --strict
	@$(PY) -m mypy $(CODE)

imports: setup ## the import contracts: which package may import which
	@.venv/bin/lint-imports --no-logo

names: setup ## every public type has its own noun and its own fields, functions have verbs
	@$(PY) -m tools.names
	@$(PY) -m tools.twins

words: setup ## what people read uses plain words: tools/words.toml lists what is banned
	@$(PY) -m tools.words

docs-check: setup ## the generated documents are the ones in the tree
	@$(PY) tools/docs.py --check

docs: setup ## make the generated documents again
	@$(PY) tools/docs.py --write

assets: setup ## build the pages' islands and style sheet into the package
	@$(PY) tools/assets.py --write

assets-check: setup ## the built files of the pages are the ones in the tree
	@$(PY) tools/assets.py --check

vscode: ## build, test and package the extension of VS Code: editors/vscode/custody.vsix
	@npm ci --prefix editors/vscode --ignore-scripts --no-audit --no-fund --loglevel error
	@cd editors/vscode && npm run -s types && npm run -s build && npm run -s test && npm run -s package

screenshots: setup ## make the pictures of the documents again: look at them
	@$(PY) tools/screenshots.py

captures: setup ## make the terminal captures of the documents again
	@$(PY) tools/captures.py

bench: setup ## measure, against named baselines
	@$(PY) -m bench

mutants: setup ## mutation score of the pure packages (MUTANTS="--seed 7" repeats a draw)
	@$(PY) -m tools.mutants $(MUTANTS)

release: setup ## build wheel, source archive and manual pages with checksums into dist
	@$(PY) tools/release.py

fmt: setup ## format, and fix what ruff can fix
	@$(PY) -m ruff check --fix-only $(CODE)
	@$(PY) -m ruff format $(CODE)

lock: ## solve the versions again: requirements/*.lock
	@$(call FIND_PYTHON,lock)

clean: ## back to a fresh clone: environments and caches go
	@rm -rf .venv .uv web/node_modules editors/vscode/node_modules editors/vscode/out editors/vscode/custody.vsix .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	@find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

setup:
	@$(call FIND_PYTHON,dev)

setup-run:
	@$(call FIND_PYTHON,run)
