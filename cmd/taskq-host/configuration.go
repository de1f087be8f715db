package main

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taskq-host/taskq-host/config"
)

// configFileNames are looked for, in this order, in each place where a
// configuration file may lie when none is named.
var configFileNames = []string{"taskq.yaml", "taskq.yml", "taskq.toml", "taskq.json"}

// keyFlags are the flags that stand for one key each.
var keyFlags = map[string]string{
	"listen":      "server.listen",
	"concurrency": "worker.concurrency",
	"queues":      "worker.queues",
	"schema":      "database.schema",
}

func addConfigFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArray("config", nil, "configuration `file`; may be repeated, later ones win (TASKQ_CONFIG; default: taskq.yaml here, in the user's configuration folder or in /etc/taskq-host)")
	f.StringArray("set", nil, "set one key of the configuration: worker.concurrency=8; may be repeated (`key=value`)")
	f.String("schema", "", "database schema that holds the tables (database.schema)")
}

func addListenFlag(f *pflag.FlagSet) {
	f.String("listen", "", "`host:port` of the API; port 0 takes a free one (server.listen)")
}

func addWorkerFlags(f *pflag.FlagSet) {
	f.String("concurrency", "", "attempts that run at the same time (worker.concurrency)")
	f.String("queues", "", "queues to serve, comma-separated; * and ? match (worker.queues)")
}

// sources is where this command's configuration comes from.
func sources(cmd *cobra.Command) (config.Sources, error) {
	s := config.Sources{Environ: os.Environ(), Flags: map[string]config.Flag{}}
	files, err := cmd.Flags().GetStringArray("config")
	if err != nil {
		return s, err
	}
	s.Files = configFiles(files)
	sets, err := cmd.Flags().GetStringArray("set")
	if err != nil {
		return s, err
	}
	for _, set := range sets {
		key, value, ok := strings.Cut(set, "=")
		if !ok {
			return s, badInputf("--set", "%q isn't key=value", set)
		}
		if err := errors.Join(refuseUnknown(key), refuseSecret(key, value)); err != nil {
			return s, err
		}
		s.Flags[key] = config.Flag{Name: "set " + key, Value: value}
	}
	for name, key := range keyFlags {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			s.Flags[key] = config.Flag{Name: name, Value: f.Value.String()}
		}
	}
	return s, nil
}

// refuseUnknown names the key that may have been meant. Of keys below names
// that the user chooses the configuration says itself that a file must set them.
func refuseUnknown(key string) error {
	if strings.HasPrefix(key, "queues.") || strings.HasPrefix(key, "tenants.") {
		return nil
	}
	builtin, err := config.Load(config.Sources{})
	if err != nil {
		return err
	}
	known := []string{"database.url", "database.listen_url", "database.password_file", "server.tls.cert", "server.tls.key"}
	for _, row := range builtin.Effective() {
		known = append(known, row.Path)
	}
	if slices.Contains(known, key) {
		return nil
	}
	if near := nearest(key, known); near != "" {
		return badInputf("--set", "unknown key %q, did you mean %s?", key, near)
	}
	return badInputf("--set", "unknown key %q; taskq-host config show --effective lists them", key)
}

// refuseSecret keeps passwords out of argv, which every user of the machine
// can read.
func refuseSecret(key, value string) error {
	if key != "database.url" && key != "database.listen_url" {
		return nil
	}
	u, err := url.Parse(value)
	hasPassword := strings.Contains(strings.ToLower(value), "password")
	if err == nil && u.User != nil {
		_, set := u.User.Password()
		hasPassword = hasPassword || set
	}
	if hasPassword {
		return badInputf("--set "+key, "a password on the command line can be seen by everybody: use a file, the environment or database.password_file")
	}
	return nil
}

// configFiles are those that were named by flags, else by the environment,
// else the first that lies where one may lie.
func configFiles(named []string) []string {
	if len(named) > 0 {
		return named
	}
	if env := os.Getenv("TASKQ_CONFIG"); env != "" {
		return filepath.SplitList(env)
	}
	folders := []string{"."}
	if dir, err := os.UserConfigDir(); err == nil {
		folders = append(folders, filepath.Join(dir, "taskq-host"))
	}
	for _, folder := range append(folders, "/etc/taskq-host") {
		for _, name := range configFileNames {
			file := filepath.Join(folder, name)
			if stat, err := os.Stat(file); err == nil && stat.Mode().IsRegular() {
				return []string{file}
			}
		}
	}
	return nil
}

// openConfig loads the configuration for a command that runs on it.
func openConfig(cmd *cobra.Command, log hclog.Logger) (*config.Live, error) {
	s, err := sources(cmd)
	if err != nil {
		return nil, err
	}
	return config.Open(s, log)
}
