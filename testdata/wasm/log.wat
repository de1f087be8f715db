;; Logs its payload at level warn.
(module
  (import "taskq_v1" "input_read" (func $read (param i32 i32) (result i32)))
  (import "taskq_v1" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "taskq_v1_run") (result i32)
    (call $log (i32.const 3) (i32.const 0) (call $read (i32.const 0) (i32.const 65536)))
    i32.const 0))
