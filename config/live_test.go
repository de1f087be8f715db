package config

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func opened(t *testing.T, content string) (l *Live, file string, log *bytes.Buffer) {
	t.Helper()
	file, log = write(t, "taskq.yaml", content), &bytes.Buffer{}
	l, err := Open(Sources{Files: []string{file}}, hclog.New(&hclog.LoggerOptions{Output: log}))
	require.NoError(t, err)
	return l, file, log
}

func rewrite(t *testing.T, file, content string) {
	t.Helper()
	fresh := filepath.Join(filepath.Dir(file), "fresh")
	require.NoError(t, os.WriteFile(fresh, []byte(content), 0o600))
	require.NoError(t, os.Rename(fresh, file))
}

func TestAReloadTakesEffectAsAWholeAndIsTold(t *testing.T) {
	t.Parallel()
	l, file, log := opened(t, "worker: {batch_size: 1}")
	before := l.Current()
	var told []int
	cancel := l.Subscribe(func(before, after *Config) { told = append(told, before.Worker.BatchSize, after.Worker.BatchSize) })

	rewrite(t, file, "worker: {batch_size: 2, concurrency: 9}\ndatabase: {url: 'postgres://u:hunter2@h/d'}\nhost: {fuel: 5}")
	require.NoError(t, l.Reload())
	require.Equal(t, 2, l.Current().Worker.BatchSize)
	require.Equal(t, 1, before.Worker.BatchSize, "who took the old one keeps it")
	require.Contains(t, log.String(), "[WARN]  config: changed keys take effect at the next start only: keys=[\"database.url\", \"worker.concurrency\"]")
	require.Contains(t, log.String(), "host.fuel: accepted, not used by this release yet")
	require.NotContains(t, log.String(), "hunter2")

	require.NoError(t, l.Reload())
	require.Equal(t, []int{1, 2}, told, "nothing changed, nobody is told")
	cancel()
	rewrite(t, file, "worker: {batch_size: 3}")
	require.NoError(t, l.Reload())
	require.Equal(t, []int{1, 2}, told)
}

func TestABadReloadLeavesTheOldOneAndSaysSo(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"a rule is broken":  "worker: {batch_size: 2}\nlease: {lock_lease: 1s}",
		"not YAML":          "worker: {",
		"cut to nothing":    "",
		"longer than 1 MiB": string(bytes.Repeat([]byte("#\n"), 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, file, log := opened(t, "worker: {batch_size: 1}")
			l.Subscribe(func(_, _ *Config) { t.Error("told of a refused configuration") })
			before := l.Current()
			rewrite(t, file, content)
			require.Error(t, l.Reload())
			require.Same(t, before, l.Current())
			require.Contains(t, log.String(), "[ERROR] config: the new configuration is refused, the old one goes on")
		})
	}
	l, file, _ := opened(t, "worker: {batch_size: 1}")
	require.NoError(t, os.Remove(file))
	require.Error(t, l.Reload())
	require.Equal(t, 1, l.Current().Worker.BatchSize)
}

// watched runs Watch and gives the batch sizes of the configurations that came.
func watched(t *testing.T, l *Live) <-chan int {
	t.Helper()
	sizes, ended := make(chan int, 10), make(chan error, 1)
	l.Subscribe(func(_, after *Config) { sizes <- after.Worker.BatchSize })
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- l.Watch(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	return sizes
}

func next(t *testing.T, sizes <-chan int) int {
	t.Helper()
	select {
	case n := <-sizes:
		return n
	case <-time.After(20 * time.Second):
		t.Fatal("no new configuration came")
		return 0
	}
}

func TestAChangedFileIsFoundHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	l, file, _ := opened(t, "worker: {batch_size: 1}")
	rewrite(t, file, "worker: {batch_size: 2}")
	sizes := watched(t, l)
	require.Equal(t, 2, next(t, sizes), "changed between Open and Watch")
	rewrite(t, file, "worker: {batch_size: 3}")
	require.Equal(t, 3, next(t, sizes), "renamed into place")
	require.NoError(t, os.WriteFile(file, []byte("worker: {batch_size: 4}"), 0o600))
	require.Equal(t, 4, next(t, sizes), "written in place")
	rewrite(t, file, "worker: {batch_size: none}")
	rewrite(t, file, "worker: {batch_size: 5}")
	require.Equal(t, 5, next(t, sizes), "mended")
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.WriteFile(file, []byte("worker: {batch_size: 6}"), 0o600))
	require.Equal(t, 6, next(t, sizes), "removed and made anew")
}

func TestALinkThatIsTurnedIsAChange(t *testing.T) {
	t.Parallel()
	folder := t.TempDir() // as Kubernetes mounts a ConfigMap
	for version, size := range map[string]string{"v1": "1", "v2": "2"} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, version), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, version, "taskq.yaml"), []byte("worker: {batch_size: "+size+"}"), 0o600))
	}
	data, file := filepath.Join(folder, "..data"), filepath.Join(folder, "taskq.yaml")
	require.NoError(t, os.Symlink("v1", data))
	require.NoError(t, os.Symlink("..data/taskq.yaml", file))
	l, err := Open(Sources{Files: []string{file}}, nil)
	require.NoError(t, err)
	require.Equal(t, 1, l.Current().Worker.BatchSize)
	sizes := watched(t, l)
	require.NoError(t, os.Symlink("v2", data+"_new"))
	require.NoError(t, os.Rename(data+"_new", data))
	require.Equal(t, 2, next(t, sizes))
}

func TestSIGHUPReloads(t *testing.T) { // not parallel: the signal goes to every watcher
	caught := make(chan os.Signal, 1) // so that one before Watch is ready doesn't end the test
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)

	reloaded := make(chan struct{}, 1)
	log := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard})
	log.RegisterSink(&sink{func(msg string) {
		if msg == "reloaded, nothing changed" {
			select {
			case reloaded <- struct{}{}:
			default:
			}
		}
	}})
	l, err := Open(Sources{Files: []string{write(t, "taskq.yaml", "worker: {batch_size: 1}")}}, log)
	require.NoError(t, err)
	watched(t, l)
	require.Eventually(t, func() bool {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		select {
		case <-reloaded:
			return true
		default:
			return false
		}
	}, 20*time.Second, 5*time.Millisecond)
}

// sink gives the messages of a logger.
type sink struct{ saw func(msg string) }

func (s *sink) Accept(_ string, _ hclog.Level, msg string, _ ...any) { s.saw(msg) }
