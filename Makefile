# Every target sets itself up: `make demo` and `make test` work in a fresh clone. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# onnxruntime-node would download CUDA libraries that nothing here uses.
export ONNXRUNTIME_NODE_INSTALL := skip
export npm_config_loglevel ?= error

# Where Node came from a system package its headers lie beside it, and node-gyp need not download them.
NODE_PREFIX := $(patsubst %/bin/node,%,$(realpath $(shell command -v node)))
ifneq ($(wildcard $(NODE_PREFIX)/include/node/node_api.h),)
export npm_config_nodedir ?= $(NODE_PREFIX)
endif

SOURCES := $(shell find src online workers scripts -name '*.ts' 2>/dev/null) tsconfig.json tsconfig.build.json package.json
RESULTS := .test-results
VITEST := node_modules/.bin/vitest run --reporter=default --reporter=json

## demo: embed real prose through Kafka, shared memory, the model and a store; then ask questions (ENGINE=triton, SINK=redis|pgvector)
.PHONY: demo
demo: dist/.built
	@ENGINE="$(or $(ENGINE),embedded)" SINK="$(or $(SINK),lancedb)" exec node dist/scripts/demo/main.js

## test: lint, types, architecture, unit, contract, integration and short chaos tests, against real servers
.PHONY: test
test: lint typecheck generate-check test-unit test-contract test-integration test-chaos

## test-unit: unit and architecture tests; no server needed
.PHONY: test-unit
test-unit: node_modules/.installed
	@mkdir -p $(RESULTS)
	@$(VITEST) --project unit --outputFile.json=$(RESULTS)/unit.json

## test-contract: one suite for every implementation of a port
## test-integration: the product against real Kafka, Redis, Triton and a real model
## test-chaos: short chaos run
## test-benchmark: benchmarks; writes raw numbers
.PHONY: test-contract test-integration test-chaos test-benchmark
test-contract test-integration test-chaos test-benchmark: test-%: dist/.built
	@mkdir -p $(RESULTS)
	@$(VITEST) --project '$*' --project '$*-alone' --passWithNoTests --outputFile.json=$(RESULTS)/$*.json

## bench-online: our share of a query's time, beside a bare gRPC call and NVIDIA's Python client; writes docs/benchmarks/online.json (needs Go and Python)
.PHONY: bench-online
bench-online: dist/.built
	@node_modules/.bin/vitest run --project benchmark test/benchmark/online

## bench-tokenizer: tokenizer graphs beside Hugging Face's library: 100,000 made-up texts (TOKENIZER_FUZZ), and speed
.PHONY: bench-tokenizer
bench-tokenizer: dist/.built
	@node_modules/.bin/vitest run --project benchmark test/benchmark/tokenizer-parity.test.ts test/benchmark/tokenizer-speed.test.ts

## live-page-image: docs/images/live-page.png anew, from fifteen minutes of real load (LIVE_PAGE_MINUTES)
.PHONY: live-page-image
live-page-image: dist/.built
	@node_modules/.bin/vitest run --project benchmark test/benchmark/live-page.test.ts

## status-image: docs/images/status-watch.png anew, from a real pseudo-terminal; prints the transcript of docs/tools/status.md
.PHONY: status-image
status-image: dist/.built
	@node_modules/.bin/vitest run --project benchmark test/benchmark/status-watch.test.ts

## chaos: long chaos run (CHAOS_ROUNDS=200, CHAOS_SEED, CHAOS_CHECK_EVERY=1, CHAOS_ENGINE=triton, CHAOS_SINK=pgvector|kafka-topic|lancedb); writes .chaos/report.json
.PHONY: chaos
chaos: export CHAOS_ROUNDS := $(or $(CHAOS_ROUNDS),200)
chaos: export CHAOS_CHECK_EVERY := $(or $(CHAOS_CHECK_EVERY),1)
chaos: export CHAOS_SEED := $(CHAOS_SEED)
chaos: export CHAOS_ENGINE := $(CHAOS_ENGINE)
chaos: export CHAOS_SINK := $(CHAOS_SINK)
chaos: dist/.built
	@node_modules/.bin/vitest run --project chaos test/chaos/rounds.test.ts

## test-node24: unit and integration tests on Node 24, brought by npm
.PHONY: test-node24
test-node24: dist/.built
	@bash scripts/test-node24.sh

## check: types, lint, unit and architecture tests, in under a minute, no network
.PHONY: check
check: lint typecheck test-unit

## lint: formatting and lint rules
.PHONY: lint
lint: node_modules/.installed
	@node_modules/.bin/biome check --error-on-warnings .

## typecheck: TypeScript, strict
.PHONY: typecheck
typecheck: node_modules/.installed
	@node_modules/.bin/tsc -p tsconfig.json --noEmit
	@node_modules/.bin/tsc -p page/tsconfig.json

## generate: TypeScript from proto/, the live page from page/
.PHONY: generate generate-check
generate: node_modules/.installed
	@npm run --silent generate
generate-check: node_modules/.installed
	@npm run --silent generate:check

## docs: what is written from tables and schemas in the code: docs/metrics.md, docs/settings.md, docs/exit-codes.md, docs/openapi.json, .env.example, dashboards, model-repos
.PHONY: docs
docs: node_modules/.installed
	@node_modules/.bin/vitest run --project unit test/unit/config test/unit/telemetry test/unit/deploy test/unit/ops/openapi.test.ts test/unit/scripts/build-model-repos/committed.test.ts test/unit/workers/help.test.ts -u

## build: compile to dist/
.PHONY: build
build: dist/.built

## stack: start Kafka, Redis, PostgreSQL, Triton and a schema registry on free ports until Ctrl-C (some of them, another model: ARGS="--help")
.PHONY: stack
stack: dist/.built
	@exec node dist/scripts/stack/main.js up $(ARGS)

## export-tokenizer: a Hugging Face tokenizer as a Triton model (ARGS="--model-type embedding --model DIR --output-dir DIR"; docs/models.md)
.PHONY: export-tokenizer
export-tokenizer: dist/.built
	@exec node dist/scripts/export-tokenizer/main.js $(ARGS)

## export-onnx: from a model to one that pools in the graph (ARGS="--help")
.PHONY: export-onnx
export-onnx: dist/.built
	@exec node dist/scripts/export-onnx/main.js $(ARGS)

## build-trt-engine: a TensorRT engine of an exported model, through trtexec (ARGS="--help")
.PHONY: build-trt-engine
build-trt-engine: dist/.built
	@exec node dist/scripts/build-trt-engine/main.js $(ARGS)

## build-model-repos: Triton repositories of the pools, or a check of them (ARGS="--help"; docs/models.md)
.PHONY: build-model-repos
build-model-repos: dist/.built
	@exec node dist/scripts/build-model-repos/main.js $(ARGS)

## clean: remove what was built and the demo's data (the download cache stays)
.PHONY: clean
clean:
	@rm -rf dist .demo .chaos $(RESULTS) node_modules/.installed

## help: this list
.PHONY: help
help:
	@sed -n 's/^## \([a-z0-9-]*\): \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F'\t' '{printf "  make %-18s %s\n", $$1, $$2}'

node_modules/.installed: package.json package-lock.json .npmrc
	@node -e 'const [a, b] = process.versions.node.split(".").map(Number); if (a < 20 || (a === 20 && b < 19)) { console.error("Node 20.19 or newer is needed, this is " + process.version); process.exit(1) }'
	@npm ci --no-audit --no-fund
	@touch $@

dist/.built: node_modules/.installed $(SOURCES)
	@rm -rf dist
	@npm run --silent build
	@touch $@
