package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/taskq-host/taskq-host/store"
)

// devToken makes sure that the user has a token for this server, in the
// context file unless that can't be written. It answers what to say of it; the
// token itself is shown when it is made, and never again.
func devToken(ctx context.Context, s *store.Store, address string) (string, error) {
	var known contexts
	path, err := contextPath()
	if err == nil {
		known, err = readContexts(path)
	}
	if err != nil {
		return issueDevToken(ctx, s, address, func(string) error { return err })
	}
	if token := known.Servers[address].Token; token != "" {
		switch _, err := s.Token(ctx, token); {
		case err == nil && known.Current == address:
			return "kept in " + path, nil
		case err == nil:
			if err := known.keepDev(path, address, token); err != nil {
				return "", failed("context file", err)
			}
			return "kept in " + path, nil
		case !errors.Is(err, store.ErrNotFound):
			return "", failed("", err)
		}
	}
	return issueDevToken(ctx, s, path+"\x00"+address, func(token string) error { return known.keepDev(path, address, token) })
}

// issueDevToken makes a token. Its name is one of its own for each address in
// each user's context file, because issuing ends the one of the same name.
func issueDevToken(ctx context.Context, s *store.Store, owner string, keep func(token string) error) (string, error) {
	tenant, err := s.Tenant(ctx, store.DefaultTenant)
	if err != nil {
		return "", failed("", err)
	}
	sum := sha256.Sum256([]byte(owner))
	token, err := s.IssueToken(ctx, tenant, "dev-"+hex.EncodeToString(sum[:6]), "admin")
	if err != nil {
		return "", failed("", err)
	}
	if err := keep(token); err != nil {
		return token + "  (shown once, and not kept: " + oneLine(err.Error()) + "; put it into TASKQ_TOKEN)", nil
	}
	return token + "  (shown once; kept in the context file)", nil
}

// keepDev stores a token and makes its server the one that commands talk to,
// unless the present one still answers: then a second dev beside it only adds
// itself.
func (c contexts) keepDev(path, address, token string) error {
	if c.Current == "" || c.Current == address || !reachable(c.Current) {
		c.Current = address
	}
	return c.keep(path, address, token)
}

func reachable(address string) bool {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(address, "http://"), time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}
