// Package server is the HTTP API under /v1: enqueue, look, cancel, push. It
// knows no SQL and no Wasm; it checks what comes in, calls store and catalog,
// and words what goes wrong.
//
// A request goes through:
//
//	recover ─► route ─► token (tenant, role) ─► body (bounded, inflated)
//	        ─► huma (parameters, OpenAPI) ─► handler ─► store or catalog
//
// # Bodies
//
// Bodies are read by this package's own strict reader, not by huma: a batch
// answers per item, field names are compared exactly, a name that is there
// twice is refused, and an answer never repeats what it was given. The schemas
// in /openapi.json are made from the same structs that the tests hold the
// reader to.
//
// # Answers
//
// What isn't as it should be is an RFC 9457 problem whose errors name the
// place and the rule. What isn't the token's tenant's reads as not found.
// Trouble of the database is a 503 with Retry-After; trouble of ours is a 500
// with an id that the log has too, and nothing else.
package server
