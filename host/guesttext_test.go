package host

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const goStack = "goroutine 1 [running]:\nmain.run({0x1, 0x2})\n\t/src/main.go:16 +0x2\nmain.main()\n\t/src/main.go:9 +0x1\n"

func TestLastWordsOfATrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stderr, stdout string
		message, stack       string
		deadlock             bool
	}{
		{name: "Go panic", stderr: "log line\npanic: boom: ada\n\n" + goStack, message: "boom: ada", stack: strings.TrimSpace(goStack)},
		{name: "Go panic of an error with several lines", stderr: "panic: a\nb\n\n" + goStack, message: "a\nb", stack: strings.TrimSpace(goStack)},
		{name: "Go panic while panicking", stderr: "panic: first\n\tpanic: second\n\n" + goStack, message: "first\n\tpanic: second", stack: strings.TrimSpace(goStack)},
		{name: "Go nil pointer", stderr: "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV]\n\n" + goStack,
			message: "runtime error: invalid memory address or nil pointer dereference", stack: strings.TrimSpace(goStack)},
		{name: "Go deadlock", stderr: "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select (no cases)]:\nmain.run()\n",
			message: "all goroutines are asleep - deadlock!", stack: "goroutine 1 [select (no cases)]:\nmain.run()", deadlock: true},
		{name: "Go out of memory", stderr: "runtime: out of memory: cannot allocate 8388608-byte block (59080704 in use)\nfatal error: out of memory\n\n" + goStack,
			message: "out of memory", stack: strings.TrimSpace(goStack)},
		{name: "TinyGo on stderr", stderr: "panic: boom\n", message: "boom"},
		{name: "TinyGo on stdout", stdout: "hello\npanic: runtime error: index out of range\n", message: "runtime error: index out of range"},
		{name: "Rust since 1.73", stderr: "\nthread 'main' (1) panicked at src/main.rs:16:20:\nboom: ada\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
			message: "boom: ada", stack: "at src/main.rs:16:20"},
		{name: "Rust of several lines", stderr: "thread '<unnamed>' panicked at src/lib.rs:1:2:\nassertion `left == right` failed\n  left: 1\n right: 2\nnote: x\n",
			message: "assertion `left == right` failed\n  left: 1\n right: 2", stack: "at src/lib.rs:1:2"},
		{name: "Rust before 1.73", stderr: "thread 'main' panicked at 'boom: 'ada'', src/main.rs:16:20\nnote: x\n", message: "boom: 'ada'", stack: "at src/main.rs:16:20"},
		{name: "Rust allocation", stderr: "memory allocation of 8388608 bytes failed\n", message: "memory allocation of 8388608 bytes failed"},
		{name: "AssemblyScript env.abort", stderr: "boom: ada at reactor.ts:31:24\n", message: "boom: ada", stack: "at reactor.ts:31:24"},
		{name: "AssemblyScript WASI shim", stderr: "abort: boom: ada in cmd.ts(25:22)\n", message: "boom: ada", stack: "at cmd.ts(25:22)"},
		{name: "C assertion of wasi-libc", stderr: "Assertion failed: x > 0 (main.c: run: 12)\n", message: "Assertion failed: x > 0 (main.c: run: 12)"},
		{name: "C++ without exceptions", stderr: "out_of_range was thrown in -fno-exceptions mode with message \"vector\"\n",
			message: "out_of_range was thrown in -fno-exceptions mode with message \"vector\""},
		{name: "C++ terminate", stderr: "libc++abi: terminating due to uncaught exception\n", message: "terminating due to uncaught exception"},
		{name: "Zig panic", stderr: "thread 1 panic: boom\n/src/a.zig:3:5: 0x1 in run\n", message: "boom"},
		{name: "QuickJS", stderr: "Error: boom: ada\n    at run (actor.js:10)\n    at <anonymous> (actor.js)\n", message: "Error: boom: ada", stack: "    at run (actor.js:10)\n    at <anonymous> (actor.js)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			words, ok := hear(beforeTrap, c.stderr, c.stdout)
			require.True(t, ok)
			require.Equal(t, c.message, words.message)
			require.Equal(t, c.deadlock, words.deadlock)
			require.Equal(t, c.stack, words.stack)
		})
	}
}

func TestLastWordsOfAnExit(t *testing.T) {
	t.Parallel()
	python := "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    raise ValueError(\"boom\")\nValueError: boom\n"
	for _, c := range []struct {
		name    string
		code    uint32
		stderr  string
		message string // empty: it's a plain exit
	}{
		{"Go panic", 2, "panic: boom\n\n" + goStack, "boom"},
		{"Go's exit code without its report", 2, "usage: tool\n", ""},
		{"a panic's text before another code", 3, "panic: boom\n\n" + goStack, ""},
		{"Python", 1, python, "ValueError: boom"},
		{"Ruby", 1, "a.rb:3:in `run': boom (RuntimeError)\n\tfrom a.rb:9:in `<main>'\n", "RuntimeError: boom"},
		{"JavaScript", 1, "TypeError: boom\n    at f (a.js:1:2)\n", "TypeError: boom"},
		{"Zig error", 1, "error: Boom\n", "Boom"},
		{"a program's own error line", 1, "error: no such file\n", ""},
		{"AssemblyScript", 255, "boom at a.ts:1:2\n", "boom"},
		{"exit -1 of a program that says other things", 255, "bye\n", ""},
		{"nothing said", 1, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			words, ok := hear(beforeExit[c.code], c.stderr, "")
			require.Equal(t, c.message != "", ok)
			require.Equal(t, c.message, words.message)
		})
	}
}

func FuzzLastWords(f *testing.F) {
	f.Add("panic: boom\n\ngoroutine 1 [running]:\n")
	f.Add("thread 'main' panicked at 'x', a.rs:1:2\nthread '' panicked at a.rs:1:2:\nm\nnote: ")
	f.Add("Traceback (most recent call last):\n  at\nE: x\nError: m\n    at f (a.js:1)\n")
	f.Fuzz(func(t *testing.T, text string) {
		began := time.Now()
		hear(beforeTrap, text, text)
		for code := range beforeExit {
			hear(beforeExit[code], text, text)
		}
		lastLineOf(text)
		require.Less(t, time.Since(began), 5*time.Second)
	})
}
