//go:build linux || darwin

package embedpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// folder is a server's folder, opened so that no symbolic link in it leads
// out: root may work in a folder that belongs to somebody else.
type folder struct {
	path string
	root *os.Root
}

// openFolder opens the folder, and makes it when it isn't there.
func openFolder(path string) (*folder, error) {
	if err := makeDirs(path); err != nil {
		return nil, folderProblem(path, err)
	}
	// The kernel tells the working folder of a process without symbolic
	// links, and that is how our own postgres is recognised.
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, folderProblem(path, err)
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, folderProblem(path, err)
	}
	return &folder{path: resolved, root: root}, nil
}

// makeDirs makes the folder and its missing parents. Those that root makes
// can be entered by the account that root drops to, whatever the umask.
func makeDirs(path string) error {
	fi, err := os.Stat(path)
	if err == nil {
		if !fi.IsDir() {
			return &os.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeDirs(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // by another starter, a moment ago
		}
		return err
	}
	if os.Geteuid() == 0 {
		return os.Chmod(path, 0o711)
	}
	return nil
}

// folderProblem puts an error of the file system into words.
func folderProblem(dir string, err error) error {
	problem := "can't be used"
	switch {
	case errors.Is(err, syscall.EROFS):
		problem = "is on a read-only file system"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		problem = "is full"
	case errors.Is(err, fs.ErrPermission):
		problem = fmt.Sprintf("is closed to this user (uid %d)", os.Geteuid())
	}
	return &FolderError{Dir: dir, Problem: problem, Err: err}
}

func (f *folder) close() error { return f.root.Close() }

// join is the path of a name in the folder.
func (f *folder) join(name string) string { return filepath.Join(f.path, name) }

// open opens a private file for reading and writing, making it if need be. In
// a folder of somebody else's, root gives away what it makes, so that the
// owner can go on without root.
func (f *folder) open(name string, flags int) (*os.File, error) {
	for {
		file, err := f.root.OpenFile(name, os.O_RDWR|flags, 0o600)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		file, err = f.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|flags, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := f.giveAway(file); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return file, nil
	}
}

func (f *folder) giveAway(file *os.File) error {
	uid, gid, err := f.owner()
	if err != nil || os.Geteuid() != 0 || uid == 0 {
		return err
	}
	return file.Chown(uid, gid)
}

// owner is whom the folder belongs to.
func (f *folder) owner() (uid, gid int, err error) {
	fi, err := f.root.Stat(".")
	if err != nil {
		return 0, 0, err
	}
	uid, gid = ownerOf(fi)
	return uid, gid, nil
}

func ownerOf(fi fs.FileInfo) (uid, gid int) {
	st := fi.Sys().(*syscall.Stat_t)
	return int(st.Uid), int(st.Gid)
}

// replace writes a file in one step: readers see the old or the new content.
func (f *folder) replace(name string, content []byte) error {
	tmp := name + ".new"
	if err := f.root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := f.open(tmp, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return f.root.Rename(tmp, name)
}

// rotate moves a log away that has grown large.
func (f *folder) rotate(name string) error {
	const large = 1 << 20
	fi, err := f.root.Stat(name)
	if err != nil || fi.Size() < large {
		return nil // absent or small
	}
	return f.root.Rename(name, name+".1")
}
