package embedpg

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// MissingError says that no installed PostgreSQL serves, and what to type.
type MissingError struct {
	Major int        // the version that the data needs; 0: any from MinMajor
	Data  string     // the data folder that decides the version; empty when there is no data yet
	Found []Binaries // those that are installed and don't serve
	Line  string     // the command line that installs what is missing
}

// Error is one sentence that ends in the line to type.
func (e *MissingError) Error() string {
	var b strings.Builder
	b.WriteString("embedpg: ")
	if e.Major != 0 {
		fmt.Fprintf(&b, "the data in %s is of PostgreSQL %d, which is not installed", e.Data, e.Major)
	} else {
		fmt.Fprintf(&b, "no PostgreSQL server (initdb and postgres) from version %d on is installed", MinMajor)
	}
	for i, f := range e.Found {
		b.WriteString([]string{"; found: ", ", "}[min(i, 1)] + f.String())
	}
	if e.Major != 0 {
		fmt.Fprintf(&b, "; the data is untouched; set %s to another folder, or install it", EnvDir)
	} else {
		b.WriteString("; install it")
	}
	return b.String() + ": " + e.Line
}

// machine is what the line to type depends on.
type machine struct {
	goos string
	root bool
	has  func(program string) bool
}

func thisMachine() machine {
	return machine{goos: runtime.GOOS, root: os.Geteuid() == 0, has: func(p string) bool {
		_, err := exec.LookPath(p)
		return err == nil
	}}
}

// installLine is the command that installs PostgreSQL on m; major 0 means
// whichever the system has.
func installLine(m machine, major int) string {
	sudo := "sudo "
	if m.root {
		sudo = ""
	}
	version := ""
	if major != 0 {
		version = strconv.Itoa(major)
	}
	dashed := strings.TrimSuffix("-"+version, "-")
	switch {
	case m.goos == "windows":
		return "winget install PostgreSQL.PostgreSQL." + orNewest(version)
	case m.has("apt-get"):
		return sudo + "apt-get install -y --no-install-recommends postgresql" + dashed
	case m.has("dnf"):
		return sudo + "dnf install -y postgresql" + version + "-server"
	case m.has("zypper"):
		return sudo + "zypper install -y postgresql" + version + "-server"
	case m.has("apk"):
		return sudo + "apk add postgresql" + version
	case m.has("pacman"):
		return sudo + "pacman -S postgresql"
	case m.goos == "darwin" || m.has("brew"):
		return "brew install postgresql@" + orNewest(version)
	}
	return EnvBinDir + "=/folder/of/initdb/and/postgres taskq-host dev"
}

// orNewest is for package managers without a name for the newest version.
func orNewest(version string) string {
	if version == "" {
		return "17"
	}
	return version
}
