package server

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed docs.html
var docsHTML string

// docsSection is the operations of one tag.
type docsSection struct {
	Name, Description string
	Operations        []docsOperation
}

type docsOperation struct {
	Method, Path string
	*huma.Operation
	Schema string // of the body, where it is JSON
}

type docsSchema struct {
	Name   string
	Fields []docsField
}

type docsField struct {
	Name, Type, Rule, Doc string
	Required              bool
}

// docsPage renders the API's reference once, from the same document that
// machines read: without scripts, so it works where there is no way out.
func docsPage(api *huma.OpenAPI) ([]byte, error) {
	page, err := template.New("docs").Parse(docsHTML)
	if err != nil {
		return nil, fmt.Errorf("docs page: %w", err)
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{"Info": api.Info, "Sections": docsSections(api), "Schemas": docsSchemas(api)})
	if err != nil {
		return nil, fmt.Errorf("docs page: %w", err)
	}
	return out.Bytes(), nil
}

func docsSections(api *huma.OpenAPI) []docsSection {
	var paths []string
	for path := range api.Paths {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	out := make([]docsSection, len(api.Tags))
	for i, tag := range api.Tags {
		out[i] = docsSection{Name: tag.Name, Description: tag.Description}
		for _, path := range paths {
			item := api.Paths[path]
			for _, op := range []docsOperation{
				{Method: http.MethodGet, Operation: item.Get}, {Method: http.MethodPost, Operation: item.Post},
				{Method: http.MethodPut, Operation: item.Put}, {Method: http.MethodDelete, Operation: item.Delete},
			} {
				if op.Operation != nil && slices.Contains(op.Tags, tag.Name) {
					op.Path = path
					op.Schema = bodyName(op.Operation)
					out[i].Operations = append(out[i].Operations, op)
				}
			}
		}
	}
	return out
}

func bodyName(op *huma.Operation) string {
	if op.RequestBody == nil || op.RequestBody.Content[jsonType] == nil {
		return ""
	}
	return typeName(op.RequestBody.Content[jsonType].Schema)
}

func docsSchemas(api *huma.OpenAPI) []docsSchema {
	var out []docsSchema
	for name, schema := range api.Components.Schemas.Map() {
		s := docsSchema{Name: name}
		for field, f := range schema.Properties {
			s.Fields = append(s.Fields, docsField{
				Name: field, Type: typeName(f), Rule: ruleOf(f), Doc: f.Description, Required: slices.Contains(schema.Required, field),
			})
		}
		slices.SortFunc(s.Fields, func(a, b docsField) int { return strings.Compare(a.Name, b.Name) })
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b docsSchema) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func typeName(s *huma.Schema) string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	case s.Type == huma.TypeArray:
		return "[]" + typeName(s.Items)
	case s.Type == "":
		return "JSON"
	case s.Format != "":
		return s.Format
	}
	return s.Type
}

func ruleOf(s *huma.Schema) string {
	var rules []string
	if len(s.Enum) > 0 {
		names := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			names[i] = fmt.Sprint(v)
		}
		rules = append(rules, strings.Join(names, " | "))
	}
	if s.Minimum != nil {
		rules = append(rules, fmt.Sprintf("≥ %v", *s.Minimum))
	}
	if s.Maximum != nil {
		rules = append(rules, fmt.Sprintf("≤ %.0f", *s.Maximum))
	}
	if s.MaxItems != nil {
		rules = append(rules, fmt.Sprintf("at most %d", *s.MaxItems))
	}
	if s.Pattern != "" {
		rules = append(rules, s.Pattern)
	}
	return strings.Join(rules, ", ")
}
