package main

import (
	"io"
	"net/http"
	"strings"
	"sync"
)

// bar is a progress bar on a terminal, and nothing anywhere else. It is safe
// for use by many goroutines.
type bar struct {
	out  io.Writer // nil: nobody watches
	what string

	mu    sync.Mutex
	done  int64
	total int64
	shown int // percent, so that a line isn't drawn twice
}

const barCells = 30

func newBar(out io.Writer, what string, total int64) *bar {
	b := &bar{what: what, total: max(1, total), shown: -1}
	if isTerminal(out) {
		b.out = out
	}
	b.add(0)
	return b
}

// add counts n more of the total.
func (b *bar) add(n int64) {
	if b.out == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = min(b.done+n, b.total)
	percent := int(b.done * 100 / b.total)
	if percent == b.shown {
		return
	}
	b.shown = percent
	full := barCells * percent / 100
	say(b.out, "\r%s [%s%s] %3d%%", b.what, strings.Repeat("#", full), strings.Repeat(".", barCells-full), percent)
}

// clear takes the bar away.
func (b *bar) clear() {
	if b.out == nil {
		return
	}
	say(b.out, "\r\x1b[K")
}

// watch counts what requests send.
func (b *bar) watch(next http.RoundTripper) http.RoundTripper { return watchedTransport{next, b} }

type watchedTransport struct {
	next http.RoundTripper
	bar  *bar
}

// RoundTrip sends a copy of the request whose body tells the bar what was read
// of it.
func (w watchedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r = r.Clone(r.Context())
		r.Body = countedBody{r.Body, w.bar}
	}
	return w.next.RoundTrip(r)
}

type countedBody struct {
	io.ReadCloser
	bar *bar
}

func (c countedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bar.add(int64(n))
	return n, err
}
