package embedpg

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// attr starts a child as the account, with the signal that it gets when the
// thread that started it ends; 0 is none.
func (a account) attr(death syscall.Signal) *syscall.SysProcAttr {
	at := &syscall.SysProcAttr{Pdeathsig: death}
	switch {
	case a.namespace:
		at.Cloneflags = syscall.CLONE_NEWUSER
		at.UidMappings = []syscall.SysProcIDMap{{ContainerID: a.uid, HostID: os.Geteuid(), Size: 1}}
		at.GidMappings = []syscall.SysProcIDMap{{ContainerID: a.gid, HostID: os.Getegid(), Size: 1}}
	case a.drop:
		at.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return at
}

// isPostmaster says whether pid is a living postgres that works in data.
func isPostmaster(pid int, data string) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // pid (name) state ...
	if err != nil {
		return false
	}
	_, rest, ok := strings.Cut(string(stat), "(postgres) ")
	if !ok || strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X") {
		return false
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if os.IsPermission(err) {
		return true // another user's postgres: better to refuse than to remove its file
	}
	return err == nil && cwd == data
}

// memoryBytes is the memory of the machine, or of the container if less; 0
// when neither can be told.
func memoryBytes() int64 {
	var total int64
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		if _, err := fmt.Sscanf(string(b), "MemTotal: %d kB", &total); err == nil {
			total <<= 10
		}
	}
	b, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return total
	}
	limit, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	if err != nil {
		return total // "max"
	}
	return min(total, limit)
}
