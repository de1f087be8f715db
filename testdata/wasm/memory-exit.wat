;; A command that is denied memory and exits: with 1, or with 75 when it has a
;; payload.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\40\00\00\00\01\00\00\00")
  (func (export "_start")
    (drop (memory.grow (i32.const 60000)))
    (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 32)))
    (call $exit (select (i32.const 75) (i32.const 1) (i32.load (i32.const 32))))))
