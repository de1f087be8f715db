#!/bin/sh
# Breaks one rule at a time and expects a test to turn red: a check that can't
# fail shows nothing. Each line: file | what is there | what it becomes |
# package | test that must fail.
set -eu
cd "$(dirname "$0")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 tar cf - | tar xf - -C "$copy"
cd "$copy"
survived=0 killed=0
while IFS='|' read -r file from to package test; do # \\n is a line's end
	case "$file" in '' | '#'*) continue ;; esac
	from=$(printf '%b' "$from") to=$(printf '%b' "$to")
	if ! FROM="$from" TO="$to" perl -0pi -e '$n = s/\Q$ENV{FROM}\E/$ENV{TO}/; END { exit($n ? 0 : 3) }' "$file"; then
		echo "STALE    $file: $from" >&2
		exit 2
	fi
	if go vet "./$package" >/dev/null 2>&1; then :; else
		echo "BROKEN   $file: $to" >&2
		exit 2
	fi
	if go test "./$package" -run "$test" -count=1 >/dev/null 2>&1; then
		echo "SURVIVED $file: $from -> $to ($test)"
		survived=$((survived + 1))
	else
		echo "killed   $file: $from -> $to"
		killed=$((killed + 1))
	fi
	FROM="$to" TO="$from" perl -0pi -e 's/\Q$ENV{FROM}\E/$ENV{TO}/' "$file"
done <scripts/mutants.txt
echo "$killed killed, $survived survived"
[ "$survived" -eq 0 ]
