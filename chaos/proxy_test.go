package chaos

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// proxy stands between a store and its Postgres and knows enough of the
// protocol to fail one statement: before the server sees it, or after it ran
// and before its answer is passed on. Then the connection is closed, which is
// all that a client learns.
type proxy struct {
	t        *testing.T
	server   string // network address of the real one
	network  string
	dsn      string // for clients
	listener net.Listener
	conns    sync.WaitGroup

	blackhole atomic.Bool  // nothing is passed on, nothing is closed
	delay     atomic.Int64 // nanoseconds before each request

	mu    sync.Mutex
	open  map[net.Conn]struct{}
	fault *fault
}

// fault fails some of the requests whose statement contains a text.
type fault struct {
	statement string
	nth       map[int]bool // counted from 1
	after     bool         // the statement runs first
	seen      int
	struck    int
}

func newProxy(t *testing.T, dsn string) *proxy {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	p := &proxy{t: t, open: map[net.Conn]struct{}{}, network: "tcp"}
	if strings.HasPrefix(cfg.Host, "/") {
		p.network, p.server = "unix", filepath.Join(cfg.Host, ".s.PGSQL."+strconv.Itoa(int(cfg.Port)))
	} else {
		p.server = net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
	}
	p.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(p.listener.Addr().String())
	require.NoError(t, err)
	p.dsn = "host=" + host + " port=" + port + " user=" + cfg.User + " password='" + cfg.Password + "' dbname=" + cfg.Database + " sslmode=disable"
	p.conns.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.server)
		if err != nil { // the database is away
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.open[client], p.open[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		l := &link{p: p, client: client, server: server, statements: map[string]string{}, struck: make(chan struct{})}
		p.conns.Go(l.requests)
		p.conns.Go(l.answers)
	}
}

// cut closes every connection that is open.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
	clear(p.open)
}

func (p *proxy) close() {
	p.blackhole.Store(false)
	_ = p.listener.Close()
	p.cut()
	p.conns.Wait()
}

// fail arms a fault; nil disarms.
func (p *proxy) fail(f *fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// strikes says whether the request with these statements fails, and how.
func (p *proxy) strikes(sql string) (strike, after bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == nil || !strings.Contains(sql, p.fault.statement) {
		return false, false
	}
	p.fault.seen++
	if !p.fault.nth[p.fault.seen] {
		return false, false
	}
	p.fault.struck++
	return true, p.fault.after
}

// link is one connection through the proxy.
type link struct {
	p              *proxy
	client, server net.Conn
	statements     map[string]string // prepared: name → text
	swallow        atomic.Bool       // the next answer is the last, and isn't passed on
	struck         chan struct{}
}

func (l *link) shut() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// requests passes on what the client sends, a whole request at a time: that is
// up to a Sync or a simple query.
func (l *link) requests() {
	defer l.shut()
	startup, err := readMessage(l.client, false)
	if err != nil {
		return
	}
	if _, err := l.server.Write(startup); err != nil {
		return
	}
	var request []byte
	var sql strings.Builder
	for {
		m, err := readMessage(l.client, true)
		if err != nil {
			return
		}
		request = append(request, m...)
		l.note(m, &sql)
		if m[0] != 'S' && m[0] != 'Q' && m[0] != 'p' && m[0] != 'X' {
			continue
		}
		l.hold()
		strike, after := l.p.strikes(sql.String())
		if strike && !after {
			return
		}
		l.swallow.Store(strike)
		if _, err := l.server.Write(request); err != nil {
			return
		}
		if strike {
			<-l.struck
			return
		}
		request = request[:0]
		sql.Reset()
	}
}

// hold is what a slow or a dead network does.
func (l *link) hold() {
	if d := l.p.delay.Load(); d > 0 {
		<-time.After(time.Duration(d))
	}
	for l.p.blackhole.Load() {
		<-time.After(5 * time.Millisecond)
	}
}

// note remembers prepared statements, and adds the text of what is run.
func (l *link) note(m []byte, sql *strings.Builder) {
	body := m[5:]
	switch m[0] {
	case 'Q':
		sql.Write(body)
	case 'P':
		name, rest := cString(body)
		text, _ := cString(rest)
		l.statements[name] = text
	case 'B':
		_, rest := cString(body)
		name, _ := cString(rest)
		sql.WriteString(l.statements[name])
	}
}

// answers passes on what the server says, unless the fault wants it lost.
func (l *link) answers() {
	defer l.shut()
	defer close(l.struck)
	for {
		m, err := readMessage(l.server, true)
		if err != nil {
			return
		}
		if l.swallow.Load() {
			if m[0] == 'Z' { // ready for the next: it has run
				return
			}
			continue
		}
		for l.p.blackhole.Load() {
			<-time.After(5 * time.Millisecond)
		}
		if _, err := l.client.Write(m); err != nil {
			return
		}
	}
}

// readMessage reads one whole message; the first of a connection has no type.
func readMessage(r io.Reader, typed bool) ([]byte, error) {
	head := make([]byte, 4, 5)
	if typed {
		head = head[:5]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
	m := append(head, make([]byte, n)...)
	_, err := io.ReadFull(r, m[len(head):])
	return m, err
}

func cString(b []byte) (s string, rest []byte) {
	i := strings.IndexByte(string(b), 0)
	return string(b[:i]), b[i+1:]
}
