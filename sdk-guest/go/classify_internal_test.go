package taskq

import (
	"strings"
	"testing"
)

func TestAClassifierAnswersOrHasNoOpinion(t *testing.T) {
	t.Parallel()
	delay := int64(1500)
	decide := func(in ClassifyInput) *Override {
		switch in.Failure.Class {
		case "Busy":
			return &Override{Kind: Indefinite, DelayMS: &delay, Reason: in.Failure.HTTP.Headers["X"]}
		case "Broken":
			panic("boom")
		}
		return nil
	}
	for _, c := range []struct {
		name, input string
		code        int32
		result      string
		log, stderr string
	}{
		{"an answer", `{"failure":{"class":"Busy","message":"m","http":{"status":429,"headers":{"X":"y"}}},"attempt":1}`, 1,
			`{"kind":"indefinite","delay_ms":1500,"reason":"y"}`, "", ""},
		{"no opinion", `{"failure":{"class":"Other"}}`, 0, "", "", ""},
		{"nonsense", `{"failure":7}`, -1, "", "can't be read", ""},
		{"a panic", `{"failure":{"class":"Broken"}}`, -1, "", "", "boom"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := &memory{payload: []byte(c.input)}
			if code := classify(h, decide); code != c.code {
				t.Fatalf("want %d, got %d", c.code, code)
			}
			if string(h.out.Result) != c.result {
				t.Fatalf("want %s, got %s", c.result, h.out.Result)
			}
			if c.log != "" && (len(h.out.Logs) != 1 || !strings.Contains(h.out.Logs[0].Message, c.log)) {
				t.Fatalf("want %q logged, got %v", c.log, h.out.Logs)
			}
			if c.stderr != "" && h.out.Failure.Message != c.stderr {
				t.Fatalf("want %q, got %v", c.stderr, h.out.Failure)
			}
		})
	}
}
