#!/bin/sh
# Compiles every .wat here with wat2wasm (package wabt). Both are committed, so
# that tests need no tools.
set -eu
cd "$(dirname "$0")"
for wat in *.wat; do
	wat2wasm "$wat" -o "${wat%.wat}.wasm"
done
