//go:build linux || darwin

package embedpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// clusterRoom is what a new cluster takes, with room for its first WAL.
const clusterRoom = 100 << 20

// prepare makes the socket's folder and, where there is none, the cluster.
func (s *supervisor) prepare() error {
	if err := s.account.mkdir(s.plan.SocketDir); err != nil {
		return folderProblem(s.plan.SocketDir, err)
	}
	if err := s.checkBoot(); err != nil {
		return err
	}
	data := s.folder.join(dataName)
	if dataMajor(data) != 0 {
		return nil
	}
	if entries, err := os.ReadDir(data); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is no cluster of PostgreSQL and not empty; it is left as it is", data)
	}
	if free, err := freeBytes(s.folder.path); err == nil && free < clusterRoom {
		return &FolderError{Dir: s.folder.path, Problem: fmt.Sprintf("is full: %d MiB are free and a new cluster takes %d MiB",
			free>>20, clusterRoom>>20)}
	}
	began := time.Now()
	if err := s.initdb(); err != nil {
		return err
	}
	s.log.Info("made a cluster", "version", s.plan.Binaries.Version, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// initdb makes the cluster beside its final name: one that was killed half
// way is never taken for a cluster.
func (s *supervisor) initdb() error {
	if err := s.folder.root.RemoveAll(newDataName); err != nil {
		return folderProblem(s.folder.path, err)
	}
	dir := s.folder.join(newDataName)
	if err := s.account.mkdir(dir); err != nil {
		return folderProblem(s.folder.path, err)
	}
	// Peer authentication fails across a change of uid, so the socket trusts
	// and its folder is private. The C locale sorts by bytes, everywhere.
	args := []string{"-D", dir, "-U", Role, "-E", "UTF8", "--locale=C", "--auth-local=trust", "--auth-host=scram-sha-256"}
	if s.plan.Throwaway {
		args = append(args, "--no-sync")
	}
	cmd := exec.Command(filepath.Join(s.plan.Binaries.Dir, "initdb"), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = s.folder.path, postgresEnv(os.Environ()), s.account.attr(syscall.SIGKILL)
	if out, err := cmd.CombinedOutput(); err != nil {
		text := strings.TrimSpace(string(out))
		if full := fullText(s.folder.path, text); full != nil {
			return full
		}
		return fmt.Errorf("initdb as %s: %w\n%s", s.account, err, text)
	}
	if s.plan.Throwaway {
		if err := s.folder.replace(throwawayName, bootID()); err != nil {
			return folderProblem(s.folder.path, err)
		}
	}
	if err := s.folder.root.Rename(newDataName, dataName); err != nil {
		return folderProblem(s.folder.path, err)
	}
	return syncDir(s.folder.path)
}

// checkBoot deletes a throwaway cluster that a crash of the machine may have
// corrupted.
func (s *supervisor) checkBoot() error {
	boot, err := s.folder.root.ReadFile(throwawayName)
	if errors.Is(err, fs.ErrNotExist) || err == nil && string(boot) == string(bootID()) {
		return nil
	}
	if err != nil {
		return folderProblem(s.folder.path, err)
	}
	s.log.Info("the machine has booted since the throwaway cluster was made")
	return s.discard()
}

// discard deletes the data of a throwaway server, and of no other.
func (s *supervisor) discard() error {
	if !s.plan.Throwaway {
		return nil
	}
	if _, err := s.folder.root.Stat(throwawayName); err != nil {
		return nil // without the mark it isn't ours to delete
	}
	if err := s.folder.root.RemoveAll(dataName); err != nil {
		return err
	}
	return s.folder.root.Remove(throwawayName)
}

// bootID differs after each boot of the machine; empty where the system has
// no such thing.
func bootID() []byte {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil
	}
	return b
}

// syncDir makes a rename in dir survive a crash of the machine.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func freeBytes(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // int64 on Linux, uint32 on macOS
}

// fullText recognises a full disk in what initdb or postgres said.
func fullText(dir, text string) error {
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		for line := range strings.Lines(text) {
			if strings.Contains(strings.ToLower(line), e.Error()) {
				return &FolderError{Dir: dir, Problem: "is full", Err: errors.New(strings.TrimSpace(line))}
			}
		}
	}
	return nil
}

// postgresEnv is the environment without the variables that redirect initdb
// or postgres, or change its language.
func postgresEnv(environ []string) []string {
	var env []string
	for _, e := range environ {
		if !strings.HasPrefix(e, "PG") && !strings.HasPrefix(e, "LC_") && !strings.HasPrefix(e, "LANG") && !strings.HasPrefix(e, "TZ=") {
			env = append(env, e)
		}
	}
	return append(env, "LC_ALL=C", "TZ=UTC")
}
