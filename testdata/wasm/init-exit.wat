(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "_initialize") (call $exit (i32.const 3)))
  (func (export "taskq_v1_run") (result i32) i32.const 0))
