;; A command that asks for a snooze and exits with 3.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\19\00\00\00")
  (data (i32.const 16) "@taskq {\"snooze_ms\":100}\0a")
  (func (export "_start")
    (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 256)))
    (call $exit (i32.const 3))))
