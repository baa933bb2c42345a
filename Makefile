# One verb, one job; .ci/run calls the same ones. Everything is installed into .venv.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
SCALE ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup java demo test lint types prove bench wheel

help: ## list the verbs
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 10

setup: $(STAMP) java ## make .venv from constraints.txt, and see that Spark has a Java

$(STAMP): pyproject.toml constraints.txt
	@scripts/venv.sh $(VENV)
	@touch $@

java:
	@scripts/java.sh

demo: setup ## run two TPC-H tasks in an embedded Airflow and ask where a result row came from
	@$(BIN)/python -m row_lineage_provider.demo

test: setup lint types ## run linter, type checker and all tests
	$(BIN)/python -m pytest

lint: $(STAMP) ## check style with ruff
	$(BIN)/ruff check .

types: $(STAMP) ## check types with mypy --strict
	$(BIN)/mypy

prove: $(STAMP) ## prove the pushdown rules with z3, refute broken twins and mutants, try 5,000 pipelines, all of TPC-H
	$(BIN)/python -m pytest tests/verify
	$(BIN)/python -m tests.verify.mutants
	ROW_LINEAGE_TEST_PIPELINES=5000 $(BIN)/python -m pytest tests/pipelines
	ROW_LINEAGE_TEST_TPCH=full $(BIN)/python -m pytest tests/tpch

bench: setup ## measure capture and queries on TPC-H (SCALE=1)
	$(BIN)/python benchmarks/tpch.py --sf $(SCALE)

wheel: $(STAMP) ## build the wheel into dist/
	@rm -rf dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .
