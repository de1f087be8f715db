// Package config reads the host's configuration: layers of files, environment
// and flags, checked as a whole, typed, and with the origin of each value.
//
// The way of a value:
//
//	bytes ─► parse (bounded, no duplicate keys) ─► check (strict, by schema)
//	      ─► merge (koanf, later layers win key by key) ─► Config
//
// The schema in schema.go is the only list of keys: the checks, the
// environment's names, the provenance, the redaction of secrets and
// docs/configuration.md are all made from it. A key that isn't in it is refused
// with the nearest one that is.
//
// A job's policy is not in one place of the file but spread over layers
// (defaults, queue, tenant, tenant's queue, actor, enqueue);
// [Config.Resolve] lays them over each other for one tenant, queue and actor.
//
// A [Config] never changes once it is loaded. A live reload makes a new one, and
// [Live] hands it to those who asked.
package config
