//go:build linux || darwin

package embedpg

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// linksName lists the symbolic links of a package, which npm's tarballs can't
// hold.
const linksName = "pg-symlinks.json"

// unpack writes the folder package/native of an npm tarball to dst, which
// exists, without libraries for linking. Nothing can be written outside dst.
func unpack(tarball io.Reader, dst string) (err error) {
	root, err := os.OpenRoot(dst)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	gz, err := gzip.NewReader(tarball)
	if err != nil {
		return err
	}
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name, ok := strings.CutPrefix(h.Name, "package/native/")
		if !ok || h.Typeflag != tar.TypeReg || strings.HasSuffix(name, ".a") {
			continue
		}
		if err := unpackFile(root, name, os.FileMode(h.Mode), tr); err != nil {
			return err
		}
	}
	return makeLinks(root)
}

func unpackFile(root *os.Root, name string, mode os.FileMode, content io.Reader) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("a file of the package is named %q", name)
	}
	if err := makeOpenDirs(root, path.Dir(name)); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Chmod(mode&0o111|0o644), f.Close())
}

// makeOpenDirs makes folders that every account can enter, whatever the umask.
func makeOpenDirs(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	if _, err := root.Stat(dir); err == nil {
		return nil
	}
	if err := makeOpenDirs(root, path.Dir(dir)); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return root.Chmod(dir, 0o755)
}

// makeLinks makes the links that a package lists. Each is to a file beside it.
func makeLinks(root *os.Root) error {
	b, err := root.ReadFile(linksName)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(b, &links); err != nil {
		return fmt.Errorf("%s: %w", linksName, err)
	}
	for _, l := range links {
		target := strings.TrimPrefix(l.Target, "native/")
		if !filepath.IsLocal(target) {
			return fmt.Errorf("%s names the link %q", linksName, l.Target)
		}
		if err := root.Symlink(path.Base(l.Source), target); err != nil {
			return err
		}
	}
	return nil
}
