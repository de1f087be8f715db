;; Fails with its payload as fail.wat does, or succeeds with an empty one; its
;; hook logs what it is told.
(module
  (import "taskq_v1" "input_read" (func $read (param i32 i32) (result i32)))
  (import "taskq_v1" "fail" (func $fail (param i32 i32) (result i32)))
  (import "taskq_v1" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 8)
  (func (export "taskq_v1_run") (result i32)
    (local $n i32)
    (local.set $n (call $read (i32.const 0) (i32.const 524288)))
    (if (i32.eqz (local.get $n)) (then (return (i32.const 0))))
    (drop (call $fail (i32.const 0) (local.get $n)))
    i32.const 1)
  (func (export "taskq_v1_hook") (result i32)
    (i32.store8 (i32.const 0) (i32.const 0x3e)) ;; a JSON object alone would be fields
    (call $log (i32.const 2) (i32.const 0) (i32.add (call $read (i32.const 1) (i32.const 524287)) (i32.const 1)))
    i32.const 0))
