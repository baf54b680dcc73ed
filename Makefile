PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
NODE := $(RUN) tools/node.py
JS := clients/js
BUNDLE := src/multi_freq_ldpy/service/pages/ldp.mjs

.PHONY: setup demo test js bundle chromium pages service postgres lint hooks types bench audits verify mutants fuzz docs pictures screenshots package lowest plain \
        clean

demo: $(VENV)/serve
	$(RUN) examples/one_question.py
	@echo
	$(RUN) examples/three_questions.py
	@echo
	$(RUN) examples/changing_values.py
	@echo
	$(RUN) examples/twenty_rounds.py
	@echo
	$(RUN) examples/collecting.py

# Install the requirements of all targets, before two targets run at the same time.
setup: $(VENV)/dev $(VENV)/docs $(VENV)/js $(JS)/node_modules/installed

# QUICK=1 asks for the short form of any target. A target that writes into docs/ then writes into build/.
QUICK ?=

# The suite, on JOBS processes. QUICK=1 leaves out the tests that draw many reports, take long or start processes.
JOBS ?= 2
test: $(VENV)/dev
	$(RUN) -m pytest -n $(JOBS) --dist worksteal $(if $(QUICK),-m "not (statistical or slow or process)")

# The JavaScript client: types, tests in Node, QuickJS and Chromium, and the one file of the Python package.
js: $(VENV)/js $(JS)/dist/ldp.mjs
	$(NODE) npm test
	@cmp -s $(JS)/dist/ldp.mjs $(BUNDLE) || { echo "$(BUNDLE) differs from its sources: run make bundle"; exit 1; }
	$(RUN) -m pytest -n $(JOBS) --dist worksteal $(JS)/tests

# Write the one file of the JavaScript client into the Python package.
bundle: $(JS)/dist/ldp.mjs
	cp $(JS)/dist/ldp.mjs $(BUNDLE)

# The pages of the service in Chromium: all states, sizes and schemes, and whole surveys with kills.
pages: $(VENV)/js chromium
	$(RUN) -m pytest -n $(JOBS) --dist worksteal tests/pages

# Install Debian's Chromium, if there is none.
chromium: $(VENV)/bin/python
	$(RUN) tools/browser.py

# The tests of the service on SQLite and on a PostgreSQL of their own. `KILLS=200 REPORTS=1000000` asks for more.
DATABASES ?= sqlite,postgresql
service: $(VENV)/dev postgres
	DATABASES=$(DATABASES) $(RUN) -m pytest -n $(JOBS) --dist worksteal tests/service

# Install Debian's PostgreSQL, if there is none.
postgres: $(VENV)/bin/python
	$(RUN) tools/postgres.py

# Fuzzing guided by coverage. It starts from the corpus and takes SECONDS for each target.
# `make fuzz KEEP=--keep` adds new small inputs to the corpus.
SECONDS := $(if $(QUICK),5,60)
fuzz: $(VENV)/fuzz
	$(RUN) fuzz/fuzz.py --seconds $(SECONDS) $(KEEP)

# Mutation tests: a named check or test must reject each mutation. The result is docs/faults.md. Takes about five minutes.
# `make mutants ONLY="GRR SS"` tries the mutations that have one of these words in name, place, check, test or mechanism.
# `make mutants GENERATE="core/exact.py SMP._charges --most 20"` tries standard mutations of this file and this function.
# It lists the mutations that no check and no test rejects.
mutants: $(VENV)/dev
	$(RUN) mutants/plant.py $(ONLY) $(if $(GENERATE),--generate $(GENERATE))

lint: $(VENV)/dev
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(VENV)/bin/lint-imports
	$(RUN) tools/hygiene.py
	$(RUN) tools/prose.py
	$(RUN) tools/reference.py

# Install the same checks as a git hook, which runs before every commit.
hooks: $(VENV)/dev
	$(VENV)/bin/pre-commit install

types: $(VENV)/dev
	$(RUN) -m mypy

# The comparison with other packages, into docs/benchmark.md and docs/benchmark_rows.md. `make bench QUICK=1` takes a minute.
bench: $(VENV)/bench
	$(RUN) benchmarks/bench.py $(if $(QUICK),--quick)

# Verification of every claim, into docs/verification.md. Takes three quarters of an hour; `make verify QUICK=1` verifies a sample.
verify: $(VENV)/dev $(JS)/dist/ldp.mjs postgres
	$(RUN) verification/verify.py $(if $(QUICK),--quick)

