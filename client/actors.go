package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Actor is an actor's version.
type Actor struct {
	Name         string          `json:"name"`
	Version      int             `json:"version,omitempty"` // 0: of a dry run
	Digest       string          `json:"digest"`            // SHA-256, hex
	Size         int             `json:"size"`              // bytes
	CreatedAt    *time.Time      `json:"created_at,omitempty"`
	Mode         string          `json:"mode"` // reactor or command
	Entries      []string        `json:"entries"`
	Imports      []Import        `json:"imports,omitempty"`
	Capabilities []string        `json:"capabilities"`
	MemoryMin    int64           `json:"memory_min"` // bytes
	MemoryMax    int64           `json:"memory_max,omitempty"`
	Functions    int             `json:"functions"`
	Poolable     bool            `json:"poolable"`
	NotPoolable  []string        `json:"not_poolable,omitempty"` // why
	Warnings     []string        `json:"warnings,omitempty"`
	Manifest     json.RawMessage `json:"manifest,omitempty"`
}

// Import is one function that a module imports.
type Import struct {
	Module string `json:"module"`
	Name   string `json:"name"`
	Type   string `json:"type"`
}

// PushOptions of [Client.Push].
type PushOptions struct {
	DryRun bool // judge, and store nothing
}

// Pushed is what became of a push.
type Pushed struct {
	Actor
	Unchanged bool `json:"unchanged"` // these bytes were the current version already
	DryRun    bool `json:"dry_run"`
}

// Push sends a module to be an actor's next version. One that isn't accepted is
// a *[Problem] with status 422 whose only error has the rule and a sentence.
func (c *Client) Push(ctx context.Context, name string, wasm []byte, o PushOptions) (*Pushed, error) {
	return c.push(ctx, "actors", name, wasm, o)
}

func (c *Client) push(ctx context.Context, shelf, name string, wasm []byte, o PushOptions) (*Pushed, error) {
	q := url.Values{}
	if o.DryRun {
		q.Set("dry_run", "true")
	}
	if wasm == nil {
		wasm = []byte{}
	}
	var out Pushed
	r := request{method: http.MethodPut, path: shelf + "/" + url.PathEscape(name), query: q, body: wasm, contentType: "application/wasm"}
	if err := c.do(ctx, r, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// Actors lists the tenant's actors by name, without imports and manifests.
func (c *Client) Actors(ctx context.Context) ([]Actor, error) {
	var out struct {
		Actors []Actor `json:"actors"`
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "actors"}, &out)
	return out.Actors, err
}

// Actor finds an actor's current version.
func (c *Client) Actor(ctx context.Context, name string) (*Actor, error) {
	var out Actor
	if err := c.do(ctx, request{method: http.MethodGet, path: "actors/" + url.PathEscape(name)}, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// DeleteActor removes an actor with all its versions.
func (c *Client) DeleteActor(ctx context.Context, name string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: "actors/" + url.PathEscape(name)}, nil)
}

// Queues lists the names of the queues that are configured for the tenant.
func (c *Client) Queues(ctx context.Context) ([]string, error) {
	var out struct {
		Queues []struct {
			Name string `json:"name"`
		} `json:"queues"`
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "queues"}, &out)
	names := make([]string, len(out.Queues))
	for i, q := range out.Queues {
		names[i] = q.Name
	}
	return names, err
}

// Worker is a process that runs jobs.
type Worker struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Version     string    `json:"version"`
	Concurrency int       `json:"concurrency"`
	Queues      []string  `json:"queues"`
	StartedAt   time.Time `json:"started_at"`
	HeartbeatAt time.Time `json:"heartbeat_at"`
	ExpiresAt   time.Time `json:"expires_at"`
	Draining    bool      `json:"draining"`
}

// Workers lists the workers that are registered, oldest first.
func (c *Client) Workers(ctx context.Context) ([]Worker, error) {
	var out struct {
		Workers []Worker `json:"workers"`
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "admin/workers"}, &out)
	return out.Workers, err
}
