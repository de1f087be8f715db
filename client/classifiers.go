package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// PushClassifier sends a module to be a classifier's next version, as
// [Client.Push] does for an actor.
func (c *Client) PushClassifier(ctx context.Context, name string, wasm []byte, o PushOptions) (*Pushed, error) {
	return c.push(ctx, "classifiers", name, wasm, o)
}

// Classifiers lists the tenant's classifiers by name, without imports.
func (c *Client) Classifiers(ctx context.Context) ([]Actor, error) {
	var out struct {
		Classifiers []Actor `json:"classifiers"`
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "classifiers"}, &out)
	return out.Classifiers, err
}

// Classifier finds a classifier's current version.
func (c *Client) Classifier(ctx context.Context, name string) (*Actor, error) {
	var out Actor
	if err := c.do(ctx, request{method: http.MethodGet, path: "classifiers/" + url.PathEscape(name)}, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// DeleteClassifier removes a classifier with all its versions.
func (c *Client) DeleteClassifier(ctx context.Context, name string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: "classifiers/" + url.PathEscape(name)}, nil)
}

// TryRequest is a failure to ask a classifier about.
type TryRequest struct {
	Failure  json.RawMessage `json:"failure"` // as a guest records it
	Attempt  int             `json:"attempt,omitempty"`
	Now      *time.Time      `json:"now,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// Trial is what a classifier made of a failure, and what would be decided with
// it alone in the chain.
type Trial struct {
	Claim    bool    `json:"claim"`
	Kind     *string `json:"kind"`
	DelayMS  *int64  `json:"delay_ms"`
	Decision struct {
		Action     string  `json:"action"` // retry or fail
		DecidedBy  string  `json:"decided_by"`
		Kind       string  `json:"kind"`
		DelayMS    *int64  `json:"delay_ms"`
		DeadReason *string `json:"dead_reason"`
	} `json:"decision"`
	Broken string `json:"broken,omitempty"` // why the answer doesn't count
}

// TryClassifier asks the tenant's classifier about a failure.
func (c *Client) TryClassifier(ctx context.Context, name string, r TryRequest) (*Trial, error) {
	var out Trial
	if err := c.doJSON(ctx, http.MethodPost, "classifiers/"+url.PathEscape(name)+"/try", r, &out); err != nil {
		return nil, err
	}
	return &out, nil
}
