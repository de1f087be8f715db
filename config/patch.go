package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-viper/mapstructure/v2"
)

// patchNode is what an enqueue and an actor's description may say.
var patchNode = section("", "", retrySection(), executionSection().child("start_to_close"))

// DecodePatch reads {retry: {…}, start_to_close: …} as strictly as a file is
// read, with the same other names. at is put before the paths of what is
// refused; the error is [Errors].
func DecodePatch(at string, m map[string]any) (Patch, error) {
	var out Patch
	err := decodeBlock(patchNode, at, m, &out)
	return out, err
}

// DecodeRetry reads a retry block as strictly as a file is read, with the
// same other names. The error is [Errors], their paths below at. What the
// block leaves out is nil; whether it fits to the rest is
// [Resolved.Override]'s to say.
func DecodeRetry(at string, m map[string]any) (RetryPatch, error) {
	var out RetryPatch
	err := decodeBlock(patchNode.child("retry"), at, m, &out)
	return out, err
}

// DecodeRetryText is [DecodeRetry] for values that are all text, as flags are.
func DecodeRetryText(at string, m map[string]any) (RetryPatch, error) {
	var out RetryPatch
	err := decodeLayer(patchNode.child("retry"), &layer{text: true}, at, m, &out)
	return out, err
}

// DecodeRetryJSON is [DecodeRetry] for a block that is still text: a key that
// is there twice is refused too. Empty input and null say nothing.
func DecodeRetryJSON(at string, data []byte) (RetryPatch, error) {
	if trimmed := strings.TrimSpace(string(data)); trimmed == "" || trimmed == "null" {
		return RetryPatch{}, nil
	}
	if len(data) > maxFileBytes {
		return RetryPatch{}, Errors{{Path: at, Rule: "is longer than 1MiB"}}
	}
	m, problems := parseJSON("", data)
	for i := range problems {
		problems[i].Path, problems[i].Where = strings.TrimSuffix(joinDots(at, problems[i].Path), "."), ""
	}
	if problems != nil {
		return RetryPatch{}, problems
	}
	return DecodeRetry(at, m)
}

func decodeBlock(n *node, at string, m map[string]any, out any) error {
	return decodeLayer(n, &layer{}, at, m, out)
}

func decodeLayer(n *node, l *layer, at string, m map[string]any, out any) error {
	var p path
	if at != "" {
		p = strings.Split(at, ".")
	}
	c := &checker{layer: l, origins: map[string]string{}, written: map[string]path{}}
	tree := c.section(n, m, p)
	if err := c.problems.errOrNil(); err != nil {
		return err
	}
	dec, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: out, TagName: "koanf", ErrorUnused: true})
	if err == nil {
		err = dec.Decode(tree)
	}
	if err != nil {
		return fmt.Errorf("config: decoding a block: %w", err)
	}
	return nil
}

// IsZero reports whether the patch says nothing.
func (p RetryPatch) IsZero() bool { return p == RetryPatch{} }

// MarshalJSON writes the canonical block, with only the keys that are said.
func (p RetryPatch) MarshalJSON() ([]byte, error) {
	m := map[string]any{}
	n := patchNode.child("retry")
	put(m, n, "kind", p.Kind)
	put(m, n, "max_attempts", p.MaxAttempts)
	put(m, n, "time_budget", p.TimeBudget)
	put(m, n, "backoff", p.Backoff)
	put(m, n, "base", p.Base)
	put(m, n, "multiplier", p.Multiplier)
	put(m, n, "cap", p.Cap)
	put(m, n, "jitter", p.Jitter)
	return json.Marshal(m)
}

func put[T any](m map[string]any, n *node, key string, v *T) {
	if v != nil {
		m[key] = n.child(key).show(*v)
	}
}

// UnmarshalJSON reads what MarshalJSON wrote, strictly.
func (p *RetryPatch) UnmarshalJSON(data []byte) error {
	read, err := DecodeRetryJSON("retry", data)
	if err != nil {
		return err
	}
	*p = read
	return nil
}

// CheckPatch says what an actor's description has wrong by itself, over the
// built-in values; at is put before the paths.
func CheckPatch(at string, p Patch) error {
	_, err := (&Config{}).builtinResolved().Override(at, p)
	return err
}
