// Package taskq is for actors and classifiers of taskq-host that are written
// in Go. It turns a function with typed JSON into an entry of the guest ABI,
// version 1, and a Go error into a failure record.
//
// A reactor exports its entry; it starts once and answers many attempts:
//
//	//go:wasmexport taskq_v1_run
//	func run() int32 { return taskq.Handle(charge) }
//
//	func main() {}
//
//	func charge(ctx context.Context, in Order) (Receipt, error) { … }
//
// and is built by
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o charge.wasm .
//
// A command is a program that runs once per attempt. It has no export, and is
// built without -buildmode:
//
//	func main() { os.Exit(int(taskq.Handle(charge))) }
//
// The export stands in the actor's own source because it decides what the
// module is: one that exports taskq_v1_run is a reactor, whatever else it has.
//
// Everything here also builds natively. There, [Try] runs a handler in memory
// for go test, and [Handle] speaks the host's command mode: the payload comes
// from stdin, the result goes to stdout.
//
// The package has no dependencies beyond the standard library.
package taskq
