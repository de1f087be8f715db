package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/classifier"
	"github.com/taskq-host/taskq-host/classify"
	"github.com/taskq-host/taskq-host/retry"
)

const classifiersTag = "classifiers"

func (s *Server) classifierRoutes() {
	upload := bodyRule{
		mediaType: wasmType, example: `, as in: curl -T classifier.wasm -H "Content-Type: application/wasm" …`,
		most: constant(abi.MaxModule), within: s.timing.upload,
	}
	huma.Register(s.api, huma.Operation{
		OperationID: "push-classifier", Method: http.MethodPut, Path: "/v1/classifiers/{name}", Tags: []string{classifiersTag}, Summary: "Push a classifier",
		Description: "Judges a WebAssembly module that exports taskq_v1_classify and stores it as the classifier's next version. It may import input_read, output_write, log and panic of taskq_v1, and what its language's runtime needs. " +
			"Chains and mappers name it in the configuration. The same bytes as the current version's change nothing. The body may be gzipped. Needs the role admin.",
		RequestBody: &huma.RequestBody{Required: true, Description: "The module, at most 16 MiB.", Content: map[string]*huma.MediaType{
			wasmType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		}},
		Middlewares: s.takeBody(upload), Errors: []int{400, 401, 403, 408, 413, 415, 429, 503},
	}, s.pushClassifier)
	huma.Register(s.api, huma.Operation{
		OperationID: "list-classifiers", Method: http.MethodGet, Path: "/v1/classifiers", Tags: []string{classifiersTag}, Summary: "List classifiers", Errors: []int{401, 429, 503},
	}, s.listClassifiers)
	huma.Register(s.api, huma.Operation{
		OperationID: "show-classifier", Method: http.MethodGet, Path: "/v1/classifiers/{name}", Tags: []string{classifiersTag}, Summary: "Show a classifier", Errors: []int{401, 404, 429, 503},
	}, s.showClassifier)
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-classifier", Method: http.MethodDelete, Path: "/v1/classifiers/{name}", Tags: []string{classifiersTag}, Summary: "Delete a classifier", DefaultStatus: http.StatusNoContent,
		Description: "With all its versions. Chains that name it skip it from then on, with a warning. Needs the role admin.", Errors: []int{401, 403, 404, 429, 503},
	}, s.deleteClassifier)
	huma.Register(s.api, huma.Operation{
		OperationID: "try-classifier", Method: http.MethodPost, Path: "/v1/classifiers/{name}/try", Tags: []string{classifiersTag}, Summary: "Try a classifier",
		Description: "Asks it about a failure, and shows what would be decided with it alone in the chain of the policy that the host ships with. Nothing is stored. Needs the role operator.",
		Middlewares: s.takeBody(bodyRule{mediaType: jsonType, most: constant(abi.MaxPayload)}), Errors: []int{400, 401, 403, 404, 408, 413, 415, 429, 503},
	}, s.tryClassifier)
	s.documentBody(s.api.OpenAPI().Paths["/v1/classifiers/{name}/try"].Post, TryRequest{})
}

// TryRequest is a failure to ask a classifier about.
type TryRequest struct {
	Failure  json.RawMessage `json:"failure" doc:"As a guest records it: class, ancestors, message, http and so on."`
	Attempt  int             `json:"attempt,omitempty" minimum:"1" maximum:"32766" default:"1"`
	Now      *time.Time      `json:"now,omitempty" doc:"When it failed. Default: now."`
	Settings json.RawMessage `json:"settings,omitempty" doc:"What the configuration would have under with."`
}

// TryResult is what a classifier made of a failure.
type TryResult struct {
	Claim    bool        `json:"claim" doc:"It has an opinion."`
	Kind     *string     `json:"kind" enum:"transient,indefinite,non_retryable" doc:"That it answered; null keeps the policy's."`
	DelayMS  *int64      `json:"delay_ms" doc:"That it answered; null keeps the curve's."`
	Decision TryDecision `json:"decision"`
	Broken   string      `json:"broken,omitempty" doc:"Why its answer doesn't count."`
}

