package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// rootCache is root's: its home may be missing, and what is compiled there
// must be nobody else's anyway.
const rootCache = "/var/cache/taskq-host"

func addCacheFlag(cmd *cobra.Command) {
	cmd.Flags().String("cache-dir", "", "`folder` of compiled modules (TASKQ_CACHE_DIR; default: below the user's cache folder)")
}

// cacheDir is where compiled modules are kept. They are machine code that the
// host runs, so the folder must be the user's own and closed to others.
func cacheDir(cmd *cobra.Command) (string, error) {
	dir := flagOrEnv(cmd, "cache-dir", "TASKQ_CACHE_DIR")
	if dir != "" {
		return filepath.Abs(dir)
	}
	base, err := os.UserCacheDir()
	if err == nil {
		return filepath.Join(base, "taskq-host", "modules"), nil
	}
	if os.Geteuid() == 0 {
		return filepath.Join(rootCache, "modules"), nil
	}
	return "", failedf("cache folder", "%w; set TASKQ_CACHE_DIR", err)
}

// contextPath is where the command line keeps how to reach its servers.
func contextPath() (string, error) {
	base, err := os.UserConfigDir()
	if err == nil {
		return filepath.Join(base, "taskq-host", "context.json"), nil
	}
	if os.Geteuid() == 0 {
		return "/etc/taskq-host/context.json", nil
	}
	return "", fmt.Errorf("%w; set XDG_CONFIG_HOME", err)
}

// replaceFile writes a file whole or not at all, readable by its owner only.
func replaceFile(path string, content []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
