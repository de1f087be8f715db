package embedpg

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attr starts a child as the account. The system has no death signal: a
// postgres that outlives its supervisor is found by the next start.
func (a account) attr(syscall.Signal) *syscall.SysProcAttr {
	at := &syscall.SysProcAttr{}
	if a.drop {
		at.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return at
}

// isPostmaster says whether pid is a living postgres that works in data.
func isPostmaster(pid int, data string) bool {
	out, err := exec.Command("ps", "-o", "stat=,command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return false
	}
	line := strings.TrimSpace(string(out))
	return !strings.HasPrefix(line, "Z") && strings.Contains(line, "postgres") && strings.Contains(line, data)
}

// memoryBytes is the memory of the machine; 0 when it can't be told.
func memoryBytes() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
