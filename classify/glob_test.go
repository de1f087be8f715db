package classify_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/taskq-host/taskq-host/classify"
)

// globAsRegexp is the definition of a glob, slow and plain.
func globAsRegexp(pattern string) *regexp.Regexp {
	var re strings.Builder
	for _, r := range pattern {
		switch r {
		case '*':
			re.WriteString(`.*`)
		case '?':
			re.WriteString(`.`)
		default:
			re.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return regexp.MustCompile(`^(?s:` + re.String() + `)$`)
}

func TestAGlobIsWhatItsDefinitionSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab.ü*?\[\]]{0,8}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[ab.ü\[\]*?\n]{0,10}`).Draw(t, "name")
		require.Equal(t, globAsRegexp(pattern).MatchString(name), classify.Glob(pattern, name), "%q on %q", pattern, name)
	})
}

func TestAHostilePatternCostsNoTime(t *testing.T) {
	t.Parallel()
	require.False(t, classify.Glob(strings.Repeat("a*", 2000)+"b", strings.Repeat("a", 2000)))
}

func TestBaseNames(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]string{
		"RateLimitError":                         "RateLimitError",
		"openai.RateLimitError":                  "RateLimitError",
		"*x.RateLimitError":                      "RateLimitError",
		"&RateLimitError":                        "RateLimitError",
		"RateLimitError[int]":                    "RateLimitError",
		"x.RateLimitError[github.com/y.T]":       "RateLimitError",
		"github.com/acme/x.RateLimitError":       "RateLimitError",
		"reqwest::error::RateLimitError":         "RateLimitError",
		"a::RateLimitError<std::vec::Vec<a::B>>": "RateLimitError",
		"a<b>::RateLimitError":                   "RateLimitError",
		"RateLimitError<T>[]":                    "RateLimitError",
		`Acme\Http\RateLimitError`:               "RateLimitError",
		"com.acme.Outer$RateLimitError":          "RateLimitError",
		"a:b":                                    "a:b",
		"[ab]":                                   "[ab]",
		"a]":                                     "a]",
		"":                                       "",
		"trailing.":                              "",
	} {
		require.Equal(t, want, classify.BaseName(class), class)
	}
}

func FuzzBaseName(f *testing.F) {
	for _, s := range []string{"a.b::c", "*x<y[z]>", "]", "<>", "a[b", "::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, class string) {
		name := classify.BaseName(class)
		require.Contains(t, class, name)
		require.NotContains(t, name, ".")
	})
}
