package embedpg

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLineToType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		goos     string
		root     bool
		programs []string
		major    int
		want     string
	}{
		{"Debian", "linux", false, []string{"apt-get"}, 0, "sudo apt-get install -y --no-install-recommends postgresql"},
		{"Debian for root", "linux", true, []string{"apt-get"}, 0, "apt-get install -y --no-install-recommends postgresql"},
		{"Debian with data of 16", "linux", true, []string{"apt-get"}, 16, "apt-get install -y --no-install-recommends postgresql-16"},
		{"Fedora", "linux", false, []string{"dnf"}, 0, "sudo dnf install -y postgresql-server"},
		{"openSUSE", "linux", true, []string{"zypper"}, 16, "zypper install -y postgresql16-server"},
		{"Alpine", "linux", true, []string{"apk"}, 16, "apk add postgresql16"},
		{"Arch", "linux", false, []string{"pacman"}, 0, "sudo pacman -S postgresql"},
		{"macOS", "darwin", false, nil, 0, "brew install postgresql@17"},
		{"macOS with data of 16", "darwin", false, []string{"brew"}, 16, "brew install postgresql@16"},
		{"the system's own before brew", "linux", true, []string{"brew", "apt-get"}, 0, "apt-get install -y --no-install-recommends postgresql"},
		{"Windows", "windows", false, nil, 0, "winget install PostgreSQL.PostgreSQL.17"},
		{"without any package manager", "linux", true, nil, 0, "TASKQ_PG_BIN=/folder/of/initdb/and/postgres taskq-host dev"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := machine{goos: c.goos, root: c.root, has: func(p string) bool { return slices.Contains(c.programs, p) }}
			require.Equal(t, c.want, installLine(m, c.major))
		})
	}
}

func TestMissingErrorIsOneSentenceThatEndsInTheLine(t *testing.T) {
	t.Parallel()
	old := []Binaries{{Dir: "/a", Version: "13.2", Major: 13}, {Dir: "/b", Version: "12.9", Major: 12}}
	require.EqualError(t, &MissingError{Line: "install it"},
		"embedpg: no PostgreSQL server (initdb and postgres) from version 14 on is installed; install it: install it")
	require.EqualError(t, &MissingError{Found: old, Line: "line"},
		"embedpg: no PostgreSQL server (initdb and postgres) from version 14 on is installed; found: 13.2 (/a), 12.9 (/b); install it: line")
	require.EqualError(t, &MissingError{Major: 16, Data: "/d", Found: old[:1], Line: "line"},
		"embedpg: the data in /d is of PostgreSQL 16, which is not installed; found: 13.2 (/a); the data is untouched; "+
			"set TASKQ_PG_DIR to another folder, or install it: line")
}
