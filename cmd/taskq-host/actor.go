package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/client"
)

func newActor() *cobra.Command {
	return group("actor", "Push, list, show, delete, run and check actors",
		newActorPush(), newActorList(), newActorShow(), newActorDelete(), newActorRun(), newActorCheck())
}

func newActorList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List actors",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := dial(cmd, nil)
			if err != nil {
				return err
			}
			actors, err := c.Actors(cmd.Context())
			if err != nil {
				return apiError("actor list", err)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), struct {
					Actors []client.Actor `json:"actors"`
				}{orEmpty(actors)})
			}
			t := newTable(cmd.OutOrStdout(), "ACTOR", "VERSION", "MODE", "ENTRIES", "SIZE", "POOLABLE", "PUSHED")
			for _, a := range actors {
				t.row(a.Name, fmt.Sprint(a.Version), a.Mode, strings.Join(a.Entries, ","), sizeText(int64(a.Size)), yesNo(a.Poolable), ago(a.CreatedAt))
			}
			return t.flush()
		},
	}
	addServerFlags(cmd)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func newActorShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show <name>",
		Short: "Show an actor's current version",
		Args:  exactly("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := dial(cmd, nil)
			if err != nil {
				return err
			}
			a, err := c.Actor(cmd.Context(), args[0])
			if err != nil {
				return apiError("actor "+args[0], err)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), a)
			}
			return printActor(cmd, "actor", a)
		},
	}
	addServerFlags(cmd)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func printActor(cmd *cobra.Command, what string, a *client.Actor) error {
	t := newTable(cmd.OutOrStdout())
	t.limit = 0
	t.row(what, a.Name)
	t.row("version", fmt.Sprint(a.Version))
	t.row("pushed", timeText(a.CreatedAt))
	t.row("digest", a.Digest)
	t.row("size", sizeText(int64(a.Size)))
	t.row("mode", a.Mode)
	t.row("entries", strings.Join(a.Entries, ", "))
	t.row("capabilities", orNone(strings.Join(a.Capabilities, ", ")))
	t.row("memory", sizeText(a.MemoryMin)+" at its start")
	for _, i := range a.Imports {
		t.row("import", i.Module+"."+i.Name)
	}
	t.row("poolable", yesNo(a.Poolable))
	for _, reason := range a.NotPoolable {
		t.row("not poolable", reason)
	}
	for _, warning := range a.Warnings {
		t.row("warning", warning)
	}
	if len(a.Manifest) > 0 {
		t.row("manifest", string(a.Manifest))
	}
	return t.flush()
}

func newActorDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete <name>",
		Short: "Delete an actor with all its versions",
		Long: `Delete an actor with all its versions. Jobs that are queued for it end as
unroutable when they are due.`,
		Args: exactly("name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := dial(cmd, nil)
			if err != nil {
				return err
			}
			if err := c.DeleteActor(cmd.Context(), args[0]); err != nil {
				return apiError("actor "+args[0], err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "deleted %s\n", args[0])
			return err
		},
	}
	addServerFlags(cmd)
	return cmd
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func sizeText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

func timeText(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Local().Format(time.RFC3339)
}

// ago is how long a moment is past, or still to come, in one unit.
func ago(t *time.Time) string {
	if t == nil {
		return "-"
	}
	d := time.Since(*t)
	if d < 0 {
		return "in " + oneUnit(-d)
	}
	return oneUnit(d) + " ago"
}

func oneUnit(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
