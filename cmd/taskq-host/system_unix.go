//go:build unix

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// writable says what keeps this user from making files in a folder.
func writable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%s can't be written: %w", dir, err)
	}
	return nil
}

// freeSpace is how many bytes this user may still write below dir.
func freeSpace(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:gosec,unconvert // the types differ between systems
}
