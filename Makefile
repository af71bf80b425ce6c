# Two commands on a fresh machine: `make tune` and `make test`. See README.md.

STUDY ?= examples/quick.toml
RESULTS ?= results

# Recipes find a Rust that set-up has just installed.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.PHONY: help tune test lint bench evidence setup setup-dev

help:
	@printf '%s\n' \
		'make tune    set up this machine, build, and run a study of about 15 minutes ($(STUDY))' \
		'make test    set up this machine and run every test' \
		'make lint    format, clippy, docs, licences and advisories, shell scripts' \
		'make bench   criterion benches of the hot paths' \
		'make evidence PART=quick   measure again what the README claims; without PART the list of parts'

setup:
	@scripts/setup.sh

setup-dev:
	@scripts/setup.sh dev

tune: setup
	@. scripts/env.sh
	cargo build --locked --release
	target/release/noctune tune '$(STUDY)' --results '$(RESULTS)'

# Studies on fakes (tests/cli) mostly wait for seconds of load to pass: many run at a time, by themselves.
OTHER_TESTS := $(filter-out cli,$(patsubst tests/%/main.rs,%,$(wildcard tests/*/main.rs)) \
	$(patsubst tests/%.rs,%,$(wildcard tests/*.rs)))

test: setup
	@. scripts/env.sh
	cargo test --locked --lib --bins $(addprefix --test ,$(OTHER_TESTS))
	cargo test --locked --doc
	cargo build --locked --examples
	RUST_TEST_THREADS=$$((6 * $$(nproc))) cargo test --locked --test cli

lint: setup-dev
	@. scripts/env.sh
	scripts/lint.sh

bench: setup
	@. scripts/env.sh
	cargo bench --locked

evidence: setup-dev
	@. scripts/env.sh
	cargo build --locked --release
	scripts/evidence/run.sh $(PART) $(SEED)
