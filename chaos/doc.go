// Package chaos is the proof that nothing is lost and nothing doubled: worker
// processes under load are killed at named points and at random, statements
// fail before and after they ran, Postgres restarts, and a checker reads
// afterwards what became of every job.
//
// All of it is tests. `go test ./chaos` runs a slice that takes a minute;
// `make chaos KILLS=10000` goes on for as long as it takes, prints one line of
// JSON and keeps it in bench/results.
package chaos
