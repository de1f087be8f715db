;; Polls for 2^28 subscriptions, which overflows 32 bits when multiplied, then
;; for 2,000; returns 0 when both were refused as invalid.
(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 4)
  (func (export "taskq_v1_run") (result i32)
    (i32.or
      (i32.ne (call $poll (i32.const 0) (i32.const 0) (i32.const 0x10000000) (i32.const 0)) (i32.const 28))
      (i32.ne (call $poll (i32.const 0) (i32.const 131072) (i32.const 2000) (i32.const 0)) (i32.const 28)))))
