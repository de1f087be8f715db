package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A busy machine stretches the wall clock of both sides by whatever the
// neighbours do; processor time it stretches far less. So a run also says how
// much of it a job took, ours and Postgres' together.

type cpuMeter struct {
	data string // the server's data folder
	self time.Duration
	pg   map[int]time.Duration
}

func startCPU(data string) *cpuMeter {
	return &cpuMeter{data: data, self: selfCPU(), pg: postgresCPU(data)}
}

// perJob is the processor time since start, in µs a job. A backend that ended
// meanwhile isn't counted.
func (m *cpuMeter) perJob(n int) float64 {
	total := selfCPU() - m.self
	for pid, used := range postgresCPU(m.data) {
		total += used - m.pg[pid]
	}
	return float64(total.Microseconds()) / float64(n)
}

func selfCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func postgresCPU(data string) map[int]time.Duration {
	out := map[int]time.Duration{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if cwd, err := os.Readlink(filepath.Join(dir, "cwd")); err != nil || cwd != data {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(after)
		if len(fields) < 13 {
			continue
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		pid, _ := strconv.Atoi(filepath.Base(dir))
		out[pid] = time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100 on Linux
	}
	return out
}
