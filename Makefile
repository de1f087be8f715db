# Every target that has a ## line shows up in `make help`.

GO        ?= go
BIN       := bin/taskq-host
GOLANGCI  ?= golangci-lint
GOLANGCI_VERSION := v2.15.0
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS   := -s -w -X main.version=$(VERSION)

include wasm.mk

.DEFAULT_GOAL := help

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

.PHONY: demo
demo: postgres build wasm ## run the example actors on an embedded Postgres and show what became of each
	@exec $(BIN) demo

.PHONY: run
run: postgres build ## start the host on an embedded Postgres and stay up (Ctrl-C stops it)
	@exec $(BIN) dev

.PHONY: build
build: ## build bin/taskq-host
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/taskq-host

.PHONY: test
test: postgres wasm ## run every test that needs no special machine; of the chaos suite a slice
	$(GO) test $$($(GO) list ./... | grep -v /chaos$$)
	$(GO) test ./chaos -run Killed
	cd sdk-guest/go && $(GO) test ./...

.PHONY: race
race: postgres wasm ## the same under the race detector, but for chaos, whose processes would miss their leases
	$(GO) test -race $$($(GO) list ./... | grep -v /chaos$$)
	cd sdk-guest/go && $(GO) test -race ./...

.PHONY: lint
lint: ## gofmt, go vet, golangci-lint
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	cd sdk-guest/go && $(GO) vet ./...
	@for dir in plugins/go-*; do (cd $$dir && GOOS=wasip1 GOARCH=wasm $(GO) vet ./...) || exit 1; done
	cd bench && $(GO) vet ./...
	@command -v $(GOLANGCI) >/dev/null || { \
		echo "installing golangci-lint $(GOLANGCI_VERSION) into $$($(GO) env GOPATH)/bin"; \
		$(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION); }
	PATH="$$PATH:$$($(GO) env GOPATH)/bin" $(GOLANGCI) run ./...

FUZZTIME ?= 30s
.PHONY: fuzz
fuzz: ## run each fuzzer for FUZZTIME (30s)
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: postgres build wasm ## measure beside River and beside the bare statements; keeps raw output in bench/results
	cd bench && $(GO) run . $(BENCHFLAGS)

.PHONY: mutants
mutants: postgres ## break one rule at a time and expect a test to turn red
	@scripts/mutants.sh

KILLS ?= 10000
.PHONY: trouble
trouble: postgres ## the whole chaos suite: restarts, failover, network, full disk, frozen processes
	$(GO) test ./chaos -count=1 -timeout 30m

.PHONY: chaos
chaos: postgres ## kill workers KILLS times (10000) under load and check that nothing is lost or doubled; keeps the figures in bench/results
	TASKQ_CHAOS_KILLS=$(KILLS) $(GO) test ./chaos -run '^TestNothingIsLostOrDoubledWhenWorkersAreKilled$$' -count=1 -timeout 0 -v

.PHONY: bench-sandbox
bench-sandbox: ## measure the sandbox: starts, metering, hostile guests; needs no database
	cd bench && $(GO) run ./sandbox $(BENCHFLAGS)

.PHONY: tidy
tidy: ## tidy every module
	$(GO) mod tidy
	cd sdk-guest/go && $(GO) mod tidy
	cd bench && $(GO) mod tidy

.PHONY: postgres
postgres:
	@scripts/ensure-postgres.sh

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
