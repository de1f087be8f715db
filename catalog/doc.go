// Package catalog is what is uploaded: it judges a module, stores it as the
// next version of an actor, and hands workers the version that runs now.
//
//	push:  name ─► engine.Load (scan, rewrite, compile in a child) ─► describe ─► store
//	claim: name ─► current version (a second stale at most) ─► engine.Cached,
//	       else the bytes from the store ─► engine.Load ─► Runnable
//
// Nothing is stored of a module that was refused. What a module says of
// itself are defaults, checked at the door like an operator's own: a retry
// block that could never hold is a refusal, not a surprise at the first
// failure.
package catalog
