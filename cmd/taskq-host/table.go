package main

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// table prints rows in aligned columns. On a terminal the last column is cut
// to its width and states are coloured; in a pipe nothing is lost.
type table struct {
	out    io.Writer
	widths []int
	rows   [][]string
	color  bool
	limit  int // columns of the terminal; 0: no limit
}

func newTable(out io.Writer, header ...string) *table {
	t := &table{out: out, color: colorful(out), limit: terminalWidth(out)}
	if len(header) > 0 {
		t.row(header...)
	}
	return t
}

// row adds a row; a cell's line breaks and control characters become spaces.
func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = oneLine(c)
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cells[i]))
	}
	t.rows = append(t.rows, cells)
}

// flush prints what was added.
func (t *table) flush() error {
	for _, cells := range t.rows {
		if _, err := io.WriteString(t.out, t.line(cells)); err != nil {
			return err
		}
	}
	t.rows = nil
	return nil
}

func (t *table) line(cells []string) string {
	var b strings.Builder
	used := 0
	for i, c := range cells {
		width := utf8.RuneCountInString(c)
		last := i == len(cells)-1
		if room := t.limit - used; last && t.limit > 0 && width > room && room > 1 {
			c = string([]rune(c)[:room-1]) + "…"
		}
		b.WriteString(t.paint(c))
		if !last {
			b.WriteString(strings.Repeat(" ", t.widths[i]-width+2))
		}
		used += t.widths[i] + 2
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

var stateColors = map[string]string{
	"succeeded": "32", "ok": "32",
	"failed": "31", "crashed": "31", "fail": "31",
	"cancelled": "33", "abandoned": "33", "warn": "33",
	"running": "36", "scheduled": "34", "pending": "34", "waiting": "34",
}

func (t *table) paint(cell string) string {
	if c, ok := stateColors[cell]; ok && t.color {
		return "\x1b[" + c + "m" + cell + "\x1b[0m"
	}
	return cell
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
