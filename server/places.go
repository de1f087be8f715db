package server

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

func (s *Server) placeRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-queues", Method: http.MethodGet, Path: "/v1/queues", Tags: []string{"queues"}, Summary: "List queues",
		Description: "Those that the configuration names for the tenant, and default. A job may name any other: a queue needs no making.", Errors: []int{401, 429, 503},
	}, s.listQueues)
	huma.Register(s.api, huma.Operation{
		OperationID: "list-workers", Method: http.MethodGet, Path: "/v1/admin/workers", Tags: []string{"platform"}, Summary: "List workers",
		Description: "All that are registered, oldest first. Needs the role admin.", Errors: []int{401, 403, 429, 503},
	}, s.listWorkers)
}

// Queue is a place where jobs wait.
type Queue struct {
	Name string `json:"name"`
}

type queuesOutput struct {
	Body struct {
		Queues []Queue `json:"queues" doc:"By name."`
	}
}

func (s *Server) listQueues(ctx context.Context, _ *struct{}) (*queuesOutput, error) {
	c := s.config.Current()
	tenant := c.Tenants[callerOf(ctx).Tenant.Name]
	names := []string{defaultQueue}
	for name := range c.Queues {
		names = append(names, name)
	}
	for name := range tenant.Queues {
		names = append(names, name)
	}
	for _, a := range tenant.Actors {
		if a.Queue != "" {
			names = append(names, a.Queue)
		}
	}
	slices.Sort(names)
	out := &queuesOutput{}
	for _, name := range slices.Compact(names) {
		out.Body.Queues = append(out.Body.Queues, Queue{Name: name})
	}
	return out, nil
}

// Worker is a process that runs jobs.
type Worker struct {
	ID          string    `json:"id" format:"uuid" doc:"Random per start."`
	Name        string    `json:"name"`
	Version     string    `json:"version"`
	Concurrency int       `json:"concurrency"`
	Queues      []string  `json:"queues" doc:"Globs."`
	StartedAt   time.Time `json:"started_at"`
	HeartbeatAt time.Time `json:"heartbeat_at"`
	ExpiresAt   time.Time `json:"expires_at" doc:"When its jobs are taken for lost, unless it is heard of."`
	Draining    bool      `json:"draining" doc:"It is stopping."`
}

type workersOutput struct {
	Body struct {
		Workers []Worker `json:"workers"`
	}
}

func (s *Server) listWorkers(ctx context.Context, _ *struct{}) (*workersOutput, error) {
	if err := need(ctx, Admin); err != nil {
		return nil, err
	}
	rows, err := s.store.Workers(ctx)
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	out := &workersOutput{}
	out.Body.Workers = make([]Worker, len(rows))
	for i, w := range rows {
		out.Body.Workers[i] = Worker{
			ID: w.ID.String(), Name: w.Name, Version: w.Version, Concurrency: w.Concurrency, Queues: orEmpty(w.Queues),
			StartedAt: w.StartedAt, HeartbeatAt: w.HeartbeatAt, ExpiresAt: w.ExpiresAt, Draining: w.Draining,
		}
	}
	return out, nil
}
