package embedpg

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOptionsNameTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		o     Options
		field string
	}{
		{"a line break in the folder", Options{Dir: "/a\nb"}, "Dir"},
		{"negative linger", Options{Linger: -1}, "Linger"},
		{"negative timeout", Options{Timeout: -1}, "Timeout"},
		{"an unknown way to run", Options{RunAs: "root"}, "RunAs"},
		{"a setting that is no name", Options{Settings: map[string]string{"a b": "1"}}, "Settings"},
		{"a setting of the package", Options{Settings: map[string]string{"port": "1"}}, "Settings"},
		{"a line break in a setting", Options{Settings: map[string]string{"work_mem": "1\n2"}}, "Settings"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.o.Dir == "" {
				c.o.Dir = "/somewhere"
			}
			_, err := c.o.complete()
			require.ErrorContains(t, err, "embedpg: option "+c.field+": ")
		})
	}
}

func TestOptionsHaveDefaults(t *testing.T) {
	t.Setenv(EnvDir, "")
	t.Setenv("XDG_DATA_HOME", "/data/home")
	o, err := Options{}.complete()
	require.NoError(t, err)
	want, err := DefaultDir()
	require.NoError(t, err)
	require.Equal(t, want, o.Dir)
	require.True(t, filepath.IsAbs(o.Dir))
	require.Equal(t, time.Minute, o.Timeout)
	require.NotNil(t, o.Log)

	t.Setenv(EnvDir, "/from/environment")
	o, err = Options{}.complete()
	require.NoError(t, err)
	require.Equal(t, "/from/environment", o.Dir)
	o, err = Options{Dir: "/given"}.complete()
	require.NoError(t, err)
	require.Equal(t, "/given", o.Dir)
}
