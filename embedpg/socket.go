//go:build linux || darwin

package embedpg

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// socketPort names the socket of a server without TCP.
const socketPort = 5432

// socketDir is where a server's socket lies: in its folder when the path fits
// into the kernel's address (104 bytes on macOS, 108 on Linux) and into
// connection strings, where a comma means another host. Else it is below /tmp,
// which is the same for all users of the server whatever their TMPDIR.
func socketDir(dir string) string {
	const longest = "/.s.PGSQL.65535.lock"
	if d := filepath.Join(dir, socketName); len(d)+len(longest) <= 100 && !strings.ContainsAny(d, `,"\`) {
		return d
	}
	sum := sha256.Sum256([]byte(dir))
	return fmt.Sprintf("/tmp/taskq-pg-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:6]))
}

// choosePort is the port of earlier starts when it is free, else any free one.
func (f *folder) choosePort() (int, error) {
	if b, err := f.root.ReadFile(portName); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			if n, err = freePort(n); err == nil {
				return n, nil
			}
		}
	}
	n, err := freePort(0)
	if err != nil {
		return 0, err
	}
	return n, f.replace(portName, []byte(strconv.Itoa(n)+"\n"))
}

// freePort checks one port of 127.0.0.1, or finds one when n is 0.
func freePort(n int) (int, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(n)))
	if err != nil {
		return 0, err
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil {
		return 0, err
	}
	if !ok {
		return 0, errors.New("a TCP listener without a TCP address")
	}
	return addr.Port, nil
}

// choosePort names the socket, and is the TCP port when TCP is on. Users hold
// connection strings, so a server that comes back must have the same.
func (s *supervisor) choosePort() error {
	s.port = socketPort
	if !s.plan.TCP {
		return nil
	}
	if s.plan.Port != 0 {
		s.port = s.plan.Port
		return nil
	}
	var err error
	if s.port, err = s.folder.choosePort(); err != nil {
		return fmt.Errorf("find a free TCP port: %w", err)
	}
	return nil
}
