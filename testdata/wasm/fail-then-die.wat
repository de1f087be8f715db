;; An SDK's panic handler: records the type, then traps.
(module
  (import "taskq_v1" "fail" (func $fail (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "{\"class\":\"app.Broken\",\"message\":\"it broke\"}")
  (func (export "taskq_v1_run") (result i32)
    (drop (call $fail (i32.const 0) (i32.const 43)))
    unreachable))
