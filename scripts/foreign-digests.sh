#!/bin/sh
# Digests of the committed guests and of every source that they were made
# from, in one list: a change of either without the other is found.
#
#   scripts/foreign-digests.sh write | check
set -eu
export LC_ALL=C # one order everywhere
cd "$(dirname "$0")/.."

list=testdata/wasm/lang/digests.sha256

files() {
	ls plugins/*/actor.wasm plugins/c-*/*.c plugins/rust-*/*.rs plugins/as-*/*.ts \
		testdata/wasm/lang/*.wasm testdata/wasm/lang/*.c testdata/wasm/lang/*.rs testdata/wasm/lang/*.ts \
		sdk-guest/c/taskq.h sdk-guest/rust/src/*.rs sdk-guest/assemblyscript/assembly/*.ts
}

if command -v sha256sum >/dev/null 2>&1; then
	digest() { sha256sum "$@"; }
else
	digest() { shasum -a 256 "$@"; }
fi

case ${1:-} in
write)
	# shellcheck disable=SC2046 # none of these names has a space
	digest $(files) >"$list"
	;;
check)
	# shellcheck disable=SC2046
	if ! digest $(files) | diff "$list" - ; then
		echo "the committed guests and their sources don't belong together: run \`make wasm-foreign\` and commit both" >&2
		exit 1
	fi
	echo "$(wc -l <"$list" | tr -d ' ') files are as $list says"
	;;
*)
	echo "usage: $0 write|check" >&2
	exit 2
	;;
esac
