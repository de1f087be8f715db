//go:build !unix

package main

import (
	"errors"
	"os"
)

// writable says what keeps this user from making files in a folder.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, "taskq-host-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// freeSpace isn't known here.
func freeSpace(string) (int64, error) { return 0, errors.ErrUnsupported }
