//go:build linux || darwin

package pgtest

import (
	"io/fs"
	"os"
	"syscall"
)

// freeBytes is the room in a folder, 0 when it isn't there.
func freeBytes(dir string) int64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0
	}
	return int64(st.Bavail) * int64(st.Bsize) //nolint:unconvert // int64 on Linux, uint32 on macOS
}

func owned(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
