package server_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/abi"
	"github.com/taskq-host/taskq-host/server"
)

// Whatever is accepted can be stored: names that are names, texts without NUL.
func FuzzReadDraft(f *testing.F) {
	for _, seed := range []string{
		`{"actor":"a"}`,
		`{"actor":"a","payload":{"x":[1,2]},"priority":0,"delay":"1h","schedule_to_close":"2031-01-02T03:04:05+01:00","start_to_close":"1m","retry":{"base":"1s","max_retries":3}}`,
		`{"actor":"a","payload_base64":"AAE=","content_type":"text/plain; charset=x","headers":{"a":"b"},"tags":["x"],"metadata":{"a":{"b":1e9}},"result_ttl":"1d","version":1}`,
		`{"actor":"a","tags":["\u0000"],"headers":{"\n":"\r"},"metadata":[1]}`,
		`{"actor":null,"payload":null,"retry":null,"delay":"-9223372036854775808ns"}`,
		`{"actor":"a","delay":"106751d23h47m16s","scheduled_at":"0000-01-01T00:00:00Z"}`, `[]`, `7`, `""`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		j, places := server.ReadDraft(text)
		for _, place := range places {
			require.True(t, place == "body" || strings.HasPrefix(place, "body.") || strings.HasPrefix(place, "body["), "%q", place)
		}
		if len(places) > 0 {
			return
		}
		require.True(t, abi.ValidName(j.Actor))
		require.True(t, j.Queue == "" || abi.ValidName(j.Queue))
		require.True(t, j.Priority >= 0 && j.Priority <= 9)
		require.NotEmpty(t, j.ContentType)
		texts := append([]string{j.ContentType, string(j.Metadata)}, j.Tags...)
		for name, value := range j.Headers {
			texts = append(texts, name, value)
		}
		for _, s := range texts {
			require.True(t, utf8.ValidString(s) && !strings.Contains(s, "\x00"), "%q", s)
		}
		if strings.HasPrefix(j.ContentType, "application/json") {
			require.True(t, json.Valid(j.Payload))
		}
	})
}
