package abi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheImportListIsTheCapabilityList(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"http": "http", "http_body": "http", "kv_get": "kv", "kv_cas": "kv", "enqueue": "enqueue", "call": "enqueue", "secret": "secret",
		"log": "", "step_put": "", "sleep": "", "signal": "", "https": "",
	} {
		require.Equal(t, want, Capability(name), name)
	}
}