// TryDecision is what the ladder would decide.
type TryDecision struct {
	Action     string  `json:"action" enum:"retry,fail"`
	DecidedBy  string  `json:"decided_by" doc:"The rung of the ladder."`
	Kind       string  `json:"kind" doc:"That the budget was checked with."`
	DelayMS    *int64  `json:"delay_ms" doc:"Until the retry. What would be drawn is the middle of its band."`
	DeadReason *string `json:"dead_reason"`
}

func tried(t *classify.Trial) TryResult {
	r := TryResult{Claim: t.Claim, DelayMS: t.DelayMS, Decision: TryDecision{
		Action: string(t.Decision.Action), DecidedBy: t.Decision.DecidedBy, Kind: string(t.Decision.Kind),
	}}
	if t.Kind != nil {
		kind := string(*t.Kind)
		r.Kind = &kind
	}
	if t.Decision.Reschedules() {
		ms := t.Decision.DelayMS()
		r.Decision.DelayMS = &ms
	}
	if t.Decision.DeadReason != retry.NotDead {
		reason := t.Decision.DeadReason.String()
		r.Decision.DeadReason = &reason
	}
	if t.Broken != nil {
		r.Broken = t.Broken.Error()
	}
	return r
}

type tryOutput struct{ Body TryResult }

func (s *Server) tryClassifier(ctx context.Context, in *actorPath) (*tryOutput, error) {
	if err := need(ctx, Operator); err != nil {
		return nil, err
	}
	body := bodyOf(ctx)
	if err := checkJSON(body); err != nil {
		return nil, notJSON(err)
	}
	r := TryRequest{Attempt: 1}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return nil, invalid("body", "must be {failure, attempt, now, settings}")
	}
	failure, err := classify.ReadFailure(r.Failure)
	if err != nil {
		return nil, invalid("body.failure", err.Error())
	}
	if r.Attempt < 1 || r.Attempt > abi.MaxMaxAttempts {
		return nil, invalid("body.attempt", fmt.Sprintf("must be 1..%d", abi.MaxMaxAttempts))
	}
	at := time.Now()
	if r.Now != nil {
		at = *r.Now
	}
	module, err := s.catalog.Classifier(ctx, callerOf(ctx).Tenant, in.Name)
	if errors.Is(err, classify.ErrMissing) {
		return nil, errNotHere
	}
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	t := classify.Try(ctx, classifier.New(in.Name, classifier.Found(module), r.Settings), failure, r.Attempt, at)
	return &tryOutput{Body: tried(&t)}, nil
}

func (s *Server) pushClassifier(ctx context.Context, in *pushInput) (*pushOutput, error) {
	if err := need(ctx, Admin); err != nil {
		return nil, err
	}
	push := s.catalog.PushClassifier
	if in.DryRun {
		push = s.catalog.DryRunClassifier
	}
	p, err := push(ctx, callerOf(ctx).Tenant, in.Name, bodyOf(ctx))
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	return s.pushed(p)
}

func (s *Server) showClassifier(ctx context.Context, in *actorPath) (*actorOutput, error) {
	found, err := s.catalog.ShowClassifier(ctx, callerOf(ctx).Tenant, in.Name)
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	a, err := storedActor(found)
	if err != nil {
		return nil, s.fault(err)
	}
	return &actorOutput{Body: a}, nil
}

type classifiersOutput struct {
	Body struct {
		Classifiers []Actor `json:"classifiers" doc:"By name, without imports."`
	}
}

func (s *Server) listClassifiers(ctx context.Context, _ *struct{}) (*classifiersOutput, error) {
	found, err := s.catalog.ListClassifiers(ctx, callerOf(ctx).Tenant)
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	out := &classifiersOutput{}
	if out.Body.Classifiers, err = storedActors(found); err != nil {
		return nil, s.fault(err)
	}
	return out, nil
}

func (s *Server) deleteClassifier(ctx context.Context, in *actorPath) (*struct{}, error) {
	if err := need(ctx, Admin); err != nil {
		return nil, err
	}
	return nil, s.answer(ctx, s.catalog.DeleteClassifier(ctx, callerOf(ctx).Tenant, in.Name))
}
