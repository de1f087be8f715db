package config

import (
	"fmt"
	"strings"
)

// maxProblems bounds a report: the thousandth wrong key of a generated file
// tells nobody more than the first hundred.
const maxProblems = 100

// Problem is one thing wrong with one key.
type Problem struct {
	Path  string `json:"path"`            // dotted, as its author wrote it
	Rule  string `json:"rule"`            // what doesn't hold; never holds a secret
	Where string `json:"where,omitempty"` // layer, and the line where it is known
}

// String is "path: rule (where)".
func (p Problem) String() string {
	s := p.Rule
	if p.Path != "" {
		s = p.Path + ": " + p.Rule
	}
	if p.Where != "" {
		s += " (" + p.Where + ")"
	}
	return s
}

// Errors is the error of a configuration that was refused: everything that
// is wrong with it, one a line.
type Errors []Problem

// Error implements error.
func (ps Errors) Error() string {
	var b strings.Builder
	for i, p := range ps {
		if i == maxProblems {
			fmt.Fprintf(&b, "\nand %d more", len(ps)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// errOrNil keeps an empty list from becoming a non-nil error.
func (ps Errors) errOrNil() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}
