package server

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/catalog"
	"github.com/taskq-host/taskq-host/host"
	"github.com/taskq-host/taskq-host/store"
)

const actorsTag = "actors"

func (s *Server) actorRoutes() {
	upload := bodyRule{
		mediaType: wasmType, example: `, as in: curl -T actor.wasm -H "Content-Type: application/wasm" …`,
		most: constant(abi.MaxModule), within: s.timing.upload,
	}
	huma.Register(s.api, huma.Operation{
		OperationID: "push-actor", Method: http.MethodPut, Path: "/v1/actors/{name}", Tags: []string{actorsTag}, Summary: "Push an actor",
		Description: "Judges a WebAssembly module and stores it as the actor's next version, which is current from then on. A module that isn't accepted is a 422 with the rule, and nothing is stored. " +
			"The same bytes as the current version's change nothing. The body may be gzipped. Needs the role admin.",
		RequestBody: &huma.RequestBody{Required: true, Description: "The module, at most 16 MiB.", Content: map[string]*huma.MediaType{
			wasmType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		}},
		Middlewares: s.takeBody(upload), Errors: []int{400, 401, 403, 408, 413, 415, 429, 503},
	}, s.pushActor)
	answers := s.api.OpenAPI().Paths["/v1/actors/{name}"].Put.Responses
	answers["200"].Description = "Nothing new was stored: a dry run, or the bytes that are current already."
	answers["201"] = &huma.Response{Description: "A new version was stored.", Content: answers["200"].Content}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-actors", Method: http.MethodGet, Path: "/v1/actors", Tags: []string{actorsTag}, Summary: "List actors", Errors: []int{401, 429, 503},
	}, s.listActors)
	huma.Register(s.api, huma.Operation{
		OperationID: "show-actor", Method: http.MethodGet, Path: "/v1/actors/{name}", Tags: []string{actorsTag}, Summary: "Show an actor", Errors: []int{401, 404, 429, 503},
	}, s.showActor)
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-actor", Method: http.MethodDelete, Path: "/v1/actors/{name}", Tags: []string{actorsTag}, Summary: "Delete an actor", DefaultStatus: http.StatusNoContent,
		Description: "With all its versions. Its queued jobs become dead letters, reason unroutable, when they are due. Needs the role admin.", Errors: []int{401, 403, 404, 429, 503},
	}, s.deleteActor)
}

type actorPath struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9._-]{0,239}$" doc:"The actor's name."`
}

type pushInput struct {
	Name   string `path:"name" pattern:"^[a-z0-9][a-z0-9._-]{0,239}$" doc:"The actor's name."`
	DryRun bool   `query:"dry_run" doc:"Judge, and store nothing."`
}

// Actor is an actor's version.
type Actor struct {
	Name         string          `json:"name"`
	Version      int             `json:"version,omitempty" doc:"Absent for a dry run that would make a new one."`
	Digest       string          `json:"digest" doc:"SHA-256 of the module, hex."`
	Size         int             `json:"size" doc:"Bytes of the module."`
	CreatedAt    *time.Time      `json:"created_at,omitempty" doc:"Of the version."`
	Mode         string          `json:"mode" enum:"reactor,command" doc:"reactor: it exports taskq_v1_*. command: it exports _start."`
	Entries      []string        `json:"entries" doc:"What it can be asked for."`
	Imports      []ActorImport   `json:"imports,omitempty"`
	Capabilities []string        `json:"capabilities" doc:"Grants that its imports need."`
	MemoryMin    int64           `json:"memory_min" doc:"Bytes of linear memory that it begins with."`
	MemoryMax    int64           `json:"memory_max,omitempty" doc:"Bytes, where it limits itself."`
	Functions    int             `json:"functions"`
	Poolable     bool            `json:"poolable" doc:"Its instances can be made pristine again, which is faster than making new ones."`
	NotPoolable  []string        `json:"not_poolable,omitempty" doc:"Why not."`
	Warnings     []string        `json:"warnings,omitempty"`
	Manifest     json.RawMessage `json:"manifest,omitempty" doc:"What the module says of itself: defaults, which configuration wins over."`
}

// ActorImport is one function that a module imports.
type ActorImport struct {
	Module string `json:"module"`
	Name   string `json:"name"`
	Type   string `json:"type"`
}

