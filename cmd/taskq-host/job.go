package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskq-host/taskq-host/client"
)

func newJob() *cobra.Command {
	return group("job", "Enqueue, list, show, watch and cancel jobs",
		newJobEnqueue(), newJobList(), newJobShow(), newJobWatch(), newJobCancel())
}

// statuses are the states of a job, in the order of its life.
var statuses = []string{"pending", "scheduled", "waiting", "running", "succeeded", "failed", "cancelled", "crashed", "abandoned"}

func newJobList() *cobra.Command {
	var o client.ListOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List jobs, newest first",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range o.Status {
				if near := nearest(s, statuses); near != s {
					return badInputf("--status", "unknown state %q%s", s, orKnown(near, statuses))
				}
			}
			if o.Limit < 1 || o.Limit > 1000 {
				return badInputf("--limit", "%d isn't 1 to 1000", o.Limit)
			}
			c, err := dial(cmd, nil)
			if err != nil {
				return err
			}
			page, err := jobPage(cmd, c, o)
			if err != nil {
				return apiError("job list", err)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), page)
			}
			return printJobs(cmd, page)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Status, "status", nil, "only in these states: "+strings.Join(statuses, ", "))
	f.StringVar(&o.Queue, "queue", "", "only of this queue")
	f.StringVar(&o.Actor, "actor", "", "only of this actor")
	f.StringVar(&o.Tag, "tag", "", "only with this tag")
	f.IntVar(&o.Limit, "limit", 50, "how many at most, 1 to 1000")
	f.StringVar(&o.Cursor, "cursor", "", "go on behind an earlier list")
	addServerFlags(cmd)
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// jobPage asks until it has as many as were wanted: a page of the API may hold
// fewer and still have a next one.
func jobPage(cmd *cobra.Command, c *client.Client, o client.ListOptions) (*client.JobPage, error) {
	all := &client.JobPage{Jobs: []client.Job{}}
	wanted := o.Limit
	for {
		page, err := c.Page(cmd.Context(), o)
		if err != nil {
			return nil, err
		}
		all.Jobs = append(all.Jobs, page.Jobs...)
		all.Next, o.Cursor = page.Next, page.Next
		if o.Limit = wanted - len(all.Jobs); o.Limit <= 0 || page.Next == "" {
			return all, nil
		}
	}
}

func printJobs(cmd *cobra.Command, page *client.JobPage) error {
	t := newTable(cmd.OutOrStdout(), "ID", "ACTOR", "QUEUE", "STATUS", "ATTEMPT", "CREATED", "LAST FAILURE")
	for _, j := range page.Jobs {
		t.row(j.ID, j.Actor, j.Queue, j.Status, fmt.Sprint(j.Attempt), ago(&j.CreatedAt), failureText(j.ErrorClass, j.Message))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if page.Next != "" {
		say(cmd.ErrOrStderr(), "there are more: --cursor %s\n", page.Next)
	}
	return nil
}

func failureText(class, message string) string {
	if message == "" {
		return class
	}
	return class + ": " + message
}

func newJobCancel() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel <id>...",
		Short: "Cancel jobs",
		Long: `Cancel jobs. One that is queued ends at once; one that runs is told to, and ends
as cancelled whatever it answers. It is safe to repeat.`,
		Args: atLeast("id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := dial(cmd, nil)
			if err != nil {
				return err
			}
			return cancelAll(cmd, c, args)
		},
	}
	addServerFlags(cmd)
	return cmd
}

// cancelAll asks for each; the first error is the answer, and none of the
// others is lost.
func cancelAll(cmd *cobra.Command, c *client.Client, ids []string) error {
	var first error
	for _, id := range ids {
		result, err := c.Cancel(cmd.Context(), id)
		switch {
		case err == nil:
			say(cmd.OutOrStdout(), "%s %s\n", id, cancelText(result))
		case len(ids) == 1:
			return apiError("job "+id, err)
		default:
			code := report(cmd.ErrOrStderr(), apiError("job "+id, err))
			if first == nil {
				first = quietly(code)
			}
		}
	}
	return first
}

func cancelText(result string) string {
	switch result {
	case "requested":
		return "runs and was told to end"
	case "finished":
		return "had ended before"
	}
	return result
}
