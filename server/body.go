package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/config"
)

const (
	jsonType = "application/json"
	wasmType = "application/wasm"

	// bodiesInFlight is how many bytes of bodies are held at once, of all
	// requests; who comes when they are taken is asked to come again.
	bodiesInFlight = 256 << 20
	batchBody      = 64 << 20
	singleBody     = 4 << 20 // for a payload of 1 MiB: room for spaces, base64 and the rest
)

// bodyRule is what a route takes as its body.
type bodyRule struct {
	mediaType string
	example   string // what to type, for who sent another type
	most      func(*config.Config) int64
	optional  bool
	within    time.Duration // to be read; 0: the server's
}

type bodyKey struct{}

func bodyOf(ctx context.Context) []byte {
	b, _ := ctx.Value(bodyKey{}).([]byte)
	return b
}

// takeBody reads a route's body before anything else happens.
func (s *Server) takeBody(rule bodyRule) huma.Middlewares {
	return huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		most := rule.most(s.config.Current())
		weight := most
		if n := r.ContentLength; n >= 0 && n < most && r.Header.Get("Content-Encoding") == "" {
			weight = n
		}
		if !s.bodies.TryAcquire(weight) {
			s.unavailable("too many bodies are being read", retryBusy).write(w)
			return
		}
		defer s.bodies.Release(weight)
		body, p := s.readBody(w, r, rule, most)
		if p != nil {
			p.write(w)
			return
		}
		next(huma.WithValue(ctx, bodyKey{}, body))
	}}
}

func (s *Server) readBody(w http.ResponseWriter, r *http.Request, rule bodyRule, most int64) ([]byte, *Problem) {
	if rule.optional && r.ContentLength == 0 {
		return nil, nil
	}
	if p := checkMediaType(r, rule); p != nil {
		return nil, p
	}
	if r.ContentLength > most {
		return nil, tooLarge("body", most)
	}
	within := rule.within
	if within == 0 {
		within = s.timing.body
	}
	// Errors of these mean that there is no connection: a test's recorder.
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(within))
	var from io.Reader = http.MaxBytesReader(w, r.Body, most)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		inflated, err := gzip.NewReader(from)
		if err != nil {
			return nil, bodyProblem(err, most)
		}
		from = io.LimitReader(inflated, most+1)
	default:
		return nil, problem(http.StatusUnsupportedMediaType, "the body's encoding isn't understood",
			FieldError{Location: "header.Content-Encoding", Rule: "must be gzip or identity"})
	}
	var buf bytes.Buffer
	if n := r.ContentLength; n > 0 {
		buf.Grow(int(n) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(from); err != nil {
		return nil, bodyProblem(err, most)
	}
	if int64(buf.Len()) > most {
		return nil, tooLarge("body", most)
	}
	// Passing it later would cancel the request at work. Where the body wasn't
	// read to its end it stays, because the server still reads some of the rest.
	_ = conn.SetReadDeadline(time.Time{})
	if buf.Len() == 0 && !rule.optional {
		return nil, invalid("body", "is needed")
	}
	return buf.Bytes(), nil
}

func checkMediaType(r *http.Request, rule bodyRule) *Problem {
	given := r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(given)
	charset := params["charset"]
	if err == nil && media == rule.mediaType && (charset == "" || rule.mediaType == jsonType && (charset == "utf-8" || charset == "UTF-8")) {
		return nil
	}
	return problem(http.StatusUnsupportedMediaType, "the body's type isn't what this takes",
		FieldError{Location: "header.Content-Type", Rule: "must be " + rule.mediaType + rule.example})
}

func tooLarge(location string, most int64) *Problem {
	return problem(http.StatusRequestEntityTooLarge, "nothing was stored",
		FieldError{Location: location, Rule: fmt.Sprintf("must be at most %s", config.Size(most))})
}

func bodyProblem(err error, most int64) *Problem {
	var long *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &long):
		return tooLarge("body", most)
	case errors.As(err, &network) && network.Timeout():
		return problem(http.StatusRequestTimeout, "the body came too slowly")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return problem(http.StatusBadRequest, "the body ends early, or isn't what its encoding says")
	}
	return problem(http.StatusBadRequest, "the body can't be read")
}

// bodySizes of the routes. A single job's grows with the largest payload that
// any block of the configuration allows.
func constant(n int64) func(*config.Config) int64 {
	return func(*config.Config) int64 { return n }
}

func singleBodySize(c *config.Config) int64 {
	largest := int64(abi.MaxPayload)
	see := func(blocks ...config.Block) {
		for _, b := range blocks {
			if b.Limits.MaxPayload != nil {
				largest = max(largest, int64(*b.Limits.MaxPayload))
			}
		}
	}
	see(c.Defaults)
	for _, b := range c.Queues {
		see(b)
	}
	for _, t := range c.Tenants {
		see(t.Defaults)
		for _, b := range t.Queues {
			see(b)
		}
	}
	return max(singleBody, largest+largest/3+(1<<20))
}