// PushedActor is what became of a push.
type PushedActor struct {
	Actor
	Unchanged bool `json:"unchanged" doc:"These bytes are the current version already."`
	DryRun    bool `json:"dry_run" doc:"Nothing was stored."`
}

type pushOutput struct {
	Status int
	Body   PushedActor
}

func (s *Server) pushActor(ctx context.Context, in *pushInput) (*pushOutput, error) {
	if err := need(ctx, Admin); err != nil {
		return nil, err
	}
	push := s.catalog.Push
	if in.DryRun {
		push = s.catalog.DryRun
	}
	p, err := push(ctx, callerOf(ctx).Tenant, in.Name, bodyOf(ctx))
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	return s.pushed(p)
}

// pushed shows what became of a push, of an actor or of a classifier.
func (s *Server) pushed(p *catalog.Pushed) (*pushOutput, error) {
	out := &pushOutput{Status: http.StatusCreated, Body: PushedActor{Actor: actorOf(p.Name, &p.Report), Unchanged: p.Unchanged, DryRun: p.DryRun}}
	if p.Unchanged || p.DryRun {
		out.Status = http.StatusOK
	}
	a := &out.Body.Actor
	a.Version, a.Warnings = p.Version, p.Warnings
	if !p.CreatedAt.IsZero() {
		a.CreatedAt = &p.CreatedAt
	}
	if p.Manifest != nil {
		manifest, err := json.Marshal(p.Manifest)
		if err != nil {
			return nil, s.fault(err)
		}
		a.Manifest = manifest
	}
	return out, nil
}

func actorOf(name string, r *host.Report) Actor {
	a := Actor{
		Name: name, Digest: r.Digest, Size: r.Size, Mode: string(r.Mode), Entries: orEmpty(r.Entries), Capabilities: orEmpty(r.Capabilities),
		MemoryMin: r.MemoryMin, MemoryMax: r.MemoryMax, Functions: r.Functions, Poolable: r.Poolable, NotPoolable: r.NotPoolable, Warnings: r.Warnings,
	}
	for _, i := range r.Imports {
		a.Imports = append(a.Imports, ActorImport(i))
	}
	return a
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// storedActor shows a version as the store has it.
func storedActor(a *store.Actor) (Actor, error) {
	var r host.Report
	if err := json.Unmarshal(a.Report, &r); err != nil {
		return Actor{}, err
	}
	out := actorOf(a.Name, &r)
	out.Version, out.Digest, out.Size, out.CreatedAt, out.Manifest = a.Version, hex.EncodeToString(a.Digest), a.Size, &a.CreatedAt, a.Manifest
	return out, nil
}

type actorOutput struct{ Body Actor }

func (s *Server) showActor(ctx context.Context, in *actorPath) (*actorOutput, error) {
	found, err := s.catalog.Show(ctx, callerOf(ctx).Tenant, in.Name)
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	a, err := storedActor(found)
	if err != nil {
		return nil, s.fault(err)
	}
	return &actorOutput{Body: a}, nil
}

type actorsOutput struct {
	Body struct {
		Actors []Actor `json:"actors" doc:"By name, without imports and manifests."`
	}
}

func (s *Server) listActors(ctx context.Context, _ *struct{}) (*actorsOutput, error) {
	found, err := s.catalog.List(ctx, callerOf(ctx).Tenant)
	if err != nil {
		return nil, s.answer(ctx, err)
	}
	out := &actorsOutput{}
	if out.Body.Actors, err = storedActors(found); err != nil {
		return nil, s.fault(err)
	}
	return out, nil
}

// storedActors shows a list: by name, without imports and manifests.
func storedActors(found []store.Actor) ([]Actor, error) {
	out := make([]Actor, len(found))
	for i := range found {
		var err error
		if out[i], err = storedActor(&found[i]); err != nil {
			return nil, err
		}
		out[i].Imports, out[i].Manifest = nil, nil
	}
	return out, nil
}

func (s *Server) deleteActor(ctx context.Context, in *actorPath) (*struct{}, error) {
	if err := need(ctx, Admin); err != nil {
		return nil, err
	}
	return nil, s.answer(ctx, s.catalog.Delete(ctx, callerOf(ctx).Tenant, in.Name))
}
