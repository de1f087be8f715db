package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/abi"
)

// release says what this binary is.
type release struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source
	Modified bool   `json:"modified,omitempty"` // the source had uncommitted changes
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	ABI      string `json:"abi"`
}

// thisRelease reads what the linker and the build put into the binary.
func thisRelease() release {
	r := release{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, ABI: abi.Module}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return r
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			r.Revision = s.Value
		case "vcs.modified":
			r.Modified = s.Value == "true"
		}
	}
	if r.Version == "" {
		r.Version = build.Main.Version
	}
	return r
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := thisRelease()
			if asJSON {
				return printJSON(cmd.OutOrStdout(), r)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "taskq-host %s (%s, %s/%s, abi %s)\n", r.Version, r.Go, r.OS, r.Arch, r.ABI)
			return err
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}
