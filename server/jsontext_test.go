package server_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/taskq-host/taskq-host/server"
)

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, ` { "a" : 1 , "b":[1,{"c":"}"}],"d":"\\\"" } `, `[1,2 ,"x,]",{"a":[]},null]`, `{"a":1,"a":2}`, `{"\u0061":1,"b":-1.5e9}`, `"x"`, `7`, `{"a":{"b":{}}}`, `[[[]]]`, "{\"\xff\":1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		names, values, err := server.Split(text)
		if !json.Valid(text) {
			require.Error(t, err)
			return
		}
		trimmed := bytes.TrimSpace(text)
		switch trimmed[0] {
		case '[':
			var want []json.RawMessage
			require.NoError(t, json.Unmarshal(text, &want))
			require.NoError(t, err)
			require.Len(t, values, len(want))
			for i := range want {
				require.Equal(t, string(want[i]), string(values[i]))
			}
		case '{':
			var want map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(text, &want))
			if err != nil { // then a name is there twice
				require.Contains(t, err.Error(), "twice")
				return
			}
			require.Len(t, names, len(want))
			for i, name := range names {
				require.Equal(t, string(want[name]), string(values[i]))
			}
		default:
			require.Error(t, err)
		}
	})
}
