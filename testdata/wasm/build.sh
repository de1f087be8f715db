#!/bin/sh
# Compiles every .wat here with wat2wasm (package wabt). Both are committed, so
# that tests need no tools.
set -eu
cd "$(dirname "$0")"
for wat in *.wat refused/*.wat; do
	wat2wasm --no-check "$wat" -o "${wat%.wat}.wasm"
done
