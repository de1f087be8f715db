// Package pgtest gives each test a PostgreSQL database of its own, for the
// price of copying a few files.
//
// All test binaries of a run share one throwaway server, in memory where there
// is room. The first that needs it starts it; it goes, with all data, a while
// after the last has ended. A test's database is a clone of a template, which
// is made once per name and test binary.
//
// With TASKQ_TEST_DATABASE_URL in the environment that server is used instead;
// its role must be allowed to create databases.
//
// A test binary that imports this package can be re-executed as the server's
// supervisor, see [embedpg.Supervise].
package pgtest
