package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskq-host/taskq-host/config"
	"github.com/taskq-host/taskq-host/store"
)

const jobsTag = "jobs"

func (s *Server) jobRoutes() {
	one := bodyRule{mediaType: jsonType, most: singleBodySize}
	many := bodyRule{mediaType: jsonType, most: constant(batchBody)}
	huma.Register(s.api, huma.Operation{
		OperationID: "enqueue", Method: http.MethodPost, Path: "/v1/jobs", Tags: []string{jobsTag}, DefaultStatus: http.StatusCreated,
		Summary: "Enqueue a job", Description: "Stores one job and wakes a worker if it is due.",
		Middlewares: s.takeBody(one), Errors: []int{400, 401, 408, 413, 415, 422, 429, 503},
	}, s.enqueue)
	huma.Register(s.api, huma.Operation{
		OperationID: "enqueue-batch", Method: http.MethodPost, Path: "/v1/jobs/batch", Tags: []string{jobsTag},
		Summary: "Enqueue many jobs", Description: "At most 10,000 jobs and 64 MiB. Each is judged alone and the answer has a result for each; with atomic, one that breaks a rule refuses all.",
		Middlewares: s.takeBody(many), Errors: []int{400, 401, 408, 413, 415, 422, 429, 503},
	}, s.enqueueBatch)
	huma.Register(s.api, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: "/v1/jobs", Tags: []string{jobsTag}, Summary: "List jobs",
		Description: "Newest first, without payloads and results. A page may hold fewer than limit and still have a next one.", Errors: []int{401, 429, 503},
	}, s.listJobs)
	huma.Register(s.api, huma.Operation{
		OperationID: "show-job", Method: http.MethodGet, Path: "/v1/jobs/{id}", Tags: []string{jobsTag}, Summary: "Show a job, or wait for its end",
		Description: "With wait, answers when the job has ended or the time is over, whichever is first: look at status.", Errors: []int{401, 404, 429, 503},
	}, s.showJob)
	huma.Register(s.api, huma.Operation{
		OperationID: "list-attempts", Method: http.MethodGet, Path: "/v1/jobs/{id}/attempts", Tags: []string{jobsTag},
		Summary: "List a job's attempts that have ended", Errors: []int{401, 404, 429, 503},
	}, s.listAttempts)
	huma.Register(s.api, huma.Operation{
		OperationID: "list-events", Method: http.MethodGet, Path: "/v1/jobs/{id}/events", Tags: []string{jobsTag},
		Summary: "List what else happened to a job", Errors: []int{401, 404, 429, 503},
	}, s.listEvents)
	huma.Register(s.api, huma.Operation{
		OperationID: "cancel-job", Method: http.MethodPost, Path: "/v1/jobs/{id}/cancel", Tags: []string{jobsTag}, Summary: "Cancel a job",
		Description: "One that is queued ends at once; one that runs is told to, and ends as cancelled whatever it answers. Safe to repeat. Needs the role operator.",
		Middlewares: s.takeBody(bodyRule{mediaType: jsonType, most: constant(1 << 10), optional: true}), Errors: []int{401, 403, 404, 429, 503},
	}, s.cancelJob)
	paths := s.api.OpenAPI().Paths
	s.documentBody(paths["/v1/jobs"].Post, EnqueueRequest{})
	s.documentBody(paths["/v1/jobs/batch"].Post, BatchRequest{})
}

type jobPath struct {
	ID string `path:"id" format:"uuid" doc:"The job's id."`
}

// id reads the path; the error is a *Problem.
func (p *jobPath) id() (store.ID, error) {
	id, err := store.ParseID(p.ID)
	if err != nil {
		return store.ID{}, invalid("path.id", "must be an id, such as 01890a5d-ac96-774b-bcce-b302099a8057")
	}
	return id, nil
}

type listJobsInput struct {
	Status []string `query:"status" enum:"pending,scheduled,waiting,running,succeeded,failed,cancelled,crashed,abandoned" doc:"Only these, separated by commas."`
	Queue  string   `query:"queue" pattern:"^[a-z0-9][a-z0-9._-]{0,239}$" doc:"Only of this queue."`
	Actor  string   `query:"actor" pattern:"^[a-z0-9][a-z0-9._-]{0,239}$" doc:"Only of this actor."`
	Tag    string   `query:"tag" maxLength:"128" doc:"Only with this tag."`
	Cursor string   `query:"cursor" format:"uuid" doc:"The answer's next, for the page behind it."`
	Limit  int      `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Of the page."`
}

// JobList is a page of jobs.
type JobList struct {
	Jobs []Job  `json:"jobs"`
	Next string `json:"next,omitempty" doc:"The cursor of the next page; absent at the end."`
}

