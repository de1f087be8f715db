package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options of [New].
type Options struct {
	URL       string       // of the host, such as http://127.0.0.1:8420
	Token     string       // bearer token of a tenant
	HTTP      *http.Client // nil: one of its own; its Timeout must be longer than waits are
	UserAgent string       // "": taskq-client
}

// Client speaks to one host as one tenant. It is safe for use by many
// goroutines.
type Client struct {
	base  *url.URL
	token string
	agent string
	http  *http.Client
	owned *http.Transport // nil where the caller brought a client
}

// ErrUnreachable means that no answer came from the host: it is down, or
// something lies between.
var ErrUnreachable = errors.New("the host can't be reached")

// maxAnswer bounds an answer in memory, bytes.
const maxAnswer = 256 << 20

// New makes a client. It connects when it is first used.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("client: the URL must be like http://127.0.0.1:8420, not %q", o.URL)
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("client: the URL must be of a host, with a path at most")
	}
	if strings.ContainsAny(o.Token, " \t\r\n") {
		return nil, errors.New("client: the token holds a space or a line break")
	}
	c := &Client{base: base, token: o.Token, agent: o.UserAgent, http: o.HTTP}
	if c.agent == "" {
		c.agent = "taskq-client"
	}
	if c.http == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 32
		c.owned = t
		// A redirect would send the token and the payload somewhere else.
		c.http = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return c, nil
}

// Close closes connections that are idle. A client that the caller brought
// stays the caller's.
func (c *Client) Close() {
	if c.owned != nil {
		c.owned.CloseIdleConnections()
	}
}

// request is one call of the API.
type request struct {
	method, path string
	query        url.Values
	body         []byte
	contentType  string
}

// do calls the API and decodes the answer into out, unless that is nil.
func (c *Client) do(ctx context.Context, r request, out any) error {
	u := c.base.JoinPath("v1", r.path)
	u.RawQuery = r.query.Encode()
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.method, u.Path, err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.agent)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%s %s: %w", r.method, u.Path, context.Cause(ctx))
		}
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%s %s: %w", r.method, u.Path, context.Cause(ctx))
		}
		return fmt.Errorf("%w: the answer broke off: %w", ErrUnreachable, err)
	}
	if res.StatusCode >= 300 {
		return problemOf(res, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: the answer isn't what it should be: %w", r.method, u.Path, err)
	}
	return nil
}

// doJSON is do with a body of JSON.
func (c *Client) doJSON(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return c.do(ctx, request{method: method, path: path, body: body, contentType: "application/json"}, out)
}

// Problem is what the API answers to what it refuses, after RFC 9457.
type Problem struct {
	Status     int           `json:"status"`
	Title      string        `json:"title"`
	Detail     string        `json:"detail"`
	Instance   string        `json:"instance"` // of a fault of the host's own: the id in its log
	Errors     []FieldError  `json:"errors"`
	RetryAfter time.Duration `json:"-"` // of 429 and 503; 0: not said
}

// FieldError is one rule that doesn't hold, with its place.
type FieldError struct {
	Location string `json:"location"` // body.retry.base
	Rule     string `json:"rule"`
	Message  string `json:"message"`
}

// Error tells all of it in one line.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Detail)
	if p.Detail == "" {
		fmt.Fprintf(&b, "%d %s", p.Status, p.Title)
	}
	for i, e := range p.Errors {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s %s", sep, e.Location, e.Rule)
		if e.Message != "" {
			fmt.Fprintf(&b, ": %s", e.Message)
		}
	}
	if p.Instance != "" {
		fmt.Fprintf(&b, " (%s)", p.Instance)
	}
	return b.String()
}

// NotFound reports whether err is the API's answer that there is no such thing.
func NotFound(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

func problemOf(res *http.Response, text []byte) error {
	p := &Problem{}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if media != "application/problem+json" || json.Unmarshal(text, p) != nil {
		// A proxy's, most likely.
		p = &Problem{Title: http.StatusText(res.StatusCode), Detail: fmt.Sprintf("%s answered %s, which isn't a taskq-host's answer", res.Request.URL.Host, res.Status)}
	}
	p.Status = res.StatusCode
	if seconds, err := time.ParseDuration(res.Header.Get("Retry-After") + "s"); err == nil && seconds > 0 {
		p.RetryAfter = seconds
	}
	return p
}
