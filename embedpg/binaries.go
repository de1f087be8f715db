package embedpg

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MinMajor is the oldest major version of PostgreSQL that is used.
const MinMajor = 14

// Binaries are the programs of one installed PostgreSQL.
type Binaries struct {
	Dir     string `json:"dir"`     // holds initdb and postgres
	Version string `json:"version"` // as postgres says it, e.g. "15.18"
	Major   int    `json:"major"`
}

// String is the version and the folder, for messages.
func (b Binaries) String() string { return b.Version + " (" + b.Dir + ")" }

// Find looks for initdb and postgres. A folder that is given (Options.BinDir
// or $TASKQ_PG_BIN) is the only one that counts; else PATH and the places
// where packages put them. Data that is there decides the major version;
// without data the newest is taken. The error is a [*MissingError] when
// nothing serves.
func Find(ctx context.Context, o Options) (Binaries, error) {
	dir, err := o.folder()
	if err != nil {
		return Binaries{}, err
	}
	data := filepath.Join(dir, dataName)
	want := dataMajor(data)
	given := cmp.Or(o.BinDir, os.Getenv(EnvBinDir))
	dirs := places()
	if given != "" {
		dirs = []string{given}
	}
	var found []Binaries
	for _, d := range dirs {
		b, err := probe(ctx, d)
		if err == nil {
			found = append(found, b)
		} else if given != "" {
			return Binaries{}, fmt.Errorf("embedpg: no PostgreSQL server in %s: %w", given, err)
		}
	}
	slices.SortStableFunc(found, func(a, b Binaries) int { return cmp.Compare(b.Major, a.Major) })
	for _, b := range found {
		if b.Major == want || want == 0 && b.Major >= MinMajor {
			return b, nil
		}
	}
	missing := &MissingError{Major: want, Found: found, Line: installLine(thisMachine(), want)}
	if want != 0 {
		missing.Data = data
	}
	return Binaries{}, missing
}

// dataMajor is the major version of the cluster in data, 0 when there is none.
func dataMajor(data string) int {
	b, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return 0
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return major
}

// places are the folders in which packages leave the server's programs, which
// most of them keep out of PATH.
func places() []string {
	var dirs []string
	if p, err := exec.LookPath("postgres"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			dirs = append(dirs, filepath.Dir(p))
		}
	}
	patterns := []string{
		"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu, Gentoo's slots
		"/usr/lib/postgresql*/bin",          // openSUSE
		"/usr/pgsql-*/bin",                  // the PGDG's packages for Fedora and RHEL
		"/usr/libexec/postgresql*",          // Alpine
		"/usr/local/pgsql/bin",              // built from source
		"/opt/homebrew/opt/postgresql*/bin", // Homebrew on arm64
		"/usr/local/opt/postgresql*/bin",    // Homebrew on amd64
		"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	}
	if runtime.GOOS == "windows" {
		patterns = []string{filepath.Join(os.Getenv("ProgramFiles"), "PostgreSQL", "*", "bin")}
	}
	for _, p := range append(patterns, filepath.Join(CacheDir(), "pg-*", "bin")) {
		m, _ := filepath.Glob(p) // the patterns are constant and well-formed
		dirs = append(dirs, m...)
	}
	return dirs
}

// CacheDir is where PostgreSQL binaries that were downloaded are looked for,
// in folders pg-VERSION/bin. Root's own cache can't be read by the account
// that root's postgres runs as, so root's is below /var/lib.
func CacheDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/taskq-host"
	}
	d, err := os.UserCacheDir()
	if err != nil {
		d = os.TempDir()
	}
	return filepath.Join(d, "taskq-host")
}

var versionText = regexp.MustCompile(`\(PostgreSQL\) ((\d+)[.0-9a-z]*)`)

// probe asks the postgres in dir for its version.
func probe(ctx context.Context, dir string) (Binaries, error) {
	if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err != nil {
		return Binaries{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").CombinedOutput()
	if err != nil {
		return Binaries{}, fmt.Errorf("postgres --version: %w %s", err, strings.TrimSpace(string(out)))
	}
	m := versionText.FindSubmatch(out)
	if m == nil {
		return Binaries{}, fmt.Errorf("postgres --version says %q", strings.TrimSpace(string(out)))
	}
	major, err := strconv.Atoi(string(m[2]))
	if err != nil {
		return Binaries{}, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Binaries{}, err
	}
	return Binaries{Dir: abs, Version: string(m[1]), Major: major}, nil
}