type listJobsOutput struct{ Body JobList }

func (s *Server) listJobs(ctx context.Context, in *listJobsInput) (*listJobsOutput, error) {
	f := store.JobFilter{Queue: in.Queue, Actor: in.Actor, Tag: in.Tag, Limit: in.Limit}
	if !storable(in.Tag) {
		return nil, invalid("query.tag", "must hold no NUL or invalid UTF-8")
	}
	for _, name := range in.Status {
		status, err := store.ParseStatus(name)
		if err != nil {
			return nil, invalid("query.status", "is none of the states")
		}
		f.Status = append(f.Status, status)
	}
	if in.Cursor != "" {
		var err error
		if f.Before, err = store.ParseID(in.Cursor); err != nil {
			return nil, invalid("query.cursor", "must be the next of an answer")
		}
	}
	jobs, next, err := s.store.ListJobs(ctx, callerOf(ctx).Tenant, f)
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	out := &listJobsOutput{Body: JobList{Jobs: make([]Job, len(jobs))}}
	for i := range jobs {
		out.Body.Jobs[i] = summaryOf(&jobs[i])
	}
	if next != (store.ID{}) {
		out.Body.Next = next.String()
	}
	return out, nil
}

type attemptsOutput struct {
	Body struct {
		Attempts []Attempt `json:"attempts" doc:"Oldest first."`
	}
}

func (s *Server) listAttempts(ctx context.Context, in *jobPath) (*attemptsOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	tenant := callerOf(ctx).Tenant
	attempts, err := s.store.Attempts(ctx, tenant, id)
	if err == nil && len(attempts) == 0 {
		_, err = s.existing(ctx, tenant, id)
	}
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	out := &attemptsOutput{}
	out.Body.Attempts = make([]Attempt, len(attempts))
	for i := range attempts {
		out.Body.Attempts[i] = attemptOf(&attempts[i])
	}
	return out, nil
}

type eventsOutput struct {
	Body struct {
		Events []Event `json:"events" doc:"Oldest first."`
	}
}

func (s *Server) listEvents(ctx context.Context, in *jobPath) (*eventsOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	tenant := callerOf(ctx).Tenant
	events, err := s.store.Events(ctx, tenant, id)
	if err == nil && len(events) == 0 {
		_, err = s.existing(ctx, tenant, id)
	}
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	out := &eventsOutput{}
	out.Body.Events = make([]Event, len(events))
	for i, e := range events {
		out.Body.Events[i] = Event(e)
	}
	return out, nil
}

// existing finds a job without its result.
func (s *Server) existing(ctx context.Context, tenant store.Tenant, id store.ID) (*store.Job, error) {
	jobs, err := s.store.Jobs(ctx, tenant, []store.ID{id})
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, store.ErrNotFound
	}
	return &jobs[0], nil
}

// Cancelled says what a cancel found.
type Cancelled struct {
	ID     string `json:"id" format:"uuid"`
	Result string `json:"result" enum:"cancelled,requested,finished" doc:"cancelled: it was queued and has ended. requested: it runs and will end so. finished: it had ended before."`
}

type cancelOutput struct{ Body Cancelled }

func (s *Server) cancelJob(ctx context.Context, in *jobPath) (*cancelOutput, error) {
	if err := need(ctx, Operator); err != nil {
		return nil, err
	}
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	if err := refuseFields(bodyOf(ctx)); err != nil {
		return nil, err
	}
	tenant := callerOf(ctx).Tenant
	j, err := s.existing(ctx, tenant, id)
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	found, err := s.store.Cancel(ctx, tenant, []store.ID{id}, s.keepFor(tenant, j))
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	switch found[id] {
	case store.CancelUnknown:
		return nil, errNotHere
	case store.CancelRequested:
		s.wakeups.wake(store.WakeBeat)
	}
	return &cancelOutput{Body: Cancelled{ID: id.String(), Result: string(found[id])}}, nil
}

// refuseFields refuses a body that says anything, where nothing can be said.
func refuseFields(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	if err := checkJSON(body); err != nil {
		return notJSON(err)
	}
	fields, err := members(body)
	if err != nil {
		return invalid("body", err.Error())
	}
	for _, f := range fields {
		return invalid(join("body", placeName(f.name)), "isn't a field of a cancel: it has none")
	}
	return nil
}

// keepFor is how long a job is kept that ends as cancelled.
func (s *Server) keepFor(tenant store.Tenant, j *store.Job) time.Duration {
	keep := s.config.Current().Resolve(config.Lookup{Tenant: tenant.Name, Queue: j.Queue, Actor: j.Actor}).TTLSucceeded
	if keep == 0 {
		return longest
	}
	return keep
}
