//go:build linux || darwin

package embedpg

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// settings are postgres' command line settings, as name=value, sorted.
func (p plan) settings(port int) []string {
	set := map[string]string{
		"unix_socket_directories": `"` + p.SocketDir + `"`, // a list; socketDir avoids what would end the quotes
		"unix_socket_permissions": "0700",
		"listen_addresses":        "",
		"port":                    strconv.Itoa(port),
		"max_connections":         "200",
		"shared_buffers":          sharedBuffers(memoryBytes()),
		"jit":                     "off", // compiling a queue's small statements never pays
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"log_checkpoints":         "off",
	}
	if p.TCP {
		set["listen_addresses"] = "127.0.0.1"
	}
	if p.Throwaway {
		maps.Copy(set, throwawaySettings)
	}
	maps.Copy(set, p.Settings)
	var kv []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		kv = append(kv, name+"="+set[name])
	}
	return kv
}

// throwawaySettings: nothing is flushed, nothing is replicated, and the WAL
// stays small, since it may lie in memory.
var throwawaySettings = map[string]string{
	"fsync":              "off",
	"full_page_writes":   "off",
	"synchronous_commit": "off",
	"wal_level":          "minimal",
	"max_wal_senders":    "0",
	"checkpoint_timeout": "1h",
	"max_wal_size":       "512MB",
	"autovacuum":         "off",
	"shared_buffers":     "64MB",
}

// sharedBuffers is an eighth of the machine's memory, as it runs other things
// too, from 128 MiB, postgres' default, to 1 GiB.
func sharedBuffers(memory int64) string {
	const mib = 1 << 20
	return fmt.Sprintf("%dMB", min(max(memory/8/mib, 128), 1024))
}
