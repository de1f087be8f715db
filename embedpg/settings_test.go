//go:build linux || darwin

package embedpg

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	durable := plan{SocketDir: "/s"}.settings(5432)
	require.IsIncreasing(t, durable)
	require.Contains(t, durable, "listen_addresses=")
	require.Contains(t, durable, "jit=off")
	require.Contains(t, durable, "port=5432")
	for _, kv := range durable {
		for name := range throwawaySettings {
			if name != "shared_buffers" {
				require.False(t, strings.HasPrefix(kv, name+"="), "a durable server keeps the default of %s", name)
			}
		}
	}
	throwaway := plan{SocketDir: "/s", Throwaway: true, TCP: true, Settings: map[string]string{"autovacuum": "on"}}.settings(1)
	require.Contains(t, throwaway, "fsync=off")
	require.Contains(t, throwaway, "listen_addresses=127.0.0.1")
	require.Contains(t, throwaway, "autovacuum=on", "what is asked for wins")
}

func TestSharedBuffersFollowTheMemoryWithinBounds(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for memory, want := range map[int64]string{0: "128MB", gib / 2: "128MB", 4 * gib: "512MB", 64 * gib: "1024MB"} {
		require.Equal(t, want, sharedBuffers(memory))
	}
	require.Positive(t, memoryBytes())
}

func TestAFullDiskIsRecognisedInWhatPostgresSays(t *testing.T) {
	t.Parallel()
	err := fullText("/d", "a line\ninitdb: error: could not write file \"x\": No space left on device\nanother")
	var bad *FolderError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, `initdb: error: could not write file "x": No space left on device`, bad.Err.Error())
	require.NoError(t, fullText("/d", "FATAL: something else"))
}

func TestFolderProblemsInWords(t *testing.T) {
	t.Parallel()
	for errno, want := range map[syscall.Errno]string{
		syscall.EROFS: "read-only", syscall.ENOSPC: "full", syscall.EDQUOT: "full", syscall.EACCES: "closed to this user",
		syscall.EIO: "can't be used",
	} {
		err := folderProblem("/d", errno)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, errno)
		require.ErrorContains(t, err, "TASKQ_PG_DIR=/another/folder taskq-host dev")
	}
}

func TestTheEnvironmentOfPostgresIsScrubbed(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"PATH=/bin", "LC_ALL=C", "TZ=UTC"},
		postgresEnv([]string{"PGDATA=/x", "LC_ALL=de_DE", "PATH=/bin", "LANG=x", "LANGUAGE=y", "TZ=Asia/Tokyo"}))
}
