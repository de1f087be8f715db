package embedpg

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Environment variables that stand in for an option that is not given.
const (
	EnvDir    = "TASKQ_PG_DIR" // Options.Dir
	EnvBinDir = "TASKQ_PG_BIN" // Options.BinDir
)

// Values of [Options].RunAs.
const (
	RunAsDrop      = "drop"   // setuid to the folder's owner, postgres or nobody
	RunAsNamespace = "userns" // a user namespace in which we are not root; Linux only
)

// ErrUnsupported is returned by [Start] on systems without the locks and
// signals that the package is built on.
var ErrUnsupported = errors.New("an embedded PostgreSQL is not supported on this system; give a database url instead")

// Options say where a server lives and how it runs. The zero value is a
// durable server in [DefaultDir].
type Options struct {
	Dir    string // the folder with data, socket, locks and logs; empty: $TASKQ_PG_DIR, else DefaultDir
	BinDir string // the folder of initdb and postgres; empty: $TASKQ_PG_BIN, else Find looks for them

	// Throwaway trades durability for speed: a machine crash may corrupt the
	// data, so it is deleted after a boot, and when the last user is gone.
	// A folder is of one kind for ever; asking for the other is an error.
	Throwaway bool

	TCP    bool          // listen on 127.0.0.1 too, with a generated password
	Linger time.Duration // how long the server stays after its last user; 0 stops it at once

	// RunAs forces how root, whom postgres refuses, runs it: RunAsDrop or
	// RunAsNamespace. Empty tries both, in that order.
	RunAs string

	Settings map[string]string // further settings of postgres, e.g. "max_connections": "500"
	Timeout  time.Duration     // for Start; 0 is 60 s
	Log      hclog.Logger      // nil logs nothing
}

// DefaultDir is below the user's data home ($XDG_DATA_HOME, else
// ~/.local/share). For root it is below /var/lib: root's home is closed to the
// account that root's postgres runs as.
func DefaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/taskq-host/pg", nil
	}
	if d := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "taskq-host", "pg"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("embedpg: no default folder: %w; set %s", err, EnvDir)
	}
	return filepath.Join(home, ".local", "share", "taskq-host", "pg"), nil
}

// ours are the settings that the package depends on.
var ours = map[string]bool{
	"config_file": true, "data_directory": true, "external_pid_file": true, "hba_file": true, "ident_file": true,
	"listen_addresses": true, "logging_collector": true, "port": true, "unix_socket_directories": true,
	"unix_socket_group": true, "unix_socket_permissions": true,
}

var settingName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$`)

// complete checks the options and fills in the defaults.
func (o Options) complete() (Options, error) {
	if o.Linger < 0 {
		return o, fmt.Errorf("embedpg: option Linger: %v is negative", o.Linger)
	}
	if o.Timeout < 0 {
		return o, fmt.Errorf("embedpg: option Timeout: %v is negative", o.Timeout)
	}
	if o.RunAs != "" && o.RunAs != RunAsDrop && o.RunAs != RunAsNamespace {
		return o, fmt.Errorf("embedpg: option RunAs: %q is neither %q nor %q", o.RunAs, RunAsDrop, RunAsNamespace)
	}
	for name, value := range o.Settings {
		switch {
		case !settingName.MatchString(name):
			return o, fmt.Errorf("embedpg: option Settings: %q is not the name of a setting", name)
		case ours[name]:
			return o, fmt.Errorf("embedpg: option Settings: %s belongs to the package", name)
		case strings.ContainsAny(value, "\x00\r\n"):
			return o, fmt.Errorf("embedpg: option Settings: the value of %s holds a line break or NUL", name)
		}
	}
	dir, err := o.folder()
	if err != nil {
		return o, err
	}
	o.Dir = dir
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	return o, nil
}

// folder is the absolute path of the folder that the options mean.
func (o Options) folder() (string, error) {
	dir := o.Dir
	if dir == "" {
		dir = os.Getenv(EnvDir)
	}
	if dir == "" {
		return DefaultDir()
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("embedpg: option Dir: %w", err)
	}
	if strings.ContainsAny(abs, "\x00\r\n") {
		return "", fmt.Errorf("embedpg: option Dir: %q holds a line break or NUL", abs)
	}
	return abs, nil
}
