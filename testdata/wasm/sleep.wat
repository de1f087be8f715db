;; Sleeps for an hour by poll_oneoff.
(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func $entry (result i32)
    (i32.store (i32.const 16) (i32.const 1))
    (i64.store (i32.const 24) (i64.const 3600000000000))
    (call $poll (i32.const 0) (i32.const 256) (i32.const 1) (i32.const 128)))
  (export "taskq_v1_run" (func $entry))
  (export "taskq_v1_classify" (func $entry)))
