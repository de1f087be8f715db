package store

import (
	"strings"
	"sync"
)

// schema fills the schema's name into statements. In the sources every table
// is written taskq.name.
type schema struct {
	name      string
	qualified sync.Map // statement as written → statement as sent
}

// sql gives the statement with the schema's name in it. The answer is the
// same string each time, so pgx finds its prepared statement.
func (s *schema) sql(written string) string {
	if s.name == defaultSchema {
		return written
	}
	if q, ok := s.qualified.Load(written); ok {
		return q.(string)
	}
	q, _ := s.qualified.LoadOrStore(written, qualify(s.name, written))
	return q.(string)
}

const defaultSchema = "taskq"

func qualify(schema, sql string) string {
	return strings.ReplaceAll(sql, defaultSchema+".", schema+".")
}
