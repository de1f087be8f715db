package retry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// snapshot is a policy in JSON. The order of the fields and the spelling of
// durations are stable: snapshots are stored and compared.
type snapshot struct {
	Kind        Kind    `json:"kind"`
	MaxAttempts int     `json:"max_attempts"`
	TimeBudget  string  `json:"time_budget,omitempty"`
	Backoff     Backoff `json:"backoff"`
	Base        string  `json:"base"`
	Multiplier  float64 `json:"multiplier"`
	Cap         string  `json:"cap"`
	Jitter      float64 `json:"jitter"`
}

// MarshalJSON writes the canonical form as one object with every field, the
// durations as time.Duration spells them ("5s", "1h0m0s"). A time budget of 0
// is left out.
func (p Policy) MarshalJSON() ([]byte, error) {
	p = p.Canonical()
	s := snapshot{
		Kind: p.Kind, MaxAttempts: p.MaxAttempts, Backoff: p.Backoff,
		Base: p.Base.String(), Multiplier: p.Multiplier, Cap: p.Cap.String(), Jitter: p.Jitter,
	}
	if p.TimeBudget != 0 {
		s.TimeBudget = p.TimeBudget.String()
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON wrote. A field that is absent takes
// the default's value, an unknown one is an error, and so is a policy that
// breaks a rule.
func (p *Policy) UnmarshalJSON(text []byte) error {
	def := Default()
	s := snapshot{
		Kind: def.Kind, MaxAttempts: def.MaxAttempts, Backoff: def.Backoff,
		Base: def.Base.String(), Multiplier: def.Multiplier, Cap: def.Cap.String(), Jitter: def.Jitter,
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return fmt.Errorf("retry policy: %w", err)
	}
	out := Policy{Kind: s.Kind, MaxAttempts: s.MaxAttempts, Backoff: s.Backoff, Multiplier: s.Multiplier, Jitter: s.Jitter}
	for _, field := range []struct {
		name, text string
		into       *time.Duration
	}{{"time_budget", s.TimeBudget, &out.TimeBudget}, {"base", s.Base, &out.Base}, {"cap", s.Cap, &out.Cap}} {
		if field.name == "time_budget" && field.text == "" {
			continue
		}
		d, err := time.ParseDuration(field.text)
		if err != nil {
			return fmt.Errorf("retry policy: %w", &PolicyError{Path: field.name, Rule: `must be a duration such as "5s"`})
		}
		*field.into = d
	}
	if err := out.Validate(""); err != nil {
		return fmt.Errorf("retry policy: %w", err)
	}
	*p = out
	return nil
}
