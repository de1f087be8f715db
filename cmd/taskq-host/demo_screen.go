package main

import (
	"fmt"
	"io"
)

// screen tells the demo's outcomes as they come: rows of a table whose widths
// are known before, or JSON lines.
type screen struct {
	out    io.Writer
	folder string // of the actors
	asJSON bool
	table  *table
	shown  int
	err    error // the first of writing
}

func newScreen(out io.Writer, folder string, jobs []demoJob, asJSON bool) *screen {
	s := &screen{out: out, folder: folder, asJSON: asJSON, table: newTable(out)}
	if asJSON {
		return s
	}
	widest := [][]string{{"ACTOR", "LANGUAGE", "CASE", "STATUS", "ATTEMPT", "TOOK", "CLASS", "MESSAGE"}}
	for _, j := range jobs {
		widest = append(widest, []string{j.actor.Actor, j.actor.Language, j.job.Case, "succeeded", "", "10.123s", j.job.Expect.ErrorClass, ""})
	}
	for _, cells := range widest {
		s.table.row(cells...)
	}
	s.table.rows = s.table.rows[:1] // the others only say how wide the columns are
	s.err = s.table.flush()
	return s
}

// show tells one outcome. It isn't safe for several goroutines at once.
func (s *screen) show(end *demoEnd, asExpected bool) {
	s.shown++
	var err error
	if s.asJSON {
		err = printJSONLine(s.out, end)
	} else {
		message := end.Message
		if !asExpected {
			message = "UNEXPECTED " + message
		}
		s.table.row(end.Actor, end.Language, end.Case, end.Status, fmt.Sprint(end.Attempt), took(end.DurationMS), end.ErrorClass, message)
		err = s.table.flush()
	}
	if s.err == nil {
		s.err = err
	}
}

// end says how to go on.
func (s *screen) end(differences int) error {
	if s.err != nil || s.asJSON {
		return s.err
	}
	verdict := "each as its manifest says"
	if differences > 0 {
		verdict = fmt.Sprintf("%d differences from the manifests", differences)
	}
	_, err := fmt.Fprintf(s.out, `
%d jobs have ended, %s.

To go on, type: make run
then push the same actors, taskq-host actor push %s
and open %s
`, s.shown, verdict, s.folder, defaultServer)
	return err
}
