;; What only an actor may do: a hook that tries it returns how many answers
;; differ from -2 (denied). A manifest that is no JSON comes with it.
(module
  (import "taskq_v1" "snooze" (func $snooze (param i64) (result i32)))
  (import "taskq_v1" "retry_after" (func $retry (param i64 i32) (result i32)))
  (import "taskq_v1" "progress" (func $progress (param i32 i32) (result i32)))
  (import "taskq_v1" "output_write" (func $write (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func $entry (result i32)
    (i32.add (i32.ne (call $snooze (i64.const 1)) (i32.const -2))
      (i32.add (i32.ne (call $retry (i64.const 1) (i32.const 0)) (i32.const -2))
               (i32.ne (call $progress (i32.const 0) (i32.const 2)) (i32.const -2)))))
  (export "taskq_v1_hook" (func $entry))
  (export "taskq_v1_cron" (func $entry))
  (func (export "taskq_v1_describe") (result i32) (call $write (i32.const 0) (i32.const 3))))
