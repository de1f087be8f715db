// An actor that is an ordinary Go program and knows of no SDK: the payload is
// its stdin, the result its stdout, its exit code says how it went, and a line
// on stderr that begins with @taskq says what an exit code can't.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	var in struct {
		Case string `json:"case"`
		Name string `json:"name"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, "the payload:", err)
		os.Exit(65) // EX_DATAERR: never tried again
	}
	fmt.Fprintln(os.Stderr, "begins with case", in.Case)
	switch in.Case {
	case "exit-3":
		os.Exit(3)
	case "temporary":
		fmt.Fprintln(os.Stderr, "the disk is full")
		os.Exit(75) // EX_TEMPFAIL: worth trying again
	case "panic":
		var nobody map[string]int
		nobody[in.Name]++
	case "typed-error":
		fmt.Fprintln(os.Stderr, `@taskq {"fail":{"class":"shop.SoldOut","ancestors":["shop.Error"],"message":"none left"}}`)
		os.Exit(1)
	case "retry-after":
		if os.Getenv("TASKQ_ATTEMPT") == "1" {
			fmt.Fprintln(os.Stderr, `@taskq {"retry_after_ms":100}`)
			return
		}
	case "endless-loop":
		for turns := uint64(1); turns != 0; turns++ {
			spin = turns
		}
	}
	if in.Name == "" {
		in.Name = "world"
	}
	fmt.Printf("{\"greeting\":%q}\n", "hello, "+in.Name)
}

var spin uint64
