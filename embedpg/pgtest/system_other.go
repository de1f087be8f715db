//go:build !linux && !darwin

package pgtest

import "io/fs"

func freeBytes(string) int64 { return 0 }

func owned(fs.FileInfo) bool { return true }
