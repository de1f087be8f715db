// Package rewrite turns a scanned module into one that the host can stop and
// bound, whatever its code does.
//
// Every rewrite takes a module's bytes with what [scan.Scan] found in them and
// gives new bytes; it is a pure function of both, so the same upload always
// becomes the same code. What a rewrite doesn't mean to change it copies byte
// for byte. That the scan checked each index against the module's own counts
// is what makes it safe to add to an index space.
//
// [Fuel] has the code itself count its work and call the host every so often;
// fuel.go tells what it adds, costs.go what is charged where, bulk.go what
// becomes of instructions that take long. [Interruptible] is the fallback, for
// an engine that looks for interruption by itself, at the heads of loops.
package rewrite
