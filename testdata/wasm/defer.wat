;; Payload s: snooze, r: retry_after that consumes, k: one that doesn't,
;; n: a negative snooze, whose answer it returns.
(module
  (import "taskq_v1" "input_read" (func $read (param i32 i32) (result i32)))
  (import "taskq_v1" "snooze" (func $snooze (param i64) (result i32)))
  (import "taskq_v1" "retry_after" (func $retry (param i64 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "taskq_v1_run") (result i32)
    (local $which i32)
    (drop (call $read (i32.const 0) (i32.const 1)))
    (local.set $which (i32.load8_u (i32.const 0)))
    (if (i32.eq (local.get $which) (i32.const 0x73)) (then (drop (call $snooze (i64.const 5000)))))
    (if (i32.eq (local.get $which) (i32.const 0x72)) (then (drop (call $retry (i64.const 7000) (i32.const 1)))))
    (if (i32.eq (local.get $which) (i32.const 0x6b)) (then (drop (call $retry (i64.const 7000) (i32.const 0)))))
    (if (i32.eq (local.get $which) (i32.const 0x6e)) (then (return (call $snooze (i64.const -1)))))
    unreachable))
