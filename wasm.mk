# Guests: modules that the demo, the benchmarks and the tests run.
#
# Those in Go are built here, from source, by `make wasm`. Those in other
# languages are committed, so that nobody needs their compilers; wasm-foreign
# rebuilds them, and wasm-check sees that they belong to their sources.

PLUGINS := bin/plugins

GO_REACTORS := go-cases go-noop
GO_COMMANDS := go-command
FOREIGN     := c-cases c-noop rust-cases as-cases

# Classifiers aren't actors: the demo, which enqueues jobs, has no use for them.
CLASSIFIERS    := bin/classifiers
GO_CLASSIFIERS := go-rate-limit
C_CLASSIFIERS  := c-taxonomy

GO_SDK     := $(wildcard sdk-guest/go/*.go) sdk-guest/go/go.mod
GO_MODULES := $(GO_REACTORS:%=$(PLUGINS)/%.wasm) $(GO_COMMANDS:%=$(PLUGINS)/%.wasm)
ALL_GUESTS := $(GO_REACTORS) $(GO_COMMANDS) $(FOREIGN)

.PHONY: wasm
wasm: $(GO_MODULES) $(FOREIGN:%=$(PLUGINS)/%.wasm) $(ALL_GUESTS:%=$(PLUGINS)/%.json) $(GO_CLASSIFIERS:%=$(CLASSIFIERS)/%.wasm) $(C_CLASSIFIERS:%=$(CLASSIFIERS)/%.wasm) ## build the guests in Go, and lay all out in bin/plugins

GO_GUEST = cd plugins/$* && GOOS=wasip1 GOARCH=wasm GOFLAGS= GOWORK=off $(GO) build -trimpath -buildvcs=false

.SECONDEXPANSION:
$(GO_REACTORS:%=$(PLUGINS)/%.wasm): $(PLUGINS)/%.wasm: $$(wildcard plugins/$$*/*.go) plugins/%/go.mod $(GO_SDK)
	@mkdir -p $(@D)
	$(GO_GUEST) -buildmode=c-shared -o $(abspath $@) .

$(GO_COMMANDS:%=$(PLUGINS)/%.wasm): $(PLUGINS)/%.wasm: $$(wildcard plugins/$$*/*.go) plugins/%/go.mod
	@mkdir -p $(@D)
	$(GO_GUEST) -o $(abspath $@) .

$(GO_CLASSIFIERS:%=$(CLASSIFIERS)/%.wasm): $(CLASSIFIERS)/%.wasm: $$(wildcard plugins/$$*/*.go) plugins/%/go.mod $(GO_SDK)
	@mkdir -p $(@D)
	$(GO_GUEST) -buildmode=c-shared -o $(abspath $@) .

$(C_CLASSIFIERS:%=$(CLASSIFIERS)/%.wasm): $(CLASSIFIERS)/%.wasm: plugins/%/actor.wasm
	@mkdir -p $(@D)
	@cp $< $@

$(FOREIGN:%=$(PLUGINS)/%.wasm): $(PLUGINS)/%.wasm: plugins/%/actor.wasm
	@mkdir -p $(@D)
	@cp $< $@

$(PLUGINS)/%.json: plugins/%/manifest.json
	@mkdir -p $(@D)
	@cp $< $@

# --- Foreign guests. scripts/guest-toolchains.sh installs what these need.

TOOLCHAINS ?= $(or $(TASKQ_TOOLCHAINS),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/taskq-host/toolchains)
CLANG      ?= clang-19
NPM        := $(TOOLCHAINS)/assemblyscript/node_modules
# Debian's, whose sysroot has the library for WebAssembly, whatever else is in PATH.
RUSTC      ?= env -u RUSTFLAGS PATH=/usr/bin:/bin rustc

# The stack comes first in memory, so that using it up traps. Function names
# stay: traces show them.
C_FLAGS    := -O2 -Wall -Wextra -Wl,--stack-first -Wl,-z,stack-size=262144 -Wl,--strip-debug
RUST_FLAGS := --edition 2021 -C opt-level=s -C panic=abort -C codegen-units=1 -C overflow-checks=on -C strip=debuginfo
AS_FLAGS   := --path $(NPM) -O3s
ASC        := $(NPM)/.bin/asc

LANG_DIR := testdata/wasm/lang

.PHONY: wasm-foreign
wasm-foreign: ## rebuild the committed guests in C, Rust and AssemblyScript (needs scripts/guest-toolchains.sh)
	cd plugins/c-cases && $(CLANG) --target=wasm32-wasi $(C_FLAGS) -I../../sdk-guest/c -mexec-model=reactor -o actor.wasm cases.c
	cd plugins/c-noop && $(CLANG) --target=wasm32 -O2 -Wall -Wextra -I../../sdk-guest/c -nostdlib -Wl,--no-entry -Wl,--strip-all \
		-Wl,-z,stack-size=4096 -o actor.wasm noop.c
	cd plugins/c-taxonomy && $(CLANG) --target=wasm32 -O2 -Wall -Wextra -I../../sdk-guest/c -nostdlib -Wl,--no-entry -Wl,--strip-all \
		-Wl,-z,stack-size=4096 -o actor.wasm taxonomy.c
	cd $(LANG_DIR) && $(CLANG) --target=wasm32-wasi $(C_FLAGS) -o c.wasm c.c
	mkdir -p bin/rust
	cd sdk-guest/rust && $(RUSTC) $(RUST_FLAGS) --target wasm32-unknown-unknown --crate-type rlib --crate-name taskq \
		-o $(abspath bin/rust/libtaskq.rlib) src/lib.rs
	cd plugins/rust-cases && $(RUSTC) $(RUST_FLAGS) --target wasm32-unknown-unknown --crate-type cdylib --crate-name cases \
		--extern taskq=$(abspath bin/rust/libtaskq.rlib) -o actor.wasm cases.rs
	cd $(LANG_DIR) && $(RUSTC) $(RUST_FLAGS) --target wasm32-wasip1 --crate-name deaths -o rust.wasm rust.rs
	cd plugins/as-cases && $(ASC) cases.ts $(AS_FLAGS) --transform $(NPM)/json-as/transform/lib/index.js -o actor.wasm
	cd $(LANG_DIR) && $(ASC) assemblyscript.ts $(AS_FLAGS) -o assemblyscript.wasm \
		--config "$$(realpath --relative-to=. $(NPM))/@assemblyscript/wasi-shim/asconfig.json" # it takes no absolute path
	chmod 644 plugins/*/actor.wasm $(LANG_DIR)/*.wasm
	@scripts/foreign-digests.sh write

.PHONY: wasm-check
wasm-check: ## see that the committed guests are those that were built from their committed sources
	@scripts/foreign-digests.sh check
