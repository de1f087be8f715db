// Package plugins reads the actors that ship with the host: compiled modules,
// each with a manifest that says which jobs to enqueue and how they must end.
// `make demo` runs them all; they are also the examples of the documentation.
//
// Their sources stand in the folders below. README.md tells how a manifest
// looks and what each actor is for.
package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/taskq-host/taskq-host/abi"
)

// Plugin is one actor with its module.
type Plugin struct {
	Actor    string   `json:"actor"`
	Language string   `json:"language"`
	Mode     abi.Mode `json:"mode"`
	About    string   `json:"about"`
	Jobs     []Job    `json:"jobs"`

	Module []byte `json:"-"`
}

// Job is one job to enqueue, and its end.
type Job struct {
	Case        string          `json:"case"`
	About       string          `json:"about"`
	Payload     json.RawMessage `json:"payload"`
	ContentType string          `json:"content_type,omitempty"` // empty: application/json
	Enqueue     Enqueue         `json:"enqueue"`
	Expect      Expect          `json:"expect"`
}

// Enqueue is the part of an enqueue's body that is the same for every actor.
type Enqueue struct {
	StartToClose string          `json:"start_to_close,omitempty"`
	Retry        json.RawMessage `json:"retry,omitempty"` // as the API takes it
}

// Load reads every actor of a folder, in the order of their names: NAME.json
// beside NAME.wasm, as `make wasm` lays them out. A manifest without its
// module, or one that breaks a rule, is an error that names the file.
func Load(dir fs.FS) ([]Plugin, error) {
	manifests, err := fs.Glob(dir, "*.json")
	if err != nil {
		return nil, fmt.Errorf("list the actors: %w", err)
	}
	if len(manifests) == 0 {
		return nil, errors.New("there is no actor here: run `make wasm`")
	}
	plugins := make([]Plugin, 0, len(manifests))
	for _, name := range manifests {
		p, err := load(dir, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		plugins = append(plugins, *p)
	}
	return plugins, nil
}

func load(dir fs.FS, name string) (*Plugin, error) {
	text, err := fs.ReadFile(dir, name)
	if err != nil {
		return nil, err
	}
	p, err := Parse(text)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(name, ".json")
	if p.Actor != base {
		return nil, fmt.Errorf("actor: %q stands in the file of %q", p.Actor, base)
	}
	if p.Module, err = fs.ReadFile(dir, base+".wasm"); err != nil {
		return nil, fmt.Errorf("its module: %w", err)
	}
	return p, nil
}

// Parse reads a manifest, strictly.
func Parse(manifest []byte) (*Plugin, error) {
	decoder := json.NewDecoder(bytes.NewReader(manifest))
	decoder.DisallowUnknownFields()
	p := &Plugin{}
	if err := decoder.Decode(p); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands after the manifest")
	}
	return p, p.check()
}

func (p *Plugin) check() error {
	switch {
	case !abi.ValidName(p.Actor):
		return errors.New("actor: " + abi.NameRule)
	case p.Language == "":
		return errors.New("language: is missing")
	case p.Mode != abi.Reactor && p.Mode != abi.Command:
		return fmt.Errorf("mode: must be %s or %s", abi.Reactor, abi.Command)
	case len(p.Jobs) == 0:
		return errors.New("jobs: there must be at least one")
	}
	var seen []string
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if slices.Contains(seen, j.Case) {
			return fmt.Errorf("jobs[%d].case: %q is there twice", i, j.Case)
		}
		seen = append(seen, j.Case)
		if err := j.check(); err != nil {
			return fmt.Errorf("jobs[%d].%w", i, err)
		}
	}
	return nil
}

func (j *Job) check() error {
	switch {
	case !abi.ValidName(j.Case):
		return errors.New("case: " + abi.NameRule)
	case len(j.Payload) == 0:
		return errors.New("payload: is missing")
	case !slices.Contains(statuses, j.Expect.Status):
		return fmt.Errorf("expect.status: must be one of %s", strings.Join(statuses, ", "))
	case j.Expect.Attempt < 1:
		return errors.New("expect.attempt: counts from 1")
	case j.Expect.Status == "succeeded" && (j.Expect.ErrorClass != "" || j.Expect.DecidedBy != ""):
		return errors.New("expect.error_class: a success has no failure")
	}
	return nil
}
