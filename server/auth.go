package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/taskq-host/taskq-host/store"
)

// Role is what a token may be used for; each includes those before it.
type Role string

// Roles, weakest first.
const (
	Submitter Role = "submitter" // enqueue and look
	Operator  Role = "operator"  // and cancel
	Admin     Role = "admin"     // and push and delete actors, see workers
	Platform  Role = "platform"  // across tenants
)

var roles = []Role{Submitter, Operator, Admin, Platform}

// includes reports whether a role may do what want is needed for. A role that
// this release doesn't know may do nothing.
func (r Role) includes(want Role) bool {
	have := slices.Index(roles, r)
	return have >= 0 && have >= slices.Index(roles, want)
}

const (
	tokenFresh   = 3 * time.Second // how long a revoked token may go on
	tokensKept   = 10_000
	addressKept  = 10_000
	failureBurst = 20 // failed logins of one address in a row
	failureEvery = 2 * time.Second
)

// gate knows tokens and those who guess them.
type gate struct {
	lookup func(ctx context.Context, token string) (store.Token, error)
	clock  func() time.Time

	known    *lru.Cache[[sha256.Size]byte, seenToken]
	mu       sync.Mutex
	failures *lru.Cache[netip.Prefix, failures]
}

// seenToken is a token that was good when it was asked for. It stays known
// when it is no longer fresh, so that somebody else's failures from behind the
// same address don't lock it out.
type seenToken struct {
	store.Token
	asked time.Time
}

// failures is a leaky bucket: count drops by one each failureEvery.
type failures struct {
	count float64
	at    time.Time
}

func newGate(lookup func(context.Context, string) (store.Token, error), clock func() time.Time) (*gate, error) {
	known, err := lru.New[[sha256.Size]byte, seenToken](tokensKept)
	if err != nil {
		return nil, err
	}
	failed, err := lru.New[netip.Prefix, failures](addressKept)
	if err != nil {
		return nil, err
	}
	return &gate{lookup: lookup, clock: clock, known: known, failures: failed}, nil
}

// admit finds whose request it is. The error is a *Problem, or the store's.
func (g *gate) admit(r *http.Request) (store.Token, error) {
	token, p := bearer(r)
	if p != nil {
		return store.Token{}, p
	}
	now := g.clock()
	hash := sha256.Sum256([]byte(token))
	seen, known := g.known.Get(hash)
	if known && now.Sub(seen.asked) < tokenFresh {
		return seen.Token, nil
	}
	from := addressOf(r)
	if wait := g.wait(from, now); wait > 0 && !known {
		p := problem(http.StatusTooManyRequests, "too many failed logins from this address")
		p.retryAfter = int(wait/time.Second) + 1
		return store.Token{}, p
	}
	found, err := g.lookup(r.Context(), token)
	switch {
	case errors.Is(err, store.ErrNotFound):
		g.known.Remove(hash)
		g.failed(from, now)
		return store.Token{}, unauthorized("the token isn't known; it may have been replaced")
	case err != nil:
		return store.Token{}, err
	}
	g.known.Add(hash, seenToken{Token: found, asked: now})
	return found, nil
}

func bearer(r *http.Request) (string, *Problem) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return "", unauthorized("a token is needed: Authorization: Bearer tq_…")
	}
	scheme, token, ok := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "bearer") || token == "" || len(token) > 256 {
		return "", unauthorized("the header Authorization must be: Bearer tq_…")
	}
	return token, nil
}

func unauthorized(detail string) *Problem {
	p := problem(http.StatusUnauthorized, detail)
	p.challenge = true
	return p
}

// addressOf is whom failures are counted for: an address of IPv4, a network of
// 64 bits of IPv6, where everybody has that many addresses.
func addressOf(r *http.Request) netip.Prefix {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	addr := at.Addr().Unmap().WithZone("")
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

func (g *gate) failed(from netip.Prefix, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.drained(from, now)
	f.count++
	g.failures.Add(from, f)
}

// wait is how long an address has to wait for its next guess.
func (g *gate) wait(from netip.Prefix, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	over := g.drained(from, now).count - failureBurst + 1
	if over <= 0 {
		return 0
	}
	return time.Duration(over * float64(failureEvery))
}

func (g *gate) drained(from netip.Prefix, now time.Time) failures {
	f, _ := g.failures.Get(from)
	f.count = max(0, f.count-float64(now.Sub(f.at))/float64(failureEvery))
	f.at = now
	return f
}

type callerKey struct{}

// callerOf is whose request it is: the gate put it there.
func callerOf(ctx context.Context) store.Token {
	c, _ := ctx.Value(callerKey{}).(store.Token)
	return c
}

// guard lets requests with a good token pass, as those of its tenant.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		token, err := s.gate.admit(r)
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, token)))
	})
}

// need refuses a token whose role is too weak.
func need(ctx context.Context, want Role) error {
	if have := Role(callerOf(ctx).Role); !have.includes(want) {
		return problem(http.StatusForbidden, "this needs a token of role "+string(want)+"; this one is of role "+string(have))
	}
	return nil
}
