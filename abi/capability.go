package abi

import "strings"

// Capabilities that an import needs a grant for.
const (
	CapabilityHTTP    = "http"
	CapabilityKV      = "kv"
	CapabilityEnqueue = "enqueue"
	CapabilitySecret  = "secret"
)

// Capability gives the grant that an import of module taskq_v1 needs, or "".
// The import list is the capability list: a module can't do what it doesn't
// import, and what it imports shows before it runs.
func Capability(name string) string {
	switch {
	case name == "http" || strings.HasPrefix(name, "http_"):
		return CapabilityHTTP
	case strings.HasPrefix(name, "kv_"):
		return CapabilityKV
	case name == "enqueue" || name == "call":
		return CapabilityEnqueue
	case name == "secret":
		return CapabilitySecret
	}
	return ""
}
