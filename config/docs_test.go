package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated part of docs/configuration.md")

const (
	docsFile   = "../docs/configuration.md"
	docsBegin  = "<!-- generated from config/schema.go: go test ./config -run Docs -update -->\n"
	docsEnd    = "<!-- end of the generated part -->\n"
	asDefaults = "The keys of [`defaults`](#defaults).\n\n"
)

func TestDocsAreGeneratedFromTheSchema(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(docsFile)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(text), docsBegin)
	require.True(t, ok, "the marker is there")
	_, tail, ok := strings.Cut(rest, docsEnd)
	require.True(t, ok, "the end marker is there")
	want := head + docsBegin + "\n" + reference() + docsEnd + tail
	if *update {
		require.NoError(t, os.WriteFile(docsFile, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "docs/configuration.md is stale: go test ./config -run Docs -update")
}

func TestEveryLeafIsDocumentedWithAnExampleThatHolds(t *testing.T) {
	t.Parallel()
	schema.walk(nil, func(p path, n *node) {
		require.NotEmpty(t, n.doc, strings.Join(p, "."))
		if !n.leaf() || n.typ == &objectType {
			return
		}
		require.NotEmpty(t, exampleOf(n), p.String())
		_, broken := n.parse(exampleOf(n), true)
		require.Empty(t, broken, p.String())
		if n.builtin != "" {
			_, broken = n.parse(n.builtin, true)
			require.Empty(t, broken, p.String())
		}
	})
}

func TestTheExampleFileLoadsWithoutAWarning(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{Files: []string{"../taskq.example.yaml"}})
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
}

func exampleOf(n *node) string {
	if n.example != "" {
		return n.example
	}
	return n.builtin
}

// reference is the table of every key, a heading a section.
func reference() string {
	var b strings.Builder
	table(&b, "Top level", "", schema, nil)
	for _, c := range schema.children {
		if !c.leaf() {
			describe(&b, c, path{c.key})
		}
	}
	return b.String()
}

func describe(b *strings.Builder, n *node, at path) {
	switch {
	case n.each != nil && n.each.child("retry") != nil && n.each.child("queue") == nil:
		fmt.Fprintf(b, "### %s\n\n%s %s", heading(at.with("<"+n.nameRule+">")), n.doc, asDefaults)
		return
	case n.each != nil:
		n, at = n.each, at.with("<"+n.nameRule+">")
	case n.key == "defaults" && len(at) > 1:
		fmt.Fprintf(b, "### %s\n\n%s %s", heading(at), n.doc, asDefaults)
		return
	}
	if n.key == "retry" && len(at) > 2 || n.key == "execution" && len(at) > 2 || n.key == "handler" && len(at) > 2 {
		fmt.Fprintf(b, "### %s\n\nThe keys of [`defaults.%s`](#defaults%s).\n\n", heading(at), n.key, n.key)
		return
	}
	table(b, heading(at), n.doc, n, at)
	for _, c := range n.children {
		if !c.leaf() {
			describe(b, c, at.with(c.key))
		}
	}
}

func heading(at path) string { return "`" + at.String() + "`" }

func table(b *strings.Builder, title, doc string, n *node, at path) {
	fmt.Fprintf(b, "### %s\n\n", title)
	if doc != "" {
		fmt.Fprintf(b, "%s\n\n", doc)
	}
	var rows []string
	for _, c := range n.children {
		if c.leaf() {
			rows = append(rows, row(c, at.with(c.key)))
		}
	}
	if rows != nil {
		b.WriteString("| key | type | default | must be | example | takes effect | |\n|---|---|---|---|---|---|---|\n")
		b.WriteString(strings.Join(rows, "") + "\n")
	}
	for _, o := range n.others {
		from, to := o.name, strings.ReplaceAll(o.key, sep, ".")
		if o.section != "" {
			from = o.section + "." + from
		}
		note := ""
		if o.doc != "" {
			note = " (" + o.doc + ")"
		}
		fmt.Fprintf(b, "- `%s` is another name for `%s`%s\n", from, to, note)
	}
	if n.others != nil {
		b.WriteString("\n")
	}
}

func row(n *node, at path) string {
	typ, def, when := n.typ.name, n.shown, "at the next claim"
	if n.none {
		typ += " or `none`"
	}
	switch {
	case n.builtin == "*":
		def = "`[\"*\"]`"
	case n.builtin != "":
		def = "`" + n.builtin + "`"
	}
	if def == "" {
		def = "–"
	}
	switch {
	case isLater(laterRefused, at):
		when = "refused: a later release"
	case isLater(later, at):
		when = "a later release"
	case n.restart:
		when = "at the next start"
	}
	example := exampleOf(n)
	if n.typ == &listType || n.typ == &classifiersType {
		example = `["` + strings.ReplaceAll(example, ",", `", "`) + `"]`
	}
	cell := func(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
	rules := cell(n.ruleText())
	if rules == "" {
		rules = "–"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s | `%s` | %s | %s |\n", n.key, typ, def, rules, cell(example), when, cell(n.doc))
}
