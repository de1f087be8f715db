//go:build wasip1

// Command guest is the benchmark's module in Go: a no-op as an actor, and
// workloads as exports of their own.
package main

import (
	"crypto/sha256"
	"encoding/json"
)

func main() {}

//go:wasmimport taskq_v1 heartbeat
func heartbeat() int32

//go:wasmexport taskq_v1_run
func run() int32 { return heartbeat() }

//go:wasmexport calls
func calls() int32 { return int32(fib(27)) }

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

var buffer [64 << 10]byte

//go:wasmexport sha256
func hash() int32 {
	sum := sha256.Sum256(buffer[:])
	for range 20 {
		copy(buffer[:], sum[:])
		sum = sha256.Sum256(buffer[:])
	}
	return int32(sum[0])
}

type record struct {
	A int
	B string
	C []float64
	D map[string]int
}

//go:wasmexport json
func roundTrips() int32 {
	n := 0
	for i := range 300 {
		text, err := json.Marshal(record{i, "hello world", []float64{1.5, 2.5, 3.5}, map[string]int{"x": 1, "y": 2}})
		if err != nil {
			return -1
		}
		var r record
		if json.Unmarshal(text, &r) != nil {
			return -1
		}
		n += len(r.B)
	}
	return int32(n)
}

//go:wasmexport loop
func loop() int32 {
	n := uint32(1)
	for i := range uint32(5_000_000) {
		n = n*1664525 + i
	}
	return int32(n)
}
