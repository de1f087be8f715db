#!/usr/bin/env bash
# Installs the compilers of the guests that aren't written in Go: C (clang and
# wasi-libc), Rust (with a standard library for WebAssembly) and AssemblyScript.
# Nobody needs them to build, test or run the host: what they made is committed.
# `make wasm-foreign` rebuilds it. Debian 12 and its like; as root.
#
# The digests in plugins/ and testdata/wasm/lang/ hold for the versions below.
set -euo pipefail

clang=19                       # clang-19 1:19.1.7-3~deb12u1, wasi-libc 0.0~git20220510
assemblyscript=0.28.20
jsonas=1.6.0
wasishim=0.1.0
tools=${TASKQ_TOOLCHAINS:-${XDG_CACHE_HOME:-$HOME/.cache}/taskq-host/toolchains}

die() {
	echo "guest-toolchains: $*" >&2
	exit 1
}

command -v apt-get >/dev/null || die "only apt is known here; install clang $clang, wasi-libc, rustc with wasm32 targets and npm yourself"
[ "$(id -u)" -eq 0 ] || die "apt-get needs root: sudo $0"

export DEBIAN_FRONTEND=noninteractive
packages() { apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }

echo "C: clang-$clang and wasi-libc"
apt-get update -qq
packages "clang-$clang" "lld-$clang" "libclang-rt-$clang-dev-wasm32" wasi-libc

echo "AssemblyScript $assemblyscript"
command -v npm >/dev/null || packages npm
mkdir -p "$tools/assemblyscript"
(cd "$tools/assemblyscript" &&
	{ [ -f package.json ] || npm init -y >/dev/null; } &&
	npm install --silent --no-audit --no-fund -E "assemblyscript@$assemblyscript" "json-as@$jsonas" \
		"@assemblyscript/wasi-shim@$wasishim")

# Debian's rustc-web comes without a standard library for WebAssembly, but
# with its source; built once, plain rustc finds it in its sysroot.
echo "Rust: rustc-web, and its standard library (two minutes)"
packages rustc-web cargo-web rust-web-src rust-web-llvm
lld=$(apt-cache depends rustc-web rust-web-llvm | sed -n 's/.*\(lld-[0-9][0-9]*\).*/\1/p' | head -n 1)
packages "${lld:-lld-22}"
export PATH=/usr/bin:/bin # another rustc in PATH has another sysroot
sysroot=$(rustc --print sysroot)
version=$(rustc --version)
stamp=$sysroot/lib/rustlib/wasm32-taskq-host
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$version" ]; then
	echo "  $version has it already"
	exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src .cargo
cat >.cargo/config.toml <<TOML
[source.crates-io]
replace-with = "rust-src-vendor"
[source.rust-src-vendor]
directory = "$sysroot/lib/rustlib/src/rust/library/vendor"
TOML
cat >Cargo.toml <<'TOML'
[package]
name = "e"
version = "0.1.0"
edition = "2021"
[lib]
crate-type = ["rlib"]
[profile.release]
opt-level = "s"
panic = "abort"
codegen-units = 1
debug = 0
TOML
: >src/lib.rs
for target in wasm32-unknown-unknown wasm32-wasip1; do
	RUSTC_BOOTSTRAP=1 CARGO_NET_OFFLINE=true RUSTFLAGS="-C embed-bitcode=yes --remap-path-prefix=$work=." \
		cargo build -q --release -Zbuild-std=std,panic_abort,proc_macro --target "$target"
	lib=$sysroot/lib/rustlib/$target/lib
	rm -rf "$lib"
	mkdir -p "$lib/self-contained"
	find "target/$target/release" -name '*.rlib' ! -name 'libe-*' ! -name 'libe.rlib' -exec cp {} "$lib/" \;
done
cp /usr/lib/wasm32-wasi/crt1-command.o /usr/lib/wasm32-wasi/crt1-reactor.o /usr/lib/wasm32-wasi/libc.a \
	"$sysroot/lib/rustlib/wasm32-wasip1/lib/self-contained/"
echo "$version" >"$stamp"
