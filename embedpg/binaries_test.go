//go:build linux || darwin

package embedpg

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeBin is a folder with programs that say they are of this version.
func fakeBin(t *testing.T, dir, version string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s'\n", version)
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	return dir
}

func TestFindTakesWhatIsInstalled(t *testing.T) {
	t.Parallel()
	b, err := Find(t.Context(), Options{Dir: t.TempDir()})
	require.NoError(t, err)
	require.GreaterOrEqual(t, b.Major, MinMajor)
	require.FileExists(t, filepath.Join(b.Dir, "initdb"))
	require.Contains(t, b.Version, fmt.Sprint(b.Major))
}

func TestFindTakesOnlyAGivenFolder(t *testing.T) {
	t.Parallel()
	b, err := Find(t.Context(), Options{Dir: t.TempDir(), BinDir: fakeBin(t, t.TempDir(), "18beta1 (Fake 18~1)")})
	require.NoError(t, err)
	require.Equal(t, 18, b.Major)
	require.Equal(t, "18beta1", b.Version)

	empty := t.TempDir()
	_, err = Find(t.Context(), Options{Dir: t.TempDir(), BinDir: empty})
	require.ErrorContains(t, err, "no PostgreSQL server in "+empty)

	_, err = Find(t.Context(), Options{Dir: t.TempDir(), BinDir: fakeBin(t, t.TempDir(), "13.9")})
	var missing *MissingError
	require.ErrorAs(t, err, &missing, "too old")
	require.Equal(t, []string{"13.9"}, []string{missing.Found[0].Version})
}

func TestFindInTheCacheAndTheEnvironment(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Log("root's cache is not in its home; only the environment is tried")
	} else {
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		fakeBin(t, filepath.Join(CacheDir(), "pg-99.1", "bin"), "99.1")
		b, err := Find(t.Context(), Options{Dir: t.TempDir()})
		require.NoError(t, err)
		require.Equal(t, 99, b.Major, "the newest")
	}
	t.Setenv(EnvBinDir, fakeBin(t, t.TempDir(), "98.2"))
	b, err := Find(t.Context(), Options{Dir: t.TempDir()})
	require.NoError(t, err)
	require.Equal(t, 98, b.Major)

	data := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(data, "data"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(data, "data", "PG_VERSION"), []byte("97\n"), 0o600))
	t.Setenv(EnvDir, data)
	_, err = Find(t.Context(), Options{})
	var missing *MissingError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, 97, missing.Major, "the data decides")
}
