// Command bench measures the host beside its peers and beside the raw limit,
// in one run on one machine: absolute figures of a busy machine mean little,
// ratios hold. It is a module of its own, so that peers never enter the
// host's go.mod.
//
//	make bench                      everything, to a table and bench/results
//	make bench BENCHFLAGS='-only jobs -n 100000'
package main
