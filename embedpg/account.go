//go:build linux || darwin

package embedpg

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// account is whom initdb and postgres run as. The zero value is ourselves.
type account struct {
	name      string // in the password file, where initdb looks it up
	uid, gid  int
	drop      bool // give up our uid for this one
	namespace bool // stay ourselves outside, look like this account inside a user namespace
}

// String is for messages.
func (a account) String() string {
	switch {
	case a.namespace:
		return fmt.Sprintf("uid %d, seen as %s in a user namespace", os.Geteuid(), a.name)
	case a.drop:
		return fmt.Sprintf("%s (uid %d)", a.name, a.uid)
	}
	return fmt.Sprintf("uid %d", os.Geteuid())
}

// chooseAccount finds the account that postgres can run as.
//
// Postgres refuses root, and initdb refuses a uid without an entry in the
// password file. So root drops to whom the data or the folder belongs to, else
// to postgres or nobody. Where that account can't enter the folder, a user
// namespace makes us look like it while the files stay ours; it comes second
// because a superuser of SQL could write root's files from in there, which is
// what the refusal guards against.
func chooseAccount(p plan, f *folder, log hclog.Logger) (account, error) {
	candidates, err := candidates(os.Geteuid(), p, f)
	if err != nil {
		return account{}, err
	}
	var failures []string
	for _, a := range candidates {
		err := a.try(p, f)
		if err == nil {
			return a, nil
		}
		log.Info("can't run postgres", "as", a, "error", err)
		failures = append(failures, fmt.Sprintf("as %s: %v", a, err))
	}
	return account{}, &FolderError{Dir: f.path, Err: errors.New(strings.Join(failures, "; ")),
		Problem: "is out of reach for every account that postgres could run as, and it refuses to run as root or as a uid without a name"}
}

// candidates are the accounts to try, in order.
func candidates(euid int, p plan, f *folder) ([]account, error) {
	owner, gid, err := f.owner()
	if err != nil {
		return nil, folderProblem(f.path, err)
	}
	fi, err := f.root.Stat(dataName)
	hasData := err == nil
	if hasData {
		owner, gid = ownerOf(fi)
	}
	if hasData && owner != euid && euid != 0 {
		return nil, &FolderError{Dir: f.path, Problem: fmt.Sprintf("has data of uid %d, and this is uid %d", owner, euid)}
	}
	if euid != 0 && p.RunAs == "" {
		if _, err := user.LookupId(strconv.Itoa(euid)); err == nil {
			return []account{{}}, nil
		}
	}
	named := namedAccounts()
	var all []account
	if euid == 0 && owner != 0 {
		if u, err := user.LookupId(strconv.Itoa(owner)); err == nil {
			all = append(all, account{name: u.Username, uid: owner, gid: gid, drop: true})
		}
	}
	if euid == 0 && !hasData {
		for _, a := range named {
			a.drop = true
			all = append(all, a)
		}
	}
	for _, a := range named {
		a.namespace = true
		all = append(all, a)
	}
	var wanted []account
	for _, a := range all {
		if p.RunAs == "" || a.drop == (p.RunAs == RunAsDrop) {
			wanted = append(wanted, a)
		}
	}
	return wanted, nil
}

// namedAccounts are the unprivileged accounts that machines have.
func namedAccounts() []account {
	var all []account
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.Atoi(u.Uid)
		gid, gerr := strconv.Atoi(u.Gid)
		if uerr == nil && gerr == nil && uid > 0 {
			all = append(all, account{name: name, uid: uid, gid: gid})
		}
	}
	return all
}

// try runs the cheapest command there is, as the account, in the folder.
func (a account) try(p plan, f *folder) error {
	if a == (account{}) {
		return nil
	}
	cmd := exec.Command(filepath.Join(p.Binaries.Dir, "postgres"), "--version")
	cmd.Dir, cmd.SysProcAttr = f.path, a.attr(0)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// mkdir makes a private folder for the account, or checks the one that is
// there: it may lie in a folder that everybody writes to.
func (a account) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	want := os.Geteuid()
	uid, _ := ownerOf(fi)
	if a.drop && fi.IsDir() && uid == want {
		if err := os.Lchown(dir, a.uid, a.gid); err != nil {
			return err
		}
		uid = a.uid
	}
	if a.drop {
		want = a.uid
	}
	if !fi.IsDir() || fi.Mode().Perm() != 0o700 || uid != want {
		return fmt.Errorf("%s is not a private folder of uid %d: %v, uid %d", dir, want, fi.Mode(), uid)
	}
	return nil
}
