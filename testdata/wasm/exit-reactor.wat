;; A reactor that ends its process; the payload's first byte less '0' is the code.
(module
  (import "taskq_v1" "input_read" (func $read (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "taskq_v1_run") (result i32)
    (drop (call $read (i32.const 0) (i32.const 1)))
    (call $exit (i32.sub (i32.load8_u (i32.const 0)) (i32.const 0x30)))
    i32.const 0))
