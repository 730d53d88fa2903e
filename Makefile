# From a bare Python: `make run` and `make test` create .venv and install what they need.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: run test laws attack versions lint bench deadlines startup gpu docs pages pictures wheel clean
run: $(READY)
	$(BIN)/airoas run light-dark-1.0 airoas --seconds 0.1 --episodes 10 --seed 0

test: $(READY)
	$(BIN)/pytest -n auto --dist worksteal -m "not law"

laws: $(READY)
	$(BIN)/pytest -n auto -m law

# hostile input, kills, limits, threads: what an attacker tried once, and a fuzz test over the public entries
attack: $(READY)
	$(BIN)/pytest -n auto tests/attack tests/laws/test_fuzz.py tests/modelling/test_gate.py tests/planners/test_stops.py \
		tests/compiler/test_interrupt.py tests/compiler/test_cache.py tests/experiments/test_one_model.py tests/experiments/test_store.py \
		tests/experiments/test_packed.py tests/experiments/test_bench.py tests/experiments/test_pool.py tests/interop/test_pomdpfile.py \
		tests/report/test_values.py tests/report/test_browser.py tests/belief/test_particles.py tests/modelling/test_rewards.py \
		tests/policies/test_stored.py tests/experiments/test_tune.py

# what stands on numba's private interfaces, in an environment of its own, with the packages that WITH names:
# make versions PYTHON=python3.11 WITH="numba==0.65.0 numpy==1.26.0"; five minutes of one core
versions:
	$(PYTHON) -m venv --clear .venv-versions
	.venv-versions/bin/python -m pip install --quiet ".[gym,tune]" hypothesis pytest $(WITH)
	.venv-versions/bin/python -m pip list | grep -E "^(llvmlite|numba|numpy) "
	.venv-versions/bin/python -m pytest -q -m "not law" tests/compiler tests/modelling tests/test_rng.py \
		tests/belief/test_noise_record.py tests/belief/test_resample.py tests/planners/test_planner_conformance.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/annealing.py
	$(BIN)/python benchmarks/pomcp.py
	$(BIN)/python benchmarks/planners.py

# how late answers are beside other work, into results/ and docs/robot.md: about half an hour on a machine with nothing else to do
deadlines: $(READY)
	$(BIN)/python -m benchmarks.deadlines
	$(BIN)/python -m tools.deadlines_page

# CPU seconds from the start of a process to its first decision; half an hour
startup: $(READY)
	$(BIN)/python benchmarks/startup.py --out results/startup.csv

# that what runs on a GPU compiles and links for one; needs none
gpu: $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[gpu]"
	$(BIN)/python -m tools.gpu_kernels

docs: $(READY)
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict

# what is made in docs/ and README: from the rows under results/, and from the data of a study of annealing
pages: $(READY)
	$(BIN)/python -m tools.results_page
	$(BIN)/python -m tools.annealing_page
	$(BIN)/python -m tools.lost_page
	$(BIN)/python -m tools.deadlines_page
	$(BIN)/python -m tools.gpu_page

pictures: $(READY)
	$(BIN)/python -m tools.pictures

wheel: $(READY)
	$(BIN)/python -m build

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[plot,data,cluster,tune,gym,viz]" --group dev
	touch $(READY)

clean:
	rm -rf .venv .venv-versions build dist .mypy_cache .ruff_cache .pytest_cache
