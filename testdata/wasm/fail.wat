;; Records its payload as the failure; the last byte is what it returns, less '0'.
(module
  (import "taskq_v1" "input_read" (func $read (param i32 i32) (result i32)))
  (import "taskq_v1" "fail" (func $fail (param i32 i32) (result i32)))
  (memory (export "memory") 8)
  (func (export "taskq_v1_run") (result i32)
    (local $n i32)
    (local.set $n (i32.sub (call $read (i32.const 0) (i32.const 524288)) (i32.const 1)))
    (drop (call $fail (i32.const 0) (local.get $n)))
    (i32.sub (i32.load8_u (local.get $n)) (i32.const 0x30))))
