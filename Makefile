# The commands of the README. A Rust toolchain is enough for all of them; python3 and a network fetch the models, a JDK and
# Maven (installed if missing, where apt-get may) the servers of `make services` and `make test`.

SHELL := bash
.DEFAULT_GOAL := help

# Cores that builds and tests may use.
CORES ?= 2
# More arguments for `make run`, such as ARGS="--listen 127.0.0.1:8080".
ARGS ?=
# `make run CHAT=local` has questions answered by a small language model on this machine (TRIBUTARY_CHAT_MODEL=1.5b for the better one).
CHAT ?=
# Folders of documents and questions for `make eval`, in one of the layouts of `tributary eval run --help`.
SETS ?= $(patsubst %/qrels.tsv,%,$(wildcard deploy/profiles/*/evaluation/qrels.tsv ../shared/data/xquad-zh-en/qrels.tsv ../shared/data/cranfield-en/qrels.tsv))
# Failures that `make chaos` causes.
FAULTS ?= 300
# One benchmark for `make bench`, such as BENCH=analyzer.
BENCH ?= *

models := .tributary/models
tributary := $(or $(CARGO_TARGET_DIR),target)/release/tributary
fallback := TRIBUTARY__MODELS__ALLOW_HASHING_FALLBACK
chat := TRIBUTARY__MODELS__CHAT

.PHONY: help run build models services services-stop test chaos lint bench eval deny
.NOTPARALLEL:

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Build, fetch the models if they are missing, index a few documents and serve on this machine (ARGS=…, CHAT=local)
	@case "$(CHAT)" in "" | local) ;; *) echo "make run: CHAT=$(CHAT) is not known; CHAT=local starts a small language model here, for others see docs/language-models.md" >&2; exit 1;; esac; \
	if [ -n "$(CHAT)" ]; then \
	  address="$$(deploy/services/chat start --context 4096 --slots 2)" || exit 1; \
	  echo "make run: the language model at $$address answers; it stays when this ends: deploy/services/chat stop" >&2; \
	  export $(chat)__ENDPOINT__URL="http://$$address/v1" $(chat)__ENDPOINT__MODEL=local; \
	  export $(chat)__ENDPOINT__CONTEXT_TOKENS=4096 $(chat)__ENDPOINT__PARALLEL=2; \
	  for role in UNDERSTAND SUMMARIZE DESCRIBE_CODE; do export $(chat)__ROLES__$${role}__ENDPOINT=; done; \
	fi; \
	if ! deploy/models/fetch $(models); then \
	  echo "make run: the models could not be fetched; without them only shared words are found, and answers are marked as degraded" >&2; \
	  echo "make run: going on with $(fallback)=true" >&2; \
	  export $(fallback)=true; \
	fi; \
	exec $(tributary) run --sample docs --sample README.md --sample README.zh-CN.md $(ARGS)

build:
	@command -v cargo >/dev/null || { echo "make: cargo is missing; install Rust from https://rustup.rs" >&2; exit 1; }
	cargo build --release --locked

models: ## Fetch the embedding model and its runtime into .tributary/models, once
	@deploy/models/fetch $(models)

services: ## Run a real Kafka (127.0.0.1:9092) and Elasticsearch (127.0.0.1:9200) on this machine, fetched once with Maven
	@deploy/services/kafka start
	@deploy/services/elasticsearch start

services-stop: ## Stop them (their data stays: deploy/services/kafka clean removes it)
	@deploy/services/kafka stop
	@deploy/services/elasticsearch stop

test: ## Check format, lints, dependencies and all tests on CORES cores (2); says what was skipped and why
	@CORES=$(CORES) .ci/test

chaos: ## The long test of failures: kills, pauses and cuts off real processes FAULTS times (300) and looks for lost and doubled documents
	@CORES=$(CORES) TRIBUTARY_CHAOS_FAULTS=$(FAULTS) .ci/test chaos

lint: ## The first part of make test: format and lints
	@CORES=$(CORES) .ci/test lint

bench: ## Run the benchmarks (BENCH=analyzer for one of them)
	cargo bench --workspace --jobs $(CORES) --bench '$(BENCH)'

eval: build models ## Send documents and questions through the real pipeline and score every tier (SETS="DIR DIR")
	@[ -n "$(SETS)" ] || { echo 'make eval: no evaluation set here; name folders: make eval SETS="DIR DIR"' >&2; exit 1; }
	@for set in $(SETS); do echo "== $$set"; $(tributary) eval run --set "$$set" || exit 1; done

deny: ## Check licences, advisories and bans of all dependencies (also part of make test)
	@CORES=$(CORES) .ci/test deny
