package host

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// workerNice puts compilations behind attempts.
const workerNice = 10

// detach gives the worker a process group of its own, so that a terminal's
// signals don't reach it and its priority can be set for all its threads.
func detach(worker *exec.Cmd) {
	worker.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// limitProcess sets hard limits: the kernel kills past them.
func limitProcess(addressSpace, cpuSeconds int64) error {
	for _, l := range []struct {
		name  string
		what  int
		value int64
	}{{"address space", unix.RLIMIT_AS, addressSpace}, {"processor time", unix.RLIMIT_CPU, cpuSeconds}, {"core size", unix.RLIMIT_CORE, 0}} {
		var limit unix.Rlimit
		if err := unix.Getrlimit(l.what, &limit); err != nil {
			return fmt.Errorf("read the limit of %s: %w", l.name, err)
		}
		limit.Max = min(limit.Max, uint64(l.value)) // only root may raise it
		limit.Cur = limit.Max
		if err := unix.Setrlimit(l.what, &limit); err != nil {
			return fmt.Errorf("limit the %s: %w", l.name, err)
		}
	}
	if unix.Getpgrp() == os.Getpid() {
		_ = unix.Setpriority(unix.PRIO_PGRP, 0, workerNice) // a courtesy
	}
	return nil
}

func ownedByUs(stat fs.FileInfo) bool {
	sys, ok := stat.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}
