// Package embedpg runs a private PostgreSQL server for the programs of one
// user, from PostgreSQL binaries that the machine has.
//
// Three kinds of process take part:
//
//	user ──────► supervisor ──────► postgres
//	(any number,  (one per folder:   (a direct child, told by the kernel
//	 holds a       this executable,   to shut down when the supervisor
//	 shared lock)  re-executed)       dies)
//
// Three lock files in the folder hold it together. start.lock is taken by
// whoever starts or joins, one at a time. super.lock says that a supervisor
// lives: the starter locks it and the supervisor inherits it. users.lock is
// shared by all users, and the supervisor waits for it exclusively. The kernel
// drops the locks of a process however that process ends, so the lock is the
// reference count: nobody polls, nobody sends heartbeats, and no server is
// left behind by kill -9.
//
// The program's main must call [Supervise] before anything else, because the
// supervisor is the same executable. A test binary calls it in TestMain;
// package pgtest does it by itself.
//
// Data is never deleted and never made anew, with one exception that must be
// asked for: a server of [Options].Throwaway.
//
// Linux and macOS are served; elsewhere [Start] returns [ErrUnsupported].
package embedpg
