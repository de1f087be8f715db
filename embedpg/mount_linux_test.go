package embedpg_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func mount(t *testing.T, dir, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("can't mount a file system to fill or to lock: %v", err)
	}
}

func remountReadOnly(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}

func unmount(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH))
}
