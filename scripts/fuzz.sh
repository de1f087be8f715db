#!/usr/bin/env bash
# Runs every fuzzer of the module for a while: scripts/fuzz.sh 30s
set -euo pipefail
for_each=${1:-30s}
cd "$(dirname "$0")/.."
found=0
while read -r file; do
	dir=$(dirname "$file")
	for name in $(grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed 's/^func //'); do
		found=1
		echo "-- $dir $name"
		# Minimising an input that is only interesting takes longer than finding it.
		(cd "$dir" && go test . -run '^$' -fuzz "^$name\$" -fuzztime "$for_each" -fuzzminimizetime 1x -parallel 2)
	done
done < <(git ls-files '*_test.go' | xargs grep -lE '^func Fuzz' || true)
[ "$found" = 1 ] || { echo "no fuzzer was found"; exit 1; }
