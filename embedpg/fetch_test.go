//go:build linux || darwin

package embedpg

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type packed struct {
	name, content string
	mode          int64
}

// tarball is a package as npm makes them.
func tarball(t *testing.T, files ...packed) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	tw := tar.NewWriter(gz)
	for _, f := range files {
		require.NoError(t, tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content))}))
		_, err := tw.Write([]byte(f.content))
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	require.NoError(t, gz.Close())
	return b.Bytes()
}

const fakeProgram = "#!/bin/sh\necho 'postgres (PostgreSQL) 18.4'\n"

func goodTarball(t *testing.T) []byte {
	return tarball(t,
		packed{"package/package.json", "{}", 0o644},
		packed{"package/native/bin/initdb", fakeProgram, 0o755},
		packed{"package/native/bin/postgres", fakeProgram, 0o755},
		packed{"package/native/lib/libx.so.1.2", "x", 0o644},
		packed{"package/native/lib/libx.a", "for linking", 0o644},
		packed{"package/native/pg-symlinks.json", `[{"source":"native/lib/libx.so.1.2","target":"native/lib/libx.so.1"}]`, 0o644})
}

func integrity(b []byte) string {
	sum := sha512.Sum512(b)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Not parallel: it puts an npm into PATH that packs a given tarball.
func TestFetch(t *testing.T) {
	good := goodTarball(t)
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n[ -f %[1]s/good.tgz ] || { echo 'no network' >&2; exit 1; }\n"+
		"[ \"$1 $4 $6\" = 'pack --pack-destination @fake/pg@18.4.0' ] && cp %[1]s/good.tgz \"$5/fake.tgz\"\n", bin)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "npm"), []byte(script), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	d := download{name: "@fake/pg", version: "18.4.0", integrity: integrity(good)}
	cache := filepath.Join(t.TempDir(), "cache")

	_, err := d.fetch(t.Context(), cache)
	require.ErrorContains(t, err, "no network")

	require.NoError(t, os.WriteFile(filepath.Join(bin, "good.tgz"), append(good, 0), 0o644))
	_, err = d.fetch(t.Context(), cache)
	require.ErrorContains(t, err, "and not "+d.integrity)

	require.NoError(t, os.WriteFile(filepath.Join(bin, "good.tgz"), good, 0o644))
	b, err := d.fetch(t.Context(), cache)
	require.NoError(t, err)
	require.Equal(t, Binaries{Dir: filepath.Join(cache, "pg-18.4.0", "bin"), Version: "18.4", Major: 18}, b)
	link, err := os.ReadFile(filepath.Join(cache, "pg-18.4.0", "lib", "libx.so.1"))
	require.NoError(t, err)
	require.Equal(t, "x", string(link))
	require.NoFileExists(t, filepath.Join(cache, "pg-18.4.0", "lib", "libx.a"))
	entries, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")

	require.NoError(t, os.Remove(filepath.Join(bin, "npm")))
	again, err := d.fetch(t.Context(), cache)
	require.NoError(t, err, "it is there already")
	require.Equal(t, b, again)
}

func TestUnpackWritesNowhereElse(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]packed{
		"a file above":  {{"package/native/../../../evil", "x", 0o644}},
		"a link above":  {{"package/native/pg-symlinks.json", `[{"source":"x","target":"native/../../evil"}]`, 0o644}},
		"the root":      {{"package/native//evil", "x", 0o644}},
		"the same name": {{"package/native/a", "x", 0o644}, {"package/native/a", "y", 0o644}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outer := t.TempDir()
			dst := filepath.Join(outer, "a", "b")
			require.NoError(t, os.MkdirAll(dst, 0o755))
			require.Error(t, unpack(bytes.NewReader(tarball(t, files...)), dst))
			require.NoError(t, filepath.WalkDir(outer, func(path string, _ os.DirEntry, err error) error {
				require.False(t, strings.HasSuffix(path, "evil"), path)
				return err
			}))
		})
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add("bin/postgres", "x", `[{"source":"bin/postgres","target":"native/bin/pg"}]`)
	f.Add("../x", "", `[]`)
	f.Add("/x", "", `[{"source":"x","target":"/x"}]`)
	f.Add("a", "", `[{"source":"..","target":"native/up"},{"source":"x","target":"native/up/x"}]`)
	f.Fuzz(func(t *testing.T, name, content, links string) {
		if name == "" || len(name) > 80 || strings.ContainsRune(name, 0) || strings.HasSuffix(name, "/") {
			t.Skip("no name of a file in an archive")
		}
		outer := t.TempDir()
		dst := filepath.Join(outer, "dst")
		require.NoError(t, os.Mkdir(dst, 0o755))
		_ = unpack(bytes.NewReader(tarball(t, packed{"package/native/" + name, content, 0o755},
			packed{"package/native/" + linksName, links, 0o644})), dst)
		entries, err := os.ReadDir(outer)
		require.NoError(t, err)
		require.Len(t, entries, 1, "nothing is written outside")
	})
}