# Audits: the privacy loss that is measured in this package and in others, into docs/audits.md. `make audits QUICK=1` takes a minute.
audits: $(VENV)/bench
	$(RUN) benchmarks/audits.py $(if $(QUICK),--quick)

# The documentation, into build/docs. Tutorials are run, and a warning is an error.
docs: $(VENV)/docs
	$(RUN) -m sphinx -W --keep-going -q -b html docs build/docs
	$(RUN) tools/links.py build/docs
	@echo build/docs/index.html

# The pictures of the documentation, into docs/pictures.
pictures: $(VENV)/dev
	$(RUN) examples/pictures.py

# The pictures of the pages of the service, into docs/pictures. A simulated population fills the service.
screenshots: $(VENV)/js chromium
	$(RUN) -m tools.screenshots

# Wheel and sdist. The wheel is installed into an empty environment, where the paper's listings are run.
package: $(VENV)/dev
	rm -rf dist .venv-wheel
	$(RUN) -m build --outdir dist .
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet dist/*.whl
	cd / && for n in 1 2 3 4; do $(CURDIR)/.venv-wheel/bin/python -I $(CURDIR)/tests/listing_$$n.py || exit 1; done
	rm -rf .venv-wheel

# The tests that depend on NumPy and numba, with the oldest versions that pyproject.toml admits and without the extras.
OLDEST := $(addprefix tests/test_,$(addsuffix .py,vectors old_files randomness kernels input checks \
          several over_time clients functions functions_several worst_case))
lowest:
	rm -rf .venv-lowest
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet "numpy==1.26.0" "numba==0.59.0" -e . "pytest>=8" "pytest-xdist>=3.6"
	.venv-lowest/bin/python -m pytest -n $(JOBS) --dist worksteal $(OLDEST) -m "not (statistical or slow or process or extras)"
	rm -rf .venv-lowest

# The tests of vectors, reports, counts, clients and the functions of the paper, without numba.
PLAIN := $(addprefix tests/test_,$(addsuffix .py,plain vectors old_files input privacy several nested \
         over_time clients functions functions_several worst_case postprocess))
plain:
	rm -rf .venv-plain
	$(PYTHON) -m venv .venv-plain
	.venv-plain/bin/python -m pip install --quiet "numpy>=1.26" "pytest>=8" "pytest-xdist>=3.6" setuptools
	.venv-plain/bin/python -m pip install --quiet --no-deps -e .
	.venv-plain/bin/python -c "import importlib.util; assert not importlib.util.find_spec('numba')"
	.venv-plain/bin/python -m pytest -n $(JOBS) --dist worksteal $(PLAIN) -m "not (statistical or slow or extras)"
	rm -rf .venv-plain

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/core: $(VENV)/bin/python pyproject.toml
	$(RUN) -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/bench: $(VENV)/core
	$(RUN) -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	touch $@

$(VENV)/docs: $(VENV)/core
	$(RUN) -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $@

$(VENV)/serve: $(VENV)/core
	$(RUN) -m pip install --quiet --disable-pip-version-check -e ".[serve]"
	touch $@

$(VENV)/fuzz: $(VENV)/core
	$(RUN) -m pip install --quiet --disable-pip-version-check -e ".[fuzz]"
	touch $@

$(VENV)/dev: $(VENV)/core
	$(RUN) -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

$(VENV)/js: $(VENV)/core
	$(RUN) -m pip install --quiet --disable-pip-version-check -e ".[js]"
	touch $@

$(JS)/node_modules/installed: $(JS)/package.json | $(VENV)/bin/python
	@$(NODE) npm install --no-audit --no-fund --no-package-lock \
	|| { echo "npm could not install the packages of $(JS)/package.json: connect to a registry of npm"; exit 1; }
	touch $@

$(JS)/dist/ldp.mjs: $(JS)/node_modules/installed $(wildcard $(JS)/src/*.ts $(JS)/src/*/*.ts) $(JS)/tsconfig.json $(JS)/bundle.mjs
	rm -rf $(JS)/dist
	$(NODE) npm run build
	$(NODE) npm run bundle

clean:
	rm -rf $(VENV) .venv-* $(JS)/node_modules $(JS)/dist dist build docs/gallery docs/reference .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
