package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/taskq-host/taskq-host/host"
)

// port says whether the API's address can be taken.
func (d *doctor) port(ctx context.Context) []finding {
	address := d.cfg.Server.Listen
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err == nil {
		if err := listener.Close(); err != nil {
			return []finding{warn("port", "", "%s: %v", address, err)}
		}
		return []finding{ok("port", "%s is free", address)}
	}
	if answers(ctx, address) {
		return []finding{ok("port", "a taskq-host answers on %s", address)}
	}
	return []finding{fail("port", "stop what uses it, or choose another with --listen", "%s: %v", address, err)}
}

// answers says whether a host of ours is what listens there.
func answers(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }() // nothing of it is used
	return resp.StatusCode == http.StatusOK
}

// cache looks at the folder of compiled modules: whoever can write there can
// run machine code as the host.
func (d *doctor) cache(context.Context) []finding {
	dir, err := cacheDir(d.cmd)
	if err != nil {
		return []finding{fail("cache folder", "", "%v", err)}
	}
	stat, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := writableFolder(existing(dir)); err != nil {
			return []finding{fail("cache folder", "choose another with --cache-dir", "%v", err)}
		}
		return []finding{ok("cache folder", "%s, not made yet", dir)}
	}
	if err != nil {
		return []finding{fail("cache folder", "choose another with --cache-dir", "%v", err)}
	}
	if open := stat.Mode().Perm() & 0o077; open != 0 {
		return []finding{fail("cache folder", "type: chmod 700 "+dir, "%s is open to others (mode %04o); compiled modules are machine code that the host runs", dir, stat.Mode().Perm())}
	}
	if err := writableFolder(dir); err != nil {
		return []finding{fail("cache folder", "choose another with --cache-dir", "%v", err)}
	}
	return []finding{ok("cache folder", "%s", dir)}
}

// smallest is a module that answers 0: a memory, and taskq_v1_run.
const smallest = "\x00asm\x01\x00\x00\x00" +
	"\x01\x05\x01\x60\x00\x01\x7f" + // type: () -> i32
	"\x03\x02\x01\x00" + // one function of it
	"\x05\x03\x01\x00\x01" + // a memory of one page
	"\x07\x19\x02\x06memory\x02\x00\x0ctaskq_v1_run\x00\x00" +
	"\x0a\x06\x01\x04\x00\x41\x00\x0b" // i32.const 0

// compiler compiles and runs a module in a folder of its own, so that no cache
// answers instead of the child.
func (d *doctor) compiler(ctx context.Context) []finding {
	began := time.Now()
	if err := compileAndRun(ctx, d); err != nil {
		return []finding{fail("compiler", "", "%v", err)}
	}
	return []finding{ok("compiler", "compiled and ran a module in %v", time.Since(began).Round(time.Millisecond))}
}

func compileAndRun(ctx context.Context, d *doctor) (err error) {
	dir, err := os.MkdirTemp("", "taskq-host-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	engine, err := engineIn(dir, int64(d.cfg.Host.Memory), d.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(ctx)) }()
	module, err := engine.Load(ctx, []byte(smallest))
	if err != nil {
		return err
	}
	if outcome := module.Run(ctx, host.Attempt{Timeout: checkTimeout}); outcome.Kind != host.Succeeded {
		return fmt.Errorf("a module that does nothing ended otherwise: %+v", outcome.Failure)
	}
	return nil
}

// contextFile holds tokens: it must be its owner's only.
func (d *doctor) contextFile(context.Context) []finding {
	path, err := contextPath()
	if err != nil {
		return []finding{warn("context file", "", "%v", err)}
	}
	stat, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []finding{ok("context file", "%s, not made yet: taskq-host dev makes it", path)}
	case err != nil:
		return []finding{warn("context file", "", "%v", err)}
	case stat.Mode().Perm()&0o077 != 0:
		return []finding{fail("context file", "type: chmod 600 "+path, "%s holds tokens and is open to others (mode %04o)", path, stat.Mode().Perm())}
	}
	if _, err := readContexts(path); err != nil {
		return []finding{fail("context file", "", "%v", err)}
	}
	return []finding{ok("context file", "%s", path)}
}
