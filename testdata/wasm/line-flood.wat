;; Writes 1 MiB of lines of one letter to stderr, without end.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 17)
  (func (export "taskq_v1_run") (result i32)
    (local $at i32)
    (local.set $at (i32.const 65536))
    (loop
      (i64.store (local.get $at) (i64.const 0x0a780a780a780a78))
      (br_if 0 (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8))) (i32.const 1114112))))
    (i32.store (i32.const 0) (i32.const 65536))
    (i32.store (i32.const 4) (i32.const 1048576))
    (loop (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 16))) (br 0))
    i32.const 0))
