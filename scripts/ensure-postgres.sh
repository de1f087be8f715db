#!/bin/sh
# Sees to it that PostgreSQL's server programs (initdb and postgres, version 14
# or newer) are on this machine, for the embedded default and the tests.
# Installs them where it may, and otherwise prints the one line to type.
# The system's own cluster is neither needed nor made nor touched.
set -eu

min=14

# usable DIR: does it hold the programs in a version that serves?
usable() {
	[ -x "$1/initdb" ] && [ -x "$1/postgres" ] || return 1
	major=$("$1/postgres" --version 2>/dev/null | sed -n 's/.*(PostgreSQL) \([0-9][0-9]*\).*/\1/p')
	[ -n "$major" ] && [ "$major" -ge "$min" ]
}

# The places are those of embedpg.Find.
find_postgres() {
	if [ -n "${TASKQ_PG_BIN:-}" ]; then
		usable "$TASKQ_PG_BIN" && echo "$TASKQ_PG_BIN"
		return
	fi
	in_path=$(command -v postgres 2>/dev/null || true)
	if [ -n "$in_path" ]; then
		in_path=$(dirname "$(readlink -f "$in_path" 2>/dev/null || echo "$in_path")")
	fi
	for dir in "$in_path" /usr/lib/postgresql/*/bin /usr/lib/postgresql*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* \
		/usr/local/pgsql/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin \
		/home/linuxbrew/.linuxbrew/opt/postgresql*/bin /Applications/Postgres.app/Contents/Versions/*/bin \
		/var/lib/taskq-host/pg-*/bin "${XDG_CACHE_HOME:-${HOME:-}/.cache}"/taskq-host/pg-*/bin \
		"${HOME:-}"/Library/Caches/taskq-host/pg-*/bin; do
		if [ -n "$dir" ] && usable "$dir"; then
			echo "$dir"
			return
		fi
	done
	return 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# install_apt makes the package leave out the cluster that it would make and
# start, and leaves that setting as it found it.
install_apt() {
	export DEBIAN_FRONTEND=noninteractive
	off=/etc/postgresql-common/createcluster.d/00-taskq-host.conf
	trap 'rm -f "$off"' EXIT
	apt-get update -qq &&
		apt-get install -y -qq --no-install-recommends postgresql-common &&
		mkdir -p "$(dirname "$off")" &&
		echo 'create_main_cluster = false' >"$off" &&
		apt-get install -y -qq --no-install-recommends postgresql
}

fail() {
	echo "PostgreSQL's server (version $min or newer) is missing. Type:" >&2
	echo "  $1" >&2
	exit 1
}

if find_postgres >/dev/null; then
	exit 0
fi
if [ -n "${TASKQ_PG_BIN:-}" ]; then
	fail "export TASKQ_PG_BIN=/folder/of/initdb/and/postgres   # $TASKQ_PG_BIN has none that serves"
fi

sudo='sudo '
[ "$(id -u)" -ne 0 ] || sudo=''
if has apt-get; then
	line="${sudo}apt-get install -y --no-install-recommends postgresql"
	[ -n "$sudo" ] || install_apt || fail "$line"
elif has dnf; then
	line="${sudo}dnf install -y postgresql-server"
	[ -n "$sudo" ] || dnf install -y -q postgresql-server || fail "$line"
elif has zypper; then
	line="${sudo}zypper install -y postgresql-server"
elif has apk; then
	line="${sudo}apk add postgresql"
elif has pacman; then
	line="${sudo}pacman -S postgresql"
elif has brew; then
	line="brew install postgresql@17"
	brew install -q postgresql@17 || fail "$line" # brew is the user's own
else
	line="export TASKQ_PG_BIN=/folder/of/initdb/and/postgres"
fi
find_postgres >/dev/null || fail "$line"
