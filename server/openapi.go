package server

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
)

const about = "Enqueue jobs, look at them, cancel them, and push the actors that run them. " +
	"A bearer token says whose things a request is about: what isn't its tenant's reads as not found. " +
	"Durations are Go's plus d for days (500ms, 1h30m, 7d). What breaks a rule is answered as an RFC 9457 problem whose errors name the place and the rule. " +
	"Unknown fields, unknown query parameters and other content types are refused. 429 and 503 carry Retry-After."

// apiConfig is huma without what it brings along: no pages of its own, no
// links to schemas in answers, no content but JSON.
func apiConfig() huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: "taskq-host", Version: "v1", Description: about, License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token": {Type: "http", Scheme: "bearer", Description: "A token of a tenant: tq_ and 43 letters."},
				},
			},
			Security: []map[string][]string{{"token": {}}},
			Tags: []*huma.Tag{
				{Name: jobsTag, Description: "Work to be done, being done and done."},
				{Name: actorsTag, Description: "Modules that do it."},
				{Name: classifiersTag, Description: "Modules that say what a failure means."},
				{Name: "queues", Description: "Where it waits."},
				{Name: "platform", Description: "Of the operators."},
			},
		},
		Formats:                      map[string]huma.Format{jsonType: huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat:                jsonType,
		RejectUnknownQueryParameters: true,
	}
}

// OpenAPI is the document of /openapi.json, indented.
func (s *Server) OpenAPI() ([]byte, error) {
	compact, err := json.Marshal(s.api.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
