package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Token is what a bearer token stands for. The token itself is never stored.
type Token struct {
	Tenant Tenant
	Name   string
	Role   string
}

const tokenPrefix = "tq_"

// IssueToken makes a new bearer token of 256 random bits for a tenant, under a
// name; an older one of that name stops working. The answer is shown once.
func (s *Store) IssueToken(ctx context.Context, tenant Tenant, name, role string) (string, error) {
	var bits [32]byte
	if _, err := rand.Read(bits[:]); err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(bits[:])
	hash := sha256.Sum256([]byte(token))
	_, err := s.pool.Exec(ctx, s.schema.sql(`INSERT INTO taskq.tokens (tenant_id, name, hash, role) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant_id, name) DO UPDATE SET hash = excluded.hash, role = excluded.role, created_at = clock_timestamp()`), tenant.ID, name, hash[:], role)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	return token, nil
}

// Token finds what a bearer token stands for; [ErrNotFound] if nothing. The
// look-up is by the token's hash, so its time tells nothing of the token.
func (s *Store) Token(ctx context.Context, token string) (Token, error) {
	if !strings.HasPrefix(token, tokenPrefix) {
		return Token{}, fmt.Errorf("token: %w", ErrNotFound)
	}
	hash := sha256.Sum256([]byte(token))
	var t Token
	err := s.pool.QueryRow(ctx, s.schema.sql(`SELECT t.tenant_id, t.shard, t.name, k.name, k.role FROM taskq.tokens k JOIN taskq.tenants t USING (tenant_id) WHERE k.hash = $1`), hash[:]).
		Scan(&t.Tenant.ID, &t.Tenant.Shard, &t.Tenant.Name, &t.Name, &t.Role)
	if errors.Is(err, pgx.ErrNoRows) {
		return Token{}, fmt.Errorf("token: %w", ErrNotFound)
	}
	if err != nil {
		return Token{}, fmt.Errorf("token: %w", err)
	}
	return t, nil
}
