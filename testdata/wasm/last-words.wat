;; Prints its payload on stderr and traps, as Go, Rust and C do.
(module
  (import "taskq_v1" "input_read" (func $read (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (func (export "taskq_v1_run") (result i32)
    (i32.store (i32.const 0) (i32.const 1024))
    (i32.store (i32.const 4) (call $read (i32.const 1024) (i32.const 100000)))
    (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 32)))
    unreachable))
