// Command taskq-host runs other people's code, durably and safely: jobs for
// WebAssembly actors, kept in Postgres. See docs/cli.md for its commands.
package main

import (
	"os"
	"runtime/debug"

	"github.com/taskq-host/taskq-host/embedpg"
)

// version is set by the linker; without it the build's own record is used.
var version string

func main() {
	embedpg.Supervise() // must come first: in a re-executed supervisor it never returns
	if os.Getenv("GOGC") == "" {
		// What lives is small beside the garbage of attempts; collecting at
		// twice the live heap takes a good part of the processor time.
		debug.SetGCPercent(400)
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
