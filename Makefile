PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

.PHONY: setup demo test lint hooks types bench audits verify mutants fuzz docs pictures package lowest plain clean

demo: $(VENV)/core
	$(RUN) examples/one_question.py
	@echo
	$(RUN) examples/three_questions.py
	@echo
	$(RUN) examples/twenty_rounds.py

# What all the targets need, before any two of them run side by side.
setup: $(VENV)/dev $(VENV)/docs

# QUICK=1 asks for the short form of any target; those that write into docs/ write into build/ then.
QUICK ?=

# The suite, on JOBS processes. QUICK=1 leaves out what draws many reports, takes long or starts processes.
JOBS ?= 2
test: $(VENV)/dev
	$(RUN) -m pytest -n $(JOBS) --dist worksteal $(if $(QUICK),-m "not (statistical or slow or process)")

# Hostile input, guided by coverage, from the corpus on: SECONDS for each target; `make fuzz KEEP=--keep` adds new small inputs to the corpus.
SECONDS := $(if $(QUICK),5,60)
fuzz: $(VENV)/fuzz
	$(RUN) fuzz/fuzz.py --seconds $(SECONDS) $(KEEP)

# Faults planted one by one, each of which a named check or test must reject, into docs/faults.md: about five minutes.
# `make mutants ONLY="GRR SS"` plants those with one of these words in name, place, check, test or mechanism;
# `make mutants GENERATE="core/exact.py SMP._charges --most 20"` plants standard mutations of these, and lists those that live.
mutants: $(VENV)/dev
	$(RUN) mutants/plant.py $(ONLY) $(if $(GENERATE),--generate $(GENERATE))

lint: $(VENV)/dev
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(VENV)/bin/lint-imports
	$(RUN) tools/hygiene.py

# The same as a hook of git, before every commit.
hooks: $(VENV)/dev
	$(VENV)/bin/pre-commit install

types: $(VENV)/dev
	$(RUN) -m mypy

# Everything beside the packages it is compared with, into docs/benchmark.md; `make bench QUICK=1` takes a minute.
bench: $(VENV)/bench
	$(RUN) benchmarks/bench.py $(if $(QUICK),--quick)

# Everything that is claimed, verified at length (a quarter of an hour), into docs/verification.md; `make verify QUICK=1` is a sample.
verify: $(VENV)/dev
	$(RUN) verification/verify.py $(if $(QUICK),--quick)

# Privacy as measured, of this package and of others, into docs/audits.md; `make audits QUICK=1` takes a minute.
audits: $(VENV)/bench
	$(RUN) benchmarks/audits.py $(if $(QUICK),--quick)

# The documentation, into build/docs: tutorials are run, and a warning is an error.
docs: $(VENV)/docs
	$(RUN) -m sphinx -W --keep-going -q -b html docs build/docs
	@echo build/docs/index.html

# The pictures of the documentation, into docs/pictures.
pictures: $(VENV)/dev
	$(RUN) examples/pictures.py

# Wheel and sdist, the wheel installed alone into an empty environment, the paper's listings run there.
package: $(VENV)/dev
	rm -rf dist .venv-wheel
	$(RUN) -m build --outdir dist .
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet dist/*.whl
	cd / && for n in 1 2 3 4; do $(CURDIR)/.venv-wheel/bin/python -I $(CURDIR)/tests/listing_$$n.py || exit 1; done
	rm -rf .venv-wheel

# What depends on NumPy and numba, on the oldest that pyproject.toml admits and without the extras.
OLDEST := $(addprefix tests/test_,$(addsuffix .py,vectors old_files randomness kernels input checks \
          several over_time clients functions functions_several worst_case))
lowest:
	rm -rf .venv-lowest
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet "numpy==1.26.0" "numba==0.59.0" -e . "pytest>=8" "pytest-xdist>=3.6"
	.venv-lowest/bin/python -m pytest -n $(JOBS) --dist worksteal $(OLDEST) -m "not (statistical or slow or process or extras)"
	rm -rf .venv-lowest

# Without numba: vectors, reports, counts, clients and the functions of the paper.
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

$(VENV)/fuzz: $(VENV)/core
	$(RUN) -m pip install --quiet --disable-pip-version-check -e ".[fuzz]"
	touch $@

$(VENV)/dev: $(VENV)/core
	$(RUN) -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) .venv-* dist build docs/gallery docs/reference .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
